"""Shares of the total and quantiles, read from prefix sums over one axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.axis import Axis
from trueup.errors import InputError, shown

if TYPE_CHECKING:
    from trueup.release.rising import RisingOnDisk


def rising(axis: Axis, prefix: npt.NDArray[Any]) -> Floats:
    """The prefix sums made to rise from 0 to the total.

    Unbiased counts may be negative, and then the prefix sums fall; the nearest rising sequence is
    taken.
    """
    from trueup._kernels.sorted.isotonic import isotonic

    total = check_total(axis, prefix)
    found = prefix.astype(np.float64)
    found[1:-1] = np.clip(isotonic(found[1:-1]), 0.0, total)
    return found


def check_total(axis: Axis, prefix: npt.NDArray[Any]) -> float:
    """The total, refused where there is nothing of which there could be shares."""
    total = float(prefix[-1])
    if total <= 0:
        raise InputError(
            f"The total over '{axis.name}' is {total:g}; it is too noisy for a distribution."
        )
    return total


@dataclass(frozen=True, eq=False)
class RisingInMemory:
    """Rising prefix sums, all of them."""

    below: Floats

    @property
    def total(self) -> float:
        """The last of them."""
        return float(self.below[-1])

    def cell(self, goal: float) -> int:
        """The first cell at whose end the goal is reached."""
        return min(int(np.searchsorted(self.below[1:], goal)), len(self.below) - 2)

    def around(self, cell: int) -> tuple[float, float]:
        """What lies below the start of a cell, and below its end."""
        return float(self.below[cell]), float(self.below[cell + 1])


def quantile(axis: Axis, below: RisingInMemory | RisingOnDisk, share: float) -> Any:
    """The value below which a share of the total lies."""
    goal = share * below.total
    cell = below.cell(goal)
    low, high = axis.interval(cell)
    if not axis.traits.bins or high is None:
        return low
    if low is None:  # of a bin without an end no more is known than the other
        return high
    start, end = below.around(cell)
    inside = end - start
    part = (goal - start) / inside if inside > 0 else 0.0
    return min(max(low + part * (high - low), low), high)  # sums round, quantiles never fall


def quantile_ends(axis: Axis, first: int, last: int) -> tuple[Any, Any]:
    """The interval of a quantile that lies in one of these cells: edges of bins, else cells."""
    if not axis.traits.bins:
        return axis.interval(first)[0], axis.interval(last)[0]
    low, high = axis.interval(first)[0], axis.interval(last)[1]
    return -math.inf if low is None else low, math.inf if high is None else high


def shares_at(axis: Axis, prefix: npt.NDArray[Any], cuts: Ints) -> Floats:
    """The share of the total below some edges, made to rise over these edges alone."""
    total = check_total(axis, prefix)
    below = np.concatenate([[0.0], prefix[cuts], [total]])
    return rising(axis, below)[1:-1] / total


def for_each(q: object, found: Callable[[float], Any]) -> Any:
    """What is found for the share of a quantile; for a list of shares, a list."""
    if isinstance(q, np.ndarray):
        q = q.tolist()
    if isinstance(q, (list, tuple)):
        return [found(share) for share in [check_share(each) for each in q]]
    return found(check_share(q))


def check_share(q: object) -> float:
    """The share of a quantile, refused unless it lies between 0 and 1."""
    real = isinstance(q, (int, float, np.integer, np.floating)) and not isinstance(q, bool)
    if not real or not 0 <= q <= 1:  # type: ignore[operator]
        raise InputError(f"A quantile needs a share between 0 and 1, got {shown(q)}.")
    return float(q)  # type: ignore[arg-type]
