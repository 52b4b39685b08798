"""How wrong an answer may be: the law of its error, from the law of the noise alone.

An answer of linear inference is off by Σ coefficient · noise, over the noisy answers. `NoiseLaw` is
the law of such a sum; errors know the coefficients of any answer, and so its variance and its law.
There is no question here.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from trueup._kernels.law.weighted_laplace import chernoff_width, half_width
from trueup.arrays import Floats, Ints
from trueup.noise import GAUSSIAN, noise_variance

Combination = tuple[tuple[Any, float], ...]
"""Answers with coefficients: ((start, stop), 1.0) is a range of cells, (name, 1.0) a query."""

EXACT = "exact, from the law of the noise"
UPPER_BOUND = (
    "an upper bound: what was asked depended on the noise, so it allows for all that could have "
    "been asked"
)
FINER = 1024  # continuous noise is taken as discrete noise on a lattice this much finer
_WORTH_COMPILING = 1000  # intervals: they take longer one by one than compiling does
_COMPILED = 8  # intervals at once that are quicker by code that is compiled already
_ROWS = "trueup._kernels.law.laplace_rows"
_RARE = 2.0**-40  # a chance to fail below which half-widths are Chernoff's bound
_FLOATS = 700.0  # the logarithm of a number that floats still hold
_TOGETHER = 1000  # intervals in one call of compiled code: each takes room


@dataclass(frozen=True, eq=False)
class NoiseLaw:
    """The law of Σ coefficient · noise: `counts` noises of a scale share a coefficient.

    Of Gaussian noise the scale is its variance σ². There may be Laplace noise `beside` it.

    Those that share one may differ by a part of it, by which half-widths are `widened`. Where the
    noise had a say in which law it is, it is one `among` so many, which share the chance to fail,
    but for a `slip`: the chance that noise made a path look clear which is not. If that is more
    than half of the chance to fail, nothing is taken to be clear: it is then one among `unclear`.
    `left_open` is how far an answer may be off besides, for reasons that are no noise; where that
    is not known exactly, `open_noise` has a part of the chance to fail of its own.
    """

    coefficients: Floats
    scales: Floats
    counts: Floats
    law: str = "discrete"
    widened: float = 0.0
    among: float = 1.0
    unclear: float = 1.0
    slip: float = 0.0
    left_open: float = 0.0
    beside: NoiseLaw | None = None
    open_noise: NoiseLaw | None = None

    @property
    def noise_alone(self) -> bool:
        """Whether noise of this law separates the answer from the truth, but for a slip."""
        return self.among < 2 and not self.left_open

    @property
    def words(self) -> str:
        """What kind of interval it makes."""
        exact = self.among == 1 and not self.left_open and not self.slip
        return EXACT if exact else UPPER_BOUND

    @property
    def columns(self) -> tuple[Floats, Floats, Floats]:
        """Coefficients, scales and counts."""
        return self.coefficients, self.scales, self.counts

    @cached_property
    def variance(self) -> float:
        """The variance of the sum."""
        if not len(self.coefficients):
            return 0.0
        scales, which = np.unique(self.scales, return_inverse=True)
        each = np.array([noise_variance(scale, self.law) for scale in scales])
        other = 0.0 if self.beside is None else self.beside.variance
        return float(np.sum(self.counts * self.coefficients**2 * each[which])) + other

    def half_width(self, level: float) -> float:
        """The q for which |sum| ≤ q with at least that probability, and hardly more."""
        law = _discrete(self)
        own, room = level, 0.0
        if 2 * self.slip > 1 - level:
            own, room = _shared(1 - level, self.unclear)
        elif self.among > 1 or self.slip:
            own, room = _shared(1 - level - self.slip, self.among)
        if self.law == "normal" and self.beside is None:
            found = NormalLaw(self.variance).half_width(own)
        elif self.law in GAUSSIAN:
            from trueup._kernels.law import gaussian_sum

            other = None if self.beside is None else self.beside.columns
            found = gaussian_sum.half_width(*law.columns, own, other)
        elif room:
            found = chernoff_width(*law.columns, room)
        else:
            found = half_width(*law.columns, own)
        if room and self.law in GAUSSIAN:
            found = _further(found, room) if found or not self.variance else math.inf
        unknown = 0.0 if self.open_noise is None else self.open_noise.half_width(level)
        return found * (1 + self.widened) + self.left_open + unknown


def _shared(missed: float, among: float) -> tuple[float, float]:
    """The level for a chance to fail of missed/among; too near to 1 for that, log(2·among/missed).

    The level is then one at which half-widths are Chernoff's bound, and the logarithm is not 0.
    """
    if among <= missed / _RARE:
        return 1 - missed / among, 0.0
    return 1 - _RARE, math.log(2) + math.log(among) - math.log(missed)


def _further(width: float, room: float) -> float:
    """A width that is passed with a chance of 2·exp(−room), from one passed with that of _RARE.

    Chernoff's bound is the least (log(2/p) + K(t))/t, and K is never negative: so λ times the bound
    is passed with a chance of at most 2 (p/2)^λ ≤ p^λ.
    """
    return width * (room - math.log(2)) / -math.log(_RARE)


@dataclass(frozen=True)
class NormalLaw:
    """An error of which only the variance is known, taken as normal."""

    variance: float
    noise_alone: ClassVar[bool] = True
    """Noise is what separates the answer from the truth, as far as is known."""

    @property
    def words(self) -> str:
        """What kind of interval it makes."""
        return "by a normal curve, as only standard errors are known"

    def half_width(self, level: float) -> float:
        """The q for which |error| ≤ q with that probability."""
        return NormalDist().inv_cdf(0.5 + level / 2) * math.sqrt(self.variance)


Law = NoiseLaw | NormalLaw


def times(law: Law, factor: float) -> Law:
    """The law of a multiple of the error."""
    if isinstance(law, NormalLaw):
        return NormalLaw(law.variance * factor**2)
    others: dict[str, Any] = {
        name: times(one, factor)
        for name, one in (("beside", law.beside), ("open_noise", law.open_noise))
        if one is not None
    }
    left_open = law.left_open * abs(factor)
    return replace(law, coefficients=law.coefficients * factor, left_open=left_open, **others)


def added(laws: Sequence[Law]) -> Law:
    """The law of the sum of independent errors.

    If of one of them only the variance is known, so it is of the sum.
    """
    if len(laws) == 1:
        return laws[0]
    known = [_discrete(law) for law in laws if isinstance(law, NoiseLaw)]
    if len(known) < len(laws):
        return NormalLaw(math.fsum(law.variance for law in laws))
    if not known:
        return NoiseLaw(np.zeros(0), np.zeros(0), np.zeros(0))
    widened = max(law.widened for law in known)
    among, slip = product([law.among for law in known]), math.fsum(law.slip for law in known)
    left_open = math.fsum(law.left_open for law in known)
    plain = [law for law in known if law.law not in GAUSSIAN]
    plain += [law.beside for law in known if law.beside is not None]
    gaussian = [law for law in known if law.law in GAUSSIAN]
    beside = _joined(plain, "discrete") if plain and gaussian else None
    found = _joined(gaussian or plain, "gaussian" if gaussian else "discrete")
    unknown = [law.open_noise for law in known if law.open_noise is not None]
    open_noise = added(unknown) if unknown else None
    assert not isinstance(open_noise, NormalLaw)
    if open_noise is not None:  # each has a part of the chance to fail: their sum has the least
        open_noise = replace(open_noise, among=max(law.among for law in unknown))
    return replace(
        found,
        widened=widened,
        among=among,
        unclear=product([law.unclear if law.slip else law.among for law in known]),
        slip=slip,
        left_open=left_open,
        beside=beside,
        open_noise=open_noise,
    )


def product(among: Sequence[float]) -> float:
    """The product of numbers of laws; whole numbers have no largest one."""
    if math.fsum(map(math.log, among)) < _FLOATS:
        return math.prod(among)
    return math.prod(map(math.ceil, among))


def _joined(laws: Sequence[NoiseLaw], law: str) -> NoiseLaw:
    """The law of the sum of independent errors of one family of noise."""
    found = [np.concatenate(each) for each in zip(*(one.columns for one in laws), strict=True)]
    return NoiseLaw(found[0], found[1], found[2], law)


def _discrete(law: NoiseLaw) -> NoiseLaw:
    """The same law as one of discrete noise: continuous noise is that on a fine lattice."""
    if law.law in ("discrete", "gaussian"):
        return law
    if law.law == "normal":
        finer = law.scales * FINER**2
        return replace(law, coefficients=law.coefficients / FINER, scales=finer, law="gaussian")
    return replace(
        law, coefficients=law.coefficients / FINER, scales=law.scales * FINER, law="discrete"
    )


def half_widths(laws: Sequence[Law], level: float) -> Floats:
    """As `half_width` of each, for many at once.

    Of laws that differ in what is left open alone, one is looked at: they are as wide but for that.
    """
    known: dict[object, float] = {}
    found = np.empty(len(laws))
    for number, law in enumerate(laws):
        if isinstance(law, NormalLaw) or law.open_noise is not None:
            found[number] = law.half_width(level)
            continue
        alike = _but_for_what_is_open(law)
        if alike not in known:
            known[alike] = replace(law, left_open=0.0).half_width(level)
        found[number] = known[alike] + law.left_open
    return found


def _but_for_what_is_open(law: NoiseLaw) -> object:
    """What is the same for laws that differ in what is left open alone."""
    parts = (getattr(law, each.name) for each in fields(law) if each.name != "left_open")
    return tuple(each.tobytes() if isinstance(each, np.ndarray) else each for each in parts)


class Errors(Protocol):
    """The error of every answer of a release."""

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of answers."""

    def noise_law(self, combination: Combination) -> Law:
        """The law of the error of a combination of answers."""


