"""Springs: the errors of intervals that do not nest, and the sets of answers they are made of.

Least squares over differences of prefix sums is a network of springs between the edges of the axis.
The variance of a range is the resistance between its ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.errors import InputError
from trueup.law import Combination, NoiseLaw, RangeErrors
from trueup.noise import noise_variance


@dataclass(frozen=True, eq=False)
class CombinedLevel:
    """Answers for consecutive intervals that cover the axis, with noise of one scale and law."""

    starts: Ints
    values: Floats
    scale: Fraction
    law: str

    @property
    def variance(self) -> float:
        """The variance of the noise in each answer."""
        return noise_variance(self.scale, self.law)


@dataclass(frozen=True, eq=False)
class SpringErrors(RangeErrors):
    """The error of ranges when the intervals asked do not nest: resistances between edges.

    `edges` holds sets of intervals, by where they start, with the scales of their noisy answers.
    """

    size: int
    edges: tuple[tuple[Ints, tuple[Fraction, ...]], ...]
    pinned: bool = False
    law: str = "discrete"

    @cached_property
    def _weights(self) -> list[list[float]]:
        """Of each set of intervals: 1/variance of each of its noisy answers."""
        return [[1 / noise_variance(b, self.law) for b in scales] for _, scales in self.edges]

    @cached_property
    def _free(self) -> int:
        """The prefix sums that are unknown: 1 … n, or n − 1 if the total is known."""
        return self.size - 1 if self.pinned else self.size

    @cached_property
    def _springs(self) -> tuple[Ints, Ints, Floats]:
        starts = np.concatenate([cuts for cuts, _ in self.edges])
        stops = np.concatenate([np.append(cuts[1:], self.size) for cuts, _ in self.edges])
        each = zip(self.edges, self._weights, strict=True)
        weights = np.concatenate([np.full(len(cuts), sum(weight)) for (cuts, _), weight in each])
        return starts, stops, weights

    @cached_property
    def _factor(self) -> tuple[Any, Any]:
        from scipy.sparse import coo_array, csc_array
        from scipy.sparse.linalg import splu

        starts, stops, weights = self._springs
        unit = weights.max()
        row = np.concatenate([starts, stops, starts, stops])
        column = np.concatenate([starts, stops, stops, starts])
        data = np.concatenate([weights, weights, -weights, -weights]) / unit
        whole = csc_array(coo_array((data, (row, column)), (self.size + 1, self.size + 1)))
        free = slice(1, self._free + 1)
        try:
            return splu(csc_array(whole[free, free])) if self._free else None, unit
        except RuntimeError:
            raise InputError(
                "Some cells were asked by none of these, so nothing is known about them."
            ) from None

    def _solve(self, right: Floats) -> Floats:
        full = np.zeros((self.size + 1, *right.shape[1:]))
        factor, unit = self._factor
        if self._free:
            full[1 : self._free + 1] = factor.solve(right[1 : self._free + 1]) / unit
        return full

    def prefix(self, levels: Sequence[CombinedLevel], known_total: float | None) -> Floats:
        """The prefix sums at rest."""
        right = np.zeros(self.size + 1)
        for level in levels:
            force = level.values / level.variance
            np.add.at(right, np.append(level.starts[1:], self.size), force)
            np.add.at(right, level.starts, -force)
        if known_total is not None:
            starts, stops, weights = self._springs
            ends = stops == self.size
            np.add.at(right, starts[ends], weights[ends] * known_total)
        found = self._solve(right)
        if known_total is not None:
            found[-1] = known_total
        return found

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each range [start, stop) of cells; one sparse solve a range."""
        starts = np.atleast_1d(np.asarray(starts, np.int64))
        stops = np.atleast_1d(np.asarray(stops, np.int64))
        found = np.empty(len(starts))
        for begin in range(0, len(starts), 64):
            a, b = starts[begin : begin + 64], stops[begin : begin + 64]
            right = np.zeros((self.size + 1, len(a)))
            column = np.arange(len(a))
            right[b, column] += 1.0
            right[a, column] -= 1.0
            solved = self._solve(right)
            found[begin : begin + 64] = solved[b, column] - solved[a, column]
        return np.maximum(found, 0.0)

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of ranges."""
        right = self._right(combination)
        return max(float(right @ self._solve(right)), 0.0)

    def _right(self, combination: Combination) -> Floats:
        right = np.zeros(self.size + 1)
        for (start, stop), coefficient in combination:
            right[stop] += coefficient
            right[start] -= coefficient
        return right

    def noise_law(self, combination: Combination) -> NoiseLaw:
        """The law of the error: weight · Cov(answer, interval) is each noise's coefficient."""
        solved = self._solve(self._right(combination))
        parts = []
        for (cuts, scales), weights in zip(self.edges, self._weights, strict=True):
            with_interval = solved[np.append(cuts[1:], self.size)] - solved[cuts]
            distinct, counts = np.unique(with_interval, return_counts=True)
            for scale, weight in zip(scales, weights, strict=True):
                parts.append((weight * distinct, np.full(len(distinct), float(scale)), counts))
        found = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return NoiseLaw(found[0], found[1], found[2], self.law)
