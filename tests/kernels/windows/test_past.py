"""The weights of windows over the past: against their definition, written out."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from trueup._kernels.windows import past
from trueup._kernels.windows.past import GROWTH, LONGEST_COLUMN, OWN, block_starts, past_block

LENGTHS = [1, 2, 3, 8, 33, 100]


def written_out(block):
    """Every weight as a whole number, from f and s alone."""
    f, s = block.by_age.tolist(), block.by_cell.tolist()
    cells = range(block.length)
    return np.array([[f[i - j] * s[j] if j <= i else 0 for j in cells] for i in cells], object)


@pytest.mark.parametrize("length", LENGTHS)
def test_no_column_is_longer_than_said_and_none_much_shorter(length):
    block = past_block(length)
    squares = (written_out(block) ** 2).sum(axis=0)
    assert max(squares) <= LONGEST_COLUMN**2
    assert min(squares) > LONGEST_COLUMN**2 * (1 - 2 / block.by_cell.min())
    exact = [Fraction(math.comb(2 * m, m), 4**m) * OWN for m in range(length)]
    each = zip(block.by_age.tolist(), exact, strict=True)
    assert all(abs(weight - e) <= Fraction(1, 2) for weight, e in each)


@pytest.mark.parametrize("length", LENGTHS)
def test_answers_are_the_weights_times_the_counts_modulo_2_64(length):
    block, rows = past_block(length), written_out(past_block(length))
    for most in (10, 1 << 60):
        counts = np.random.default_rng(length).integers(-most, most, (length, 3))
        exact = rows.dot(counts.astype(object))
        wrapped = [[(int(x) + (1 << 63)) % (1 << 64) - (1 << 63) for x in row] for row in exact]
        for cell in range(3):
            assert block.answers(counts[:, cell]).tolist() == [row[cell] for row in wrapped]
        for n in range(1, length + 1):  # as a stream has them, one after the other
            assert block.answer(counts[:n]).tolist() == wrapped[n - 1]


@pytest.mark.parametrize("length", LENGTHS)
def test_cells_are_read_back_and_their_errors_are_those_of_the_inverse(length):
    block = past_block(length)
    rows = written_out(block).astype(np.float64)
    inverse = np.linalg.inv(rows)
    counts = np.random.default_rng(1).integers(0, 1000, length)
    assert block.cells(rows @ counts) == pytest.approx(counts, abs=1e-6)
    cut = length // 2 + 1  # a block that was cut short
    assert block.cells((rows @ counts)[:cut]) == pytest.approx(counts[:cut], abs=1e-6)
    values = np.random.default_rng(2).normal(size=(2, length))
    assert block.coefficients(values) == pytest.approx(values @ inverse, rel=1e-6, abs=1e-12)
    totals = np.square(np.cumsum(inverse, axis=0)).sum(axis=1)
    every = np.arange(1, length + 1)
    assert block.total_variances(every) == pytest.approx(totals)


def test_totals_one_by_one_have_the_variance_of_totals_all_at_once(monkeypatch):
    block, some = past_block(900), np.array([1, 2, 500, 899, 900, 450])
    one_by_one = block.total_variances(some)
    monkeypatch.setattr(past, "_ONE_BY_ONE", 1)
    assert block.total_variances(some) == pytest.approx(one_by_one)
    assert block.total_variances(np.zeros(0, np.int64)).tolist() == []


@pytest.mark.parametrize(("steps", "goal"), [(365, 7.15), (1024, 9.0), (4096, 11.8)])
def test_the_mean_error_is_near_the_least_possible(steps, goal):
    """Toeplitz roots have 7.74, 9.67 and 12.61; no linear question less than 11.49 at 4,096."""
    mean = past_block(steps).total_variances(np.arange(1, steps + 1)).mean() * LONGEST_COLUMN**2
    assert mean < goal
    if steps == 4096:
        assert mean > 11.49


def test_blocks_grow_and_the_last_is_cut_short():
    assert block_starts(5, 9, 100) == [(0, 9)]
    assert block_starts(10, 9, 100) == [(0, 9), (9, 100)]
    assert block_starts(400, 3, 1000) == [(0, 3), (3, 3 * GROWTH), (99, 1000)]
    assert block_starts(30, 9, 4) == [(0, 9), (9, 9), (18, 9), (27, 9)]
