"""The fit of what a walk counted, against scipy and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from trueup._kernels.sorted import young, young_band, young_fit
from trueup._kernels.sorted.transcript import Stretch, Transcript

from .rising_counts import FAMILIES, drawing


@pytest.mark.parametrize("likely", [False, True])
@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("name", FAMILIES)
def test_fitted_counts_rise_and_are_not_negative(name, scale, likely):
    rising = FAMILIES[name]
    for seed in range(5):
        found = young.walk(rising, scale, drawing(seed, scale))
        fitted = young_fit.fit(found, len(rising), scale, likely)
        assert (np.diff(fitted) >= 0).all()
        assert fitted[0] >= 0
        shown = young_fit.whole_numbers(fitted)
        assert (np.diff(shown) >= 0).all()
        assert (np.abs(shown - fitted) <= 0.5).all()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40])
def test_any_answers_have_a_fit_and_a_band(size):
    # Also answers that no noise makes likely, to sets that no walk would choose.
    rng = np.random.default_rng(size)
    for _ in range(60):
        parts, rank, count, length = [], 0, 0, 0
        for turn in range(2 * rng.integers(0, 3)):
            if turn % 2:
                edges = count + rng.integers(0, 9) + np.cumsum(rng.integers(1, 9, 4))
                parts.append(Stretch(rank, rank, size, 0, edges))
                count, length = int(edges[-1]), length + 3
            else:
                start, turned, stop = np.sort(rng.integers(rank, size + 1, 3)).tolist()
                parts.append(Stretch(start, turned, stop, count, None))
                rank, length = stop, length + stop - start
        parts.append(Stretch(rank, rank, size, count, None))
        noisy = rng.integers(-50, 50, length + size - rank)
        found = Transcript(parts, noisy)
        for likely in (False, True):
            fitted = young_fit.fit(found, size, 1.0, likely)
            assert len(fitted) == size
            assert fitted[0] >= 0
            assert (np.diff(fitted) >= 0).all()
        low, high = young_band.young_band(found, size, 1.0, 0.9)
        assert (low <= high).all()


def test_falling_and_rising_fits_are_scipys():
    rng = np.random.default_rng(1)
    for size in (1, 2, 3, 10, 200):
        values, weights = rng.normal(0, 3, size), rng.uniform(0.1, 5, size)
        fitted = np.empty(size)
        young_fit._falling(values, weights, fitted)
        expected = isotonic_regression(values, weights=weights, increasing=False).x
        assert np.allclose(fitted, expected)
        noisy = rng.integers(-5, 6, size)
        young_fit._rising(noisy, fitted)
        assert np.allclose(fitted, np.maximum(isotonic_regression(noisy).x, 0))


def misfit_of_rows(noisy, first):
    fitted = (
        np.maximum(isotonic_regression(noisy[first:]).x, 0) if first < len(noisy) else noisy[:0]
    )
    return float((noisy[:first] ** 2).sum() + ((fitted - noisy[first:]) ** 2).sum())


def test_misfits_of_all_corners_are_those_of_scipys_fits():
    rng = np.random.default_rng(2)
    for size in (0, 1, 2, 5, 40):
        noisy = rng.integers(-6, 12, size)
        expected = [misfit_of_rows(noisy, first) for first in range(size + 1)]
        assert np.allclose(young_fit._misfits(noisy), expected)


def test_the_second_corner_is_the_best_of_all():
    rng = np.random.default_rng(3)
    for _ in range(60):
        groups, b = 40, 2.0
        size, start = 12, 20
        noisy = np.sort(rng.integers(-4, 9, size)) + rng.integers(-2, 3, size)
        edges = np.cumsum(rng.integers(1, 5, 9))
        held = np.sort(rng.uniform(5, 30, 8))[::-1].copy()
        squares = np.diff(edges).astype(float) ** 2
        costs = []
        for first in range(size + 1):
            on = groups - start - first
            lifted = (squares * (np.maximum(held, on) - held) ** 2).sum()
            lone = young_fit.LONE * b * b * np.log(1 + size - first)
            costs.append(misfit_of_rows(noisy, first) + lifted + lone)
        found = young_fit._second_corner(noisy, start, groups, edges, held, b)
        assert costs[found - start] == pytest.approx(min(costs))


def test_the_first_corner_is_the_best_of_all():
    rng = np.random.default_rng(4)
    for _ in range(60):
        rows = np.sort(rng.uniform(0, 30, 10))
        edges = 5 + np.cumsum(rng.integers(1, 5, 9))
        means = np.sort(rng.uniform(0, 12, 8))[::-1].copy()
        most = 12
        squares = np.diff(edges).astype(float) ** 2
        costs = []
        for strips in range(9):
            beyond = (np.maximum(rows - edges[strips], 0) ** 2).sum() if strips < 8 else 0.0
            costs.append(beyond + (squares * (most - means) ** 2)[:strips].sum())
        least, early = young_fit._first_corner(rows, 0, edges, means, means.copy(), most, 9.0)
        assert costs[least] == pytest.approx(min(costs))
        assert early == next(k for k, cost in enumerate(costs) if cost <= min(costs) + 9)


def test_pairs_halfway_go_apart_and_all_else_to_the_nearest():
    fitted = np.array([0.0, 1.5, 1.5, 2.2, 3.5, 3.5, 3.5, 7.0])
    assert young_fit.whole_numbers(fitted).tolist() == [0, 1, 2, 2, 4, 4, 4, 7]


@pytest.mark.parametrize("largest", [60, 1 << 49])
def test_misfits_are_those_of_isotonic_fits_however_large_other_rows_are(largest):
    generator = np.random.default_rng(3)
    for _ in range(50):
        noisy = generator.integers(-20, 60, 10)
        noisy[7:] = largest + generator.integers(-5, 5, 3)
        found = young_fit._misfits(noisy)
        for i in range(8):
            fitted = np.maximum(isotonic_regression(noisy[i:]).x, 0.0)
            empty = (noisy[:i].astype(np.float64) ** 2).sum()
            assert found[i] == pytest.approx(empty + ((noisy[i:] - fitted) ** 2).sum(), abs=0.01)


@pytest.mark.parametrize("base", [1, 7, 1_000])
def test_corners_do_not_depend_on_where_columns_begin(base):
    """Rows are right of a base and edges are columns: both moved alike, nothing changes."""
    rng = np.random.default_rng(base)
    for _ in range(40):
        rows = np.sort(rng.uniform(0, 30, 10))
        edges = 5 + np.cumsum(rng.integers(1, 5, 9))
        means = np.sort(rng.uniform(0, 12, 8))[::-1].copy()
        found = young_fit._first_corner(rows, base, edges + base, means, means.copy(), 12, 9.0)
        assert found == young_fit._first_corner(rows, 0, edges, means, means.copy(), 12, 9.0)


def test_the_last_strips_come_down_as_far_as_the_misfit_allows():
    rng = np.random.default_rng(5)
    lengths = set()
    for _ in range(60):
        edges = np.cumsum(rng.integers(1, 5, 9))
        wide = np.diff(edges).astype(float)
        means, rows = rng.normal(9, 2, 8), int(rng.integers(3, 9))
        before, first = np.sort(rng.uniform(9, 14, 8))[::-1].copy(), int(rng.integers(0, 4))
        costs = wide**2 * ((rows - means) ** 2 - (before - means) ** 2)
        room = float(rng.choice([0.0, 1e6, *costs[::-1].cumsum()])) * rng.uniform(0.7, 1.4)
        fit = before.copy()
        young_fit._flatten(edges, means, fit, rows, first, room)
        down = 0
        while down < 8 - first and costs[7 - down :].sum() <= room:
            down += 1
        assert fit.tolist() == [*before[: 8 - down], *[rows] * down]
        lengths.add(down)
    assert {0, 1} < lengths


def test_rows_end_evenly_between_the_middles_of_strips():
    """As numpy interpolates; before the middle of the first strip at its edge, if not the floor."""
    edges, fit = np.array([10, 13, 17, 20, 24]), np.array([38.0, 30.0, 21.0, 11.0])
    start, stop, groups = 4, 38, 44
    at = np.array([10, 11.5, 15, 18.5, 22, 24])
    value = np.array([40, *fit, 6])
    for floor in (0.0, 14.0):
        ends = np.full(groups, -1.0)
        young_fit._ends(edges, fit, start, stop, groups, floor, ends)
        level = groups - np.arange(start, stop) - 0.5
        wanted = np.where(level < fit[0], np.interp(-level, -value, at), edges[0])
        assert ends[start:stop] == pytest.approx(np.maximum(wanted, floor))
        assert (ends[:start] == -1).all()
        assert (ends[stop:] == -1).all()


@pytest.mark.parametrize("held", [30.0, 60.0, 95.0])
def test_where_many_rows_end_together_their_cells_are_those_of_the_strip(held):
    """A cliff: the place is the one at which as many cells lie in the strip as were counted."""
    edges = np.arange(0, 48, 6)
    fit = np.array([100.0, 100.0, 100.0, held, 20.0, 20.0, 20.0])
    ends = np.zeros(100)
    young_fit._ends(edges, fit, 0, 80, 100, 0.0, ends)
    assert np.ptp(ends[:80]) == pytest.approx(0)
    cells = np.clip(ends[:80] - edges[3], 0, 6).sum() + 20 * 6
    assert cells == pytest.approx(held * 6)
