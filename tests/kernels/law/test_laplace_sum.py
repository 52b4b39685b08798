"""Cumulants and tails of a weighted sum of noises, against mpmath and against laws written out."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from trueup._kernels.law import laplace_sum


@pytest.mark.parametrize("scale", [0.05, 0.2, 1.0, 3.0, 40.0])
def test_the_series_of_a_class_is_that_of_mpmath(scale, monkeypatch):
    order = laplace_sum.ORDERS
    s = mpmath.mpf(2) * mpmath.exp(-1 / scale) / (1 - mpmath.exp(-1 / mpmath.mpf(scale))) ** 2
    c = 1 / math.sqrt(s)  # so that the deviation is 1
    with mpmath.workdps(60):
        exact = mpmath.taylor(
            lambda x: -mpmath.log(1 + s * (1 - mpmath.cos(c * x))), 0, 2 * order + 20
        )
    monkeypatch.setattr(laplace_sum, "WEAK", 1e9)
    law = laplace_sum.LaplaceSum(np.array([min(c, 1.0)]), np.array([scale]), np.ones(1))
    if c > 1:  # a class is weak only if its coefficient is below the deviation
        assert not law.weak.any()
        return
    found, beyond, near = law.series
    size = [float(abs(a)) for a in exact[2::2]]
    np.testing.assert_allclose(found, [float(a) for a in exact[2 : 2 * order + 1 : 2]], 1e-9)
    left_out = sum(a * near ** (2 * k + 2) for k, a in enumerate(size) if k >= order)
    assert left_out <= beyond * near ** (2 * order + 2)


@pytest.mark.parametrize("scale", [0.1, 0.5, 2.0, 30.0])
def test_tails_are_no_heavier_than_said(scale):
    # Of one noise: P(|X| > w) = 2p^(⌊w⌋ + 1)/(1 + p).
    p = math.exp(-1 / scale)
    law = laplace_sum.LaplaceSum(np.ones(1), np.array([scale]), np.ones(1))
    tails = (0.5, 0.05, 1e-4, 1e-9)
    for tail, width in zip(tails, law.chernoff(*tails), strict=True):
        assert 2 * p ** (math.floor(width) + 1) / (1 + p) <= tail
