"""How wrong an answer may be: the law of its error, from the law of the noise alone.

An answer of linear inference is off by Σ coefficient · noise, over the noisy answers. Errors models
know those coefficients, and so the variance and the exact distribution of any answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from trueup._kernels.law.weighted_laplace import half_width
from trueup._kernels.tree import haar
from trueup.intervaltree import IntervalTree
from trueup.intervaltree.coefficients import TreeCoefficients
from trueup.intervaltree.variance import TreeVariance
from trueup.noise import log_noise_variance, noise_variance

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Combination = tuple[tuple[Any, float], ...]
"""Answers with coefficients: ((start, stop), 1.0) is a range of cells, (name, 1.0) a query."""

_PINNED = 1e14  # the weight of a known total, in units of the largest other
_FINER = 1024  # continuous noise is taken as discrete noise on a lattice this much finer


@dataclass(frozen=True, eq=False)
class NoiseLaw:
    """The law of Σ coefficient · noise: `counts` noises of a scale share a coefficient.

    Those that share one may differ by a part of it, by which half-widths are `widened`.
    """

    coefficients: Floats
    scales: Floats
    counts: Floats
    law: str = "discrete"
    widened: float = 0.0

    @cached_property
    def variance(self) -> float:
        """The variance of the sum."""
        if not len(self.coefficients):
            return 0.0
        scales, which = np.unique(self.scales, return_inverse=True)
        each = np.array([noise_variance(scale, self.law) for scale in scales])
        return float(np.sum(self.counts * self.coefficients**2 * each[which]))

    def half_width(self, level: float) -> float:
        """The q for which |sum| ≤ q with at least that probability, and hardly more."""
        finer = _FINER if self.law == "continuous" else 1
        found = half_width(self.coefficients / finer, self.scales * finer, self.counts, level)
        return found * (1 + self.widened)


@dataclass(frozen=True)
class NormalLaw:
    """An error of which only the variance is known, taken as normal."""

    variance: float

    def half_width(self, level: float) -> float:
        """The q for which |error| ≤ q with that probability."""
        return NormalDist().inv_cdf(0.5 + level / 2) * math.sqrt(self.variance)


Law = NoiseLaw | NormalLaw


def half_widths(laws: Sequence[Law], level: float) -> Floats:
    """As `half_width` of each, for many at once."""
    return np.array([law.half_width(level) for law in laws])


class Errors(Protocol):
    """The error of every answer of a release."""

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of answers."""

    def noise_law(self, combination: Combination) -> Law:
        """The law of the error of a combination of answers."""


