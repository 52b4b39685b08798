"""Windows over the past, read back; and the error of every range."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats
from trueup.ask.past import PastCounts
from trueup.errors import InputError
from trueup.infer.figures import DenseFigures
from trueup.infer.overlapping import InvertedErrors, OverlappingModel
from trueup.law import Combination, cell_values
from trueup.workload import Figures

_MOST = 4_096  # cells of which the covariance of all prefixes is written out
_NUMBERS = 1 << 22  # looked at together


@dataclass(frozen=True)
class PastErrors(InvertedErrors[PastCounts]):
    """The error of ranges read back from windows over the past."""

    def fit_lines(self, noisy: Floats) -> Floats:
        """The cells that the windows stand for, along every line."""
        parts = self.question.parts()
        return np.concatenate([block.cells(noisy[..., cells]) for cells, block in parts], axis=-1)

    def coefficients(self, values: Floats) -> Floats:
        parts = self.question.parts()
        found = [block.coefficients(values[..., cells]) for cells, block in parts]
        return np.concatenate(found, axis=-1)

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each range [start, stop) of cells; O(n log n) a range."""
        left = np.atleast_1d(np.asarray(starts, np.int64))
        right = np.maximum(np.atleast_1d(np.asarray(stops, np.int64)), left)
        cells, found = np.arange(self.size), np.zeros(len(left))
        together = max(1, _NUMBERS // self.size)
        for first in range(0, len(left), together):
            some = slice(first, first + together)
            inside = (cells >= left[some, None]) & (cells < right[some, None])
            found[some] = np.square(self.coefficients(inside.astype(np.float64))).sum(axis=-1)
        return found * self.unit

    def prefixes(self) -> Floats:
        """The covariance of the counts below all edges."""
        below = np.arange(self.size) < np.arange(self.size + 1)[:, None]
        found = self.coefficients(below.astype(np.float64))
        return np.asarray(found @ found.T) * self.unit

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of ranges."""
        found = self.coefficients(cell_values(combination, self.size))
        return float(np.square(found).sum()) * self.unit


class PastModel(OverlappingModel[PastCounts]):
    """As many answers as cells: the windows are inverted, block by block.

    A plan offers none: who knows all cells beforehand does better with windows to both sides.
    """

    asks = PastCounts

    @cached_property
    def errors(self) -> PastErrors:
        """The error of every combination of ranges."""
        return PastErrors.of(self.noise)

    def figures(self) -> Figures:
        """The expected squared errors of sets of ranges, exact; for some thousand cells."""
        size = self.question.size
        if size > _MOST:
            raise InputError(
                f"The errors of all ranges of windows over the past are worked out for up to "
                f"{_MOST:,} cells, not for {size:,}. Ask for those of single ranges."
            )
        return DenseFigures(self.errors.prefixes())
