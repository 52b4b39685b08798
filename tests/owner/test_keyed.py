"""One contract for keys, every engine: the keys are Python's, and a unit moves no more than it may.

The laws of neighbours are those of `neighbour_machine.py`: with the choice of keys fixed, one unit
moves the counts by no more than its bound, whatever it holds.
"""

from __future__ import annotations

import datetime as dt
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trueup as tu
from trueup.owner import declared, keyed, texts

ENGINES = [
    "parquet", "csv", "jsonl", "arrow file", "duckdb relation", "duckdb file", "arrow", "pandas",
    "pandas arrow", "polars", "polars lazy", "postgresql", "spark",
]  # fmt: skip
CERTAIN = 1000  # an ε at which noise of scale 1/900 moves nothing, and 1 is the threshold
Put = Callable[[str, pa.Table], Any]

TEXTS = [
    None, "", "a", "ab", "ab", "Ab", "ab ", "é", "aé", "a" * 9, "a" * 5000, "::1", "0:0::1",
    "1.2.3.4", "::ffff:1.2.3.4", "fe80::1%x", "::g", "AB-12", "AB-1", "ab-12", "日本", "%", "'",
    "\\",
]  # fmt: skip
WHOLES = [None, 0, 0, 7, -7, 2**63 - 1, -(2**63), 2**53 + 1]
REALS = [None, float("nan"), float("inf"), -0.0, 0.0, 89.99, -90.0, 90.0, 12.5, 1e300]
KINDS = {
    "user": pa.string(),
    "word": pa.string(),
    "code": pa.int64(),
    "lat": pa.float64(),
    "lon": pa.float64(),
}
TYPES = {"user": "text", "code": "integer"}


