"""Rows of a Young diagram: what is read of them, and that only what was read decides."""

from __future__ import annotations

import numpy as np
import pytest

from trueup._kernels.sorted import young_rows as kernel

from .rising_counts import FAMILIES, drawing


def read_up(rising, start, base, b, noise, batch, need=16, again=False, saved=0.0, found=None):
    found = np.zeros(len(rising) - start, np.int64) if found is None else found
    done, taken, finished = 0, 0, False
    while not finished:
        done, used, finished = kernel.read_rows_up(
            rising, start, base, b, need, again, saved, noise[taken : taken + batch], found, done
        )
        taken += used
        assert used or finished, "all noise is used"
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


def test_rows_evenly_apart_bring_columns_back_after_two_groups_and_unread_ones_say_nothing():
    rising, noise = np.arange(1_000) // 4 + 300, np.zeros(1_000, np.int64)
    unread = np.roll(np.arange(-500, 500) // 4 + 300, 500)  # goes on below the first row
    for found in (None, unread, np.full(1_000, -7), np.arange(1_000) * 3):
        assert len(read_up(rising, 0, 0, 4.0, noise, 1_000, again=True, found=found)) == 2 * 32


@pytest.mark.parametrize("again", [False, True])
def test_rows_evenly_but_far_apart_are_read_to_their_end(again):
    rising, noise = np.arange(1_000) * 10 + 50, np.zeros(1_000, np.int64)
    assert len(read_up(rising, 0, 0, 1.0, noise, 1_000, again=again)) == 1_000


@pytest.mark.parametrize("debt", [0, 1, 2])
def test_rows_that_do_not_rise_bring_columns_back_if_as_many_are_left(debt):
    """Twice 128 rows show it; twice as many for every corner that was not covered."""
    enough = 2 * kernel.FLAT * 2**debt
    for left in (kernel.FLAT, kernel.FLAT + 1, 5_000):
        rising = np.full(enough + left, 50)
        noise = np.zeros(len(rising), np.int64)
        owed = -debt * kernel.CORNER
        for unread in (0, 50):  # what stands where no row was read yet says nothing
            found = np.full(len(rising), unread)
            read = read_up(
                rising, 0, 0, 1.0, noise, len(rising), again=True, saved=owed, found=found
            )
            assert len(read) == (enough if left > kernel.FLAT else len(rising))


@pytest.mark.parametrize("b", [2.0, 8.0, 30.0])
def test_rows_do_not_rise_if_their_slope_is_within_three_deviations_of_its_noise(b):
    flat = kernel.FLAT
    deviation = np.sqrt(2 * 2 * b * b / flat) / flat
    for rise in (round(0.4 * b), round(0.6 * b), round(b), round(3 * b)):
        noise = np.where(np.arange(2_000) < flat, 0, rise)
        read = 2 * flat
        while (noise[read - flat : read].mean() - noise[read - 2 * flat : read - flat].mean()) > (
            3 * deviation * flat
        ):
            read += 16
        rising = np.full(2_000, 1_000)
        assert len(read_up(rising, 0, 0, b, noise, 2_000, again=True)) == read


def test_rows_close_by_noise_or_by_a_strip_bring_columns_at_once():
    noise = np.zeros(100, np.int64)
    by_strip = np.arange(1_000) // 5  # five end in each column, which is a strip
    assert len(read_up(by_strip, 0, 0, 1.0, noise, 100)) == 16
    by_noise = np.arange(100_000) * 10  # too many rows to stake a wide strip on
    assert len(read_up(by_noise, 0, 0, 100.0, noise, 100)) == 16


def test_rows_rise_in_a_step_if_two_neighbouring_eighths_hold_three_fifths_of_the_rise():
    rng = np.random.default_rng(4)
    seen = {True: 0, False: 0}
    for part in (2, 8, 32):
        for _ in range(60):
            rises = rng.integers(0, 12, 7) ** 2 + rng.integers(0, 2)
            pairs = rises[1:] + rises[:-1]
            largest = max(int(pairs.max()), int(rises[0]), int(rises[-1]))
            if rises.sum() * 6 == largest * 10:
                continue
            before = rng.integers(-50, 50, 5)
            levels = np.cumsum(np.concatenate([[1_000], rises]))
            found = np.concatenate([before, np.repeat(levels, part), np.full(9, -(10**6))])
            even = largest * 10 <= rises.sum() * 6
            assert kernel._evenly(found, 5 + 8 * part, 4 * part) == even
            seen[bool(even)] += 1
    assert min(seen.values()) > 20


def test_columns_pay_if_a_strip_of_the_width_that_is_due_sees_two_rows_end():
    for b in (0.5, 3.0, 100.0):
        for rows in (100, 100_000):
            for saved in (-50.0, 0.0, 500.0):
                for spacing in (0.02 * b, 0.1 * b, b, 10 * b):
                    due = 2.5 * b * (spacing / b) ** (1 / 3)
                    staked = b * np.sqrt((64 + 4 * max(saved, 0)) / rows)
                    strip = max(1.0, min(due, staked))
                    found = kernel._columns_pay(spacing, rows, b, saved)
                    assert found == (2 * spacing < strip)
