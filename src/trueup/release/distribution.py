"""Shares of the total and quantiles, read from prefix sums over one axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.axis import Axis
from trueup.errors import InputError, shown

Floats = npt.NDArray[np.float64]


def rising(axis: Axis, prefix: npt.NDArray[Any]) -> Floats:
    """The prefix sums made to rise from 0 to the total.

    Unbiased counts may be negative, and then the prefix sums fall; the nearest rising sequence is
    taken.
    """
    from trueup._kernels.sorted.isotonic import isotonic

    total = float(prefix[-1])
    if total <= 0:
        raise InputError(
            f"The total over '{axis.name}' is {total:g}; it is too noisy for a distribution."
        )
    found = prefix.astype(np.float64)
    found[1:-1] = np.clip(isotonic(prefix[1:-1]), 0.0, total)
    return found


def quantile_cell(axis: Axis, below: Floats, share: float) -> int:
    """The first cell at whose end a share of the total lies below, from rising prefix sums."""
    return min(int(np.searchsorted(below[1:], share * below[-1])), axis.size - 1)


def quantile(axis: Axis, below: Floats, share: float) -> Any:
    """The value below which a share of the total lies, from rising prefix sums."""
    goal = share * below[-1]
    cell = quantile_cell(axis, below, share)
    low, high = axis.interval(cell)
    if not axis.traits.bins or high is None:
        return low
    if low is None:  # of a bin without an end no more is known than the other
        return high
    inside = below[cell + 1] - below[cell]
    part = (goal - below[cell]) / inside if inside > 0 else 0.0
    return min(max(low + part * (high - low), low), high)  # sums round, quantiles never fall


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
