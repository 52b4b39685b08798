"""Half-widths q with P(|Σ c·X| ≤ q) ≥ level, for independent X of discrete Gaussian noise.

As `weighted_laplace`, and as safe: the characteristic function of the sum S is inverted on a
circle, with a small U added where S lives on no coarse lattice, and all that is left out is charged
to the answer. X of variance parameter v is subgaussian, E e^(θX) ≤ e^(θ²v/2) (Canonne, Kamath and
Steinke 2020), so that P(|S| > x) ≤ 2·e^(−x²/(2V)) with V = Σ c²v: this bounds what wraps around.

There may be Laplace noise in the sum too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from trueup._kernels.law.laplace_sum import LaplaceSum
from trueup._kernels.law.weighted_laplace import (
    DUST,
    LATTICE_POINTS,
    LEAST_SCALE,
    NOTHING,
    SLACK,
    SMALLEST_TAIL,
    WIDENING,
    circle,
    least_on_circle,
    normal,
    solve,
    tapered,
)
from trueup.arrays import Floats

_MOST_TERMS = 1 << 18
_DUAL = 0.5  # the σ² from which on e^(−2π²k²σ²) falls faster than e^(−j²/2σ²)
_WIDE = 10.0  # the σ² from which on φ is that of the real line, but for what is below any cut
_PERIODS = np.arange(-2, 3)
_POINTS = np.arange(1, 10)
_STILL = 1 / 1400  # below this σ² noise is 0: e^−700 is never


@dataclass(frozen=True)
class GaussianSum:
    """The classes of a sum: `m` noises of variance parameter `v`, each times `c`; and Laplace."""

    c: Floats  # coefficient, above 0
    v: Floats  # σ² of the noise
    m: Floats  # how many
    beside: LaplaceSum

    @cached_property
    def square(self) -> float:
        """Σ c²σ²: S of the Gaussian noises has subgaussian tails of this variance."""
        return float(np.dot(self.m, self.c * self.c * self.v))

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of S, or a little more."""
        return math.hypot(math.sqrt(self.square), self.beside.deviation)

    @cached_property
    def log_still(self) -> float:
        """log P(every X is 0)."""
        own = sum(m * math.log(_mass(v)) for m, v in zip(self.m, self.v, strict=True))
        return self.beside.log_still - own

    @cached_property
    def steps(self) -> Floats:
        """The coefficients of all noises."""
        return np.concatenate([self.c, self.beside.c])

    def passed(self, *tails: float) -> list[float]:
        """Widths that |S| passes with probability at most each of the tails, the largest first."""
        if not len(self.beside.c):
            return [math.sqrt(2 * self.square * math.log(2 / tail)) for tail in tails]
        own = [math.sqrt(2 * self.square * math.log(4 / tail)) for tail in tails]
        other = self.beside.chernoff(*(tail / 2 for tail in tails))
        return [a + b for a, b in zip(own, other, strict=True)]

    @cached_property
    def classes(self) -> list[tuple[float, float, float, bool]]:
        """Coefficient, parameter, number, and whether Gaussian, of each class; strongest first."""
        own, other = (self.c, self.v, self.m), (self.beside.c, self.beside.s, self.beside.m)
        both = [np.concatenate(pair).tolist() for pair in zip(own, other, strict=True)]
        gaussian = np.arange(len(both[0])) < len(self.c)
        found = zip(*both, gaussian.tolist(), strict=True)
        return sorted(found, key=lambda each: -each[1] * each[2])

    def log_phi(self, t: Floats, log_phi: Floats, cut: Floats) -> tuple[Floats, Floats]:
        """The rising t at which log φ, and what it is given with, exceeds its cut; and it there."""
        near = 0
        if not len(self.beside.c) and self.v.min() >= _WIDE:
            # No noise turned half a circle yet: as on the real line.
            near = int(np.searchsorted(t, np.pi / float(self.c.max())))
        head = log_phi[:near] - np.square(t[:near]) * (self.square / 2)
        keep = head > cut[:near]
        first = t[:near][keep], head[keep]
        t, log_phi, cut = t[near:], log_phi[near:], cut[near:]
        for c, own, number, gaussian in self.classes:
            if not len(t):
                break
            if gaussian:
                log_phi = log_phi + number * log_characteristic(c * t, own)
            else:
                log_phi = log_phi - number * np.log1p(2 * own * np.square(np.sin(0.5 * c * t)))
            keep = log_phi > cut
            if np.count_nonzero(keep) < 0.9 * len(t):
                t, log_phi, cut = t[keep], log_phi[keep], cut[keep]
        keep = log_phi > cut
        return np.concatenate([first[0], t[keep]]), np.concatenate([first[1], log_phi[keep]])


def _mass(v: float) -> float:
    """Σ e^(−j²/2v) over all whole j."""
    if v < _DUAL:
        return 1 + 2 * float(np.exp(-_POINTS * _POINTS / (2 * v)).sum())
    return math.sqrt(2 * math.pi * v) * float(np.exp(-2 * (np.pi * _PERIODS) ** 2 * v).sum())


