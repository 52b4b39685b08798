"""The errors of a slice of a grid: some axes fixed to a range, the others left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.facts import Span
from trueup.law import BoxErrors, Combination, Law, RangeErrors


@dataclass(frozen=True, eq=False)
class SliceErrors(RangeErrors):
    """The errors of a grid with some axes fixed to a range: those of what is left of it."""

    grid: BoxErrors
    fixed: tuple[tuple[int, int] | None, ...]  # None where the axis is left

    @property
    def work(self) -> int:  # type: ignore[override]
        """What one law takes: the coefficients of every cell of the grid."""
        return self.grid.work

    @property
    def variance_work(self) -> int:  # type: ignore[override]
        """What one variance takes."""
        return self.grid.variance_work

    @property
    def pooled(self) -> bool:  # type: ignore[override]
        """Whether cells of the grid were counted together."""
        return getattr(self.grid, "pooled", False)

    def boxes(self, combination: Combination) -> Combination:
        """The combination in boxes of the grid."""
        return tuple((self._box(key), coefficient) for key, coefficient in combination)

    def _box(self, key: Any) -> tuple[tuple[int, int], ...]:
        left = iter((key,) if isinstance(key[0], int) else key)
        return tuple(next(left) if ends is None else ends for ends in self.fixed)

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of ranges or boxes of what is left."""
        return self.grid.variance(self.boxes(combination))

    def noise_law(self, combination: Combination) -> Law:
        """The law of the error of a combination of ranges or boxes of what is left."""
        return self.grid.noise_law(self.boxes(combination))

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each range of the one axis that is left."""
        starts, stops = np.atleast_1d(np.asarray(starts)), np.atleast_1d(np.asarray(stops))
        return self.box_variances(starts[:, None], np.maximum(starts, stops)[:, None])

    def box_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each box of what is left."""
        starts, stops = np.asarray(starts, np.int64), np.asarray(stops, np.int64)
        whole = np.empty((2, len(starts), len(self.fixed)), np.int64)
        left = 0
        for number, ends in enumerate(self.fixed):
            whole[0, :, number] = starts[:, left] if ends is None else ends[0]
            whole[1, :, number] = stops[:, left] if ends is None else ends[1]
            left += ends is None
        return self.grid.box_variances(whole[0], whole[1])

    def product_variances(self, cuts: Sequence[Ints]) -> Floats:
        """The variances of all boxes between neighbouring cuts of what is left."""
        left = iter(cuts)
        every = [next(left) if ends is None else np.array(ends) for ends in self.fixed]
        found = self.grid.product_variances(every)
        return found.squeeze(tuple(n for n, ends in enumerate(self.fixed) if ends is not None))


def unsliced(errors: Any, combination: Combination) -> tuple[Any, Combination]:
    """The errors of the whole grid, and in its boxes what is a combination in a slice of it."""
    while isinstance(errors, SliceErrors):
        errors, combination = errors.grid, errors.boxes(combination)
    return errors, combination


def fixed_spans(before: tuple[Span, ...] | None, ends: tuple[Span, ...]) -> tuple[Span, ...]:
    """The range of every axis of the grid asked that is fixed, here or before."""
    left = iter(ends)
    return tuple(next(left) if span is None else span for span in before or (None,) * len(ends))