class RangeErrors(ABC):
    """The error of every range of a release."""

    work: int = 1
    """What one law takes: about as much time as looking at so many cells."""
    variance_work: int = 1
    """What one variance takes, in the same way."""

    alike: bool = True
    """Whether intervals are wide as standard errors are: some stand for all."""
    pooled: bool = False
    """Whether cells were counted together, so that a count may be further off than noise says."""

    @abstractmethod
    def variance(self, combination: Combination) -> float:
        """The variance of a combination of ranges."""

    @abstractmethod
    def noise_law(self, combination: Combination) -> Law:
        """The law of the error of a combination of ranges."""

    @abstractmethod
    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each range [start, stop) of cells."""

    def given(self, prefix: Floats) -> RangeErrors:
        """The errors of unbiased counts with these prefix sums, where they tell more."""
        return self

    def many_half_widths(self, starts: Ints, stops: Ints, level: float) -> Floats | None:
        """The half width of each range by compiled code; None where there is none."""
        return None

    def half_widths(self, starts: Ints, stops: Ints, level: float) -> Floats:
        """The half width of the interval of each range [start, stop), exact as of its `noise_law`.

        The one place that decides how: laws one by one, or many in compiled code where there is
        some. That is worth compiling for a thousand; a process that has compiled it, such as a
        server, uses it for a handful too; one by itself is the library's own, to the last bit.
        """
        if len(starts) >= (_COMPILED if _ROWS in sys.modules else _WORTH_COMPILING):
            parts = [slice(first, first + _TOGETHER) for first in range(0, len(starts), _TOGETHER)]
            found = [self.many_half_widths(starts[some], stops[some], level) for some in parts]
            if found[0] is not None:
                return np.concatenate([each for each in found if each is not None])
        pairs = zip(starts.tolist(), stops.tolist(), strict=True)
        return half_widths([self.noise_law(((pair, 1.0),)) for pair in pairs], level)


class BoxErrors(Errors, Protocol):
    """The error of every box of a release."""

    def box_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each box, one column an axis."""

    def product_variances(self, cuts: Sequence[Ints]) -> Floats:
        """The variances of all boxes between neighbouring cuts of each axis."""

    @property
    def work(self) -> int:
        """What one law takes: about as much time as looking at so many cells."""

    @property
    def variance_work(self) -> int:
        """What one variance takes, in the same way."""


