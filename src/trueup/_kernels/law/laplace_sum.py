"""A weighted sum S of independent discrete Laplace noises: its cumulants and its tails.

The characteristic function of a noise X of variance s is 1 / (1 + s(1 − cos t)). The logarithm of
that of c·X is a power series in x² = (ct)² whose k-th coefficient is at most 4b^2k / k, b the
scale: its singularities nearest to 0 lie at ±i/b. For the weak classes, those with a small part in
S, the series are added up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trueup.arrays import Bools, Floats

WEAK = 0.03  # scale × coefficient, in deviations of S: the classes that are taken together
ORDERS = 6  # of their series
THETAS = np.linspace(0, 1, 8)  # where Chernoff's bound is tried


@dataclass(frozen=True)
class LaplaceSum:
    """The classes of a sum: `m` noises of scale `b`, each times `c`."""

    c: Floats  # coefficient, above 0
    b: Floats  # scale of the noise
    m: Floats  # how many

    @cached_property
    def s(self) -> Floats:
        """The variance of each noise."""
        inverse = -1 / self.b
        return 2 * np.exp(inverse) / np.square(np.expm1(inverse))

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of S."""
        return math.sqrt(float(np.dot(self.m, self.c * self.c * self.s)))

    @cached_property
    def log_still(self) -> float:
        """log P(every X is 0)."""
        return float(np.dot(self.m, np.log(np.tanh(0.5 / self.b))))

    def some(self, which: Bools) -> LaplaceSum:
        """The sum over some of the classes."""
        return LaplaceSum(self.c[which], self.b[which], self.m[which])

    @cached_property
    def weak(self) -> Bools:
        """Which classes have a small part in S."""
        return self.c <= np.minimum(WEAK / self.b, 1.0) * self.deviation

    @cached_property
    def strong(self) -> tuple[Floats, Floats, Floats]:
        """c, s and m of the classes that are not weak."""
        kept = ~self.weak
        return self.c[kept], self.s[kept], self.m[kept]

    def by_strength(self, t: float) -> tuple[Floats, Floats, Floats]:
        """c, s and m of all classes, those first that empty the terms about t."""
        order = np.argsort(-self.m * np.log1p(self.s * np.minimum(1.0, np.square(self.c * t))))
        return self.c[order], self.s[order], self.m[order]

    @cached_property
    def series(self) -> tuple[list[float], float, float]:
        """Of the weak classes: the powers (t·deviation)^2, ^4, …; what is left out; how far.

        With t in units of 1/deviation the series leaves out at most the second times
        t^(2·orders + 2), for t up to the third.
        """
        if not self.weak.any():
            return [0.0] * ORDERS, 0.0, math.inf
        c, b = self.c[self.weak] / self.deviation, self.b[self.weak]
        square, s, m = c * c, self.s[self.weak], self.m[self.weak]
        # Σ m·c^2k·s^d for all d ≤ k, as (c²s)^d · c^2(k − d): all of these are below 1.
        one, other = np.empty((ORDERS, len(c))), np.empty((ORDERS, len(c)))
        one[:], other[0], other[1:] = square * s, m, square
        moments = one.cumprod(axis=0) @ other.cumprod(axis=0).T
        found = (_FROM_MOMENTS @ moments.ravel()).tolist()
        reach = b * c
        order = ORDERS + 1
        beyond = float(np.dot(m, reach ** (2 * order))) * (16 / 3 / order)
        return found, beyond, 0.5 / float(reach.max())

    def chernoff(self, *tails: float) -> list[float]:
        """Widths that |S| passes with probability at most each of the tails, the largest first."""
        return self.passed_by_logs(*np.log(2 / np.array(tails)).tolist())

    def passed_by_logs(self, *rooms: float) -> list[float]:
        """The same of tails 2·exp(−room), which may be smaller than any float above 0."""
        if not len(self.c):
            return [0.0] * len(rooms)
        deviation = self.deviation
        limit = 0.985 / float((self.c * self.b).max())
        series, beyond, near = self.series
        most = min(math.sqrt(2 * rooms[0]) / deviation, limit)
        last = min(1.15 * math.sqrt(2 * rooms[-1]) / deviation, limit)
        theta = 0.5 * most + (last - 0.5 * most) * THETAS
        c, s, m = self.strong
        if last * deviation > near:
            c, s, m, series, beyond = self.c, self.s, self.m, [0.0] * ORDERS, 0.0
        grown = np.sinh(np.multiply.outer(theta, 0.5 * c))
        grown *= grown
        grown *= -2 * s
        cumulant = -(np.log1p(grown) @ m)
        square = np.square(theta * deviation)
        # At imaginary t the powers alternate in sign: all cumulants are above 0.
        total = beyond * square
        for order in range(ORDERS - 1, -1, -1):
            total = (total + (series[order] if order % 2 else -series[order])) * square
        cumulant += total
        return [float(((room + cumulant) / theta).min()) for room in rooms]


def _logarithm() -> list[list[float]]:
    """log(1 + s(1 − cos x)) = Σ x^2k Σ s^d · found[k − 1][d − 1], up to the orders of the series.

    With 1 + s(1 − cos x) = 1 + Σ h_k x^2k, the coefficients are
    a_k = h_k − Σ_{j<k} (j/k) a_j h_{k−j}; each h is a multiple of s.
    """
    h = [(-1) ** (k + 1) / math.factorial(2 * k) for k in range(1, ORDERS + 1)]
    found: list[list[float]] = []
    for k in range(1, ORDERS + 1):
        each = [h[k - 1], *[0.0] * (ORDERS - 1)]
        for j in range(1, k):
            for d in range(1, j + 1):
                each[d] -= j / k * found[j - 1][d - 1] * h[k - j - 1]
        found.append(each)
    return found


LOGARITHM = _logarithm()
_FROM_MOMENTS = np.array(
    [
        [
            -LOGARITHM[k][d] if k == d + rest else 0.0
            for d in range(ORDERS)
            for rest in range(ORDERS)
        ]
        for k in range(ORDERS)
    ]
)
