"""How wrong an answer may be: variances of linear inference, from the noise law alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from trueup._kernels.shape import Shape

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Combination = tuple[tuple[Any, float], ...]
"""Answers with coefficients: ((start, stop), 1.0) is a range of cells, (name, 1.0) a query."""


def noise_variance(scale: Fraction, law: str = "discrete") -> float:
    """The variance of (discrete) Laplace noise: 2p/(1 − p)² with p = e^(−1/scale), or 2·scale²."""
    b = float(scale)
    if law == "continuous":
        return 2 * b * b
    p = math.exp(-1 / b)
    return 2 * p / math.expm1(-1 / b) ** 2


class Errors(Protocol):
    """The error of every answer of a release."""

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of answers."""


class RangeErrors(Errors, Protocol):
    """The error of every range of a release over an axis."""

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each range [start, stop) of cells."""


@dataclass(frozen=True, eq=False)
class TreeErrors:
    """The error of ranges after least squares on a tree.

    `variances` holds the noise variance of each level, root first, infinite where not asked.
    For every node on the way up we carry the variance of its own count and, for the query q cut
    to the node, C = Cov(q, count) and Q = Var(q). A node's own noisy answer of weight w turns
    (V, C, Q) into (V/(1 + wV), C/(1 + wV), Q − wC²/(1 + wV)).
    """

    shape: Shape
    variances: tuple[float, ...]
    scales: tuple[Fraction | None, ...]
    law: str = "discrete"

    @cached_property
    def _weights(self) -> list[float]:
        """The weight of each level in units of the leaves': keeps tiny variances in range."""
        unit = self.variances[-1] or 1.0
        return [unit / v if v else (1.0 if math.isfinite(v) else 0.0) for v in self.variances]

    @cached_property
    def _spreads(self) -> list[Floats]:
        """Per level the variance of each node from below it alone; two entries if regular."""
        # A regular tree has at most two kinds of nodes on a level: full ones and the last.
        last = self.shape.height - 1
        regular = bool(self.shape.widths)
        above = [np.ones(2 if regular else self.shape.length(last))]
        for level in reversed(range(last)):
            below = self._after(level + 1, above[-1])
            if regular:
                final = np.array([self.shape.length(level) - 1])
                full = self.shape.widths[level] // self.shape.widths[level + 1]
                ends = int(np.diff(self.shape.first_child(level, np.append(final, final + 1)))[0])
                above.append(np.array([full * below[0], (ends - 1) * below[0] + below[1]]))
            else:
                above.append(np.add.reduceat(below, self.shape.children(level)[:-1]))
        return above[::-1]

    def _after(self, level: int, spread: Floats) -> Floats:
        if level == self.shape.height - 1:
            return spread
        return spread / (1 + self._weights[level] * spread)

    def _spread(self, level: int, nodes: Ints) -> Floats:
        """The variance of nodes from what is below them."""
        spreads = self._spreads[level]
        if self.shape.widths:
            return spreads[(nodes == self.shape.length(level) - 1).astype(np.intp)]
        return spreads[nodes]

    @cached_property
    def _sums(self) -> list[Floats]:
        """Per level of an irregular tree the running sums of the nodes' variances."""
        return [
            np.concatenate([[0.0], np.cumsum(self._after(level, spreads))])
            for level, spreads in enumerate(self._spreads)
        ]

    def _between(self, level: int, start: Ints, stop: Ints) -> Floats:
        """The added variances of the nodes start … stop − 1 of a level."""
        if not self.shape.widths:
            sums = self._sums[level]
            return sums[stop] - sums[start]
        full, last = self._after(level, self._spreads[level])
        reaches = (stop == self.shape.length(level)) & (start < stop)
        return (stop - start) * full + np.where(reaches, last - full, 0.0)

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each range [start, stop) of cells; O(height) a range."""
        starts = np.atleast_1d(np.asarray(starts, np.int64))
        stops = np.atleast_1d(np.asarray(stops, np.int64))
        empty = starts >= stops
        left = np.where(empty, 0, starts)
        right = np.where(empty, 0, stops - 1)
        # The query inside `left` reaches from some cell to the node's end, inside `right` from
        # the node's start to some cell; once the two are one node, it lies inside that.
        c_left = np.ones(len(left))
        q_left, c_right, q_right = c_left.copy(), c_left.copy(), c_left.copy()
        for level in reversed(range(self.shape.height - 1)):
            above_left = self.shape.parents(level, left)
            above_right = self.shape.parents(level, right)
            end = self.shape.first_child(level, above_left + 1)
            begin = self.shape.first_child(level, above_right)
            apart = above_left != above_right
            meet = ~apart & (left != right)
            add_left = np.where(
                apart,
                self._between(level + 1, left + 1, end),
                np.where(meet, self._between(level + 1, left + 1, np.maximum(right, left + 1)), 0),
            )
            add_right = np.where(apart, self._between(level + 1, begin, right), 0.0)
            c_left += add_left + np.where(meet, c_right, 0.0)
            q_left += add_left + np.where(meet, q_right, 0.0)
            c_right += add_right
            q_right += add_right
            weight = self._weights[level]
            for c, q, node in ((c_left, q_left, above_left), (c_right, q_right, above_right)):
                shrink = 1 + weight * self._spread(level, node)
                q -= weight * c * c / shrink
                c /= shrink
            left, right = above_left, above_right
        return np.where(empty, 0.0, np.maximum(q_left, 0.0)) * (self.variances[-1])

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of ranges."""
        pieces = _pieces(combination, self.shape.size)
        if len(pieces) == 1:
            (start, stop, coefficient) = pieces[0]
            return coefficient**2 * float(self.range_variances([start], [stop])[0])
        # Σ a_i a_j Cov(q_i, q_j), each covariance from the variances of runs of pieces:
        # 2 Cov(q_i, q_j) = Var(i…j) − Var(i…j−1) − Var(i+1…j) + Var(i+1…j−1).
        cuts = sorted({cut for start, stop, _ in pieces for cut in (start, stop)})
        values = np.zeros(len(cuts) - 1)
        for start, stop, coefficient in pieces:
            values[cuts.index(start) : cuts.index(stop)] += coefficient
        i, j = np.triu_indices(len(cuts), 1)
        edges = np.array(cuts)
        runs = np.zeros((len(cuts), len(cuts)))
        runs[i, j] = self.range_variances(edges[i], edges[j])
        total = 0.0
        for a in range(len(values)):
            total += values[a] ** 2 * runs[a, a + 1]
            for b in range(a + 1, len(values)):
                twice = runs[a, b + 1] - runs[a, b] - runs[a + 1, b + 1] + runs[a + 1, b]
                total += values[a] * values[b] * twice
        return max(float(total), 0.0)


