"""Files and a ledger written by version 0.1 load, and infer to what they inferred to then.

Whole counts are the same to the last one. Real ones lie within one unit of the published grid of
those of then, where a kernel has changed.
"""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import trueup as tu

FILES = Path(__file__).parent / "files_of_0_1"
EXPECTED = json.loads((FILES / "expected.json").read_text())
MEASURED = sorted(name for name, said in EXPECTED.items() if "noisy" in said)


def counts_of(release):
    """The counts of a release, of a table whose margins alone were asked too."""
    if isinstance(release, tu.Release) and release.asked:
        return release.contents()[1]["count"]
    return np.asarray(release.counts()).ravel()


def assert_same(release, said):
    found, then = counts_of(release), np.array(said["counts"])
    assert (found.dtype.kind == "i") == said["whole"]
    if said["whole"]:
        assert found.tolist() == then.tolist()
    else:
        total = float(np.abs(np.cumsum(then)).max(initial=1.0))
        unit = 2.0 ** (np.ceil(np.log2(total)) - 52)
        assert np.abs(np.cumsum(found - then)).max() <= 4 * unit + 1e-9 * (len(then) > 5000)
    assert release.facts.inferred == said["inferred"]


@pytest.mark.parametrize("name", MEASURED)
def test_measurements_are_read_and_infer_to_the_same(name):
    m = tu.load(FILES / f"{name}.parquet")
    said = EXPECTED[name]
    assert m.noisy.tolist() == said["noisy"]
    assert [str(scale) for scale in m.noise.scales] == said["scales"]
    assert_same(tu.infer(m), said["plain"])
    if "shown" in said:
        assert_same(tu.infer(m, nonnegative=True, integers=True), said["shown"])
    for method in {"top-down", "exact"} & said.keys():
        assert_same(tu.infer(m, nonnegative=True, integers=True, method=method), said[method])
    if "graphical" in said:
        assert_same(tu.infer(m, graphical=True), said["graphical"])


@pytest.mark.parametrize("name", [name for name in MEASURED if name != "experiment"])
def test_releases_are_read_as_they_were(name, tmp_path):
    for ending, part in (("release", "plain"), ("shown", "shown")):
        release = tu.load(FILES / f"{name}_{ending}.parquet")
        assert_same(release, EXPECTED[name][part])
        release.save(tmp_path / "again.parquet")
        again = tu.load(tmp_path / "again.parquet")
        assert counts_of(again).tolist() == counts_of(release).tolist()
        assert again.facts == release.facts


@pytest.mark.parametrize(
    "name", ["combined", "combined_known", "stacked", "typed", "reconciled", "unknown_number"]
)
def test_what_was_put_together_is_read_as_it_was(name):
    assert_same(tu.load(FILES / f"{name}.parquet"), EXPECTED[name])


def test_parts_of_a_grid_are_read_as_they_were():
    assert_same(tu.load(FILES / "grid_margin.parquet"), EXPECTED["grid"]["margin"])
    assert_same(tu.load(FILES / "grid_slice.parquet"), EXPECTED["grid"]["slice"])


@pytest.mark.parametrize("name", ["tree", "queries", "sorted"])
def test_json_says_the_same_as_parquet(name):
    assert tu.load(FILES / f"{name}.json") == tu.load(FILES / f"{name}.parquet")


def test_an_experiment_keeps_its_stamp():
    assert "NOT PRIVATE" in repr(tu.load(FILES / "experiment.parquet"))


def test_a_request_under_an_old_key_returns_the_stored_answer(tmp_path):
    shutil.copytree(FILES / "ledger", tmp_path / "ledger")
    keys = json.loads((tmp_path / "ledger" / "keys.json").read_text())
    ledger = tu.Ledger(tmp_path / "ledger" / "trips.ledger", limit=2)
    table = pa.table({"hour": [0, 0, 23, 5, 5, 5], "user": ["a", "a", "b", "c", "c", "d"]})
    owner = tu.Owner(table, ledger)
    hour = tu.Axis.integers("hour", 0, 23)
    asked = {
        "first": lambda: owner.measure(tu.CellCounts(hour), "1/10", key="first"),
        "second": lambda: owner.measure(
            tu.SortedCounts(6, by="user"), "1/10", key="second", where="hour < 12"
        ),
        "third": lambda: owner.measure(tu.TreeCounts(hour, 2), "1/10", key="third"),
    }
    for key, measure in asked.items():
        assert measure().noisy.tolist() == keys[key]
    assert ledger.spent == Fraction(3, 10)
