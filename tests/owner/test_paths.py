"""Which columns tell a hierarchy is decided by names alone, and a wrong choice is said."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import trueup as tu
from trueup.errors import SourceError

PLACE = tu.Axis.hierarchy("place", {"NV": ["Clark"], "CA": ["Kern", "Clark"]}, ["state", "county"])
ROWS = {"state": ["CA", "NV", "CA", "CA"], "county": ["Kern", "Clark", "Clark", "Nye"]}
CERTAIN = 500


def counts(table: object, tmp_path: Path) -> list[int]:
    owner = tu.Owner(table, tu.Ledger(tmp_path / "ledger", limit=10**6))
    return tu.infer(owner.measure(tu.CellCounts(PLACE), CERTAIN)).counts().tolist()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_named_as_the_levels_tell_the_place(frame: type, tmp_path: Path) -> None:
    assert PLACE.paths == (("NV", "Clark"), ("CA", "Kern"), ("CA", "Clark"))
    assert counts(frame(ROWS), tmp_path) == [1, 1, 1]
    published = tu.publish(frame(ROWS), PLACE, CERTAIN)
    assert published.counts().tolist() == [1, 1, 1]
    assert published.node("CA").value == 2


def test_a_column_of_the_axis_s_own_name_comes_first(tmp_path: Path) -> None:
    table = pd.DataFrame({**ROWS, "place": ["NV/Clark", "NV/Clark", "CA/Kern", "nowhere"]})
    assert counts(table, tmp_path) == [2, 1, 0]


def test_levels_without_a_column_are_named_and_cost_nothing(tmp_path: Path) -> None:
    ledger = tu.Ledger(tmp_path / "ledger", limit=1)
    for table, words in (
        ({"state": ["CA"]}, "of the levels of that axis it lacks 'county'"),
        ({"other": ["CA"]}, "no column 'place'"),
    ):
        with pytest.raises(SourceError, match=words):
            tu.Owner(pd.DataFrame(table), ledger).measure(tu.CellCounts(PLACE), 1)
    ragged = tu.Axis.hierarchy("place", {"NV": ["Clark"], "DC": []}, ["state", "county"])
    with pytest.raises(tu.InputError, match="end above the level 'county'"):
        tu.Owner(pd.DataFrame(ROWS), ledger).measure(tu.CellCounts(ragged), 1)
    assert ledger.spent == 0


def test_a_row_counts_on_its_own_path_or_on_none(tmp_path: Path) -> None:
    """Labels that are known one by one may make no path; and cells are the axis's, in its order."""
    rows = [("NV", "Kern"), ("NV", "Clark"), *[("CA", "Kern")] * 2, *[("CA", "Clark")] * 3]
    table = pd.DataFrame(rows, columns=["state", "county"])
    assert counts(table, tmp_path) == [1, 2, 3]
