"""Rows have the counts they are made from; joined margins are independent given what they share."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from trueup._kernels.rows import attach
from trueup._kernels.rows.attach import alone, attached, repeated_cells


def test_rows_repeat_cells_as_often_as_they_count() -> None:
    counts = np.random.default_rng(1).integers(0, 4, (3, 1, 5))
    cells = repeated_cells(counts)
    again = np.zeros_like(counts)
    np.add.at(again, tuple(cells), 1)
    assert (again == counts).all()


@pytest.mark.parametrize("bits", [0, 65])  # in one word, and by a permutation
def test_new_cells_are_dealt_to_the_rows_of_their_shared_cell_alone(
    bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attach, "_RANDOM_BITS", bits)
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 6, (7, 4))
    shared = rng.permutation(np.repeat(np.arange(7), counts.sum(axis=1)))
    new = attached(shared, counts, rng)
    again = np.zeros_like(counts)
    np.add.at(again, (shared, new), 1)
    assert (again == counts).all()


@pytest.mark.parametrize("bits", [0, 65])
def test_which_row_gets_which_cell_is_random(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attach, "_RANDOM_BITS", bits)
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
    assert alone(columns, [2] * 9) == true
    assert alone(columns, [1 << 20] * 9) == true  # numbered anew on the way
    assert alone([], []) == 0
