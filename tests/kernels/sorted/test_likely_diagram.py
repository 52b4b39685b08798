"""Means of rows by strips and rows together: what noise leaves sure, and nearer to the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from trueup._kernels.sorted import likely_diagram as kernel
from trueup._kernels.sorted.likely_diagram import RowsAfter, Strips

from .rising_counts import drawing

GROUPS = 400


def diagram(seed, b, edges, read=40, first=0):
    """Rising counts, noisy strips of all of them, noisy rows of the largest, and their fits."""
    rng = np.random.default_rng(seed)
    rising = np.sort(rng.geometric(0.05, GROUPS))
    noise = drawing(seed, b)
    held = np.diff([np.minimum(rising[first:], edge).sum() for edge in edges]) / np.diff(edges)
    cells = np.rint(held * np.diff(edges)).astype(np.int64) + noise(len(held))
    weights = np.diff(edges).astype(float) ** 2
    fall = isotonic_regression(cells / np.diff(edges), weights=weights, increasing=False).x
    start = GROUPS - read
    noisy = np.maximum(rising[start:] - edges[-1], 0) + noise(read)
    fitted = np.maximum(isotonic_regression(noisy).x, 0)
    own = start + int(np.count_nonzero(fitted < b))
    strips = Strips(first, edges, cells, np.clip(fall, GROUPS - own, GROUPS - first))
    return rising, strips, RowsAfter(start, own, noisy, fitted)


def by_fit(strips, rows):
    """Where each row ends by the fitted numbers of rows alone: whole strips."""
    ends = np.zeros(GROUPS)
    for left, right, held in zip(strips.edges[:-1], strips.edges[1:], strips.held, strict=True):
        ends[GROUPS - round(held) :] += right - left
    ends[rows.start :] += rows.rising
    return ends


def test_where_noise_is_next_to_nothing_rows_end_where_they_end():
    edges = np.arange(61)
    rising, strips, rows = diagram(1, 0.05, edges)
    fitted = by_fit(strips, rows)
    given = kernel.likely_ends(strips, rows, GROUPS, 0.05, fitted)
    assert given is not None
    np.testing.assert_allclose(fitted[: rows.own], rising[: rows.own], atol=0.05)
    np.testing.assert_allclose(given, rising[rows.start :], atol=0.05)


@pytest.mark.parametrize("b", [1.0, 3.0])
def test_means_rise_and_are_nearer_to_the_truth_than_fits(b):
    edges = np.concatenate([np.arange(0, 20), np.arange(20, 61, 4)])
    ours = theirs = 0.0
    for seed in range(30):
        rising, strips, rows = diagram(seed, b, edges)
        fitted = by_fit(strips, rows)
        before = fitted.copy()
        given = kernel.likely_ends(strips, rows, GROUPS, b, fitted)
        assert given is not None
        assert len(given) == len(rows.noisy)
        likely = np.concatenate([fitted[: rows.start], given])
        assert (np.diff(likely[GROUPS // 2 :]) >= -1e-9).all()
        ours += ((likely - rising) ** 2).sum()
        theirs += ((before - rising) ** 2).sum()
    assert ours < 0.8 * theirs


@pytest.mark.parametrize("first", [150, 300])
def test_strips_of_some_rows_are_never_of_more_than_those(first, monkeypatch):
    edges = np.concatenate([np.arange(0, 20), np.arange(20, 61, 4)])
    windows = kernel.windows

    def looking(edges, held, last, most, b):
        assert most == GROUPS - first
        low, high = windows(edges, held, last, most, b)
        assert high.max() <= most
        return low, high

    monkeypatch.setattr(kernel, "windows", looking)
    for seed in range(10):
        _, strips, rows = diagram(seed, 3.0, edges, first=first)
        fitted = by_fit(strips, rows)
        before = fitted.copy()
        given = kernel.likely_ends(strips, rows, GROUPS, 3.0, fitted)
        assert given is not None
        assert (fitted[:first] == before[:first]).all()
        likely = np.concatenate([fitted[: rows.start], given])[first:]
        assert (np.diff(likely) >= -1e-9).all()


def test_strips_that_leave_too_much_open_leave_the_fit_as_it_was():
    edges = np.arange(0, 61, 4)
    _, strips, rows = diagram(2, 2_000.0, edges)
    fitted = by_fit(strips, rows)
    before = fitted.copy()
    assert kernel.likely_ends(strips, rows, GROUPS, 2_000.0, fitted) is None
    assert (fitted == before).all()


def left_open(low, high):
    """The same edge, by going back from the last one while few numbers are open."""
    pairs, edge = 0, len(low)
    while edge > 0:
        numbers = high[edge - 1] - low[edge - 1] + 1
        if edge < len(low):
            pairs += numbers * (high[edge] - low[edge] + 1)
        many = numbers > kernel.MOST_NUMBERS or high[edge - 1] > kernel.MOST_ROWS
        if many or pairs > kernel.MOST_PAIRS:
            break
        edge -= 1
    return edge


@pytest.mark.parametrize("pairs", [20_000, 100_000, kernel.MOST_PAIRS])
def test_edges_are_left_out_up_to_the_last_of_which_too_much_is_open(pairs, monkeypatch):
    monkeypatch.setattr(kernel, "MOST_PAIRS", pairs)
    rng = np.random.default_rng(4)
    seen = set()
    for _ in range(300):
        low = np.sort(rng.integers(0, 2 * kernel.MOST_ROWS, 80))[::-1] // rng.integers(1, 9)
        high = low + rng.integers(0, int(rng.choice([20, 120, 140])), 80)
        found = kernel._left_open(low, high)
        assert found == left_open(low.tolist(), high.tolist())
        seen.add(found)
    assert len(seen) > 20


def test_what_the_rows_say_of_a_number_does_not_depend_on_what_the_strips_say():
    noisy = np.array([0, 1, -1, 4, 9, 8, 15, 30, 31, 60])
    rows = RowsAfter(90, 93, noisy, np.maximum(isotonic_regression(noisy).x, 0))
    numbers = np.arange(3, 11)
    rng = np.random.default_rng(5)
    said = []
    for _ in range(5):
        chances = rng.dirichlet(np.ones(len(numbers)))
        means, back = kernel._join(numbers, chances, rows, 100, 1.5, 2.0)
        assert (np.diff(means) >= -1e-9).all()
        assert (chances * back).sum() == pytest.approx(1)
        said.append(back / back.max())
    np.testing.assert_allclose(said, [said[0]] * 5, rtol=1e-6, atol=1e-12)
    empty = kernel._join(
        numbers, chances, RowsAfter(100, 100, rows.noisy[:0], rows.rising[:0]), 100, 1.5, 2.0
    )
    assert empty[1].tolist() == [1.0] * len(numbers)
