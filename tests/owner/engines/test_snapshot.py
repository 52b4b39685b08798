"""PostgreSQL in several passes: all rows count once, as the table was in the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup._kernels.tree import blocks
from trueup.errors import SourceError
from trueup.owner import folder, source
from trueup.owner.engines import snapshot
from trueup.owner.engines.postgres import open_table
from trueup.owner.request import Passes, Request
from trueup.scale import job

from .postgres_tables import Server, made, owned, run

CODES = [11, 12, 21, 22, 23]
LEVELS = {"ten": 1, "one": 2}
COLUMNS = "number int, real float8, day date, address text, label text, code int, who int"
ROWS = [
    f"{n % 23 - 1}, {n % 31} / 3.0, DATE '2026-01-01' + {n % 41}, '10.0.0.{n % 19}', "
    f"'{'abcde'[n % 5]}', {[*CODES, 99][n % 6]}, {n % 9}"
    for n in range(400)
]
AXES: dict[str, tuple[tu.Axis, ...]] = {
    "integers": (tu.Axis.integers("number", 0, 20),),
    "bins": (tu.Axis.regular("real", 0, 10, bins=30),),
    "edges": (tu.Axis.edges("real", [0, 1, 2.5, 7, 10]),),
    "days": (tu.Axis.dates("day", "2026-01-03", "2026-02-08"),),
    "weeks": (tu.Axis.dates("day", "2026-01-03", "2026-02-08", unit="week"),),
    "months": (tu.Axis.dates("day", "2025-12-01", "2026-03-01", unit="month"),),
    "addresses": (tu.Axis.ipv4("address", "10.0.0.0/28", 32),),
    "labels": (tu.Axis.categories("label", ["a", "b", "d"]),),
    "codes": (tu.Axis.codes("code", CODES, LEVELS),),
    "two": (tu.Axis.categories("label", ["a", "b", "d"]), tu.Axis.integers("number", 0, 20)),
    "other two": (tu.Axis.integers("number", 0, 20), tu.Axis.codes("code", CODES, LEVELS)),
}
SENT = dict.fromkeys(("integers", "bins", "edges", "addresses", "labels", "codes"), 1)
SENT |= {"days": 2, "two": 21, "other two": 6}


def asked(owner: tu.Owner, axes: tuple[tu.Axis, ...]) -> Request:
    """The request of all cells of some axes."""
    cells = [tu.CellCounts(axis) for axis in axes]
    question = cells[0] if len(cells) == 1 else tu.GridCounts(*cells)
    return owner.table.request_for(question, None, False, ())


def in_windows(request: Request, cuts: list[int]) -> list[Request]:
    ends = [0, *cuts, request.size]
    return [replace(request, window=each) for each in pairwise(ends)]


@pytest.mark.parametrize("rows_per_unit", [None, 3])
@pytest.mark.parametrize("name", AXES)
def test_all_passes_together_count_what_one_does(
    name: str,
    rows_per_unit: int | None,
    postgres: Server,
    ledger: tu.Ledger,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(snapshot, "BATCH", 4)
    table = made(postgres(), COLUMNS, ROWS)
    bound = {"unit": "who", "rows_per_unit": 3} if rows_per_unit else {}
    request = asked(owned(postgres(), table, ledger, **bound), AXES[name])
    whole = open_table(postgres(), table).prepare(request)()
    windows = in_windows(request, sorted({1, request.size // 2}))
    found = snapshot.passes(open_table(postgres(), table), windows)
    with found.held:
        each = [count() for count in found.counts]
    assert [len(counts) for counts in each] == [b - a for a, b in (w.window for w in windows)]
    assert np.concatenate(each).tolist() == whole.tolist()
    assert whole.sum() > 10


@pytest.mark.parametrize("name", SENT)
def test_the_server_sends_few_groups_outside_of_the_window(
    name: str, postgres: Server, ledger: tu.Ledger
) -> None:
    """Of the window of the second cell alone; of a table, the groups of one line at most."""
    import psycopg

    table = made(postgres(), COLUMNS, ROWS)
    request = asked(owned(postgres(), table, ledger), AXES[name])
    with psycopg.connect(postgres()) as connection:
        statement = open_table(postgres(), table).statement(replace(request, window=(1, 2)))
        sent = connection.execute(statement.encode()).fetchall()
    assert 1 <= len(sent) <= SENT[name]


def three_rows(postgres: Server, ledger: tu.Ledger) -> tuple[str, Passes]:
    """A table with the rows 0, 1 and 2, and a pass for each of these cells."""
    table = made(postgres(), "number int", ["0", "1", "2"])
    request = asked(owned(postgres(), table, ledger), (tu.Axis.integers("number", 0, 2),))
    return table, snapshot.passes(open_table(postgres(), table), in_windows(request, [1, 2]))


def test_a_row_that_moves_between_passes_counts_once(postgres: Server, ledger: tu.Ledger) -> None:
    table, found = three_rows(postgres, ledger)
    for change in ("number = 2 WHERE number = 0", "number = 0 WHERE number = 2"):
        run(postgres(), f"TRUNCATE {table}", f"INSERT INTO {table} VALUES (0), (1), (2)")
        with found.held:
            each = [found.counts[0]().tolist()]
            run(postgres(), f"UPDATE {table} SET {change}")
            each += [count().tolist() for count in found.counts[1:]]
        assert each == [[1], [1], [1]]
    with found.held:  # the next time, what is there then
        assert [count().tolist() for count in found.counts] == [[2], [1], [0]]


@pytest.mark.parametrize("change", ["TRUNCATE {}", "ALTER TABLE {} ALTER number TYPE bigint"])
def test_nobody_empties_or_rewrites_the_table_before_the_first_pass(
    change: str, postgres: Server, ledger: tu.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they leave behind looks empty to who saw the table before: they have to wait."""
    import psycopg

    table, found = three_rows(postgres, ledger)
    real = snapshot._counted

    def changed(*given: Any) -> Any:
        with pytest.raises(psycopg.errors.LockNotAvailable):
            run(postgres(), "SET lock_timeout = '50ms'", change.format(table))
        run(postgres(), f"INSERT INTO {table} VALUES (1)")  # others may write meanwhile
        return real(*given)

    monkeypatch.setattr(snapshot, "_counted", changed)
    with found.held:
        assert [count().tolist() for count in found.counts] == [[1], [1], [1]]


