"""Measuring at a real server of somebody else's, from the command line."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trueup as tu

FIRST = 2**53
CONFIG = f"""
[server]
port = 0
deadline = 0.1
warm = false
[datasets.people]
source = "people.parquet"
ledger = "people.ledger"
limit = 100
[datasets.people.axes.id]
kind = "integers"
first = {FIRST}
last = {FIRST + 7}
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Any]:
    """A server of ids past 2^53, where not every whole number is a float."""
    path = Path(__file__).parents[1] / "server" / "conftest.py"
    spec = importlib.util.spec_from_file_location("conftest_of_the_server", path)
    assert spec is not None
    assert spec.loader is not None
    conftest = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = conftest
    spec.loader.exec_module(conftest)
    ids = pa.array([FIRST + 1] * 1000, pa.int64())
    pq.write_table(pa.table({"id": ids}), tmp_path / "people.parquet")
    (tmp_path / "trueup.toml").write_text(CONFIG)
    with conftest.running(tmp_path / "trueup.toml", {"ana": ("analyst", 50)}) as found:
        yield found


def test_a_part_of_an_axis_is_the_numbers_that_were_typed(
    run: Any, server: Any, tmp_path: Path
) -> None:
    asked = ["measure", f"{server.url}/people", "--epsilon", "20", "--yes", "--json"]
    asked += ["--token", server.secrets["ana"]]
    ran = run(*asked, "--range", FIRST + 1, FIRST + 3, "-o", "m.parquet")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["remaining"] == "30"
    release: Any = tu.infer(tu.load(tmp_path / "m.parquet"))
    assert release.axis == tu.Axis.integers("id", FIRST + 1, FIRST + 2)
    assert release.counts() == pytest.approx([1000, 0], abs=20)
    refused = run(*asked, "--range", FIRST + 1, FIRST + 99, "-o", "n.parquet")
    assert (refused.code, "outside axis" in refused.err) == (1, True)
