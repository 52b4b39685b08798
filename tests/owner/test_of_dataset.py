"""A declared dataset has one owner: its bound, its people, its periods and its columns."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trueup as tu
from trueup.config import Dataset, read_config
from trueup.owner.of_dataset import owner_of

TEXT = """
[datasets.trips]
source = "trips.parquet"
ledger = "trips.ledger"
limit = 100
unit = "user"
axes.fare = {kind = "integers", first = 0, last = 3}
"""
USER = [1, 1, 1, 2, 2, 3, 1, 3]
FARE = [0, 1, 1, 2, 3, 3, 3, 2]
DAY = [1, 1, 1, 1, 1, 1, 2, 2]


def declared(folder: Path, more: str) -> Dataset:
    at = [dt.datetime(2026, 3, day, 12) for day in DAY]
    pq.write_table(pa.table({"user": USER, "fare": FARE, "at": at}), folder / "trips.parquet")
    head, axes = TEXT.rsplit("axes", 1)
    (folder / "trueup.toml").write_text(f"{head}{more}\naxes{axes}")
    return read_config(folder / "trueup.toml").datasets["trips"]


def owned(folder: Path, more: str, *, only_declared: bool = False) -> tu.Owner:
    said = declared(folder, more)
    ledger = tu.Ledger(said.ledger, **said.ledger_options)
    return owner_of(said, ledger, only_declared=only_declared)


def test_a_bound_that_is_chosen_and_one_that_is_a_number(tmp_path: Path) -> None:
    assert owned(tmp_path, "rows_per_unit = 2").rows_per_unit == 2
    owner = owned(tmp_path, 'rows_per_unit = "auto"\nat_most = 50')
    assert owner.at_most == 50
    asked = tu.CellCounts(tu.Axis.integers("fare", 0, 3))
    found = tu.left_out(owner.measure(asked, 90))  # noise is 0, all but surely
    assert (found.bound, found.at_most) == (4, 50)
    assert found.capped().value == len(FARE)
    assert owner.ledger.remaining == 10


def test_people_of_a_day_are_made_from_its_rows(tmp_path: Path) -> None:
    by_day = 'per = "day"\ndate = "at"\npeople.dear = {max = "fare"}\npeople.trips = {count = "*"}'
    owner = owned(tmp_path, by_day)
    for day in (1, 2):
        name = f"2026-03-0{day}"
        rows = [(u, f) for u, f, d in zip(USER, FARE, DAY, strict=True) if d == day]
        dear = [max(f for u, f in rows if u == user) for user in {u for u, _ in rows}]
        asked = tu.CellCounts(tu.Axis.integers("dear", 0, 3))
        found = owner.measure(asked, 50, period=name, where="trips >= 1")
        assert found.noisy.tolist() == np.bincount(dear, minlength=4).tolist()
        assert owner.ledger.remaining_in(name) == 50


def test_filters_use_declared_columns_where_only_they_may(tmp_path: Path) -> None:
    asked = tu.CellCounts(tu.Axis.integers("fare", 0, 3))
    more = 'rows_per_unit = 9\ncolumns = {user = "integer"}'
    for given, only, may in (
        (more, True, False),
        (more, False, False),
        ("rows_per_unit = 9", True, False),
        ("rows_per_unit = 9", False, True),
    ):
        owner = owned(tmp_path, given, only_declared=only)
        if may:
            owner.check(asked, 1, where="fare > 1")
        else:
            with pytest.raises(tu.SourceError, match="fare"):
                owner.check(asked, 1, where="fare > 1")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('rows_per_unit = "auto"', "needs at_most"),
        ("rows_per_unit = 3\nat_most = 9", "goes with rows_per_unit='auto'"),
        ('rows_per_unit = "some"\nat_most = 9', "whole number or 'auto'"),
        ('rows_per_unit = "auto"\nat_most = 9\nkeys.user = {universe = "integers"}', "a number"),
        ('rows_per_unit = "auto"\nat_most = 9\npeople.n = {count = "*"}', "leave rows_per_unit"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, more: str, says: str) -> None:
    with pytest.raises(tu.FileError, match=says):
        declared(tmp_path, more)