@pytest.mark.parametrize("kind", ["VIEW", "MATERIALIZED VIEW"])
def test_what_cannot_be_locked_is_counted_too(
    kind: str, postgres: Server, ledger: tu.Ledger
) -> None:
    table = made(postgres(), "number int", ["0", "1", "2"])
    run(postgres(), f"CREATE {kind} over_{table} AS SELECT * FROM {table}")
    owner = owned(postgres(), f"over_{table}", ledger)
    request = asked(owner, (tu.Axis.integers("number", 0, 2),))
    found = snapshot.passes(open_table(postgres(), f"over_{table}"), in_windows(request, [1]))
    with found.held:
        assert [count().tolist() for count in found.counts] == [[1], [1, 1]]


def cut(address: str) -> None:
    """Ends the connections of everybody else."""
    run(
        address,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'trueup'",
    )


def test_a_connection_that_is_lost_after_a_pass_ends_the_count(
    postgres: Server, ledger: tu.Ledger
) -> None:
    table, found = three_rows(postgres, ledger)
    with found.held:
        found.counts[0]()
        cut(postgres())
        with pytest.raises(Exception, match="terminat"):
            found.counts[1]()
        run(postgres(), f"INSERT INTO {table} VALUES (1)")
        for _ in range(2):
            with pytest.raises(SourceError, match="Ask the same again, at no further cost"):
                found.counts[1]()


def test_before_the_first_pass_is_done_another_connection_will_do(
    postgres: Server, ledger: tu.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, found = three_rows(postgres, ledger)
    real, lost = snapshot._counted, []

    def once(connection: Any, *rest: Any) -> Any:
        if not lost:
            lost.append(connection)
            cut(postgres())
        return real(connection, *rest)

    monkeypatch.setattr(snapshot, "_counted", once)
    with found.held:
        with pytest.raises(Exception, match="terminat"):
            found.counts[0]()
        assert [count().tolist() for count in found.counts] == [[1], [1], [1]]
    assert lost[0].closed


AXIS = tu.Axis.integers("number", 0, 9_999)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slabs and windows so small that a release of ten thousand cells takes two passes."""
    monkeypatch.setattr(blocks, "SPAN", 1 << 10)
    monkeypatch.setattr(job, "SLAB", 3_000)
    monkeypatch.setattr(folder, "WINDOW", 6_000)
    monkeypatch.setattr(source, "_PAUSES", ())


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Callable[[], None]], None]]:
    """Does something after the first pass, once."""
    todo: list[Callable[[], None]] = []
    real = snapshot.Snapshot.count

    def counted(self: snapshot.Snapshot, *rest: Any) -> Any:
        found = real(self, *rest)
        if todo:
            todo.pop()()
        return found

    monkeypatch.setattr(snapshot.Snapshot, "count", counted)
    yield todo.append
    assert not todo


def numbers(postgres: Server) -> tuple[str, np.ndarray]:
    found = np.random.default_rng(5).integers(0, 10_000, 3_000)
    return made(postgres(), "number int", [str(one) for one in found.tolist()]), found


@pytest.mark.usefixtures("small")
def test_a_release_in_a_folder_is_of_one_state_of_the_table(
    postgres: Server,
    ledger: tu.Ledger,
    tmp_path: Path,
    between: Callable[[Callable[[], None]], None],
) -> None:
    table, rows = numbers(postgres)
    between(lambda: run(postgres(), f"UPDATE {table} SET number = 9999 - number"))
    release = owned(postgres(), table, ledger).publish(AXIS, 1000, to=tmp_path / "out")
    assert release.counts().tolist() == np.bincount(rows, minlength=10_000).tolist()
    assert ledger.spent == 1000


@pytest.mark.usefixtures("small")
def test_a_release_goes_on_after_a_lost_connection_if_the_rows_are_the_same(
    postgres: Server,
    ledger: tu.Ledger,
    tmp_path: Path,
    between: Callable[[Callable[[], None]], None],
) -> None:
    table, rows = numbers(postgres)
    owner, asked = owned(postgres(), table, ledger), {"key": "one", "to": tmp_path / "out"}
    between(lambda: cut(postgres()))
    with pytest.raises(SourceError, match="'one', at no further cost"):
        owner.publish(AXIS, 1000, **asked)
    assert ledger.spent == 1000
    run(postgres(), f"UPDATE {table} SET number = 9999 - number")
    with pytest.raises(tu.InputError, match="not those that this release was begun with"):
        owner.publish(AXIS, 1000, **asked)
    run(postgres(), f"UPDATE {table} SET number = 9999 - number")
    release = owner.publish(AXIS, 1000, **asked)
    assert release.counts().tolist() == np.bincount(rows, minlength=10_000).tolist()
    assert ledger.spent == 1000
