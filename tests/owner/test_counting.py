"""Counting in this process: every value in the cell that numpy puts it into, in any batches."""

from __future__ import annotations

import itertools
import math
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
    monkeypatch.setattr("trueup.owner.owner.secrets.token_hex", lambda size: "ab" * size)
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


def test_the_least_and_the_greatest_whole_numbers_are_labels(ledger: tu.Ledger) -> None:
    ends = [-(2**63), 0, 2**63 - 1, 2**63, -(2**63) - 1]
    table = pa.table({"x": pa.array([*ends[:3], *ends[:2], -1])})
    question = tu.CellCounts(tu.Axis.categories("x", ends))
    assert tu.Owner(table, ledger).prepared(question, None)().tolist() == [2, 2, 1, 0, 0]
