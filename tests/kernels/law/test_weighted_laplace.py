"""Half-widths against laws convolved number by number, in trees of many kinds and at any ε."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.signal import fftconvolve

import trueup as tu
from trueup._kernels.law import laplace_sum
from trueup._kernels.law.weighted_laplace import half_width
from trueup.infer import errors_of
from trueup.noise import Noise

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


QUESTIONS = {
    "binary": tu.TreeCounts(64, branching=2),
    "wide, no root": tu.TreeCounts(256, branching=16, root=False),
    "uneven shares": tu.TreeCounts(37, radices=(7, 3, 2), shares=("1/10", "2/5", "1/6", "1/3")),
    "levels not asked": tu.TreeCounts(108, radices=(3, 4, 9), shares=("1/4", 0, 0, "3/4")),
    "two levels of nine": tu.TreeCounts(
        512, radices=(2,) * 9, shares=(0, 0, 0, "1/6", 0, 0, 0, 0, 0, "5/6")
    ),
    "wavelet": tu.WaveletCounts(32),
    "hats": tu.HatCounts(32),
}
EPSILONS = ("1/10", "1", "5", "10", "20", "50")


def in_steps(law):
    """The law with coefficients that are whole multiples of a small step: multiples and step."""
    largest = np.abs(law.coefficients).max()
    most = int(np.clip(2**14 / (40 * law.scales.max()), 12, 1000))
    whole = np.rint(np.abs(law.coefficients) * most / largest)
    return whole, largest / most


def held_by(whole, scales, counts):
    """P(|Σ whole·X| ≤ k) for k = 0, 1, …, by one transform around a circle that holds them all."""
    variance = 0.5 / np.sinh(0.5 / scales) ** 2
    reach = whole.max() * (2 + 40 * scales.max()) + 12 * np.sqrt(counts @ (whole**2 * variance))
    points = 1 << math.ceil(math.log2(2 * reach))
    t = np.arange(points // 2 + 1) * (2 * np.pi / points)
    classes = {}
    for step, s, count in zip(whole.tolist(), variance.tolist(), counts.tolist(), strict=True):
        classes[step, s] = classes.get((step, s), 0) + count
    phi = np.ones(len(t))
    for (step, s), count in classes.items():
        phi *= (1 / (1 + s * (1 - np.cos(step * t)))) ** count
    law = np.fft.irfft(phi, points)
    return law[0] + 2 * np.concatenate([[0.0], np.cumsum(law[1 : points // 2])])


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", QUESTIONS)
def test_at_any_epsilon_levels_are_held_and_one_percent_less_would_not_hold_them(name, epsilon):
    question = QUESTIONS[name]
    errors, size = errors_of(Noise(question, Fraction(epsilon))), question.size
    generator = np.random.default_rng(len(name))
    start = int(generator.integers(1, size // 2))
    for ends in ((start, start + 1), (1, size), (start, start + size // 3)):
        law = errors.noise_law(((ends, 1.0),))
        whole, step = in_steps(law)
        held = held_by(whole, law.scales, law.counts)
        for level in (0.5, 0.8, 0.95, 0.99, 0.999, 1 - 1e-6):
            found = half_width(whole * step, law.scales, law.counts, level)
            assert held[int(found / step * (1 + 1e-9))] >= level - 1e-12
            # The least that holds the level and 1/2000 of what is missing.
            least = np.argmax(held >= min(level + (1 - level) / 2000, held.max())) * step
            assert found <= 1.01 * least * (1 + 1e-9)


def test_jumps_that_are_too_rare_to_matter_do_not_widen():
    # P(a jump of the first) is 2.5e-4, far below 5 %, and no less than the slack of the level.
    rare, often = 1 / 9.0, 1.0
    exact = half_width([1e-3, 7.1e-4], [often, often], [3, 5], 0.95 / math.tanh(0.5 / rare))
    found = half_width([1.0, 1e-3, 7.1e-4], [rare, often, often], [1, 3, 5], 0.95)
    assert found == pytest.approx(exact, rel=0.01)


def test_noises_that_cancel_are_no_width():
    # All of fifteen noises are 0 less often than their sum is: 0.7953 and 0.8039.
    assert half_width([0.0588, 0.941], [0.2, 0.2], [16, 1], 0.8) == 0
    assert half_width([0.0588, 0.941], [0.2, 0.2], [16, 1], 0.81) > 0.0588


def test_what_rounding_leaves_of_a_coefficient_does_not_widen():
    # Were the last a true coefficient, nothing would be on a lattice.
    assert half_width([1.0, 1.0, 1e-16], [1.0] * 3, [2, 2, 50], 0.95) == pytest.approx(
        half_width([1.0], [1.0], [4], 0.95), rel=1e-12
    )


def test_weak_classes_taken_together_change_nothing(monkeypatch):
    generator = np.random.default_rng(1)
    c = np.exp(generator.normal(-2, 2, (16, 300)))
    b, m = np.exp(generator.normal(0, 1, c.shape)), generator.integers(1, 30, c.shape).astype(float)
    levels = generator.choice([0.5, 0.95, 0.999, 1 - 1e-8], 16).tolist()
    assert laplace_sum.LaplaceSum(c[0], b[0], m[0]).weak.sum() > 100
    together = [half_width(*row) for row in zip(c, b, m, levels, strict=True)]
    monkeypatch.setattr(laplace_sum, "WEAK", 0.0)
    assert not laplace_sum.LaplaceSum(c[0], b[0], m[0]).weak.any()
    alone = [half_width(*row) for row in zip(c, b, m, levels, strict=True)]
    np.testing.assert_allclose(together, alone, rtol=1e-4)


@pytest.mark.parametrize("scale", [1e8, 1e11])
def test_noise_of_a_large_scale_is_that_of_a_small_one_stretched(scale):
    # The variance of such noise is past 2^53, where 1 + s − s·cos t would lose its 1.
    c, counts = [1.0, 0.5, 0.25], [3.0, 7.0, 40.0]
    small = half_width(c, [1e4] * 3, counts, 0.95) / 1e4
    assert half_width(c, [scale] * 3, counts, 0.95) / scale == pytest.approx(small, rel=1e-6)


@pytest.mark.parametrize("power", [-1074, -1000, -400, 400, 1000])
def test_coefficients_of_any_size_are_weighed(power):
    c, b, m = np.array([1.0, 0.75]), np.array([10.0, 3.0]), np.array([2.0, 1.0])
    for level in (1e-300, 0.5, 0.95, 1 - 1e-12):
        found = half_width(np.ldexp(c, power), b, m, level)
        if power > -1000:  # nearer to 0, numbers are too coarse
            assert found == np.ldexp(half_width(c, b, m, level), power)
        # Beside others, none so small is seen.
        assert half_width([*c, 2.0**-1010], [*b, 50.0], [*m, 1.0], level) == half_width(
            c, b, m, level
        )
