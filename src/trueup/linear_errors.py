"""The error of every range after least squares on hats, or on any strategy.

An estimate of Σ a_i · cell_i puts the coefficients W A (A'WA)⁻¹ a on the noisy answers, A the
question's matrix and W the weights 1/variance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.noise import log_noise_variance
from trueup.uncertainty import (
    Combination,
    NoiseLaw,
    steps,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from trueup._kernels.hats.hat_tables import HatTables

Floats = npt.NDArray[np.float64]

_CLASS_WIDTH = 0.01  # coefficients within one percent are one class
_LEAST = 1e-7  # and those below this part of the largest are another
_ATOMS = 0.5  # noise of a smaller scale is mostly 0, and where it is not, each value shows
_NARROW = 0.0001  # then those of a class are as near as this, however small
_DUST = 1e-13  # what rounding leaves where a coefficient is 0
_DENSE = 4_096
_MANY = 100  # cells out of so many are as well found by finding them all


def cell_values(combination: Combination, size: int) -> Floats:
    """A combination of ranges as one number a cell."""
    cuts, values = steps(combination, size)
    return np.repeat(np.array(values), np.diff(cuts))


def noise_law(coefficients: Sequence[Floats], scales: Sequence[Fraction], law: str) -> NoiseLaw:
    """The law of Σ coefficient · noise, from the coefficients of each block of answers.

    Coefficients that differ by less than a percent are put together as their root mean square:
    the variance stays what it is, and the tails move by less than a part in ten thousand. Noise
    that is mostly 0 adds up to few values, and an interval may end just past one of them: there
    classes are narrower, and intervals wider by as much.
    """
    largest = max((float(np.abs(block).max(initial=0.0)) for block in coefficients), default=0.0)
    atoms = min(scales, default=1) < _ATOMS
    width, least = (_NARROW, _DUST) if atoms else (_CLASS_WIDTH, _LEAST)
    found = []
    for block, scale in zip(coefficients, scales, strict=True):
        size = np.abs(block)
        size = size[size > _DUST * largest]
        kind = np.floor(np.log(np.maximum(size / largest, least)) / width)
        at = (kind - kind.min(initial=0.0)).astype(np.int64)
        number = np.bincount(at)
        squares = np.bincount(at, size * size)
        some = number > 0
        root = np.sqrt(squares[some] / number[some])
        found.append((root, np.full(len(root), float(scale)), number[some].astype(np.float64)))
    roots, each, counts = (np.concatenate(part) for part in zip(*found, strict=True))
    return NoiseLaw(roots, each, counts, law, widened=width if atoms else 0.0)


@dataclass(frozen=True)
class HatErrors:
    """The error of ranges after least squares on leaves and hats.

    `lengths` and `scales` are those of the blocks: the cells first, then the hats of each stride.
    Without `ends` the two hats of the largest stride on the ends are not among them.
    """

    size: int
    strides: tuple[int, ...]
    ends: bool
    lengths: tuple[int, ...]
    scales: tuple[Fraction, ...]
    law: str = "discrete"

    @cached_property
    def _unit(self) -> float:
        """The logarithm of the noise variance of an inner cell: all others are relative to it."""
        return _noise(self).unit

    @cached_property
    def _per_weight(self) -> Floats:
        """1/2k for every hat, those left out too."""
        strides = np.array(self.strides, np.int64)
        return np.repeat(1 / (2 * strides), -(-self.size // strides) + 1)

    @cached_property
    def _asked(self) -> npt.NDArray[np.bool_]:
        """Which of all hats are asked."""
        asked = np.ones(len(self._per_weight), bool)
        if not self.ends:
            stretches = -(-self.size // self.strides[-1])
            asked[[-1 - stretches, -1]] = False
        return asked

    def _all(self, hats: npt.NDArray[Any], missing: float) -> Floats:
        """All hats, along the last dimension, from those that are asked."""
        found = np.full((*hats.shape[:-1], len(self._asked)), missing)
        found[..., self._asked] = hats
        return found

    @cached_property
    def tables(self) -> HatTables:
        """What least squares and variances need, whatever the answers."""
        return _noise(self).tables

    def fit(self, noisy: npt.NDArray[Any]) -> Floats:
        """The least-squares cells, from the noisy answers."""
        from trueup._kernels.hats.hats import solve

        hats = self._all(noisy[self.size :], 0.0) * self._per_weight
        return solve(self.tables, noisy[: self.size], hats)[0]

    def fit_lines(self, noisy: Floats) -> Floats:
        """As `fit`, for every line of noisy answers."""
        from trueup._kernels.tree.fits_along_rows import hat_lines

        hats = self._all(noisy[:, self.size :], 0.0) * self._per_weight
        return hat_lines(self.tables, np.ascontiguousarray(noisy[:, : self.size]), hats)[0]

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each range [start, stop) of cells; O(ratios of the strides) a range."""
        from trueup._kernels.hats.hat_variance import every_cell, range_variances

        begin, end = np.atleast_1d(starts), np.atleast_1d(stops)
        if len(begin) * _MANY >= self.size and (end == begin + 1).all():
            return every_cell(self.tables)[begin] * math.exp(self._unit)
        return range_variances(self.tables, begin, end) * math.exp(self._unit)

    def mean_variances(self) -> tuple[float, float]:
        """The mean variance over all ranges, and over all prefixes, exactly."""
        from trueup._kernels.hats.hat_variance import mean_variances

        ranges, prefixes = mean_variances(self.tables)
        return ranges * math.exp(self._unit), prefixes * math.exp(self._unit)

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of ranges."""
        if len(combination) == 1:
            (((start, stop), coefficient),) = combination
            return coefficient**2 * float(self.range_variances([start], [stop])[0])
        return self.noise_law(combination).variance

    def coefficients(self, values: Floats) -> Floats:
        """What each noisy answer counts for in the sums of cells times these values, line by line.

        Noisy cells that read value · variance, and hats that read 0, are fitted to (A'WA)⁻¹ times
        the values; the multipliers of the hats are minus W A times that.
        """
        from trueup._kernels.hats.hat_tables import cell_variances
        from trueup._kernels.tree.fits_along_rows import hat_lines

        variances = cell_variances(self.tables)
        nothing = np.zeros((len(values), len(self._per_weight)))
        cells, hats = hat_lines(self.tables, np.ascontiguousarray(values * variances), nothing)
        each = -hats * self._per_weight
        return np.hstack([cells / variances, each[:, self._asked]])

    def noise_law(self, combination: Combination) -> NoiseLaw:
        """The law of the error of a combination of ranges; O(cells)."""
        each = self.coefficients(cell_values(combination, self.size)[None])[0]
        return noise_law(np.split(each, np.cumsum(self.lengths)[:-1]), self.scales, self.law)


@dataclass(frozen=True)
class _HatNoise:
    """The tables of hats of this noise, and the logarithm of an inner cell's variance."""

    tables: HatTables
    unit: float


@lru_cache(maxsize=32)
def _noise(hats: HatErrors) -> _HatNoise:
    """Kept for some while: many releases of one question have the same tables."""
    from trueup._kernels.hats.hat_tables import NOT_ASKED, hat_tables

    ends = np.concatenate([[0], np.cumsum(hats.lengths)])
    logs = np.array([log_noise_variance(scale, hats.law) for scale in hats.scales])

    def of(start: int, stop: int) -> Floats:
        """The logarithm of the noise variance of these answers."""
        return np.repeat(logs, np.diff(np.clip(ends, start, stop)))

    if not hats.strides:
        return _HatNoise(hat_tables(hats.size, (), ()), float(logs[0]))
    inner = min(hats.strides[0], hats.size - 1)
    unit = float(of(inner, inner + 1)[0])

    def relative(start: int, stop: int) -> Floats:
        return np.exp(np.clip(of(start, stop) - unit, -300.0, 300.0))

    variances: list[Floats] = []
    start = hats.size
    for k in hats.strides:
        left_out = 0 if hats.ends or k < hats.strides[-1] else 1
        stop = start - (-hats.size // k) + 1 - 2 * left_out
        if stop in ends and np.searchsorted(ends, stop) - np.searchsorted(ends, start) == 1:
            each = relative(start, start + 1)  # one for all: nothing grows with the cells
            each = np.repeat(each, stop - start) if left_out else each
        else:
            each = relative(start, stop)
        each = np.pad(each / (2 * k) ** 2, left_out, constant_values=NOT_ASKED)
        variances.append(np.clip(each, 1e-9, NOT_ASKED))
        start = stop
    last = (hats.size - 1) // hats.strides[0] * hats.strides[0]
    first, final = relative(0, min(hats.strides[0], hats.size)), relative(last, hats.size)
    return _HatNoise(hat_tables(hats.size, hats.strides, variances, first, final), unit)


@dataclass(frozen=True, eq=False)
class StrategyErrors:
    """The error of ranges after least squares on a strategy; `blocks` are lengths of one scale."""

    matrix: csr_array[Any]
    lengths: tuple[int, ...]
    scales: tuple[Fraction, ...]
    law: str = "discrete"

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
        if self.matrix.shape[1] <= _DENSE:
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

    def covariance(self) -> Floats:
        """The covariance of the cells, for a few thousand cells."""
        return self._solver(np.eye(self.matrix.shape[1])) * math.exp(self._weights[1])

    @cached_property
    def _prefixes(self) -> Floats:
        """The covariance of the prefix sums, for few cells."""
        size = self.matrix.shape[1]
        prefix = np.zeros((size + 1, size + 1))
        prefix[1:, 1:] = np.cumsum(np.cumsum(self._solver(np.eye(size)), axis=0), axis=1)
        return prefix

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each range [start, stop) of cells."""
        left = np.atleast_1d(np.asarray(starts, np.int64))
        right = np.maximum(np.atleast_1d(np.asarray(stops, np.int64)), left)
        if self.matrix.shape[1] <= _DENSE:
            both = self._prefixes
            found = both[left, left] + both[right, right] - 2 * both[left, right]
        else:
            found = np.zeros(len(left))
            for i, (start, stop) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
                inside = np.zeros(self.matrix.shape[1])
                inside[start:stop] = 1
                found[i] = inside @ self._solver(inside)
        return np.maximum(found, 0.0) * math.exp(self._weights[1])

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of ranges."""
        values = cell_values(combination, self.matrix.shape[1])
        return max(float(values @ self._solver(values)), 0.0) * math.exp(self._weights[1])

    def noise_law(self, combination: Combination) -> NoiseLaw:
        """The law of the error of a combination of ranges."""
        values = cell_values(combination, self.matrix.shape[1])
        each = self._weights[0] * (self.matrix @ self._solver(values))
        return noise_law(np.split(each, np.cumsum(self.lengths)[:-1]), self.scales, self.law)
