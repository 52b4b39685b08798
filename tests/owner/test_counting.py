"""Counting in this process: every value in the cell that numpy puts it into, in any batches."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueup as tu
from trueup.errors import InputError
from trueup.owner import counting
from trueup.owner import where as filters

EXAMPLES = [
    (0, 128, 1024),
    (0, 10, 64),
    (0, 1, 10),
    (-5, 5, 77),
    (0, 24, 1440),
    (1e15, 1e15 + 64, 64),
    (0, 1, 100_000),
]


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> tu.Ledger:
    folder: Path = tmp_path_factory.mktemp("ledger")
    return tu.Ledger(folder / "ledger", limit=1000)


def check_beside_edges(axis: tu.Axis, polars: bool, ledger: tu.Ledger) -> None:
    """Every edge and its two neighbours among the floats fall as numpy's search has them."""
    import polars as pl

    edges = axis.cells.edges_at(np.arange(axis.size + 1))
    x = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])
    table = pa.table({"x": x})
    owner = tu.Owner(pl.from_arrow(table) if polars else table, ledger)
    counted = owner.prepared(tu.CellCounts(axis), None, False)()
    inside = x[(x >= edges[0]) & (x < edges[-1])]
    expected = np.bincount(np.searchsorted(edges, inside, side="right") - 1, minlength=axis.size)
    assert counted.tolist() == expected.tolist()


@pytest.mark.parametrize("polars", [False, True])
@pytest.mark.parametrize(("low", "high", "bins"), EXAMPLES)
def test_counts_are_exact_beside_every_edge(
    low: float, high: float, bins: int, polars: bool, ledger: tu.Ledger
) -> None:
    check_beside_edges(tu.Axis.regular("x", low, high, bins), polars, ledger)


@given(
    low=st.one_of(st.integers(-1000, 1000), st.floats(-1e6, 1e6)),
    width=st.one_of(st.integers(1, 1000), st.floats(1e-3, 1e6)),
    bins=st.integers(1, 300),
    polars=st.booleans(),
)
def test_values_beside_an_edge_fall_as_numpy_has_them(
    low: float, width: float, bins: int, polars: bool, ledger: tu.Ledger
) -> None:
    check_beside_edges(tu.Axis.regular("x", low, low + width, bins), polars, ledger)


def test_any_batches_in_any_number_of_threads_give_the_same_counts(
    ledger: tu.Ledger, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rng = np.random.default_rng(3)
    fares = rng.uniform(-2, 102, 100_000)
    table = pa.table(
        {"fare": fares, "user": rng.integers(0, 900, 100_000), "to": rng.integers(0, 90, 100_000)}
    )
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=30_000)
    axis = tu.Axis.regular("fare", 0, 100, bins=50)
    expected = np.histogram(fares[fares < 100], axis.cells.edges_at(np.arange(51)))[0].tolist()
    monkeypatch.setattr("trueup.owner.declared.secrets.token_hex", lambda size: "ab" * size)
    asked = [
        (tu.CellCounts(axis), {}),
        (tu.CellCounts(axis), {"unit": "user", "rows_per_unit": 7}),
        (tu.SortedCounts(1000, by="user"), {}),
        (tu.SortedCounts(1000, by="user"), {"unit": "to", "rows_per_unit": 50}),
        (tu.SortedCounts(1000, ends=2), {"edges": ("user", "to")}),
    ]
    seen: list[list[list[int]]] = []
    for batch in (1 << 12, 1 << 14, (1 << 14) - 1, 1 << 16):
        monkeypatch.setattr(counting, "BATCH", batch)
        monkeypatch.setattr("trueup.owner.readers.parquet.BATCH", batch)
        for threads in (1, 5):
            monkeypatch.setattr("os.cpu_count", lambda threads=threads: threads)
            found = []
            for question, options in asked:
                owner = tu.Owner(tmp_path / "t.parquet", ledger, **options)
                found.append(np.sort(owner.prepared(question, None, False)()).tolist())
            seen.append(found)
    assert seen == [seen[0]] * len(seen)
    assert seen[0][0] == sorted(expected)
    assert sum(seen[0][1]) == np.minimum(np.bincount(table["user"], fares_on(fares)), 7).sum()


def fares_on(fares: np.ndarray) -> np.ndarray:
    return ((fares >= 0) & (fares < 100)).astype(np.int64)