@dataclass(frozen=True, eq=False)
class QueryErrors:
    """The error of named queries: their covariance after least squares.

    Where all noisy answers have one scale, the coefficients are the covariance in units of the
    noise's variance. Without a scale the law of the noise is not known, only the covariance.
    """

    names: tuple[str, ...]
    covariance: Floats
    scale: Fraction | None = None
    law: str = "discrete"

    def _weights(self, combination: Combination) -> Floats:
        weights = np.zeros(len(self.names))
        for name, coefficient in combination:
            weights[self.names.index(name)] += coefficient
        return weights

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of queries."""
        weights = self._weights(combination)
        return max(float(weights @ self.covariance @ weights), 0.0)

    def noise_law(self, combination: Combination) -> Law:
        """The law of the error of a combination of queries."""
        if self.scale is None:
            return NormalLaw(self.variance(combination))
        each = noise_variance(self.scale, self.law)
        coefficients = self.covariance @ self._weights(combination) / (each or 1.0)
        kept = coefficients[np.abs(coefficients) > 1e-12]
        return NoiseLaw(kept, np.full(len(kept), float(self.scale)), np.ones(len(kept)), self.law)


@dataclass(frozen=True)
class SumErrors:
    """The error of the sum of independent answers of one noise scale, and of nothing else."""

    count: int
    scale: Fraction
    law: str = "discrete"

    def variance(self, combination: Combination) -> float:
        """The variance of a multiple of the sum."""
        return self.noise_law(combination).variance

    def noise_law(self, combination: Combination) -> NoiseLaw:
        """The law of the error of a multiple of the sum."""
        times = sum(coefficient for _, coefficient in combination)
        one = np.array([float(times)])
        return NoiseLaw(one, np.array([float(self.scale)]), np.array([self.count + 0.0]), self.law)


def steps(combination: Combination, size: int) -> tuple[list[int], list[float]]:
    """A combination of ranges as values on stretches of cells: where they begin, and each value.

    >>> steps((((2, 5), 1.0), ((4, 7), -1.0)), 10)
    ([0, 2, 4, 5, 7, 10], [0.0, 1.0, 0.0, -1.0, 0.0])
    """
    jumps = {0: 0.0, size: 0.0}
    for (start, stop), coefficient in combination:
        if start < stop:
            jumps[start] = jumps.get(start, 0.0) + coefficient
            jumps[stop] = jumps.get(stop, 0.0) - coefficient
    cuts, values, value = [0], [], jumps[0]
    for cut in sorted(jumps)[1:]:
        if jumps[cut] or cut == size:
            cuts.append(cut)
            values.append(value)
            value += jumps[cut]
    return cuts, values


def cell_values(combination: Combination, size: int) -> Floats:
    """A combination of ranges as one number a cell."""
    cuts, values = steps(combination, size)
    return np.repeat(np.array(values), np.diff(cuts))
