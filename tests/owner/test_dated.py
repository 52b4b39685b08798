"""A row's period follows from its date alone; text is read value by value."""

from __future__ import annotations

import datetime as dt
import hashlib
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trueup as tu
from trueup.errors import InputError, LedgerError, SourceError
from trueup.owner.columns import Wanted
from trueup.owner.dated import Dated, Share, runs
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


@pytest.mark.parametrize(
    "said",
    [
        {"limit": 1},
        {"limit": 1, "per": "week", "date": "at"},
        {"limit": 1, "per": "day", "date": "when"},
        {"limit": 1, "per": "day", "date": "at", "zone": "Europe/Zurich"},
        {"per": "week", "date": "at"},
    ],
)
def test_a_ledger_is_opened_with_its_own_periods_or_with_nothing_said(
    tmp_path: Path, said: dict[str, Any]
) -> None:
    """A limit for each day is no limit for all time, nor one for each week."""
    made = tu.Ledger(tmp_path / "days", limit=1, per="day", date="at")
    for same in ({}, {"limit": 1, "per": "day", "date": "at"}):
        assert tu.Ledger(tmp_path / "days", **same).calendar == made.calendar is not None
    with pytest.raises(LedgerError, match="What a limit is for does not change"):
        tu.Ledger(tmp_path / "days", **said)
    plain = tu.Ledger(tmp_path / "plain", limit=1)
    assert plain.calendar is None
    if "per" in said:
        with pytest.raises(LedgerError, match="What a limit is for does not change"):
            tu.Ledger(tmp_path / "plain", **said)


def test_a_units_turn_is_a_keyed_hash_of_its_whole_name() -> None:
    """By the definition, and so apart for names and keys that differ anywhere."""
    keys = ("00" * 32, "00" * 31 + "01")
    names = [f"a long name that many begin with, {n}".encode() for n in range(40)]
    numbers = [n * m for n in (1, 10**9, 2**63, 2**64) for m in (-1, 1)]
    whole = [n.to_bytes(16, "little", signed=True) for n in numbers]
    found = []
    for key in keys:
        share = Share(2, 97, key)
        turns = share.turns(pa.array([*names, None], pa.binary()), False).tolist()
        for name, turn in zip(names, turns, strict=False):
            said = bytes.fromhex(key) + hashlib.sha256(name).digest()
            assert turn == int.from_bytes(hashlib.sha256(said).digest()[:6], "big") % 97
        found += turns[:-1]
        for number, turn in zip(numbers, share.turns(pa.array(whole), True).tolist(), strict=True):
            size = 8 if -(2**63) <= number < 2**63 else 16
            said = bytes.fromhex(key) + number.to_bytes(size, "big", signed=True)
            assert turn == int.from_bytes(hashlib.sha256(said).digest()[:6], "big") % 97
        for period in range(-200, 200):
            counted = share.counts(np.array(turns), np.full(len(turns), period))
            assert counted.tolist() == [(period - turn) % 97 in (0, 1) for turn in turns]
    assert len(set(found)) > 30
    assert found[:40] != found[40:]


def test_stretches_are_put_together_only_where_they_touch() -> None:
    """The same moments, each in one stretch: against the set of them."""
    for ends in ([(0, 4), (4, 6), (7, 9)], [(0, 1), (2, 3), (3, 5)], [(1, 2)], []):
        found = runs(ends)
        assert {x for a, b in found for x in range(a, b)} == {
            x for a, b in ends for x in range(a, b)
        }
        assert all(stop < start for (_, stop), (start, _) in itertools.pairwise(found))