def test_a_count_that_fails_is_tried_again_under_its_charge(
    ledger: tu.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"x": [1, 2, 2]})
    owner = tu.Owner(table, ledger)
    failures, read = [OSError("disk"), OSError("disk")], counting.arrow_batches
    monkeypatch.setattr("trueup.owner.source._PAUSES", (0.0, 0.0))

    def shaky(batches: Iterable[Any]) -> Iterator[counting.Batch]:
        if failures:
            raise failures.pop()
        return read(batches)

    monkeypatch.setattr("trueup.owner.readers.arrow.arrow_batches", shaky)
    before = ledger.spent
    answer = owner.measure(tu.CellCounts(tu.Axis.integers("x", 1, 2)), "1/2")
    assert len(answer.noisy) == 2
    assert ledger.spent - before == Fraction(1, 2)
    assert not failures


@pytest.mark.parametrize("size", [2**54, 2**61, 2**70])
def test_more_cells_than_there_is_room_for_are_refused_when_a_count_is_prepared(size: int) -> None:
    with pytest.raises(InputError, match=f"no room in memory for {size:,} cells"):
        counting._check_room(size)
    counting._check_room(1000)


def test_a_column_is_read_as_each_count_of_one_pass_needs_it(tmp_path: Path) -> None:
    """As whole numbers, as numbers, as names and in a filter, in every order: each as if alone."""
    values = [0.0, 0.5, 1.0, 2.0, 2.7, 3.0, 3.0, math.nan, math.inf, None, -1.0, 9.5]
    owner = tu.Owner(pa.table({"x": pa.array(values)}), tu.Ledger(tmp_path / "l", limit=1))
    known = [x for x in values if x is not None]
    whole, part = tu.CellCounts(tu.Axis.integers("x", 0, 3)), filters.parse("x > 0.7")
    asked = [
        (whole, None, [sum(x == k for x in known) for k in range(4)]),
        (tu.CellCounts(tu.Axis.regular("x", 0, 10, 2)), None, [7, 1]),
        (whole, part, [0, 1, 1, 2]),
        (tu.CellCounts(tu.Axis.regular("x", 0, 10, 2)), part, [5, 1]),
    ]
    for some in itertools.permutations(asked):
        requests = [owner.table.request_for(question, where, False) for question, where, _ in some]
        found = owner.prepare_all(requests)()
        assert [each.tolist() for each in found] == [wanted for *_, wanted in some]


