"""Strips of a Young diagram: the cells that plain numpy counts, and rows that go on beyond."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from trueup._kernels.sorted import young_columns as kernel

from .rising_counts import FAMILIES, drawing


def cells_between(rising, left, right):
    """The cells of all rows between two columns, row by row."""
    return int((np.clip(rising, left, right) - left).sum())


def counted(rising, start, b, noise, batch, first=0):
    """A stretch of columns, given its noise in batches: edges, answers, and what it remembers."""
    edges, found = np.empty(2_001, np.int64), np.empty(2_000, np.int64)
    sums, state = np.zeros(2_001), np.zeros(7)
    edges[0] = first
    rows = len(rising) - start
    state[kernel.SEEN], state[kernel.RATE] = rows, rows
    strips, taken, finished = 0, 0, False
    while not finished and strips < 1_000:
        ahead = noise[taken : taken + batch]
        strips, used, finished = kernel.count_strips(
            rising, start, b, 0.0, float(first), ahead, edges, found, sums, strips, state
        )
        taken += used
    return edges[: strips + 1], found[:strips], sums[: strips + 1], state


@pytest.mark.parametrize("name", FAMILIES)
def test_a_strip_is_the_cells_between_its_columns_and_its_noise(name):
    rising = FAMILIES[name]
    left, passed = 0, 0
    for wide in (1, 2, 5, 40, 1_000, 10**6):
        found, passed = kernel._strip(rising, passed, left, left + wide, -7)
        assert found == cells_between(rising, left, left + wide) - 7
        assert passed == np.searchsorted(rising, left + wide, side="left")
        left += wide


@pytest.mark.parametrize("b", [0.5, 3.0, 40.0])
@pytest.mark.parametrize("name", FAMILIES)
def test_strips_follow_each_other_and_hold_their_cells_and_noise(name, b):
    rising = FAMILIES[name]
    start = len(rising) // 10
    noise = drawing(5, b)(2_000)
    edges, found, sums, state = counted(rising, start, b, noise, 512, int(rising[start]))
    assert (np.diff(edges) >= 1).all()
    wanted = [
        cells_between(rising[start:], left, right) for left, right in pairwise(edges.tolist())
    ]
    assert (found == np.array(wanted) + noise[: len(found)]).all()
    assert sums[1:] == pytest.approx(np.cumsum(found))
    assert 0 <= state[kernel.SEEN] <= len(rising) - start


@pytest.mark.parametrize("batch", [1, 7, 64])
@pytest.mark.parametrize("b", [2.0, 30.0, 200.0])
@pytest.mark.parametrize("name", ["geometric", "zipf", "staircase"])
def test_a_stretch_that_is_taken_up_again_goes_on_as_if_it_had_not_stopped(name, b, batch):
    rising, noise = FAMILIES[name], drawing(6, b)(2_000)
    at_once = counted(rising, 5, b, noise, 2_000)
    in_parts = counted(rising, 5, b, noise, batch)
    for one, other in zip(at_once, in_parts, strict=True):
        assert one.tolist() == other.tolist()


def test_columns_end_where_hardly_a_row_goes_on():
    rising = np.sort(np.random.default_rng(3).integers(0, 50, 1_000))
    edges, _, _, _ = counted(rising, 0, 1.0, np.zeros(2_000, np.int64), 512)
    assert 25 < edges[-1] <= 80
    wide = [kernel.stake(saved) for saved in (-5.0, 0.0, 100.0)]
    assert wide == [kernel.STAKE, kernel.STAKE, kernel.STAKE + 100 * kernel.REINVEST]


@pytest.mark.parametrize("going_on", [3, 40, 700])
def test_rows_that_go_on_are_the_mean_of_the_strips_that_agree(going_on):
    edges = np.concatenate([np.arange(0, 30, 3), np.arange(30, 90, 6)])
    rows = np.where(edges[:-1] < 45, going_on + 500, going_on)
    sums = np.concatenate([[0.0], np.cumsum(np.diff(edges) * rows)])
    found = kernel.rows_that_go_on(edges, sums, len(edges) - 1, 1.0)
    assert found == pytest.approx(going_on, abs=1e-9)
