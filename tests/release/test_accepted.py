"""The set of ratios not ruled out: nothing that is accepted lies outside of what is given."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from trueup._kernels.law.weighted_laplace import half_width
from trueup.release.accepted import EVERYTHING, Ratios


def ratios(a, b, scale=1.0):
    """Two counts, each with a noise of its own."""

    def reach(x, y):
        return half_width([abs(x), abs(y)], [scale, scale], [1.0, 1.0], 0.95) * (1 + 1e-9)

    return Ratios(a, b, (1.0, 1.0), reach)


@pytest.mark.parametrize(
    ("a", "b", "scale"),
    [(10, 20, 1), (13, 20, 1), (31, 23, 1), (12, 26, 2), (-7, 25, 1), (14, -30, 1), (3, 2, 1)],
)
def test_every_ratio_that_is_accepted_is_inside(a, b, scale):
    found = ratios(a, b, scale)
    pieces = found.accepted()
    middle, width = a / b, 12 * scale / abs(b)
    tried = set(np.linspace(middle - width, middle + width, 150).tolist())
    for below in range(1, 13):
        first = math.floor((middle - width) * below)
        tried |= {float(Fraction(first + i, below)) for i in range(int(2 * width * below) + 1)}
    for ratio in tried:
        accepted = abs(a - ratio * b) <= found.reach(1.0, ratio)
        assert not accepted or any(low <= ratio <= high for low, high in pieces), ratio


def test_a_gap_before_a_simple_fraction_is_bridged():
    # Only the half is accepted beyond the first ratio that is ruled out.
    def reach(x, y):
        return 4.65 if x and abs(y / x - 0.5) < 1e-12 else 4.0 * math.hypot(x, y)

    ((low, high),) = Ratios(7.4, 24.0, (1.0, 1.0), reach).accepted()
    smooth = Ratios(7.4, 24.0, (1.0, 1.0), lambda x, y: 4.0 * math.hypot(x, y)).accepted()
    assert smooth[0][1] < 0.496
    assert low == smooth[0][0]
    assert 0.5 <= high < 0.5001


def test_smooth_laws_give_the_ends_of_fiellers_theorem():
    # Normal errors of deviation 1: (a − r·b)² ≤ z²(1 + r²) is a quadratic in r.
    for a, b in ((30.0, 40.0), (5.0, 12.0), (-8.0, 9.0)):
        z = 1.96
        found = Ratios(a, b, (1.0, 1.0), lambda x, y: 1.96 * math.hypot(x, y)).accepted()
        roots = sorted(np.roots([b * b - z * z, -2 * a * b, a * a - z * z]))
        ((low, high),) = found
        assert low <= roots[0] <= roots[1] <= high
        assert (low, high) == pytest.approx(roots, abs=1e-3 * (roots[1] - roots[0]))
    (first, second) = Ratios(9.0, 1.0, (1.0, 1.0), lambda x, y: 1.96 * math.hypot(x, y)).accepted()
    roots = sorted(np.roots([1 - 1.96**2, -18.0, 81 - 1.96**2]))
    assert (first[1], second[0]) == pytest.approx(roots, rel=0.01)
    assert (
        Ratios(1.0, 1.0, (1.0, 1.0), lambda x, y: 1.96 * math.hypot(x, y)).accepted() == EVERYTHING
    )


def test_a_ratio_without_noise_is_itself():
    ((low, high),) = Ratios(3.0, 4.0, (3.0, 4.0), lambda x, y: 0.0).accepted()
    assert low <= 0.75 <= high
    assert high - low < 1e-10