@pytest.mark.parametrize("names", [[1, 1, None, None, 2], ["u", "u", None, None, "v"]])
def test_rows_of_nobody_make_no_group_larger(ledger: tu.Ledger, names: list[Any]) -> None:
    table = pa.table({"user": names, "group": ["a", "a", "a", "b", "b"]})
    owner = tu.Owner(table, ledger, unit="user", rows_per_unit=9)
    sizes = owner.prepared(tu.SortedCounts(2, by="group"), None)()
    assert sorted(sizes.tolist()) == [1, 2]


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("broken", range(3))
def test_a_part_that_cannot_be_read_is_no_part_without_rows(
    threads: int, broken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the rest would be counted, and taken for all."""
    monkeypatch.setattr(counting.os, "cpu_count", lambda: threads)

    def read(place: int) -> Iterator[counting.Batch]:
        yield counting.Batch(1, {})
        if place == broken:
            raise OSError("gone")

    seen: list[int] = []
    pieces = [lambda place=place: read(place) for place in range(3)]
    with pytest.raises(OSError, match="gone"):
        counting.each_batch(pieces, lambda batch: seen.append(batch.rows))
    assert len(seen) == (broken + 1 if threads == 1 else 3)


@pytest.mark.parametrize("tally", ["CellTally", "Tally"])
def test_no_two_threads_add_to_one_tally_at_a_time(
    tally: str, ledger: tu.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the rows of one of them could be lost."""
    usual = getattr(counting, tally)
    monkeypatch.setattr(counting.os, "cpu_count", lambda: 4)

    class Watched(usual):  # type: ignore[misc,valid-type]
        busy = False

        def add(self, some: Any) -> None:
            assert not self.busy
            self.busy = True
            time.sleep(0.002)
            super().add(some)
            self.busy = False

    monkeypatch.setattr(counting, tally, Watched)
    unit = {"unit": "user", "rows_per_unit": 9} if tally == "Tally" else {}
    columns = {"user": pa.array([1, 2, 3]), "x": pa.array([0, 1, 1])}
    question = tu.CellCounts(tu.Axis.integers("x", 0, 1))
    owner = tu.Owner(pa.table(columns), ledger, **unit)
    request = owner.table.request_for(question, None, False)
    pieces = [lambda: iter([counting.Batch(3, columns)] * 2) for _ in range(4)]
    assert counting.prepared(pieces, request)().tolist() == [8, 16]


@pytest.mark.parametrize("batch", [7, 1 << 16])
@pytest.mark.parametrize("unit", [{}, {"unit": "user", "rows_per_unit": 1}])
def test_counts_of_any_periods_in_one_pass_are_those_of_their_rows(
    tmp_path: Path, unit: dict[str, Any], batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the same periods, of others, of some that they share: against a loop over the rows.

    Each person has one value, so that it does not matter which of their rows of a day counts.
    """
    monkeypatch.setattr(counting, "BATCH", batch)
    chance = np.random.default_rng(8)
    rows = [(int(user), int(day)) for user, day in chance.integers(0, [9, 4], (150, 2))]
    table = pa.table(
        {
            "user": [user for user, _ in rows],
            "x": [user % 4 for user, _ in rows],
            "at": pa.array(
                [np.datetime64("2026-03-01T12:00:00") + 86_400 * day for _, day in rows]
            ),
        }
    )
    ledger = tu.Ledger(tmp_path / "l", limit=1, per="day", date="at")
    owner = tu.Owner(table, ledger, **unit)
    assert owner.calendar is not None
    days = owner.calendar.between("2026-03-01", "2026-03-03")
    question = tu.CellCounts(tu.Axis.integers("x", 0, 3))
    some = [each for n in (1, 2, 3) for each in itertools.combinations(range(3), n)]
    counted = set(rows) if unit else rows
    for asked in itertools.product(some, repeat=2):
        requests = [
            owner.table.request_for(question, None, False, tuple(days[day] for day in each))
            for each in asked
        ]
        for each, found in zip(asked, owner.prepare_all(requests)(), strict=True):
            cells = [user % 4 for user, day in counted if day in each]
            assert found.tolist() == np.bincount(cells, minlength=4).tolist()


def test_groups_may_be_filtered_by_the_column_that_names_them(ledger: tu.Ledger) -> None:
    """One column in two forms in one pass: as a name, and as what the filter compares."""
    for names, where in (([1, 2, 2, 3, 3, 3, None], "x >= 2"), (list("abbccc"), "x != 'a'")):
        owner = tu.Owner(pa.table({"x": names}), ledger)
        question = tu.SortedCounts(3, by="x")
        request = owner.table.request_for(question, filters.parse(where), False)
        (sizes,) = owner.prepare_all([request])()
        assert sorted(size for size in sizes.tolist() if size) == [2, 3]


@pytest.mark.parametrize("people", [7, 3000])
@pytest.mark.parametrize(
    ("axis", "inside", "outside"),
    [
        (tu.Axis.integers("x", 0, 3), 2, [-1, 4, 5, 10**6, -(2**63), 2**63 - 1, None]),
        (tu.Axis.regular("x", 0, 4, 4), 2.5, [-0.5, 4.0, 4.5, 1e300, -math.inf, math.nan, None]),
        (tu.Axis.categories("x", list("abcd")), "c", ["e", "", "cc", "C", None]),
        (tu.Axis.categories("x", [5, 7, 11, 13]), 11, [4, 6, 14, 2**62, None]),
    ],
)
def test_rows_in_no_cell_take_nobodys_place_and_nobody_has_none(
    axis: tu.Axis, inside: Any, outside: list[Any], people: int, ledger: tu.Ledger
) -> None:
    """Of each one row counts: the one inside, however many there are outside."""
    values = [*outside, inside, *outside]
    users = [user for user in range(people) for _ in values]
    rows = {"user": [*users, *[None] * people], "x": values * people + [inside] * people}
    owner = tu.Owner(pa.table(rows), ledger, unit="user", rows_per_unit=1)
    assert owner.prepared(tu.CellCounts(axis), None)().tolist() == [0, 0, people, 0]


def test_the_least_and_the_greatest_whole_numbers_are_labels(ledger: tu.Ledger) -> None:
    ends = [-(2**63), 0, 2**63 - 1, 2**63, -(2**63) - 1]
    table = pa.table({"x": pa.array([*ends[:3], *ends[:2], -1])})
    question = tu.CellCounts(tu.Axis.categories("x", ends))
    assert tu.Owner(table, ledger).prepared(question, None)().tolist() == [2, 2, 1, 0, 0]
