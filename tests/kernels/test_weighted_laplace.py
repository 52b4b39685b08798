from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.signal import fftconvolve

from trueup._kernels import weighted_laplace
from trueup._kernels.weighted_laplace import half_width, half_widths

LEVELS = (0.5, 0.9, 0.95, 0.99, 0.999)


def exact_law(steps: list[int], scales: list[float], counts: list[int]) -> np.ndarray:
    """P(|Σ step·X| = k) for k = 0, 1, …, by convolving the laws one after another."""
    law = np.ones(1)
    for step, scale, count in zip(steps, scales, counts, strict=True):
        reach = int(np.ceil(40 * scale))
        x = np.arange(-reach, reach + 1)
        p = np.exp(-1 / scale)
        one = np.zeros(2 * reach * step + 1)
        one[::step] = (1 - p) / (1 + p) * p ** np.abs(x)
        for _ in range(count):
            law = fftconvolve(law, one)
    middle = len(law) // 2
    return np.concatenate([law[middle : middle + 1], 2 * law[middle + 1 :]])


# The first four live on a lattice that is found; in the others the steps have no common one.
CASES = {
    "one cell": ([1], [10.0], [1]),
    "one cell, large epsilon": ([1], [0.2], [1]),
    "twenty cells, large epsilon": ([1], [0.5], [20]),
    "whole coefficients": ([7, 5, 2, 1], [8.0, 2.0, 1.5, 1.0], [1, 2, 6, 30]),
    "many cells, small epsilon": ([1], [100.0], [12]),
    "a small tree": ([70, 30, 11], [3.0, 3.0, 3.0], [1, 4, 20]),
    "a small tree, large epsilon": ([70, 30, 11], [0.2, 0.2, 0.2], [1, 4, 20]),
    "a small tree, larger epsilon": ([70, 30, 11], [0.4, 0.2, 0.1], [1, 4, 20]),
    "one wide and many narrow": ([100, 3], [4.0, 4.0], [1, 40]),
    "unequal scales": ([130, 70, 33, 8], [8.0, 2.0, 1.5, 1.0], [1, 2, 6, 30]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99, 0.999, 1 - 1e-6])
def test_never_too_narrow_and_at_most_one_percent_too_wide(name, level):
    steps, scales, counts = CASES[name]
    held = np.cumsum(exact_law(steps, scales, counts))
    exact = int(np.argmax(held >= level - 1e-12))
    found = half_width(np.array(steps, float), scales, counts, level)
    assert held[int(found)] >= level - 1e-12
    assert exact <= found <= max(exact * 1.011, exact + 0.02)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_a_lattice_is_answered_exactly(level):
    steps, scales, counts = CASES["whole coefficients"]
    held = np.cumsum(exact_law(steps, scales, counts))
    found = half_width([7.0, 5.0, 2.0, 1.0], scales, counts, level)
    assert found == np.argmax(held >= level)


def test_levels_past_what_floats_resolve_fall_back_on_a_bound():
    # One noise of scale 5: P(|X| > k) = 2p^(k+1)/(1 + p).
    tail = 1e-13
    p = np.exp(-1 / 5)
    exact = np.log(tail * (1 + p) / 2) / np.log(p) - 1
    found = half_width([1.0], [5.0], [1.0], 1 - tail)
    assert exact <= found <= 1.25 * exact


def test_no_noise_is_no_width():
    assert half_width([], [], [], 0.95) == 0
    assert half_width([1.0, 0.5], [0.01, 0.01], [1, 1], 0.999) == 0


@pytest.mark.parametrize("seed", range(4))
def test_many_classes_cover_what_they_claim(seed):
    generator = np.random.default_rng(seed)
    c, b = generator.uniform(0, 1, 60) ** 4, generator.uniform(0.3, 20, 60)
    success = -np.expm1(-1 / b)
    shape = (40_000, 60)
    noise = generator.geometric(success, shape) - generator.geometric(success, shape)
    total = np.abs(noise @ c)
    for level in (0.9, 0.99):
        covered = np.mean(total <= half_width(c, b, np.ones(60), level))
        # Within 1 % in width is within a hundredth of a standard deviation or two in coverage.
        spread = np.sqrt(level * (1 - level) / len(total))
        assert level - 4.5 * spread <= covered <= level + 4.5 * spread + 0.004


def test_many_sums_at_once_are_the_same_as_one_by_one():
    generator = np.random.default_rng(0)
    c, b = generator.uniform(0, 1, (50, 20)) ** 3, generator.uniform(0.1, 9, (50, 20))
    m = generator.integers(0, 4, (50, 20)).astype(float)
    c[0], m[1], c[2] = 1, 0, c[2].round(1)
    levels = generator.choice([0.5, 0.9, 0.95, 0.999, 1 - 1e-12], 50)
    together = half_widths(c, b, m, levels)
    alone = [half_width(*row) for row in zip(c, b, m, levels.tolist(), strict=True)]
    np.testing.assert_allclose(together, alone, rtol=1e-6)


def test_weak_classes_taken_together_change_nothing():
    generator = np.random.default_rng(1)
    shape = (16, 300)
    c = np.exp(generator.normal(-2, 2, shape))
    b, m = np.exp(generator.normal(1, 1, shape)), generator.integers(1, 30, shape).astype(float)
    levels = generator.choice([0.5, 0.95, 0.999, 1 - 1e-8], 16)
    sums = weighted_laplace._sums(c, b, m)
    assert sums.strong < 100
    together = half_widths(c, b, m, levels)
    alone = [half_width(*row) for row in zip(c, b, m, levels.tolist(), strict=True)]
    np.testing.assert_allclose(together, alone, rtol=1e-4)


@pytest.mark.parametrize("scale", [1.0, 3.0, 40.0])
def test_the_series_of_a_class_is_that_of_mpmath(scale):
    order = weighted_laplace._ORDERS
    s = 2 * math.exp(-1 / scale) / (1 - math.exp(-1 / scale)) ** 2
    exact = mpmath.taylor(lambda x: -mpmath.log(1 + s * (1 - mpmath.cos(x))), 0, 2 * order + 4)
    one = np.ones((1, 1))
    found, beyond = weighted_laplace._series(one, scale * one, s * one, one)
    np.testing.assert_allclose(found[0], [float(a) for a in exact[2 : 2 * order + 1 : 2]], 1e-9)
    assert abs(float(exact[2 * order + 2])) <= beyond[0]


@pytest.mark.parametrize("scale", [1e8, 1e11])
def test_noise_of_a_large_scale_is_that_of_a_small_one_stretched(scale):
    # The variance of such noise is past 2^53, where 1 + s − s·cos t would lose its 1.
    c, counts = [1.0, 0.5, 0.25], [3.0, 7.0, 40.0]
    small = half_width(c, [1e4] * 3, counts, 0.95) / 1e4
    assert half_width(c, [scale] * 3, counts, 0.95) / scale == pytest.approx(small, rel=1e-6)
