"""The means of rising counts given noisy ones, against all sequences written out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from trueup._kernels.sorted import likely_rows as kernel
from trueup._kernels.sorted.isotonic import isotonic


def fitted_to(noisy):
    return np.maximum(isotonic(noisy.astype(np.float64)), 0)


def step_law(step, mean, equal):
    """How likely a step of so many units is."""
    r = kernel.LONGER * mean / (1 + kernel.LONGER * mean)
    return (1 - equal) * (kernel.PARTS * (1 - r) * r**step).sum() + equal * (step == 0)


def by_brute_force(noisy, fitted, b, unit, half, equal):
    """All rising sequences on the grid, each with its probability."""
    middle = np.rint(fitted / unit).astype(int)
    values = [[v for v in range(m - half, m + half + 1) if v >= 0] for m in middle]
    mean = kernel._steps(fitted, b) / unit / (1 - equal)
    total, sums = 0.0, np.zeros(len(noisy))
    for path in itertools.product(*values):
        steps = np.diff(path)
        if (steps < 0).any():
            continue
        weight = np.exp(-np.abs(np.array(path) * unit - noisy).sum() / b)
        for i, step in enumerate(steps, start=1):
            weight *= step_law(step, mean[i], equal)
        total += weight
        sums += weight * np.array(path) * unit
    return sums / total


@pytest.mark.parametrize(
    ("noisy", "b", "unit", "half"),
    [
        ([3, 1, 4], 1.0, 1, 6),
        ([0, -2, 1], 1.0, 1, 5),
        ([2, 30, 31], 1.0, 1, 6),  # values that cannot meet
        ([5, 900, 880], 20.0, 6, 7),
        ([7], 0.3, 1, 3),
        ([4, 4, 9, 8], 2.0, 1, 5),
    ],
)
@pytest.mark.parametrize("equal", [0.0, 0.4, 0.9])
def test_means_are_those_of_all_sequences(noisy, b, unit, half, equal):
    noisy = np.array(noisy)
    fitted = fitted_to(noisy)
    middle, own = kernel._alone(noisy, fitted, b, unit, half)
    steps, sure = kernel._steps(fitted, b) / unit, np.eye(1, len(noisy))[0]
    _, means, beyond = kernel._means(middle, own, np.ones(len(noisy)), sure, np.inf, steps, equal)
    assert (beyond == 1).all()
    assert np.allclose(means * unit, by_brute_force(noisy, fitted, b, unit, half, equal), rtol=1e-9)


def first_law(value, gap, step):
    return (step_law(value, gap, 0.0) + step_law(value, step, 0.0)) / 2


def by_brute_force_after_columns(noisy, fitted, b, equal, begin, gap, steps, half):
    """All numbers of empty rows, and all rising sequences after them, on the grid of width 1."""
    middle = np.rint(fitted).astype(int)
    size, total, chances = len(noisy), 0.0, 0.0
    sums, beyond = np.zeros(size), np.zeros(size)
    for empty in range(size + 1):
        chance = np.prod(1 - begin[:empty]) * (begin[empty] if empty < size else 1.0)
        chances += chance
        values = [[v for v in range(m - half, m + half + 1) if v >= 0] for m in middle[empty:]]
        for path in itertools.product(*values):
            if (np.diff(path) < 0).any():
                continue
            weight = chance * np.exp(-np.abs(noisy[:empty]).sum() / b)
            weight *= np.exp(-np.abs(np.array(path) - noisy[empty:]).sum() / b)
            for i, value in enumerate(path):
                if i == 0:
                    weight *= first_law(value, gap, steps[empty])
                else:
                    step = steps[empty + i] / (1 - equal)
                    weight *= step_law(value - path[i - 1], step, equal)
            total += weight
            sums[empty:] += weight * np.array(path)
            beyond[empty:] += weight
    assert chances == pytest.approx(1)
    return sums / total, beyond / total


@pytest.mark.parametrize("noisy", [[0, 3, 2], [-1, 1, 9, 8], [1, 0, 0]])
@pytest.mark.parametrize("equal", [0.0, 0.6])
def test_rows_that_may_be_empty_have_the_means_of_all_sequences(noisy, equal):
    noisy, b, half, gap = np.array(noisy), 1.3, 4, 2.5
    fitted = fitted_to(noisy)
    begin = np.array([0.3, 0.6, 0.9, 0.2])[: len(noisy)]
    steps = np.array([1.0, 0.5, 2.0, 1.5])[: len(noisy)]
    middle, own = kernel._alone(noisy, fitted, b, 1, half)
    empty = np.exp(-np.abs(noisy) / b)
    _, means, beyond = kernel._means(middle, own, empty, begin, gap, steps, equal)
    expected = by_brute_force_after_columns(noisy, fitted, b, equal, begin, gap, steps, half)
    assert np.allclose(means, expected[0], rtol=1e-9)
    assert np.allclose(beyond, expected[1], rtol=1e-9)


def drawn(truth, b, seed):
    rng = np.random.default_rng(seed)
    p = -np.expm1(-1 / b)
    return truth + rng.geometric(p, len(truth)) - rng.geometric(p, len(truth))


TRUTHS = {
    "constant": np.full(400, 70),
    "even": np.arange(400) * 2,
    "apart": np.arange(400) * 1000,
    "stairs": np.arange(400) // 8 * 60,
    "two clusters": np.repeat([5, 5000], 200),
    "heavy tail": np.sort(np.minimum(np.random.default_rng(1).zipf(1.6, 400), 10**6)),
}


@pytest.mark.parametrize("b", [0.05, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("name", TRUTHS)
def test_means_rise_and_are_no_further_off_than_isotonic_counts(name, b):
    truth = TRUTHS[name]
    ours, theirs = 0.0, 0.0
    for seed in range(10):
        noisy = drawn(truth, b, seed)
        means = kernel.likely_rows(noisy, fitted_to(noisy), b)
        assert means[0] >= 0
        assert (np.diff(means) >= 0).all()
        ours += ((means - truth) ** 2).sum()
        theirs += ((isotonic(noisy.astype(np.float64)) - truth) ** 2).sum()
    assert ours <= 1.1 * theirs + 1e-6


def test_segments_join_as_if_there_were_none(monkeypatch):
    noisy = drawn(np.arange(5000) // 3 * 4, 3.0, seed=5)
    fitted = fitted_to(noisy)
    joined = kernel.likely_rows(noisy, fitted, 3.0)
    monkeypatch.setattr(kernel, "SEGMENT", 5000)
    whole = kernel.likely_rows(noisy, fitted, 3.0)
    assert np.abs(joined - whole).max() < 0.5
    assert np.median(np.abs(joined - whole)) < 1e-6


def test_very_many_rows_stay_as_they_were_fitted():
    noisy = drawn(np.arange(kernel.MOST + 1), 1.0, seed=6)
    fitted = fitted_to(noisy)
    assert np.array_equal(kernel.likely_rows(noisy, fitted, 1.0), fitted)


def test_answers_far_from_any_fit_have_means_all_the_same():
    noisy = np.array([10**15, 0, 0, 0, -(10**15), 2**61])
    means = kernel.likely_rows(noisy, fitted_to(noisy), 1.0)
    assert np.isfinite(means).all()
    assert (np.diff(means) >= 0).all()
