"""Sums that are 0 nearly always, against their laws written out."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from trueup._kernels.law import rare_jumps
from trueup._kernels.law.laplace_sum import LaplaceSum


def noise(scale: float, copies: int) -> dict[int, float]:
    """The law of a sum of discrete Laplace noises, term by term."""
    p = math.exp(-1 / scale)
    one = (1 - p) / (1 + p) * p ** np.abs(np.arange(-12, 13))
    law = np.ones(1)
    for _ in range(copies):
        law = np.convolve(law, one)
    middle = len(law) // 2
    return {k: float(law[middle + k]) for k in range(-12, 13)}


C, B, M = np.array([5.0, 3.0, 2.0]), np.array([0.15, 0.2, 0.1]), np.array([2.0, 1.0, 4.0])


def test_values_are_as_likely_as_they_are() -> None:
    laws = [noise(b, int(m)) for b, m in zip(B.tolist(), M.tolist(), strict=True)]
    exact: dict[float, float] = {}
    for moves in product(range(-3, 4), repeat=3):
        at = float(C @ np.array(moves))
        likely = math.prod(law[move] for law, move in zip(laws, moves, strict=True))
        exact[at] = exact.get(at, 0.0) + likely
    found = rare_jumps.likely(LaplaceSum(C, B, M), 6.0, 1e-12)
    assert found.still == pytest.approx(exact[0.0], rel=1e-6)
    sums: dict[float, float] = {}
    for at, probability in zip(found.at.tolist(), found.probability.tolist(), strict=True):
        sums[at] = sums.get(at, 0.0) + probability
    assert sorted(sums) == [1, 2, 3, 4, 5, 6]
    for at, probability in sums.items():
        assert probability == pytest.approx(exact[at], rel=1e-5)
        assert probability <= exact[at] * (1 + 1e-9)
    t = np.array([0.0, 0.3])
    assert found.characteristic(t)[0] == pytest.approx(found.mass)


def test_the_rare_part_jumps_no_more_often_than_asked() -> None:
    law = LaplaceSum(C, B, M)
    for jumping in (1e-5, 1e-2, 0.05, 0.5):
        rare, rest = rare_jumps.split(law, jumping)
        assert sorted([*rare.c, *rest.c]) == sorted(C)
        assert not len(rare.c) or rare.c.min() > rest.c.max(initial=0.0)
        assert 1 - math.exp(rare.log_still) <= jumping


def test_equal_coefficients_cancel() -> None:
    law = LaplaceSum(
        np.array([1.0, 1.0, 0.7]), np.array([0.3, 0.3, 0.2]), np.array([3.0, 2.0, 4.0])
    )
    exact = noise(0.3, 5)[0] * noise(0.2, 4)[0]
    assert rare_jumps.cancelling(law) == pytest.approx(exact, rel=1e-9)
    assert exact > math.exp(law.log_still)
