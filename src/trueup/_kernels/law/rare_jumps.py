"""Noises that are 0 nearly always, as at a large ε: the likely values of their sum, and no others.

Let S = A + B, B the classes of large coefficients whose noise is all 0 but for less than 1 − level.
Only the values of B near 0 matter to P(|A + B| ≤ q): the others lead out of [−q, q], unless A is as
far out, which it is not. So a circle around which the law is wrapped need only hold A and what is
kept of B. Leaving a value of B out makes q larger, never too small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trueup._kernels.law.laplace_sum import LaplaceSum
from trueup.arrays import Floats

_CIRCLE = 64  # points, more than such a sum ever moves
_MOST_VALUES, _MOST_KEPT = 1 << 14, 256


@dataclass(frozen=True)
class Rare:
    """The law of a sum that is 0 nearly always: its likely values."""

    at: Floats  # above 0, and each has its mirror image
    probability: Floats
    still: float  # P(B = 0)

    @property
    def mass(self) -> float:
        """The probability of all values that are kept."""
        return self.still + 2 * float(self.probability.sum())

    def characteristic(self, t: Floats) -> Floats:
        """The characteristic function of what is kept."""
        found = np.full(len(t), self.still)
        for at, probability in zip(self.at.tolist(), self.probability.tolist(), strict=True):
            found += 2 * probability * np.cos(at * t)
        return found


NONE = Rare(np.zeros(0), np.zeros(0), 1.0)


def split(law: LaplaceSum, jumping: float) -> tuple[LaplaceSum, LaplaceSum]:
    """The classes of the largest coefficients that jump with at most this probability; the rest."""
    order = np.argsort(-law.c)
    c = law.c[order]
    jumps = np.cumsum(-(law.m * np.log(np.tanh(0.5 / law.b)))[order])
    number = int(np.searchsorted(jumps, -math.log1p(-jumping)))
    while 0 < number < len(c) and c[number - 1] <= c[number] * (1 + 1e-9):
        number -= 1  # equal ones stay together
    rare = np.zeros(len(c), bool)
    rare[order[:number]] = True
    return law.some(rare), law.some(~rare)


def likely(law: LaplaceSum, reach: float, least: float) -> Rare:
    """The values of the sum up to `reach` that are likelier than `least`."""
    at, probability = np.zeros(1), np.ones(1)
    angle = np.arange(_CIRCLE // 2 + 1) * (np.pi / _CIRCLE)
    for c, s, m in zip(law.c.tolist(), law.s.tolist(), law.m.tolist(), strict=True):
        one = np.fft.irfft(np.exp(-m * np.log1p(2 * s * np.square(np.sin(angle)))), _CIRCLE)
        ways = [k for k in range(1, 9) if one[k] > least]
        moves = np.array([0, *ways, *[-k for k in ways]])
        # What wraps around the circle is less likely than floats can tell.
        at = (at[:, None] + c * moves).ravel()
        probability = (probability[:, None] * one[np.abs(moves)]).ravel()
        kept = probability > least
        at, probability = at[kept], probability[kept]
        if len(at) > _MOST_VALUES:
            best = np.argsort(-probability)[:_MOST_VALUES]
            at, probability = at[best], probability[best]
    still = float(probability[at == 0].sum())
    near = (at > 0) & (at <= reach)
    at, probability = at[near], probability[near]
    best = np.argsort(-probability)[:_MOST_KEPT]
    return Rare(at[best], probability[best], still)


def cancelling(law: LaplaceSum) -> float:
    """P(the noises of each coefficient add up to 0), which may be when not all of them are 0.

    Right where it is above 0.3: then such a sum, whose law is log-concave, stays on the circle.
    """
    angle = np.arange(_CIRCLE // 2 + 1) * (np.pi / _CIRCLE)
    logs = np.log1p(np.multiply.outer(2 * law.s, np.square(np.sin(angle)))) * -law.m[:, None]
    order = np.argsort(law.c)
    c = law.c[order]
    new = np.flatnonzero(np.concatenate([[True], c[1:] > c[:-1] * (1 + 1e-11)]))
    phi = np.exp(np.add.reduceat(logs[order], new, axis=0))
    each = (2 * phi.sum(axis=1) - phi[:, 0] - phi[:, -1]) / _CIRCLE
    return float(np.prod(each))
