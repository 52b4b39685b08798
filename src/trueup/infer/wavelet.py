"""The Haar wavelet, read back; and the error of every range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup._kernels.tree import haar
from trueup.arrays import Floats
from trueup.ask import WaveletCounts
from trueup.axis import Axis
from trueup.infer.figures import TreeFigures
from trueup.infer.least_squares import MatrixErrors
from trueup.infer.model import AxisModel, Candidate, Line
from trueup.intervaltree import IntervalTree
from trueup.intervaltree.variance import TreeVariance
from trueup.law import Combination, NoiseLaw, RangeErrors, steps
from trueup.noise import log_noise_variance
from trueup.workload import Workload


@dataclass(frozen=True, eq=False)
class WaveletErrors(RangeErrors):
    """The error of ranges read back from a Haar wavelet.

    `scales` are those of the total and of the differences of each level, root first.
    """

    size: int
    scales: tuple[Fraction, ...]
    law: str = "discrete"

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each range [start, stop) of cells; O(height) a range."""
        return self.figures().range_variances(starts, stops)

    @cached_property
    def _tree(self) -> tuple[TreeVariance, float]:
        """The tree of the same variances, and their unit."""
        logs = [log_noise_variance(scale, self.law) for scale in self.scales]
        weights = [math.exp(min(max(logs[-1] - log, -345), 345)) for log in logs]
        shape = IntervalTree(self.size, widths=haar.widths_of(self.size))
        return TreeVariance(shape, haar.tree_weights(self.size, weights)), math.exp(logs[-1])

    def figures(self) -> TreeFigures:
        """The expected squared errors of sets of ranges."""
        return TreeFigures(*self._tree)

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of ranges."""
        return self.noise_law(combination).variance

    def noise_law(self, combination: Combination) -> NoiseLaw:
        """The law of the error of a combination of ranges."""
        found = haar.coefficients(self.size, *steps(combination, self.size))
        coefficients = np.array([coefficient for _, coefficient in found])
        scales = np.array([float(self.scales[block]) for block, _ in found])
        return NoiseLaw(coefficients, scales, np.ones(len(found)), self.law)


class WaveletModel(AxisModel[WaveletCounts]):
    """As many answers as cells: the wavelet is inverted."""

    asks = WaveletCounts

    @cached_property
    def errors(self) -> WaveletErrors:
        """The error of every combination of ranges."""
        return WaveletErrors(self.question.size, self.noise.scales, self.noise.law)

    @property
    def tree(self) -> IntervalTree:
        """The tree whose nodes' halves are compared."""
        size = self.question.size
        return IntervalTree(size, widths=haar.widths_of(size))

    @property
    def line(self) -> Line:
        """Least squares on its matrix, line by line."""
        return MatrixErrors.of(self.noise)

    def fit(self, noisy: npt.NDArray[Any]) -> Floats:
        """The cells that the wavelet stands for."""
        ends = np.cumsum(self.noise.lengths)
        return haar.cells_from(self.question.size, np.split(noisy, ends[:-1]))

    def figures(self) -> TreeFigures:
        """The expected squared errors of sets of ranges, in closed forms."""
        return self.errors.figures()

    @classmethod
    def candidates_over(cls, axis: Axis, workload: Workload, nonnegative: bool) -> list[Candidate]:
        """The wavelet of the axis."""
        if axis.size == 1:
            return []
        return [Candidate("Haar wavelet", lambda: WaveletCounts(axis), 20)]
