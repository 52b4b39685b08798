"""Thresholds by a δ, against interval arithmetic and the published rule."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import exp as mp_exp
from mpmath import inf as mp_inf
from mpmath import iv, nsum
from scipy.stats import chisquare

from trueup._kernels.noise.cut import cut_for, cut_noise, gaussian_threshold

SCALES = [Fraction(1, 3), Fraction(1), Fraction(10, 9), Fraction(37), Fraction(10**4, 3)]


def last(cut: int, scale: Fraction):
    """P(X = cut) of discrete Laplace noise within ±cut, enclosed."""
    a = iv.exp(-iv.mpf(scale.denominator) / scale.numerator)
    return a**cut * (1 - a) / (1 + a - 2 * a ** (cut + 1))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("delta", [Fraction(1, n) for n in (3, 100, 10**5, 10**8)])
def test_a_cut_is_the_least_that_keeps_to_delta(scale: Fraction, delta: Fraction) -> None:
    found = cut_for(delta, scale)
    wanted = iv.mpf(delta.numerator) / delta.denominator
    assert last(found, scale) < wanted
    assert found == 1 or last(found - 1, scale) > wanted


def optimal(epsilon: float, delta: float, most: int) -> list[float]:
    """The best chance to show a key of n units: Desfontaines and others 2022, theorem 1.

    π(0) = 0; π(n + 1) is the least of e^ε·π(n) + δ, 1 − e^−ε(1 − π(n) − δ), and 1.
    """
    found = [0.0]
    for _ in range(most):
        p = found[-1]
        found.append(
            min(math.exp(epsilon) * p + delta, 1 - math.exp(-epsilon) * (1 - p - delta), 1.0)
        )
    return found


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.5, 1e-3)])
def test_noise_within_a_cut_shows_keys_as_often_as_the_optimal_rule(
    epsilon: float, delta: float
) -> None:
    """At the δ that a cut reaches exactly, no rule shows a key of any count more often."""
    scale = Fraction(1) / Fraction(str(epsilon))
    cut = cut_for(Fraction(str(delta)), scale)
    x = np.arange(-cut, cut + 1)
    law = np.exp(-np.abs(x) * epsilon)
    law /= law.sum()
    shown = [law[x + count > cut].sum() for count in range(2 * cut + 2)]
    best = optimal(epsilon, float(law[-1]), 2 * cut + 1)
    assert np.allclose(shown, best, rtol=1e-9, atol=1e-12)


def test_a_gaussian_threshold_is_the_least_that_keeps_to_delta() -> None:
    for variance in (Fraction(1, 2), Fraction(50), Fraction(12345, 7)):

        def weight(j, variance=variance):
            return mp_exp(-(j * j) * variance.denominator / (2 * variance.numerator))

        whole = 1 + 2 * nsum(weight, [1, mp_inf])
        for delta in (Fraction(9, 20), Fraction(1, 100), Fraction(1, 10**9)):
            found = gaussian_threshold(delta, variance)
            beyond = nsum(lambda j, first=found - 1: weight(j + first), [0, mp_inf]) / whole
            assert beyond <= delta.numerator / delta.denominator
            if found > 2:
                before = nsum(lambda j, first=found - 2: weight(j + first), [0, mp_inf]) / whole
                assert before > delta.numerator / delta.denominator


def test_cut_noise_has_the_law_of_noise_given_that_it_is_inside() -> None:
    rng = np.random.default_rng(3)

    def draw(size: int, scale: Fraction):
        down, up = rng.geometric(1 - math.exp(-1 / float(scale)), (2, size))
        return up - down

    drawn = cut_noise(20_000, Fraction(2), 3, draw)
    law = np.exp(-np.abs(np.arange(-3, 4)) / 2)
    seen = [int((drawn == x).sum()) for x in range(-3, 4)]
    assert sum(seen) == 20_000
    assert chisquare(seen, 20_000 * law / law.sum()).pvalue > 1e-4
