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


def test_the_rare_part_is_as_large_as_may_be_and_equal_coefficients_stay_together() -> None:
    c = np.array([1.0, 0.3, 2.0, 0.1 + 0.2, 2.0, 5.0, 2.0, 5.0 * (1 + 1e-12)])
    b = np.array([0.2, 0.1, 0.12, 0.15, 0.11, 0.1, 0.13, 0.12])
    m = np.array([2.0, 1.0, 3.0, 4.0, 1.0, 5.0, 2.0, 1.0])
    law = LaplaceSum(c, b, m)
    still = [math.log(noise(scale, int(copies))[0]) for scale, copies in zip(b, m, strict=True)]
    one = np.array([int(k) * math.log(noise(s, 1)[0]) for s, k in zip(b, m, strict=True)])
    assert (one <= np.array(still)).all()  # all still is rarer than a sum of 0
    order = [5, 7, 2, 4, 6, 0, 1, 3]  # the largest coefficients first, of which some are equal
    ends = [0, 2, 5, 6, 8]
    jumps = [1 - math.exp(one[order[:end]].sum()) for end in ends]
    for end, least, most in zip(ends[:-1], jumps[:-1], jumps[1:], strict=True):
        for jumping in (least * (1 + 1e-9), most * (1 - 1e-9)):
            rare, rest = rare_jumps.split(law, jumping)
            assert sorted(rare.c) == sorted(c[order[:end]])
            assert sorted(rest.c) == sorted(c[order[end:]])
    everything, nothing = rare_jumps.split(law, jumps[-1] * (1 + 1e-9))
    assert len(everything.c) == len(c)
    assert len(nothing.c) == 0


def test_of_too_many_values_the_likeliest_are_kept() -> None:
    c = np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0])  # no two values are equal
    b = np.array([0.2, 0.19, 0.21, 0.195, 0.205, 0.2, 0.208])
    law = LaplaceSum(c, b, np.ones(7))
    laws = [noise(scale, 1) for scale in b.tolist()]
    moves: list[tuple[int, ...]] = [()]
    for _ in c:  # four jumps are less likely than any 256 values
        moves = [(*m, k) for m in moves for k in range(-3, 4) if sum(map(abs, m)) + abs(k) <= 3]
    exact = np.array([math.prod(one[k] for one, k in zip(laws, m, strict=True)) for m in moves])
    at, reach = np.array(moves) @ c, 11.0
    near = (at > 1e-12) & (at <= reach)
    found = rare_jumps.likely(law, reach, 1e-13)
    assert len(found.at) == 256 < np.count_nonzero(near)
    assert np.sort(found.probability) == pytest.approx(np.sort(exact[near])[-256:], rel=1e-6)
    nearest = np.argmin(np.abs(np.subtract.outer(found.at, at)), axis=1)
    assert found.at == pytest.approx(at[nearest], abs=1e-9)
    assert found.probability == pytest.approx(exact[nearest], rel=1e-6)
    t = np.array([0.0, 0.4, 2.0])
    wanted = found.still + 2 * (np.cos(np.multiply.outer(t, found.at)) @ found.probability)
    assert found.characteristic(t) == pytest.approx(wanted, rel=1e-12)


def test_no_rare_noise_is_0_for_certain() -> None:
    t = np.linspace(0, 3, 5)
    assert rare_jumps.NONE.mass == 1
    assert rare_jumps.NONE.characteristic(t).tolist() == [1.0] * 5
    assert not len(rare_jumps.NONE.at)


def test_coefficients_that_differ_by_rounding_alone_cancel_and_others_do_not() -> None:
    c = np.array([0.3, 1.0, 0.1 + 0.2, 0.4, 0.3 * (1 + 1e-9)])
    law = LaplaceSum(c, np.full(5, 0.3), np.array([1.0, 2.0, 2.0, 1.0, 1.0]))
    exact = math.prod(noise(0.3, copies)[0] for copies in (3, 2, 1, 1))
    assert rare_jumps.cancelling(law) == pytest.approx(exact, rel=1e-9)