def row(number: int, user: str | None) -> tuple[Any, ...]:
    """A row of odd values."""
    return (
        user,
        TEXTS[number % len(TEXTS)],
        WHOLES[number % len(WHOLES)],
        REALS[number % len(REALS)],
        REALS[(number // 3) % len(REALS)],
    )


def table_of(rows: list[tuple[Any, ...]]) -> pa.Table:
    made = zip(KINDS.items(), zip(*rows, strict=True), strict=True)
    return pa.table({name: pa.array(values, kind) for (name, kind), values in made})


ROWS = [row(number, None if number % 11 == 5 else f"u{number % 7}") for number in range(120)]
GRID = (
    tu.Axis.categories("word", ["a", "ab", "é", "日本", "", "'", "never"]),
    tu.Axis.integers("code", -7, 7),
    tu.Axis.regular("lat", -90, 90, bins=1000),
)
ASKED = {
    "cells": tu.KeyCounts(tu.Universe.cells(*GRID)),
    "bytes": tu.KeyCounts(tu.Universe.bytes(9), by="word"),
    "text": tu.KeyCounts(tu.Universe.text("a-zé", 9), by="word"),
    "pattern": tu.KeyCounts(tu.Universe.pattern("[A-Z]{2}-[0-9]{2}"), by="word"),
    "ipv6": tu.KeyCounts(tu.Universe.ipv6(), by="word"),
    "ipv4": tu.KeyCounts(tu.Universe.ipv4(), by="word"),
    "integers": tu.KeyCounts(tu.Universe.integers(), by="code"),
    "places": tu.KeyCounts(tu.Universe.places("1/2"), by=("lat", "lon")),
}


def expected(asked: tu.KeyCounts, rows: list[tuple[Any, ...]]) -> Counter[str]:
    """Each row's key by the universe's function of that row alone."""
    universe, found = asked.universe, Counter[str]()
    for _, word, code, lat, lon in rows:
        if universe.columns:  # each axis by itself, and the grid by hand
            values = {"word": word, "code": code, "lat": lat}
            cells = [axis.locate([values[axis.name]])[0] for axis in universe.space.axes]
            sizes = [axis.size for axis in universe.space.axes]
            key = None if min(cells) < 0 else int(np.ravel_multi_index(cells, sizes))
        elif universe.reads == ("text",):
            key = None if word is None else universe.read(word.replace("\\", "\\\\"))
            if universe.to_json()["kind"] == "ipv6" and word == "::ffff:1.2.3.4":
                key = universe.read("1.2.3.4")
        elif universe.reads == ("address",):
            key = None if word is None else universe.read(word)
        elif universe.reads == ("integer",):
            key = code
        else:
            ends = [np.array([np.nan if end is None else end]) for end in (lat, lon)]
            place, good = universe.place(*ends, known=np.ones(1, bool))
            key = int(place[0]) if good[0] else None
        if key is not None:
            found[universe.label(key)] += 1
    return found


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_finds_the_same_keys(
    engine: str, placed: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = placed(engine, table_of(ROWS))
    ledger = tu.Ledger(tmp_path / "rows", limit=10**9)
    columns = TYPES if here.raw else None
    owner = tu.Owner(here.source, ledger, **here.options, columns=columns)
    for name, asked in ASKED.items():
        measured = owner.keys.measure(asked, CERTAIN)
        wanted = expected(asked, ROWS)
        found = dict(zip(measured.labels, measured.noisy.tolist(), strict=True))
        assert found == dict(wanted), f"{engine}: {name}"
        assert measured.total == sum(wanted.values()) > 0
    some = owner.keys.measure(ASKED["integers"], CERTAIN, where="code > 0")
    assert set(some.labels) == {"7", str(2**63 - 1), str(2**53 + 1)}
    few = owner.keys.measure(ASKED["bytes"], CERTAIN, where="code > 7")
    kept = expected(ASKED["bytes"], [row for row in ROWS if row[2] is not None and row[2] > 7])
    assert dict(zip(few.labels, few.noisy.tolist(), strict=True)) == dict(kept)
    keys_of_periods_are_those_of_their_rows(engine, placed, tmp_path)
    # The choice of keys is the same on all tables.
    monkeypatch.setattr(declared.secrets, "token_hex", lambda size=16: "5eed" * (size // 2))
    units_keep_to_their_bound(engine, placed, tmp_path)


DAYS = [
    None,
    dt.datetime(2026, 3, 1),
    dt.datetime(2026, 3, 1, 23, 59, 59, 999_999),
    dt.datetime(2026, 3, 2),
    dt.datetime(2026, 3, 3, 12),
]


def keys_of_periods_are_those_of_their_rows(engine: str, placed: Put, tmp_path: Path) -> None:
    """Keys of a day, of two days, and of a unit's in each day: those of Python."""
    dates = [DAYS[number % len(DAYS)] for number in range(len(ROWS))]
    table = table_of(ROWS).append_column("day", pa.array(dates, pa.timestamp("us")))
    here = placed(engine, table)
    columns = {**TYPES, "day": "time"} if here.raw else None
    calendar = {"per": "day", "date": "day"}
    own = {**here.options, "columns": columns}
    ledger = tu.Ledger(tmp_path / "days", limit=10**9, **calendar)
    owner = tu.Owner(here.source, ledger, **own)
    for days in (("2026-03-01",), ("2026-03-01", "2026-03-03")):
        dated = [str(date)[:10] in days for date in dates]
        rows = [row for row, among in zip(ROWS, dated, strict=True) if among]
        for name in ("bytes", "integers", "places"):
            measured = owner.keys.measure(ASKED[name], CERTAIN, period=list(days))
            found = dict(zip(measured.labels, measured.noisy.tolist(), strict=True))
            assert found == dict(expected(ASKED[name], rows)), f"{engine}: {name} of {days}"
            assert measured.facts.period is not None
            assert measured.facts.period.names == days
    assert ledger.spent_in("2026-03-01") == 2 * ledger.spent_in("2026-03-03") == 6 * CERTAIN
    # A unit counts once in each key of each day.
    users = tu.Owner(
        here.source,
        tu.Ledger(tmp_path / "users", limit=10**9, **calendar),
        **own,
        unit="user",
        rows_per_unit=99,
    )
    for name in ("bytes", "integers"):
        asked = tu.KeyCounts(ASKED[name].universe, ASKED[name].by, keys_per_unit=99)
        measured = users.keys.measure(asked, 99 * CERTAIN, period=["2026-03-01", "2026-03-03"])
        alone = {(str(date)[:10], row) for date, row in zip(dates, ROWS, strict=True)}
        pairs = {
            (day, user, label)
            for day, (user, *rest) in alone
            if day in ("2026-03-01", "2026-03-03") and user is not None
            for label in expected(asked, [(user, *rest)])
        }
        wanted = Counter(label for _, _, label in pairs)
        found = dict(zip(measured.labels, measured.noisy.tolist(), strict=True))
        assert found == dict(wanted), f"{engine}: {name} of users"


def _counted(owner: tu.Owner, terms: Any) -> keyed.KeyTally:
    request = owner.table.keys_for(terms.question, terms.keys_per_unit, None, ())
    found: keyed.KeyTally = owner.prepare(request)()
    return found


def units_keep_to_their_bound(engine: str, placed: Put, tmp_path: Path) -> None:
    """A unit with many rows comes, or is replaced: with the choice fixed, little moves."""
    ledger = tu.Ledger(tmp_path / "units", limit=10**9)
    tables = [
        ROWS,
        [*ROWS, *(row(number, "new") for number in range(60))],
        [*ROWS, *(row(4, "new") for _ in range(40))],  # one key, many times
    ]
    owners = []
    for rows in tables:
        here = placed(engine, table_of(rows))
        columns = TYPES if here.raw else None
        options = {**here.options, "columns": columns}
        owners.append(tu.Owner(here.source, ledger, **options, unit="user", rows_per_unit=3))
    for once, names in (("once", ("bytes", "integers")), ("many", ("ipv6",))):
        for name in names:
            asked = tu.KeyCounts(
                ASKED[name].universe, ASKED[name].by, keys_per_unit=2, duplicates=once
            )
            terms = owners[0].keys.check(asked, tu.Cost.of(1))
            found = []
            for owner in owners:
                tally = _counted(owner, terms)
                keys = tally.keys.tolist() if asked.universe.whole else tally.keys.to_pylist()
                found.append(Counter(dict(zip(keys, tally.counts.tolist(), strict=True))))
            for first, second in ((0, 1), (0, 2), (1, 2)):
                moved = Counter(found[second])
                moved.subtract(found[first])
                sizes = [abs(by) for by in moved.values() if by]
                most = 2 if first == 0 else 4
                assert sum(sizes) <= most, f"{engine}: {name} {once}"
                assert once == "many" or max(sizes, default=0) <= 1
            assert found[0].total() <= 2 * 7  # of seven users two each; of nobody, none
            assert found[1].total() == found[0].total() + 2


def test_keys_of_a_unit_have_equal_chances(tmp_path: Path) -> None:
    """A unit's keys are chosen by chance, not by value, and not alike for all units."""
    rows = pa.table({"u": [f"u{n}" for n in range(400) for _ in range(4)], "k": [0, 1, 2, 3] * 400})
    ledger = tu.Ledger(tmp_path / "l", limit=1)
    owner = tu.Owner(rows, ledger, unit="u", rows_per_unit=1)
    terms = owner.keys.check(tu.KeyCounts(tu.Universe.integers(), by="k"), tu.Cost.of(1))
    counts = _counted(owner, terms).counts
    assert counts.sum() == 400
    assert len(counts) == 4
    assert abs(counts - 100).max() < 50  # five standard deviations of 8.7


@pytest.mark.parametrize("at_once", [1, 7, 10**6])
def test_numbers_are_tallied_however_they_come(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(at_once)
    monkeypatch.setattr(keyed, "_AT_ONCE", at_once)
    tally, seen = keyed.NumberTally(), Counter[int]()
    for size in (0, 5, 300, 1, 80):
        some = rng.integers(-40, 40, size) * 2**57
        tally.add(some)
        seen.update(some.tolist())
    found = tally.whole()
    assert dict(zip(found.keys.tolist(), found.counts.tolist(), strict=True)) == dict(seen)
    assert len(keyed.NumberTally().whole().keys) == 0


@pytest.mark.parametrize("at_once", [1, 10**6])
def test_numbers_of_several_threads_are_added_up(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyed, "_AT_ONCE", at_once)
    first, second = keyed.NumberTally(), keyed.NumberTally()
    first.add(np.array([5, 3, 5, -(2**63)]))
    second.add(np.array([3, 2**63 - 1, 4]))
    first.merge(second)
    first.merge(keyed.NumberTally())
    found = first.whole()
    assert found.keys.tolist() == [-(2**63), 3, 4, 5, 2**63 - 1]
    assert found.counts.tolist() == [1, 2, 1, 2, 1]


@pytest.mark.parametrize("name", ["text", "integers"])
def test_every_thread_counts_its_part(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of many pieces, each of them counted by a thread of its own: none is lost."""
    pa_table = pa.table({"word": ["a", "ab", "a"] * 40, "code": [1, 2, 2**40] * 40})
    pq.write_table(pa_table, tmp_path / "many.parquet", row_group_size=7)
    monkeypatch.setattr(texts, "worth_compiling", lambda *_: name == "text")
    waiting = threading.Barrier(3, timeout=20)

    def together(pieces: list[Any], work: Callable[[Any], None]) -> None:
        """As `each_batch`, in three threads that go on side by side."""
        assert len(pieces) >= 3

        def some(number: int) -> None:
            waiting.wait()
            for piece in pieces[number::3]:
                for batch in piece():
                    work(batch)

        threads = [threading.Thread(target=some, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    owner = tu.Owner(tmp_path / "many.parquet", tu.Ledger(tmp_path / "l", limit=10**9))
    monkeypatch.setattr(keyed, "each_batch", together)
    measured = owner.keys.measure(ASKED[name], CERTAIN)
    wanted = {"a": 80, "ab": 40} if name == "text" else {"1": 40, "2": 40, str(2**40): 40}
    assert dict(zip(measured.labels, measured.noisy.tolist(), strict=True)) == wanted
