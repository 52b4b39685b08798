"""Least squares on hats: overlapping windows, which answer ranges better than any tree."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy.typing as npt

from trueup.arrays import Floats
from trueup.ask import HatCounts
from trueup.axis import Axis
from trueup.infer.figures import SampledFigures
from trueup.infer.hat_errors import HatErrors
from trueup.infer.hat_search import best_hats
from trueup.infer.model import Candidate
from trueup.infer.overlapping import OverlappingModel
from trueup.workload import Workload


class HatModel(OverlappingModel[HatCounts]):
    """The nearest counts to noisy cells and windows."""

    asks = HatCounts

    @cached_property
    def errors(self) -> HatErrors:
        """The error of every combination of ranges."""
        return HatErrors.of(self.noise)

    def fit(self, noisy: npt.NDArray[Any]) -> Floats:
        """The least-squares cells."""
        return self.errors.fit(noisy)

    def figures(self) -> SampledFigures:
        """The expected squared errors of sets of ranges: exact over all ranges and prefixes."""
        errors = self.errors
        return SampledFigures(errors, errors.size, errors.mean_variances, errors.strides)

    def raw(self, noisy: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The noisy counts of the cells, which come first."""
        return noisy[: self.question.size]

    @classmethod
    def candidates_over(cls, axis: Axis, workload: Workload, nonnegative: bool) -> list[Candidate]:
        """The best hats for the workload; labels have no windows that overlap.

        Where squares of weights are paid for, many levels are better than few.
        """
        if axis.size == 1 or axis.traits.labelled:
            return []
        best = Candidate(
            "hats",
            lambda: best_hats(axis, workload),
            60,
            "hats",
            plainly=lambda: HatCounts(axis),
            at_rho=lambda: _with_ends(best_hats(axis, workload)),
        )
        fours = [4**level for level in range(1, axis.size.bit_length() // 2)]
        many = Candidate(
            "hats, strides of 4",
            lambda: HatCounts(axis, fours) if len(fours) > 1 else None,
            61,
            gaussian=True,
        )
        return [best, many]


def _with_ends(hats: HatCounts | None) -> HatCounts | None:
    """The same with the hats on the ends, whose neighbours' larger weights cost more squared."""
    return None if hats is None else HatCounts(hats.axis, hats.strides, hats.shares, ends=True)