def log_characteristic(x: Floats, v: float) -> Floats:
    """log E cos(xX) of discrete Gaussian X of variance parameter v.

    By Poisson's formula it is Σ e^(−v(x − 2πk)²/2) over all whole k, divided by its value at 0.
    """
    found: Floats
    turned = x - 2 * np.pi * np.rint(x / (2 * np.pi))
    if v < _DUAL:
        weights = np.exp(-_POINTS * _POINTS / (2 * v))
        waves = np.cos(np.multiply.outer(turned, _POINTS)) @ weights
        found = np.log1p(2 * waves) - math.log1p(2 * float(weights.sum()))
        return found
    if v >= _WIDE:
        found = -v / 2 * turned * turned
        return found
    shifts = 2 * np.pi * _PERIODS * (np.pi * _PERIODS - turned[..., None])
    found = np.log(np.exp(-v * shifts).sum(axis=-1)) - v * turned * turned / 2
    return found - math.log(float(np.exp(-2 * (np.pi * _PERIODS) ** 2 * v).sum()))


def half_width(
    coefficients: npt.ArrayLike,
    variances: npt.ArrayLike,
    counts: npt.ArrayLike,
    level: float,
    laplace: tuple[Floats, Floats, Floats] | None = None,
) -> float:
    """The q for which P(|S| ≤ q) ≥ level: never too small, at most 1 % too large.

    S has `counts` copies of each coefficient times noise of its variance parameter σ²; and those of
    `laplace`, coefficients, scales and counts, times Laplace noise.

    >>> half_width([1.0], [100.0], [1.0], 0.95)
    20.0
    """
    c, v, m = (np.asarray(part, np.float64) for part in (coefficients, variances, counts))
    b_c, b, b_m = (np.zeros(0),) * 3 if laplace is None else map(np.asarray, laplace)
    c, b_c = np.abs(c), np.abs(b_c)
    largest = max(float(c.max(initial=0.0)), float(b_c.max(initial=0.0)))
    moving, b_moving = (c > 0) & (m > 0) & (v > _STILL), (b_c > 0) & (b_m > 0) & (b > LEAST_SCALE)
    if not moving.any() and not b_moving.any():
        return 0.0
    c, v, m = c[moving] / largest, v[moving], m[moving]
    law = LaplaceSum(b_c[b_moving] / largest, b[b_moving], b_m[b_moving])
    # Coefficients that rounding left where they are 0: their noise is charged, and left out.
    real = np.maximum(np.sqrt(v), 1.0) * c > DUST
    b_real = np.maximum(law.b, 1.0) * law.c > DUST
    dust = 0.0
    if not real.all() or not b_real.all():
        left = GaussianSum(c[~real], v[~real], m[~real], law.some(~b_real))
        (dust,) = left.passed((1 - level) * SLACK)
    found = _half_width(GaussianSum(c[real], v[real], m[real], law.some(b_real)), level)
    return (found + (dust if dust > 1e-10 * found else 0.0)) * largest


def _half_width(law: GaussianSum, level: float) -> float:
    if law.log_still >= math.log(level):
        return 0.0
    tail = 1 - level
    most, wrapped, far = law.passed(tail, tail * SLACK, tail * SLACK / 1000)
    if tail < SMALLEST_TAIL:
        return most
    step = float(law.steps.min())
    if most + far <= LATTICE_POINTS * step:
        whole = np.rint(law.steps / step)
        if np.all(np.abs(law.steps - whole * step) <= 1e-11 * law.steps):
            points, half = circle((most + far) / step)
            t = 2 * half / step
            t, log_phi = law.log_phi(t, np.zeros(len(t)), np.full(len(t), NOTHING))
            goal = level + tail * SLACK / 1000
            return step * least_on_circle(points, t * (step / 2), log_phi, goal)
    return _smoothed(law, level, most, most + wrapped)


def _smoothed(law: GaussianSum, level: float, most: float, around: float) -> float:
    slack = (1 - level) * SLACK
    taper = 4 - math.log(slack)
    found = most
    guess = min(normal(level) * law.deviation, most)
    for _ in range(8):
        terms = min(math.ceil(taper / (2 * math.pi * WIDENING) * around / guess), _MOST_TERMS)
        delta = taper * around / (2 * math.pi * terms)
        share = np.arange(1, terms + 1) / terms
        least = math.log(slack / 4 / math.log(terms + 2))
        cut = np.maximum(np.log(share) + math.log(slack / 4), least)
        t, log_phi = law.log_phi(share * (taper / delta), tapered(share, taper), cut)
        q = solve(t, np.exp(log_phi), around, 1.0, level + 2 * slack, guess, most)
        found = min(found, q + delta)
        if delta <= 1.1 * WIDENING * q or terms == _MOST_TERMS:
            break
        guess = max(q, 1e-9 * most)
    return found
