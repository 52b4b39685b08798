"""A row's period follows from its date alone; text is read value by value."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trueup as tu
from trueup.errors import InputError, SourceError
from trueup.owner.columns import Wanted
from trueup.owner.dated import Dated, runs
from trueup.period import Calendar

BERLIN = Calendar("day", "at", "Europe/Berlin")


def test_text_with_an_offset_is_a_moment_and_without_one_what_clocks_show() -> None:
    days = BERLIN.between("2026-03-28", "2026-03-29")
    dated = Dated(Wanted("at", "raw", "time", "dated"), days)
    texts = {
        "2026-03-28": 0, "2026-03-28 23:59:59.999999": 0, "2026-03-29": 1, " 2026-03-29 ": 1,
        "2026-03-28T22:59:59Z": 0, "2026-03-28T23:00Z": 1, "2026-03-29 00:00+01": 1,
        "2026-03-29T23:59:59+02:00": 1, "2026-03-29T22:00Z": -1, "2026-03-27T23:00Z": 0,
        "2026-03-30": -1, "": -1, "soon": -1, "2026-02-30": -1, "é": -1,
    }  # fmt: skip
    column = pa.array([*(text.encode() for text in texts), None], pa.large_binary())
    assert dated.places(column, len(column)).tolist() == [*texts.values(), -1]


def test_a_missing_column_is_in_no_period() -> None:
    days = BERLIN.named("2026-03-28")
    for storage in ("raw", "time", "zoned", "date"):
        dated = Dated(Wanted("at", storage, "time", "dated"), days)  # type: ignore[arg-type]
        assert dated.places(None, 3).tolist() == [-1] * 3


def test_stretches_that_touch_are_one() -> None:
    assert runs([(0, 2), (2, 5), (7, 8)]) == [(0, 5), (7, 8)]


def ledger(folder: Path, **said: Any) -> tu.Ledger:
    options: Any = {"limit": 1, "per": "day", "date": "at", "zone": "Europe/Berlin"} | said
    return tu.Ledger(folder / f"l{len(list(folder.iterdir()))}", **options)


def test_a_column_that_cannot_date_rows_is_refused_by_its_type(tmp_path: Path) -> None:
    table = pa.table({"at": pa.array([dt.date(2026, 3, 1)]), "n": [1]})
    with pytest.raises(SourceError, match="holds dates, which have no hours"):
        tu.Owner(table, ledger(tmp_path, per="hour"))
    with pytest.raises(SourceError, match="holds whole numbers, where times are needed"):
        tu.Owner(table, ledger(tmp_path, date="n"))
    with pytest.raises(SourceError, match="has no column 'when'"):
        tu.Owner(table, ledger(tmp_path, date="when"))
    moments = [dt.datetime(2026, 3, 1)]
    for number, zone in enumerate((None, "UTC")):
        column = pa.array(moments, pa.timestamp("us", tz=zone))
        pq.write_table(pa.table({"at": column}), tmp_path / f"part{number}.parquet")
    with pytest.raises(SourceError, match="a time zone in some files and none in others"):
        tu.Owner(str(tmp_path / "part*.parquet"), ledger(tmp_path))
    axis = tu.Axis.dates("at", "2026-03-01", "2026-03-01")  # which takes both for UTC, as before
    plain = tu.Ledger(tmp_path / "plain", limit=1)
    tu.Owner(str(tmp_path / "part*.parquet"), plain).check(tu.CellCounts(axis), 1)


def test_a_period_is_asked_for_where_there_are_periods_and_nowhere_else(tmp_path: Path) -> None:
    table = pa.table({"at": pa.array([dt.date(2026, 3, 1)]), "n": [1]})
    asked = tu.CellCounts(tu.Axis.integers("n", 0, 1))
    owner = tu.Owner(table, ledger(tmp_path))
    assert "of one day" in repr(owner)
    assert "a person with rows on 30 days: at most 30 × 1" in repr(owner)
    for ask in (owner.check, owner.measure, owner.publish):
        with pytest.raises(InputError, match="a limit for each day: say which"):
            ask(asked, 1)
        with pytest.raises(InputError, match="A day is named like"):
            ask(asked, 1, period="March")
    with pytest.raises(InputError, match="one limit for all time: leave period= out"):
        tu.Owner(table, tu.Ledger(tmp_path / "plain", limit=1)).measure(asked, 1, period="2026")
    release = owner.publish(asked, 1, "k", period="2026-03-01")
    again = owner.publish(asked, 1, "k", period="2026-03-01")
    assert release.counts().tolist() == again.counts().tolist()
    assert "of 2026-03-01" in repr(release)
    release.save(tmp_path / "r.parquet")
    assert tu.load(tmp_path / "r.parquet").facts.period.names == ("2026-03-01",)
    assert owner.ledger.remaining_in("2026-03-01") == 0
    other = owner.count_groups("n", 1, period=["2026-03-02", "2026-03-03"])
    assert other.period is not None
    assert str(other.period) == "2 days, 2026-03-02 – 2026-03-03"
