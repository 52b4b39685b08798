"""Least squares on whatever a question's matrix says, and the error of every range after it.

An estimate of Σ a_i · cell_i puts the coefficients W A (A'WA)⁻¹ a on the noisy answers, A the
question's matrix and W the weights 1/variance. Dense up to some thousand cells, sparse above. A
question of a new type needs no more than a `LeastSquares` model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats
from trueup.coefficient_classes import law_of
from trueup.errors import InputError
from trueup.infer.figures import DenseFigures
from trueup.infer.model import AxisModel, Line
from trueup.intervaltree import IntervalTree
from trueup.law import Combination, NoiseLaw, RangeErrors, cell_values
from trueup.measurement import Asked
from trueup.noise import Noise, log_noise_variance
from trueup.workload import Figures

if TYPE_CHECKING:
    from scipy.sparse import csr_array


_DENSE = 4_096


@dataclass(frozen=True, eq=False)
class MatrixErrors(RangeErrors):
    """The error of ranges after least squares on the rows of a matrix.

    `lengths` and `scales` are those of the blocks of rows whose answers share a noise scale.
    """

    matrix: csr_array[Any]
    lengths: tuple[int, ...]
    scales: tuple[Fraction, ...]
    law: str = "discrete"

    @staticmethod
    def of(noise: Noise) -> MatrixErrors:
        """Those of a question, whatever it asks, that was measured with this noise."""
        return MatrixErrors(noise.question.matrix(), noise.lengths, noise.scales, noise.law)

    @property
    def size(self) -> int:
        """How many cells there are."""
        return int(self.matrix.shape[1])

    @property
    def work(self) -> int:  # type: ignore[override]
        """A law takes time in the number of cells."""
        return self.size

    @cached_property
    def _weights(self) -> tuple[Floats, float]:
        """1/variance of each answer in units of the largest, and the logarithm of the unit."""
        logs = np.array([log_noise_variance(scale, self.law) for scale in self.scales])
        unit = float(logs.min())
        return np.repeat(np.exp(np.maximum(unit - logs, -300.0)), self.lengths), unit

    @cached_property
    def _solver(self) -> Any:
        """Solves with A'WA: a Cholesky factor, or a sparse one for many cells."""
        weights, _ = self._weights
        normal = self.matrix.T @ (self.matrix * weights[:, None])
        if self.size <= _DENSE:
            from scipy.linalg import cho_factor, cho_solve

            factor = cho_factor(normal.toarray())
            return lambda right: cho_solve(factor, right)
        from scipy.sparse import csc_array
        from scipy.sparse.linalg import splu

        return splu(
            csc_array(normal), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}
        ).solve

    def fit(self, noisy: npt.ArrayLike) -> Floats:
        """The least-squares cells."""
        return self._solver(self.matrix.T @ (self._weights[0] * np.asarray(noisy, np.float64)))

    def fit_lines(self, noisy: Floats) -> Floats:
        """As `fit`, for every line of noisy answers."""
        return self._solver(self.matrix.T @ (self._weights[0] * noisy).T).T

    def coefficients(self, values: Floats) -> Floats:
        """What each noisy answer counts for in the sums of cells times these values, by line."""
        return self._weights[0] * (self.matrix @ self._solver(values.T)).T

    def covariance(self) -> Floats:
        """The covariance of the cells, for a few thousand cells."""
        return self._solver(np.eye(self.size)) * math.exp(self._weights[1])

    @cached_property
    def _prefixes(self) -> Floats:
        prefix = np.zeros((self.size + 1, self.size + 1))
        prefix[1:, 1:] = np.cumsum(np.cumsum(self._solver(np.eye(self.size)), axis=0), axis=1)
        return prefix

    def prefixes(self) -> Floats:
        """The covariance of the prefix sums, the empty one first, for a few thousand cells."""
        if self.size > _DENSE:
            raise InputError(
                f"Errors over all ranges are worked out for up to {_DENSE:,} cells; there are "
                f"{self.size:,}. Ask a tree or hats."
            )
        return self._prefixes * math.exp(self._weights[1])

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each range [start, stop) of cells."""
        left = np.atleast_1d(np.asarray(starts, np.int64))
        right = np.maximum(np.atleast_1d(np.asarray(stops, np.int64)), left)
        if self.size <= _DENSE:
            both = self._prefixes
            found = both[left, left] + both[right, right] - 2 * both[left, right]
        else:
            found = np.zeros(len(left))
            for i, (start, stop) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
                inside = np.zeros(self.size)
                inside[start:stop] = 1
                found[i] = inside @ self._solver(inside)
        return np.maximum(found, 0.0) * math.exp(self._weights[1])

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of ranges."""
        values = cell_values(combination, self.size)
        return max(float(values @ self._solver(values)), 0.0) * math.exp(self._weights[1])

    def noise_law(self, combination: Combination) -> NoiseLaw:
        """The law of the error of a combination of ranges."""
        each = self.coefficients(cell_values(combination, self.size)[None])[0]
        return law_of(np.split(each, np.cumsum(self.lengths)[:-1]), self.scales, self.law)


class LeastSquares(AxisModel[Asked]):
    """The model of any question about an axis whose matrix determines every cell."""

    @cached_property
    def errors(self) -> MatrixErrors:
        """The error of every combination of ranges."""
        return MatrixErrors.of(self.noise)

    @property
    def tree(self) -> IntervalTree:
        """A flat one: all cells alike."""
        return IntervalTree.regular(self.axis.size, (self.axis.size,))

    @property
    def line(self) -> Line:
        """Least squares on the same matrix, line by line."""
        return self.errors

    def fit(self, noisy: npt.NDArray[Any]) -> Floats:
        """The least-squares cells."""
        return self.errors.fit(noisy)

    def figures(self) -> Figures:
        """The expected squared errors of sets of ranges, from the covariance of the cells."""
        return DenseFigures(self.errors.prefixes())
