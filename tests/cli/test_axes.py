"""Options that declare an axis make the axis that Python makes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import trueup as tu
from trueup.cli.axes import AxisOptions


@pytest.mark.parametrize(
    ("given", "axis"),
    [
        ({"range": ("0", "1.5"), "bins": 3}, tu.Axis.regular("x", 0, 1.5, 3)),
        ({"range": ("-1e3", "1e3"), "bins": 4}, tu.Axis.regular("x", -1000, 1000, 4)),
        ({"integers": (2**53, 2**53 + 1)}, tu.Axis.integers("x", 2**53, 2**53 + 1)),
        ({"edges": "0, 10,25,100"}, tu.Axis.edges("x", [0, 10, 25, 100])),
        ({"categories": "A, B,C"}, tu.Axis.categories("x", ["A", "B", "C"])),
        ({"dates": ("2013-01", "2013-03"), "every": "month"},
         tu.Axis.dates("x", "2013-01", "2013-03", "month")),
        ({"ipv4": "10.0.0.0/8", "prefix": 12}, tu.Axis.ipv4("x", "10.0.0.0/8", 12)),
        ({}, None),
    ],
    ids=str,
)  # fmt: skip
def test_options_declare_what_python_declares(given: dict[str, Any], axis: tu.Axis | None) -> None:
    assert AxisOptions(**given).axis("x") == axis


def test_a_hierarchy_is_read_from_a_file(tmp_path: Path) -> None:
    tree = {"CA": ["Kern", "Napa"], "NV": ["Clark"]}
    file = tmp_path / "places.json"
    file.write_text(json.dumps(tree))
    assert AxisOptions(hierarchy=file).axis("place") == tu.Axis.hierarchy("place", tree)
    file.write_text("{")
    with pytest.raises(tu.InputError, match="is not JSON"):
        AxisOptions(hierarchy=file).axis("place")
    with pytest.raises(tu.FileError, match="There is no file"):
        AxisOptions(hierarchy=tmp_path / "gone.json").axis("place")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"bins": 3}, "--bins needs --range"),
        ({"range": ("0", "1")}, "--range needs --bins"),
        ({"range": ("0", "x"), "bins": 3}, "'x' is not a number"),
        ({"edges": "0,²"}, "'²' is not a number"),
        ({"edges": ""}, "'' is not a number"),
        ({"integers": (0, 9), "edges": "0,1"}, "in one way, not by --integers and --edges"),
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(tu.InputError) as refused:
        AxisOptions(**given).axis(None)
    assert says in str(refused.value)


@pytest.mark.parametrize("typed", ["", "A,,B", "A,B,"])
def test_an_empty_label_is_refused(typed: str) -> None:
    with pytest.raises(tu.InputError, match="empty label"):
        AxisOptions(categories=typed).axis("grade")
