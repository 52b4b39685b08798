"""The error of every range after least squares on hats: overlapping windows of some strides.

An estimate of Σ a_i · cell_i puts the coefficients W A (A'WA)⁻¹ a on the noisy answers, A the
question's matrix and W the weights 1/variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Bools, Floats, Ints
from trueup.ask import HatCounts
from trueup.coefficient_classes import class_limits, law_of
from trueup.law import FINER, Combination, NoiseLaw, RangeErrors, cell_values
from trueup.noise import GAUSSIAN, Noise, log_noise_variance

if TYPE_CHECKING:
    from trueup._kernels.hats.hat_tables import HatTables


_MANY = 100  # cells out of so many are as well found by finding them all
_NUMBERS = 1 << 19  # coefficients of ranges that are looked at together


@dataclass(frozen=True)
class HatErrors(RangeErrors):
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

    @staticmethod
    def of(noise: Noise) -> HatErrors:
        """Those of hats that were measured with this noise."""
        asked = noise.question
        assert isinstance(asked, HatCounts)
        lengths, scales = noise.lengths, noise.scales
        return HatErrors(asked.size, asked.strides, asked.ends, lengths, scales, noise.law)

    @property
    def work(self) -> int:  # type: ignore[override]
        """A law takes time in the number of cells."""
        return self.size

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
    def _asked(self) -> Bools:
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
        return law_of(np.split(each, np.cumsum(self.lengths)[:-1]), self.scales, self.law)

    def many_half_widths(self, starts: Ints, stops: Ints, level: float) -> Floats | None:
        """The half widths of ranges; laws of noise that is mostly 0 are found one by one."""
        from trueup._kernels.law.classes import classes_of_lines
        from trueup._kernels.law.laplace_rows import half_widths

        limits = class_limits(self.scales, self.law)
        if limits is None or self.law in GAUSSIAN:
            return None
        finer = FINER if self.law == "continuous" else 1
        scales = np.array([float(scale) for scale in self.scales]) * finer
        ends, cells, found = np.cumsum(self.lengths), np.arange(self.size), []
        together = max(1, _NUMBERS // int(ends[-1]))
        for first in range(0, len(starts), together):
            begin, end = starts[first : first + together], stops[first : first + together]
            inside = (cells >= begin[:, None]) & (cells < end[:, None])
            lines = self.coefficients(inside.astype(np.float64))
            sizes, blocks, numbers, used = classes_of_lines(lines, ends, scales, limits)
            found.append(half_widths(sizes / finer, scales[blocks], numbers, used, level))
        return np.concatenate(found)


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