def _pieces(combination: Combination, size: int) -> list[tuple[int, int, float]]:
    pieces = [(int(a), int(b), float(c)) for (a, b), c in combination if a < b and c]
    return pieces or [(0, 0, 0.0)]


@dataclass(frozen=True, eq=False)
class QueryErrors:
    """The error of named queries: their covariance after least squares."""

    names: tuple[str, ...]
    covariance: Floats

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of queries."""
        weights = np.zeros(len(self.names))
        for name, coefficient in combination:
            weights[self.names.index(name)] += coefficient
        return max(float(weights @ self.covariance @ weights), 0.0)


@dataclass(frozen=True)
class SumErrors:
    """The error of the sum of independent answers of equal variance, and no other."""

    count: int
    each: float

    def variance(self, combination: Combination) -> float:
        """The variance of a multiple of the sum."""
        return self.count * self.each * sum(coefficient for _, coefficient in combination) ** 2


def noise_maximum(scale: Fraction, count: int, level: float) -> int:
    """The least whole t such that `count` noises all lie within ±t with that probability."""
    # P(|X| > t) = 2 p^(t+1)/(1 + p) with p = e^(−1/scale); all within: (1 − that)^count.
    b = float(scale)
    allowed = -math.expm1(math.log(level) / count)
    log_tail = math.log(allowed) + math.log1p(math.exp(-1 / b)) - math.log(2)
    return max(0, math.ceil(-b * log_tail - 1))


def tree_errors(
    shape: Shape, shares: Sequence[Fraction], scales: Sequence[Fraction], law: str
) -> TreeErrors:
    """The errors of a tree whose asked levels (those with a share) have these noise scales."""
    asked = iter(scales)
    each = tuple(next(asked) if share else None for share in shares)
    variances = tuple(math.inf if s is None else noise_variance(s, law) for s in each)
    return TreeErrors(shape, variances, each, law)
