"""Values made up inside cells lie in those cells, whatever the axis."""

from __future__ import annotations

import math

import numpy as np
import pytest

import trueup as tu
from trueup.axis.inside import invented, label_values, values_inside

AXES = {
    "integers": (tu.Axis.integers("n", -(2**62), -(2**62) + 99), False),
    "regular": (tu.Axis.regular("x", -0.3, 0.7, 97), True),
    "edges": (tu.Axis.edges("x", [0, 1, 1 + 2**-52, 3, 1e308]), True),
    "open edges": (tu.Axis.edges("x", [-math.inf, -8e307, 0.0, 5e-324, 8e307, math.inf]), True),
    "labels": (tu.Axis.categories("kind", ["a", "b", "c/d"]), False),
    "numbers as labels": (tu.Axis.categories("kind", [5, 3, 8]), False),
    "minutes": (tu.Axis.dates("t", "2012-02-28T23:50", "2012-02-29T00:10", "minute"), True),
    "days": (tu.Axis.dates("t", "2012-02-27", "2012-03-03"), False),
    "weeks": (tu.Axis.dates("t", "2012-02-27", "2012-04-03", "week"), True),
    "months": (tu.Axis.dates("t", "1969-11", "1970-02", "month"), True),
    "prefixes": (tu.Axis.ipv4("host", "10.0.0.0/8", 12), True),
    "addresses": (tu.Axis.ipv4("host", "10.0.0.252/30", 32), False),
    "codes": (tu.Axis.codes("block", [3, 17, 99], {"ten": 1, "one": 2}), False),
    "hierarchy": (tu.Axis.hierarchy("p", {"CA": ["x", "y"], "NV": ["x", "v"], "DC": []}), False),
}


@pytest.mark.parametrize("name", AXES)
def test_every_value_lies_in_its_cell(name: str) -> None:
    axis, made_up = AXES[name]
    assert invented(axis) is made_up
    cells = np.random.default_rng(7).integers(0, axis.size, 2_000)
    for draws in (np.random.default_rng(1), None):
        found = values_inside(axis, cells, draws)
        assert axis.locate(found).tolist() == cells.tolist()
    assert (len(np.unique(found)) <= axis.size) or made_up


def test_values_inside_a_bin_are_uniform_or_its_middle() -> None:
    axis = tu.Axis.regular("x", 0, 10, 5)
    found = values_inside(axis, np.full(20_000, 2), np.random.default_rng(3)).to_numpy()
    place = np.sort((found - 4) / 2)
    steps = np.arange(1, len(place) + 1) / len(place)
    assert np.abs(place - steps).max() < 1.63 / math.sqrt(len(place))  # Kolmogorov, 1 %
    assert values_inside(axis, np.array([2]), None).to_pylist() == [5.0]
    minutes, months = AXES["minutes"][0], AXES["months"][0]
    (middle,) = values_inside(minutes, np.array([3]), None).to_pylist()
    assert middle.isoformat() == "2012-02-28T23:53:30"
    (middle,) = values_inside(months, np.array([0]), None).to_pylist()
    assert middle.isoformat() == "1969-11-16"
    assert values_inside(AXES["prefixes"][0], np.array([1]), None).to_pylist() == ["10.24.0.0"]


def test_labels_that_no_column_can_tell_apart_are_refused() -> None:
    assert label_values(tu.Axis.categories("k", ["a", 5])) == ["a", "5"]
    assert label_values(AXES["hierarchy"][0]) == ["CA/x", "y", "NV/x", "v", "DC"]
    with pytest.raises(tu.InputError, match="written alike"):
        label_values(tu.Axis.categories("k", ["5", 5]))
