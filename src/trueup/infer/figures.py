"""Expected squared errors over sets of ranges, exactly, before anything is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from trueup._kernels.error import tree_error
from trueup.arrays import Floats
from trueup.intervaltree import irregular_error, length_error, worst_range
from trueup.intervaltree.variance import TreeVariance
from trueup.law import RangeErrors

_SPREAD = 4_096  # ranges looked at where there is no closed form
_GOLDEN = 0.6180339887498949


@dataclass(frozen=True, eq=False)
class TreeFigures:
    """The errors of least squares on a tree; weights are relative to 1/unit."""

    tree: TreeVariance
    unit: float

    def mean_over_ranges(self) -> float:
        """Averaged over all ranges."""
        if not self.tree.regular:
            return self.unit * irregular_error.mean_over_ranges(self.tree)
        size, widths = self.tree.shape.size, self.tree.shape.widths
        return self.unit * tree_error.mean_over_ranges(size, widths, *self._kinds())

    def mean_over_prefixes(self) -> float:
        """Averaged over all prefixes."""
        if not self.tree.regular:
            return self.unit * irregular_error.mean_over_prefixes(self.tree)
        size, widths = self.tree.shape.size, self.tree.shape.widths
        return self.unit * tree_error.mean_over_prefixes(size, widths, *self._kinds())

    def _kinds(self) -> tuple[list[float], list[float]]:
        """The weights of full nodes and of last nodes, root first."""
        full = [float(level.weight[0]) for level in self.tree.levels]
        return full, [float(level.weight[1]) for level in self.tree.levels]

    def mean_by_length(self, lengths: npt.ArrayLike) -> Floats:
        """For each length, averaged over all ranges of it."""
        module = length_error if self.tree.regular else irregular_error
        return self.unit * module.mean_by_length(self.tree, lengths)

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """Of each range [start, stop) of cells."""
        return self.unit * self.tree.range_variances(starts, stops)

    def worst_range(self) -> float:
        """Of the range that has the largest."""
        module = worst_range if self.tree.regular else irregular_error
        return self.unit * module.worst_range(self.tree)


@dataclass(frozen=True, eq=False)
class SampledFigures:
    """The errors of ranges whose means over all ranges, and over all prefixes, are known.

    Means over the ranges of one length are exact where there are few ranges; else over some
    thousands, spread evenly over the axis. `strides` are lengths at which errors change.
    """

    errors: RangeErrors
    size: int
    means: Callable[[], tuple[float, float]]
    strides: Sequence[int] = ()

    @cached_property
    def _means(self) -> tuple[float, float]:
        return self.means()

    def mean_over_ranges(self) -> float:
        """Averaged over all ranges."""
        return self._means[0]

    def mean_over_prefixes(self) -> float:
        """Averaged over all prefixes."""
        return self._means[1]

    def mean_by_length(self, lengths: npt.ArrayLike) -> Floats:
        """For each length, averaged over ranges of it."""
        each = np.atleast_1d(np.asarray(lengths, np.int64))
        room = self.size - each + 1
        number = np.minimum(room, max(16, _SPREAD // len(each)))
        which = np.repeat(np.arange(len(each)), number)
        rank = np.arange(len(which)) - np.repeat(np.cumsum(number) - number, number)
        # All places where there is room for them; else one in each of so many equal parts.
        within = np.where(number == room, 0.0, (_GOLDEN * np.arange(1, len(each) + 1)) % 1)
        jitter = (within[which] + _GOLDEN * rank) % 1
        part = (room / number)[which]
        starts = np.where((number == room)[which], rank, np.floor((rank + jitter) * part)).astype(
            np.int64
        )
        variances = self.errors.range_variances(starts, starts + each[which])
        return np.bincount(which, variances, len(each)) / number

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """Of each range [start, stop) of cells."""
        return self.errors.range_variances(starts, stops)

    def worst_range(self) -> float:
        """Of the range that has the largest, found by walking uphill from the worst of many."""
        size = self.size
        if size * (size + 1) // 2 <= _SPREAD:
            starts, stops = np.triu_indices(size + 1, 1)
            return float(self.errors.range_variances(starts, stops).max())
        i = np.arange(1, _SPREAD // 4)
        ends = np.sort(
            np.stack([(i * 0.7548776662466927) % 1, (i * 0.5698402909980532) % 1]), axis=0
        )
        starts, stops = np.rint(ends * size).astype(np.int64)
        worst = float(self.errors.range_variances([0], [size])[0])
        steps = [1, 2, 4, *(each for k in self.strides for each in (max(k // 4, 1), k))]
        moves = np.array([(a, b) for step in steps for a, b in _moves(step)], np.int64)
        for _ in range(12):
            variances = self.errors.range_variances(starts, stops)
            top = np.argsort(-variances)[:6]
            if float(variances[top[0]]) <= worst * (1 + 1e-6):
                break
            worst = float(variances[top[0]])
            starts = (starts[top, None] + moves[None, :, 0]).ravel()
            stops = (stops[top, None] + moves[None, :, 1]).ravel()
            inside = (starts >= 0) & (stops <= size) & (starts < stops)
            ends = np.unique(np.stack([starts[inside], stops[inside]]), axis=1)
            starts, stops = ends
        return worst


def _moves(step: int) -> Iterator[tuple[int, int]]:
    for a in (-step, 0, step):
        for b in (-step, 0, step):
            yield a, b


@dataclass(frozen=True, eq=False)
class DenseFigures:
    """The errors of ranges from the covariance of all prefix sums, the empty one first."""

    covariance: Floats

    @cached_property
    def _variances(self) -> Floats:
        """Of the range between each two edges, either way round."""
        own = np.diag(self.covariance)
        return np.maximum(own[:, None] + own - 2 * self.covariance, 0.0)

    def mean_over_ranges(self) -> float:
        """Averaged over all ranges."""
        edges = len(self.covariance)
        return float(self._variances.sum()) / (edges * (edges - 1))

    def mean_over_prefixes(self) -> float:
        """Averaged over all prefixes."""
        return float(self._variances[0, 1:].mean())

    def mean_by_length(self, lengths: npt.ArrayLike) -> Floats:
        """For each length, averaged over all ranges of it."""
        each = np.atleast_1d(np.asarray(lengths, np.int64))
        return np.array([np.diagonal(self._variances, length).mean() for length in each.tolist()])

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """Of each range [start, stop) of cells."""
        return self._variances[np.asarray(starts), np.asarray(stops)]

    def worst_range(self) -> float:
        """Of the range that has the largest."""
        return float(self._variances.max())
