"""Rows of a unit: filtered first, then bounded; and what a key has paid for names all of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import trueup as tu
from trueup.errors import InputError, LedgerError
from trueup.owner import where as filters
from trueup.owner.source import open_source

HOUR = tu.Axis.integers("hour", 0, 3)
ROWS = {
    "user": [1] * 12 + [2] * 2,
    "hour": [0] * 5 + [99] * 5 + [1, 2, 1, 2],
    "kept": [0] * 10 + [1, 1, 1, 1],
}


@pytest.fixture
def ledger(tmp_path: Path) -> tu.Ledger:
    return tu.Ledger(tmp_path / "ledger", limit=10)


def counted(owner: tu.Owner, question: Any, where: str | None, number: bool = False) -> list[int]:
    """The true counts, as many times as a choice might differ."""
    part = None if where is None else filters.parse(where)
    found = {tuple(owner.prepared(question, part, number)().tolist()) for _ in range(12)}
    assert len(found) == 1
    return list(found.pop())


def pandas(rows: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(rows)


@pytest.mark.parametrize("frame", [pa.table, pandas])
def test_rows_are_filtered_and_off_the_axis_before_they_are_bounded(
    frame: Callable[[Any], Any], ledger: tu.Ledger
) -> None:
    owner = tu.Owner(frame(ROWS), ledger, unit="user", rows_per_unit=2)
    assert counted(owner, tu.CellCounts(HOUR), "kept = 1") == [0, 2, 2, 0]
    off = tu.Axis.integers("hour", 1, 2)
    assert counted(owner, tu.CellCounts(off), None) == [2, 2]
    groups = counted(owner, tu.SortedCounts(9, by="hour"), "kept = 1")
    assert sorted(groups) == [2, 2]


def test_a_unit_brings_no_more_groups_than_its_rows_count(ledger: tu.Ledger) -> None:
    """A person with many rows moves the number of groups by her bound, at most."""
    rows = {"user": [1] * 50 + [2], "hour": [*range(100, 150), 0]}
    owner = tu.Owner(pa.table(rows), ledger, unit="user", rows_per_unit=3)
    question = tu.CellCounts(tu.Axis.categories("hour", ["groups"]))
    found = {int(owner.prepared(question, None, True)()[0]) for _ in range(10)}
    assert found <= {3, 4}


@pytest.mark.parametrize("shared", [True, False])
def test_measurements_that_share_a_connection_take_turns(
    ledger: tu.Ledger, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once, most, watch = 0, 0, threading.Lock()
    source = open_source(pa.table(ROWS))

    def prepare(request: Any) -> Any:
        def watched() -> Any:
            nonlocal at_once, most
            with watch:
                at_once += 1
                most = max(most, at_once)
            time.sleep(0.1)
            with watch:
                at_once -= 1
            return np.zeros(4, np.int64)

        return watched

    seen = replace(source, prepare=prepare, shared=shared)
    monkeypatch.setattr("trueup.owner.owner.open_source", lambda *given: seen)
    owner = tu.Owner(pa.table(ROWS), ledger)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: owner.measure(tu.CellCounts(HOUR), "1/100"), range(4)))
    assert (most == 1) is shared


REQUESTS: dict[str, Callable[[Path, tu.Ledger], Any]] = {
    "the question": lambda f, ledger: _owner(ledger).measure(
        tu.CellCounts(tu.Axis.integers("hour", 0, 2)), "1/10", "key"
    ),
    "epsilon": lambda f, ledger: _owner(ledger).measure(tu.CellCounts(HOUR), "1/5", "key"),
    "the filter": lambda f, ledger: _owner(ledger).measure(
        tu.CellCounts(HOUR), "1/10", "key", where="kept = 1"
    ),
    "on whose behalf": lambda f, ledger: _owner(ledger).measure(
        tu.CellCounts(HOUR), "1/10", "key", by="ana"
    ),
    "rows per unit": lambda f, ledger: _owner(ledger, rows_per_unit=3).measure(
        tu.CellCounts(HOUR), "1/10", "key"
    ),
    "the number of groups": lambda f, ledger: _owner(ledger).count_groups("hour", "1/10", "key"),
    "the source": lambda f, ledger: _file(f, ledger).measure(tu.CellCounts(HOUR), "1/10", "key"),
}


def _owner(ledger: tu.Ledger, rows_per_unit: int = 2) -> tu.Owner:
    return tu.Owner(pa.table(ROWS), ledger, unit="user", rows_per_unit=rows_per_unit)


def _file(folder: Path, ledger: tu.Ledger) -> tu.Owner:
    import pyarrow.parquet as pq

    pq.write_table(pa.table(ROWS), folder / "other.parquet")
    return tu.Owner(folder / "other.parquet", ledger, unit="user", rows_per_unit=2)


@pytest.mark.parametrize("other", REQUESTS)
def test_a_key_has_paid_for_one_request_in_all_its_parts(
    other: str, ledger: tu.Ledger, tmp_path: Path
) -> None:
    first = _owner(ledger).measure(tu.CellCounts(HOUR), "1/10", "key")
    spent = ledger.spent
    with pytest.raises((InputError, LedgerError)):
        REQUESTS[other](tmp_path, ledger)
    assert ledger.spent == spent
    again = _owner(ledger).measure(tu.CellCounts(HOUR), "1/10", "key")
    assert np.array_equal(again.noisy, first.noisy)
