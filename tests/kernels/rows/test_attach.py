"""Rows have the counts they are made from; joined margins are independent given what they share."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from trueup._kernels.rows import attach
from trueup._kernels.rows.attach import alone, attached, narrowest, shuffled_cells


def test_rows_repeat_cells_as_often_as_they_count() -> None:
    counts = np.random.default_rng(1).integers(0, 4, (3, 1, 5))
    cells = shuffled_cells(counts, np.random.default_rng(2))
    again = np.zeros_like(counts)
    np.add.at(again, tuple(cells), 1)
    assert (again == counts).all()


def test_every_order_of_rows_is_as_likely() -> None:
    rng, seen = np.random.default_rng(5), Counter[str]()
    for _ in range(6_000):
        (cells,) = shuffled_cells(np.array([2, 0, 1, 1]), rng)
        seen["".join(map(str, cells))] += 1
    assert len(seen) == 12  # 4! / 2!
    assert max(abs(times - 500) for times in seen.values()) < 5 * np.sqrt(500)


def test_types_are_no_wider_than_cells_need() -> None:
    for size, kind in ((1, "u1"), (256, "u1"), (257, "u2"), (1 << 16, "u2"), (1 << 32, "u4")):
        assert narrowest(size) == np.dtype(kind)


@pytest.mark.parametrize("bits", [-1, 0, 65])  # group by group, in one word, by a permutation
def test_new_cells_are_dealt_to_the_rows_of_their_shared_cell_alone(
    bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attach, "_RANDOM_BITS", bits)
    monkeypatch.setattr(attach, "_FEW_GROUPS", 32 if bits < 0 else 0)
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 6, (7, 4))
    shared = rng.permutation(np.repeat(np.arange(7), counts.sum(axis=1)))
    new = attached(shared, counts, rng)
    again = np.zeros_like(counts)
    np.add.at(again, (shared, new), 1)
    assert (again == counts).all()


@pytest.mark.parametrize("bits", [-1, 0, 65])
def test_which_row_gets_which_cell_is_random(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attach, "_RANDOM_BITS", bits)
    monkeypatch.setattr(attach, "_FEW_GROUPS", 32 if bits < 0 else 0)
    # Two rows share a cell, one of each kind is dealt: either is the first in half of the deals.
    rng = np.random.default_rng(3)
    first = [attached(np.zeros(2, np.int64), np.array([[1, 1]]), rng)[0] for _ in range(4_000)]
    assert abs(np.mean(first) - 0.5) < 4 * 0.5 / np.sqrt(4_000)


def test_rows_that_stand_alone_are_counted_also_past_64_bits() -> None:
    rng = np.random.default_rng(4)
    columns = [rng.integers(0, 2, 300) for _ in range(9)]
    every = Counter(zip(*(column.tolist() for column in columns), strict=True))
    true = sum(times == 1 for times in every.values())
    assert 0 < true < 300
    assert alone(columns, [2] * 9) == true  # in a table
    assert alone(columns, [8] * 9) == true  # by sorting
    assert alone(columns, [1 << 20] * 9) == true  # numbered anew on the way
    assert alone([], []) == 0
