"""Shares of the total and quantiles, read from counts over one axis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.axis import Axis
from trueup.errors import InputError
from trueup.release.estimate import check_level
from trueup.release.intervals import quantile_cells, share_interval
from trueup.uncertainty import RangeErrors

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Distribution:
    """How the total is spread over an axis: prefix sums, and the errors of the counts."""

    axis: Axis
    prefix: npt.NDArray[Any]
    errors: RangeErrors

    @cached_property
    def rising(self) -> Floats:
        """The prefix sums made to rise from 0 to the total.

        Unbiased counts may be negative, and then the prefix sums fall; the nearest rising
        sequence is taken.
        """
        from trueup._kernels.sorted.isotonic import isotonic

        total = float(self.prefix[-1])
        if total <= 0:
            raise InputError(
                f"The total of this release is {total:g}; it is too noisy for a distribution."
            )
        rising = self.prefix.astype(np.float64)
        rising[1:-1] = np.clip(isotonic(self.prefix[1:-1]), 0.0, total)
        return rising

    def cdf(self) -> Floats:
        """The share of the total below each edge."""
        return self.rising / self.rising[-1]

    def quantile(self, q: Any) -> Any:
        """The value below which a share q of the total lies."""
        goal = check_share(q) * self.rising[-1]
        cell = min(int(np.searchsorted(self.rising[1:], goal)), self.axis.size - 1)
        low, high = self.axis.interval(cell)
        if not self.axis.traits.bins:
            return low
        inside = self.rising[cell + 1] - self.rising[cell]
        part = (goal - self.rising[cell]) / inside if inside > 0 else 0.0
        return min(max(low + part * (high - low), low), high)  # sums round, quantiles never fall

    def cdf_interval(self, value: object, level: float) -> tuple[float, float]:
        """An interval for the share below an edge."""
        check_level(level)
        return share_interval(self.errors, self.prefix, self.axis.span(None, value)[1], level)

    def quantile_interval(self, q: float, level: float) -> tuple[Any, Any]:
        """An interval for a quantile: edges of bins, or cells, both included."""
        check_level(level)
        first, last = quantile_cells(self.errors, self.prefix, check_share(q), level)
        bins = self.axis.traits.bins
        return self.axis.interval(first)[0], self.axis.interval(last)[1 if bins else 0]


def check_share(q: object) -> float:
    """The share of a quantile, refused unless it lies between 0 and 1."""
    real = isinstance(q, (int, float, np.integer, np.floating)) and not isinstance(q, bool)
    if not real or not 0 <= q <= 1:  # type: ignore[operator]
        raise InputError(f"A quantile needs a share between 0 and 1, got {q!r}.")
    return float(q)  # type: ignore[arg-type]