class RangeErrors(Errors, Protocol):
    """The error of every range of a release."""

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each range [start, stop) of cells."""


@dataclass(frozen=True, eq=False)
class TreeErrors:
    """The error of ranges after least squares on a tree.

    `scales` holds, for each level, root first, the noise scales of its answers: none where it was
    not asked, several where it was asked more than once. `pinned` if the total is known.
    """

    shape: IntervalTree
    scales: tuple[tuple[Fraction, ...], ...]
    law: str = "discrete"
    pinned: bool = False

    @cached_property
    def _logs(self) -> list[list[float]]:
        return [[log_noise_variance(b, self.law) for b in level] for level in self.scales]

    @cached_property
    def _unit(self) -> float:
        """The logarithm of the cells' variance: all others are taken relative to it."""
        return min(self._logs[-1])

    @cached_property
    def _level_scales(self) -> Floats:
        """The noise scale of each level that was asked at most once, 1 where it was not."""
        return np.array([float(level[0]) if level else 1.0 for level in self.scales])

    @cached_property
    def _weights(self) -> list[list[float]]:
        return [
            [math.exp(min(max(self._unit - log, -345), 345)) for log in level]
            for level in self._logs
        ]

    @cached_property
    def _level_weights(self) -> list[float]:
        weights = [math.fsum(level) for level in self._weights]
        if self.pinned:
            weights[0] = _PINNED * max(weights)
        return weights

    @property
    def level_variances(self) -> tuple[float, ...]:
        """The variance of a node's own noisy answers taken together, level by level."""
        unit = math.exp(self._unit)
        return tuple(unit / weight if weight else math.inf for weight in self._level_weights)

    @cached_property
    def _coefficients(self) -> TreeCoefficients:
        return TreeCoefficients(TreeVariance(self.shape, self._level_weights))

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each range [start, stop) of cells; O(height) a range."""
        relative = self._coefficients.tree.range_variances(starts, stops)
        return relative * math.exp(self._unit)

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of ranges."""
        return self.noise_law(combination).variance

    def noise_law(self, combination: Combination) -> NoiseLaw:
        """The law of the error of a combination of ranges."""
        cuts, values = steps(combination, self.shape.size)
        coefficients, levels, counts = self._coefficients.classes(cuts, values)
        if self.pinned:  # what is known has no noise
            below = levels > 0
            coefficients, levels, counts = coefficients[below], levels[below], counts[below]
        if max(map(len, self.scales)) == 1:
            return NoiseLaw(coefficients, self._level_scales[levels], counts, self.law)
        # A level asked more than once enters as the mean of its answers by weight.
        parts = []
        for level, (scales_, weights) in enumerate(zip(self.scales, self._weights, strict=True)):
            at = levels == level
            for scale, weight in zip(scales_, weights, strict=True):
                part = coefficients[at] * (weight / math.fsum(weights))
                parts.append((part, np.full(len(part), float(scale)), counts[at]))
        found = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return NoiseLaw(found[0], found[1], found[2], self.law)

    def half_widths(self, starts: Ints, stops: Ints, level: float) -> Floats:
        """The half-width of the interval of each range [start, stop), exact as of its `noise_law`.

        Compiled where the tree is regular and each level was asked at most once: made for a server
        that is asked for many, and for the same release again and again.
        """
        simple = self._coefficients.tree.regular and max(map(len, self.scales)) == 1
        if not simple or self.pinned:
            pairs = zip(starts.tolist(), stops.tolist(), strict=True)
            return half_widths([self.noise_law(((pair, 1.0),)) for pair in pairs], level)
        from trueup._kernels.law.laplace_rows import half_widths as rows
        from trueup._kernels.law.range_coefficients import range_classes

        finer = _FINER if self.law == "continuous" else 1
        scales = self._level_scales * finer
        room = 64 * len(self.scales)
        numbers = self._coefficients.numbers
        law = numbers.known, numbers.under, numbers.number
        c, at, m, used = range_classes(*law, starts, stops, room)
        if used.min(initial=0) < 0:  # never seen: the room is several times what a range takes
            raise AssertionError("A range of a regular tree has more classes than expected.")
        return rows(c / finer, scales[at], m, used, level)


@dataclass(frozen=True, eq=False)
class HaarErrors:
    """The error of ranges read back from a Haar wavelet.

    `scales` are those of the total and of the differences of each level, root first.
    """

    size: int
    scales: tuple[Fraction, ...]
    law: str = "discrete"

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each range [start, stop) of cells; O(height) a range."""
        return self._tree.range_variances(starts, stops) * math.exp(self._unit)

    @cached_property
    def _unit(self) -> float:
        return log_noise_variance(self.scales[-1], self.law)

    @cached_property
    def _tree(self) -> TreeVariance:
        logs = [log_noise_variance(scale, self.law) for scale in self.scales]
        weights = [math.exp(min(max(self._unit - log, -345), 345)) for log in logs]
        shape = IntervalTree(self.size, widths=haar.widths_of(self.size))
        return TreeVariance(shape, haar.tree_weights(self.size, weights))

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of ranges."""
        return self.noise_law(combination).variance

    def noise_law(self, combination: Combination) -> NoiseLaw:
        """The law of the error of a combination of ranges."""
        found = haar.coefficients(self.size, *steps(combination, self.size))
        coefficients = np.array([coefficient for _, coefficient in found])
        scales = np.array([float(self.scales[block]) for block, _ in found])
        return NoiseLaw(coefficients, scales, np.ones(len(found)), self.law)


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


def tree_errors(
    shape: IntervalTree, shares: Sequence[Fraction], scales: Sequence[Fraction], law: str
) -> TreeErrors:
    """The errors of a tree whose asked levels (those with a share) have these noise scales."""
    asked = iter(scales)
    return TreeErrors(shape, tuple((next(asked),) if share else () for share in shares), law)
