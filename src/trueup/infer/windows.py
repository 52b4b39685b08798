"""Windows by distance, read back; and the error of every range."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.ask import WindowCounts
from trueup.ask.windows import MOST_CELLS, For
from trueup.axis import Axis
from trueup.infer.figures import DenseFigures
from trueup.infer.model import Candidate
from trueup.infer.overlapping import InvertedErrors, OverlappingModel
from trueup.law import Combination, cell_values
from trueup.workload import Figures, Workload

if TYPE_CHECKING:
    from trueup._kernels.windows.profile import Profile


_DENSE = 512  # cells of which the covariance of all prefixes is written out
_LOOKED_AT = 1 << 22  # cells of all ranges of a length that are looked at
_EDGES = 1 << 23  # cells of all prefixes between which the worst range is sought


@dataclass(frozen=True)
class WindowErrors(InvertedErrors[WindowCounts]):
    """The error of ranges read back from windows."""

    @property
    def profile(self) -> Profile:
        """The weights of the windows."""
        return self.question.profile

    def fit_lines(self, noisy: Floats) -> Floats:
        """The cells that the windows stand for, along every line of noisy answers."""
        from trueup._kernels.windows.spectrum import cells_of

        return cells_of(self.profile, noisy)

    def coefficients(self, values: Floats) -> Floats:
        from trueup._kernels.windows.spectrum import coefficients

        return coefficients(self.profile, values)

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each range [start, stop) of cells; O(n log n) a range."""
        from trueup._kernels.windows.spectrum import range_variances

        left = np.atleast_1d(np.asarray(starts, np.int64))
        right = np.maximum(np.atleast_1d(np.asarray(stops, np.int64)), left)
        if self.size <= _DENSE and len(left) > self.size:
            return DenseFigures(self.prefixes()).range_variances(left, right)
        return range_variances(self.profile, left, right) * self.unit

    def prefixes(self, edges: Ints | None = None) -> Floats:
        """The covariance of the counts below these edges; below all, for a few thousand cells."""
        from trueup._kernels.windows.spectrum import prefix_covariance

        every = np.arange(self.size + 1) if edges is None else edges
        return prefix_covariance(self.profile, every) * self.unit

    def mean_variances(self) -> tuple[float, float]:
        """The mean variance over all ranges, and over all prefixes, exactly."""
        from trueup._kernels.windows.spectrum import mean_variances

        ranges, prefixes = mean_variances(self.profile)
        return ranges * self.unit, prefixes * self.unit

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of ranges."""
        from trueup._kernels.windows.spectrum import variances

        return float(variances(self.profile, cell_values(combination, self.size))) * self.unit


@dataclass(frozen=True, eq=False)
class WindowFigures:
    """The expected squared errors of many cells: exact over all ranges and over all prefixes.

    Errors change slowly along the axis. So the mean of a length is that of some ranges, spread
    evenly, and the worst range the worst of those between some edges, spread evenly.
    """

    errors: WindowErrors

    @cached_property
    def _means(self) -> tuple[float, float]:
        return self.errors.mean_variances()

    def mean_over_ranges(self) -> float:
        """Averaged over all ranges."""
        return self._means[0]

    def mean_over_prefixes(self) -> float:
        """Averaged over all prefixes."""
        return self._means[1]

    def mean_by_length(self, lengths: npt.ArrayLike) -> Floats:
        """For each length, averaged over some ranges of it."""
        size, found = self.errors.size, []
        for length in np.atleast_1d(np.asarray(lengths, np.int64)).tolist():
            room = size - length + 1
            some = min(room, max(3, _LOOKED_AT // size))
            starts = ((np.arange(some) + 0.5) * room / some).astype(np.int64)
            found.append(float(self.range_variances(starts, starts + length).mean()))
        return np.array(found)

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """Of each range [start, stop) of cells."""
        return self.errors.range_variances(starts, stops)

    def worst_range(self) -> float:
        """Of the worst range between some edges."""
        size = self.errors.size
        edges = np.linspace(0, size, max(9, min(129, 1 + _EDGES // size))).astype(np.int64)
        return DenseFigures(self.errors.prefixes(edges)).worst_range()


class WindowModel(OverlappingModel[WindowCounts]):
    """As many answers as cells: the windows are inverted."""

    asks = WindowCounts

    @cached_property
    def errors(self) -> WindowErrors:
        """The error of every combination of ranges."""
        return WindowErrors.of(self.noise)

    def figures(self) -> Figures:
        """The expected squared errors of sets of ranges: exact over all ranges and prefixes."""
        errors = self.errors
        if errors.size <= _DENSE:
            return DenseFigures(errors.prefixes())
        return WindowFigures(errors)

    @classmethod
    def candidates_over(cls, axis: Axis, workload: Workload, nonnegative: bool) -> list[Candidate]:
        """Windows for ranges, or for prefixes if those are wanted; labels have no distance."""
        if axis.size == 1 or axis.size > MOST_CELLS or axis.traits.labelled:
            return []
        best_for: For = "prefixes" if workload.kind == "prefixes" else "ranges"
        ask = partial(WindowCounts, axis, best_for)
        return [Candidate("windows", ask, 62, "windows", gaussian=True)]
