"""Rows of a Young diagram: what is read of them, and that only what was read decides."""

from __future__ import annotations

import numpy as np
import pytest

from trueup._kernels.sorted import young_rows as kernel

from .rising_counts import FAMILIES, drawing


def read_up(rising, start, base, b, noise, batch, need=16, again=False, saved=0.0):
    found, done, taken, finished = np.zeros(len(rising) - start, np.int64), 0, 0, False
    while not finished:
        done, used, finished = kernel.read_rows_up(
            rising, start, base, b, need, again, saved, noise[taken : taken + batch], found, done
        )
        taken += used
    return found[:done]


def read_down(rising, first, lowest, base, b, noise, batch):
    found, done, taken, finished = np.zeros(first - lowest, np.int64), 0, 0, False
    while not finished:
        done, used, finished = kernel.read_rows_down(
            rising, first, lowest, base, b, noise[taken : taken + batch], found, done
        )
        taken += used
    return found[:done]


@pytest.mark.parametrize("batch", [1, 13, 2_000])
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_rows_read_upwards_are_their_cells_right_of_the_base_and_noise(name, again, batch):
    rising = FAMILIES[name]
    start, base, b = 100, int(rising[150]), 4.0
    noise = drawing(1, b)(len(rising))
    found = read_up(rising, start, base, b, noise, batch, again=again)
    cells = np.maximum(rising[start : start + len(found)] - base, 0)
    assert (found == cells + noise[: len(found)]).all()
    assert len(found) >= 16


@pytest.mark.parametrize("batch", [1, 13, 2_000])
@pytest.mark.parametrize("name", FAMILIES)
def test_rows_read_downwards_end_with_a_group_that_looks_empty_or_with_the_lowest(name, batch):
    rising = FAMILIES[name]
    base, b = int(rising[900]), 4.0
    noise = drawing(2, b)(len(rising))
    found = read_down(rising, 1_000, 300, base, b, noise, batch)
    cells = np.maximum(rising[1_000 - len(found) : 1_000] - base, 0)[::-1]
    assert (found == cells + noise[: len(found)]).all()
    means = np.convolve(found, np.ones(kernel.GROUP), "valid") / kernel.GROUP
    if len(found) < 700:
        assert means[-1] < 1.5 * b
    assert (means[:-1] >= 1.5 * b).all()


def test_few_rows_and_rows_far_apart_are_read_to_their_end():
    noise = np.zeros(2_000, np.int64)
    for rising in (np.full(kernel.FEW_ROWS, 5), np.arange(1_000) * 1_000):
        assert len(read_up(rising, 0, 0, 1.0, noise, 2_000)) == len(rising)


def test_rows_that_lie_close_bring_columns_at_once_and_again_only_when_it_is_paid_for():
    rising, noise = np.arange(2_000) // 10 + 50, np.zeros(4_000, np.int64)
    assert len(read_up(rising, 0, 0, 1.0, noise, 4_000)) == 16
    paid = read_up(rising, 0, 0, 1.0, noise, 4_000, again=True, saved=kernel.CORNER)
    owed = read_up(rising, 0, 0, 1.0, noise, 4_000, again=True, saved=-kernel.CORNER)
    assert len(paid) == 16 < len(owed) < len(rising)


def test_spacing_is_the_slope_of_rows_that_rise_evenly():
    found = 7 + 3 * np.arange(40)
    for group in (4, 8, 20):
        assert kernel.spacing_of(found, 40, group) == pytest.approx(3)
    assert kernel._evenly(found, 40, 8)
    step = np.repeat([0, 100], 20)
    assert not kernel._evenly(step, 40, 20)
