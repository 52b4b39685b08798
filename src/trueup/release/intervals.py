"""Intervals for more than one answer, and for quantiles.

All follow from the law of the noise alone. `range_intervals` are simultaneous if asked: then the
level is that of all of them holding at once, at least (the chances of failing are added up).
`quantile_cells` are those that the noisy answers do not rule out, so they are right whatever the
counts, and however noisy the total.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.law import Combination, RangeErrors, half_widths

_MOST_LAWS = 2560  # looked at on each side of a quantile
_CHOSEN = 8
_LOOKED_AT = 256  # cuts on each side of a quantile where intervals are not alike


def range_intervals(
    errors: RangeErrors,
    values: Floats,
    starts: Ints,
    stops: Ints,
    level: float,
    simultaneous: bool,
) -> tuple[Floats, Floats]:
    """The ends of an interval for the count of each [start, stop)."""
    each = 1 - (1 - level) / max(len(values), 1) if simultaneous else level
    reach = allowing_for_rounding(errors.half_widths(starts, stops, each), values)
    return values - reach, values + reach


def reaches(
    errors: RangeErrors, starts: Ints, stops: Ints, level: float, few: int = _CHOSEN
) -> Floats:
    """How far the interval of each range reaches, for a picture of many.

    The standard error of each, times the most of them that the exact interval of any of a few
    reaches, chosen from the least to the most certain: laws of noise differ little in shape.
    Two are enough for bars of one width on a long axis of hats, where each takes a while.
    """
    if not errors.alike:
        return errors.half_widths(starts, stops, level)
    spread = np.sqrt(errors.range_variances(starts, stops))
    order = np.argsort(spread)[np.count_nonzero(spread <= 0) :]
    if not len(order):
        return spread
    some = np.unique(order[np.linspace(0, len(order) - 1, few).astype(np.int64)])
    exact = errors.half_widths(starts[some], stops[some], level)
    return spread * float((exact / spread[some]).max())


def share_band(
    errors: RangeErrors, prefix: npt.NDArray[Any], edges: Ints, shares: Floats, level: float
) -> tuple[Floats, Floats]:
    """A band around the shares of the total below some edges, for a picture: 0 to 1, rising.

    `prefix` is that of the unbiased counts. Each share alone is held at the level, its reach as in
    `reaches`, by the noise of count[0, edge) − share · total.
    """
    size = len(prefix) - 1
    start, end = np.zeros_like(edges), np.full_like(edges, size)
    whole = errors.range_variances([0], [size])[0]
    below, above = errors.range_variances(start, edges), errors.range_variances(edges, end)
    variance = (1 - shares) * below + shares * above - shares * (1 - shares) * whole
    spread = np.sqrt(np.maximum(variance, 0.0))
    at = int(np.argmax(spread))
    reach = np.zeros(len(edges))
    if not errors.alike:
        pairs = zip(edges.tolist(), shares.tolist(), strict=True)
        laws = [errors.noise_law(_share_combination(edge, size, share)) for edge, share in pairs]
        reach = half_widths(laws, level) / max(float(prefix[-1]), 1.0)
    elif spread[at] > 0:
        law = errors.noise_law(_share_combination(int(edges[at]), size, float(shares[at])))
        total = max(float(prefix[-1]), 1.0)
        reach = spread * (half_widths([law], level)[0] / spread[at]) / total
    low = np.clip(np.maximum.accumulate(shares - reach), 0, 1)
    return low, np.clip(np.minimum.accumulate((shares + reach)[::-1])[::-1], 0, 1)


def allowing_for_rounding(reach: Any, value: Any) -> Any:
    """A little more than the reach, unless all is whole: values are floats, rounded to a grid."""
    reach, value = np.asarray(reach, np.float64), np.asarray(value, np.float64)
    exact = (np.rint(value) == value) & (np.rint(reach) == reach)
    return reach + np.where(exact, 0.0, 1e-9 * reach + 4 * np.spacing(np.abs(value)))


def cut_to_counts(
    low: Any, high: Any, shown: Any, least: float = 0.0, most: float = math.inf, whole: bool = True
) -> tuple[Any, Any]:
    """The intervals of unbiased counts, for counts made to be shown.

    Cut to whole numbers between `least` and `most`, which the true counts are, and stretched to
    hold what is shown: each holds the truth at least as often as before.
    """
    if whole:
        low, high = np.ceil(low), np.floor(high)
    return np.minimum(np.maximum(low, least), shown), np.maximum(np.minimum(high, most), shown)


def _share_combination(cut: int, size: int, share: float) -> Combination:
    """count[0, cut) − share · total: zero where the share below the cut is just that."""
    return (((0, cut), 1 - share), ((cut, size), -share))


@lru_cache(maxsize=1)
def _end_variances(errors: RangeErrors, size: int) -> tuple[Floats, Floats]:
    """The variance of all before each cut, and of all after it.

    Of the release that was asked last they are kept: whoever asks for one quantile wants more.
    """
    cuts = np.arange(size + 1)
    from_start = errors.range_variances(np.zeros_like(cuts), cuts)
    return from_start, errors.range_variances(cuts, np.full_like(cuts, size))


def quantile_cells(
    errors: RangeErrors,
    prefix: npt.NDArray[Any],
    share: float,
    level: float,
    few: int | None = None,
) -> tuple[int, int]:
    """The first and last cell that the cell of a quantile can be, at this level.

    The quantile's cell is the first whose end has at least that share below it. A cell is ruled
    out if the excess count[0, end) − share · total is below 0 at its end, or above 0 at its start,
    by more than noise explains; half of 1 − level is spent on each side. With `few`, only so many
    laws are looked at on each side, as for `reaches`, where there are more cells to rule out. Where
    intervals are not `alike` see `_quantile_by_stages`.
    """
    size = len(prefix) - 1
    excess = prefix - share * float(prefix[-1])
    if not errors.alike:
        return _quantile_by_stages(errors, excess, share, level, max(few or _LOOKED_AT, 2))
    cuts = np.arange(size + 1)
    from_start, to_end = _end_variances(errors, size)
    whole = float(to_end[0])
    variance = (1 - share) * from_start + share * to_end - share * (1 - share) * whole
    # No interval is wider than Chebyshev's: what lies outside that need not be looked at.
    spread = np.sqrt(np.maximum(variance, 0.0))
    screen = spread / (1 - level) ** 0.5 * (1 + 1e-9) + 1e-9

    def half_width(cut: int) -> float:
        return errors.noise_law(_share_combination(cut, size, share)).half_width(level)

    def first(candidates: Ints, sign: float) -> int:
        """The first cut at which sign · excess is not below 0 by more than noise."""
        if few is not None and len(candidates) > few:
            some = candidates[np.linspace(0, len(candidates) - 1, few).astype(np.int64)].tolist()
            times = max(
                (half_width(cut) / spread[cut] for cut in some if spread[cut] > 0), default=0.0
            )
            near = candidates[sign * excess[candidates] >= -times * spread[candidates]]
            return int(near[0]) if len(near) else -1
        for cut in candidates[:_MOST_LAWS].tolist():
            if sign * excess[cut] >= -half_width(cut):
                return int(cut)
        left = candidates[_MOST_LAWS:]
        return int(left[0]) if len(left) else -1

    ends = cuts[1:][excess[1:] >= -screen[1:]]
    starts = cuts[:-1][-excess[:-1] >= -screen[:-1]][::-1]
    low, high = first(ends, 1.0), first(starts, -1.0)
    low, high = (low if low > 0 else 1) - 1, high if high >= 0 else size - 1
    return min(low, high), max(low, high)


def _quantile_by_stages(
    errors: RangeErrors, excess: Floats, share: float, level: float, number: int
) -> tuple[int, int]:
    """As `quantile_cells`, where every law is another: so many cuts are looked at in each stage.

    What a cut rules out it does for all cells on its other side, as true counts are never negative.
    The next stage looks between the last cut that rules out and the first that does not. In a stage
    one cut alone can rule out the true cell: the first that it looks at on that cell's other side.
    So the stages share the chance to fail.
    """
    size = len(excess) - 1
    each = 1 - (1 - level) / _stages(size, number)

    def reach(cut: int) -> float:
        return errors.noise_law(_share_combination(cut, size, share)).half_width(each)

    low = _first_kept((1, size), 1, number, lambda cut: excess[cut] < -reach(cut))
    high = _first_kept((size - 1, 0), -1, number, lambda cut: excess[cut] > reach(cut))
    low, high = (low if low <= size else 1) - 1, high if high >= 0 else size - 1
    return min(low, high), max(low, high)


def _stages(size: int, number: int) -> int:
    """In how many stages one cut of so many is found, so many looked at in each.

    >>> _stages(256, 256), _stages(1024, 32), _stages(1 << 20, 256)
    (1, 2, 3)
    """
    found = 1
    while size > number:
        size, found = -(-(size - 1) // (number - 1)) - 1, found + 1
    return found


def _first_kept(
    ends: tuple[int, int], step: int, number: int, ruled_out: Callable[[int], bool]
) -> int:
    """The first cut from one end to the other that is not ruled out; one past the last if all are.

    So many are looked at in each stage, one after the other.
    """
    place, last = ends
    while step * (last - place) >= 0:
        some = np.linspace(place, last, min(number, abs(last - place) + 1)).astype(np.int64)
        for cut in some.tolist():
            if not ruled_out(cut):
                last = cut - step
                break
            place = cut + step
    return place
