"""The best hats for a workload."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from operator import mul

from trueup.ask import HatCounts
from trueup.ask.hats import ratios_for, strides_for
from trueup.ask.question import as_axis
from trueup.axis import Axis
from trueup.infer.hat_errors import HatErrors
from trueup.noise import Noise
from trueup.workload import Workload

_SAMPLED = 120  # while searching
_FEWEST = 34  # cells: below, hats are no better than the cells alone
_SHORTEST = 10  # cells of a range: likewise
_LONG = 32  # times the longest range: a piece of the axis that is as good as all of it
_MOST = 512  # stretches of the largest stride


def hat_error(axis: Axis, workload: Workload) -> Callable[[HatCounts], float]:
    """The error of hats, with noise on the real line, that a search for a workload minimises."""
    if workload.kind == "ranges":
        return lambda question: _errors(question).mean_variances()[0]
    starts, stops, likely = workload.sample(axis, _SAMPLED)
    return lambda question: float(_errors(question).range_variances(starts, stops) @ likely)


def _errors(question: HatCounts) -> HatErrors:
    return HatErrors.of(Noise.of_unit(question))


def best_hats(axis: Axis, workload: Workload) -> HatCounts | None:
    """The hats of least error found for the workload; None where hats are not worth a look.

    For all ranges they are those that `HatCounts` asks by itself. Otherwise the search tries
    strides for the whole axis and for the longest range wanted, fewer levels and more, with and
    without the hats on the ends; then moves each ratio of strides, and each share.

    Not worth a look: labels, whose neighbours mean nothing; few cells, or ranges of a few cells,
    which the cells alone answer best; and strides so short that hundreds of them cover the axis,
    whose errors take long to work out.
    """
    size = axis.size
    if size < _FEWEST or axis.traits.labelled:
        return None
    if workload.kind == "ranges":
        return HatCounts(axis)
    longest = workload.longest(axis)
    if longest < _SHORTEST:
        return None
    searched = axis
    if workload.kind == "lengths" and size > _LONG * longest:
        # Short ranges do not see the whole axis: a piece of it will do.
        searched = as_axis(max(_LONG * longest, 512))
    error = hat_error(searched, workload)
    tried: dict[tuple[object, ...], float] = {}

    def of(ratios: Sequence[int], parts: Sequence[int] | None, ends: bool) -> float:
        key = (tuple(ratios), None if parts is None else tuple(parts), ends)
        if key not in tried:
            tried[key] = error(_hats(searched, ratios, parts, ends))
        return tried[key]

    found = [
        (of(ratios, None, ends), ratios, ends)
        for ratios in _tried_first(searched.size, longest)
        if _MOST * math.prod(ratios) >= searched.size
        for ends in (False, True)
    ]
    if not found:
        return None
    least, ratios, ends = min(found)
    for level in (*range(len(ratios)), *range(len(ratios))):
        for times in (0.8, 1.25):
            other = list(ratios)
            other[level] = max(2, round(other[level] * times))
            inside = searched.size <= _MOST * math.prod(other) < _MOST * searched.size
            if inside and of(other, None, ends) < least * 0.998:
                least, ratios = of(other, None, ends), tuple(other)
    parts = [60 // (len(ratios) + 1)] * (len(ratios) + 1)
    for level in range(len(parts)):
        for step in (2, -2):
            shares = list(parts)
            shares[level] += step
            if shares[level] > 0 and of(ratios, shares, ends) < least * 0.9995:
                least, parts = of(ratios, shares, ends), shares
    if _MOST * math.prod(ratios) < size:
        return None
    return _hats(axis, ratios, parts, ends)


def _tried_first(size: int, longest: int) -> set[tuple[int, ...]]:
    """Ratios of strides for the whole axis and for the longest range, of a few levels."""
    usual = len(strides_for(size))
    spans = {size, min(size, 2 * longest)}
    some = {ratios_for(s, levels) for s in spans for levels in range(max(1, usual - 1), usual + 2)}
    return some | {ratios_for(min(spans), 1)}


def _hats(axis: Axis, ratios: Sequence[int], parts: Sequence[int] | None, ends: bool) -> HatCounts:
    shares = None if parts is None else [Fraction(part, sum(parts)) for part in parts]
    return HatCounts(axis, tuple(accumulate(ratios, mul)), shares, ends or None)
