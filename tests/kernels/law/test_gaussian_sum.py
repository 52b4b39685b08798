"""Half-widths of sums of discrete Gaussian noise, against laws written out point by point."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from mpmath import mp, mpf

from trueup._kernels.law.gaussian_sum import half_width, log_characteristic


def law(variance, reach):
    points = np.arange(-reach, reach + 1)
    weights = np.exp(-(points**2) / (2 * variance))
    return points, weights / weights.sum()


def held(coefficients, laws, q):
    """P(|Σ c·X| ≤ q), by adding up all points."""
    sums, chances = np.zeros(1), np.ones(1)
    for c, (points, weights) in zip(coefficients, laws, strict=True):
        sums = (sums[:, None] + c * points).ravel()
        chances = (chances[:, None] * weights).ravel()
    return float(chances[np.abs(sums) <= q * (1 + 1e-12)].sum())


@pytest.mark.parametrize("variance", [1e-3, 0.2, 0.499, 0.5, 0.7, 3.0, 9.999, 10.0, 40.0])
def test_the_characteristic_function_is_that_of_the_law(variance):
    mp.dps = 50
    for x in (0.0, 0.1, 1.0, 3.0, math.pi, 4.0, 9.5, -2.0):
        terms = [(j, mp.exp(-mpf(j * j) / (2 * mpf(variance)))) for j in range(-80, 81)]
        expected = sum(w * mp.cos(j * mpf(x)) for j, w in terms) / sum(w for _, w in terms)
        found = float(log_characteristic(np.array([x]), variance)[0])
        assert math.exp(found) == pytest.approx(float(expected), rel=1e-9, abs=1e-20)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.999])
@pytest.mark.parametrize(
    ("coefficients", "variances"),
    [
        ((1.0,), (0.05,)),
        ((1.0,), (7.0,)),
        ((2.0, 1.0), (1.0, 2.0)),
        ((1.0, 0.5, 0.25), (2.0, 2.0, 0.3)),
        ((1.0, 0.61803, 0.30103), (0.4, 0.4, 0.4)),
        ((0.7, -0.37), (6.0, 11.0)),
        ((1.0, 1e-15), (4.0, 4.0)),
    ],
)
def test_half_widths_hold_their_level_and_hardly_more(coefficients, variances, level):
    laws = [law(v, max(4, math.ceil(9 * math.sqrt(v)))) for v in variances]
    q = half_width(coefficients, variances, np.ones(len(variances)), level)
    assert held(coefficients, laws, q) >= level - 1e-12
    spared = held(coefficients, laws, q * 0.988 - 1e-9)
    assert q == 0 or spared < level + (1 - level) / 1000


def test_many_noises_come_to_a_normal_curve():
    found = half_width([1.0, 0.3], [50.0, 1e8], [1000.0, 3.0], 0.95)
    deviation = math.sqrt(50_000 + 0.09 * 3e8)
    assert 1.959 * deviation <= found <= 1.98 * deviation


def test_laplace_noise_beside_it_is_in_the_sum():
    points = np.arange(-60, 61)
    laplace = np.exp(-np.abs(points) / 2.0)
    laplace /= laplace.sum()
    for level, (c, d) in product((0.5, 0.95), ((1.0, 1.0), (0.6, 0.37))):
        q = half_width([c], [3.0], [1.0], level, (np.array([d]), np.array([2.0]), np.ones(1)))
        laws = [law(3.0, 16), (points, laplace)]
        assert held((c, d), laws, q) >= level - 1e-12
        assert held((c, d), laws, q * 0.988 - 1e-9) < level + (1 - level) / 1000


def test_beyond_what_floats_tell_the_subgaussian_bound_stands():
    q = half_width([1.0], [9.0], [1.0], 1 - 1e-12)
    assert q == pytest.approx(3 * math.sqrt(2 * math.log(2 / 1e-12)), rel=1e-4)


def test_no_noise_has_no_width():
    assert half_width([], [], [], 0.95) == 0
    assert half_width([0.0], [5.0], [1.0], 0.95) == 0
    assert half_width([1.0], [1e-6], [5.0], 0.95) == 0
