"""The best hats for a workload, and their expected errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from operator import mul

import numpy as np
import numpy.typing as npt

from trueup.ask import HatCounts
from trueup.ask.hats import strides_for
from trueup.ask.question import as_axis
from trueup.axis import Axis
from trueup.infer import errors_of
from trueup.linear_errors import HatErrors
from trueup.noise import Noise
from trueup.plan.workload import Workload

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_SPREAD = 4_096  # ranges looked at where there is no closed form
_SAMPLED = 120  # while searching
_FEWEST = 34  # cells: below, hats are no better than the cells alone
_SHORTEST = 10  # cells of a range: likewise
_LONG = 32  # times the longest range: a piece of the axis that is as good as all of it
_MOST = 512  # stretches of the largest stride
_GOLDEN = 0.6180339887498949


@dataclass(frozen=True)
class HatFigures:
    """The errors of least squares on hats.

    Means over all ranges and over all prefixes are exact. Means over the ranges of one length are
    too where there are few ranges; else over some thousands, spread evenly over the axis.
    """

    errors: HatErrors

    @cached_property
    def _means(self) -> tuple[float, float]:
        return self.errors.mean_variances()

    def mean_over_ranges(self) -> float:
        """Averaged over all ranges."""
        return self._means[0]

    def mean_over_prefixes(self) -> float:
        """Averaged over all prefixes."""
        return self._means[1]

    def mean_by_length(self, lengths: npt.ArrayLike) -> Floats:
        """For each length, averaged over ranges of it."""
        each = np.atleast_1d(np.asarray(lengths, np.int64))
        room = self.errors.size - each + 1
        number = np.minimum(room, max(16, _SPREAD // len(each)))
        which = np.repeat(np.arange(len(each)), number)
        rank = np.arange(len(which)) - np.repeat(np.cumsum(number) - number, number)
        # All places where there is room for them; else one in each of so many equal parts.
        within = np.where(number == room, 0.0, (_GOLDEN * np.arange(1, len(each) + 1)) % 1)
        jitter = (within[which] + _GOLDEN * rank) % 1
        part = (room / number)[which]
        starts = np.where((number == room)[which], rank, np.floor((rank + jitter) * part)).astype(
            np.int64
        )
        variances = self.errors.range_variances(starts, starts + each[which])
        return np.bincount(which, variances, len(each)) / number

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """Of each range [start, stop) of cells."""
        return self.errors.range_variances(starts, stops)

    def worst_range(self) -> float:
        """Of the range that has the largest, found by walking uphill from the worst of many."""
        size = self.errors.size
        if size * (size + 1) // 2 <= _SPREAD:
            starts, stops = np.triu_indices(size + 1, 1)
            return float(self.errors.range_variances(starts, stops).max())
        i = np.arange(1, _SPREAD // 4)
        ends = np.sort(
            np.stack([(i * 0.7548776662466927) % 1, (i * 0.5698402909980532) % 1]), axis=0
        )
        starts, stops = np.rint(ends * size).astype(np.int64)
        worst = float(self.errors.range_variances([0], [size])[0])
        steps = [1, 2, 4, *(each for k in self.errors.strides for each in (max(k // 4, 1), k))]
        moves = np.array([(a, b) for step in steps for a, b in _moves(step)], np.int64)
        for _ in range(12):
            variances = self.errors.range_variances(starts, stops)
            top = np.argsort(-variances)[:6]
            if float(variances[top[0]]) <= worst * (1 + 1e-6):
                break
            worst = float(variances[top[0]])
            starts = (starts[top, None] + moves[None, :, 0]).ravel()
            stops = (stops[top, None] + moves[None, :, 1]).ravel()
            inside = (starts >= 0) & (stops <= size) & (starts < stops)
            ends = np.unique(np.stack([starts[inside], stops[inside]]), axis=1)
            starts, stops = ends
        return worst


def _moves(step: int) -> Iterator[tuple[int, int]]:
    for a in (-step, 0, step):
        for b in (-step, 0, step):
            yield a, b


def hat_error(axis: Axis, workload: Workload) -> Callable[[HatCounts], float]:
    """The error of hats, with noise on the real line, that a search for a workload minimises."""
    if workload.kind == "ranges":
        return lambda question: _errors(question).mean_variances()[0]
    starts, stops, likely = workload.sample(axis, _SAMPLED)
    return lambda question: float(_errors(question).range_variances(starts, stops) @ likely)


def _errors(question: HatCounts) -> HatErrors:
    errors = errors_of(Noise.of_unit(question))
    assert isinstance(errors, HatErrors)
    return errors


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

    usual = len(strides_for(searched.size))
    spans = {searched.size, min(searched.size, 2 * longest)}
    some = {
        _ratios(span, levels) for span in spans for levels in range(max(1, usual - 1), usual + 2)
    } | {_ratios(min(spans), 1)}
    found = [
        (of(ratios, None, ends), ratios, ends)
        for ratios in some
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


def _hats(axis: Axis, ratios: Sequence[int], parts: Sequence[int] | None, ends: bool) -> HatCounts:
    shares = None if parts is None else [Fraction(part, sum(parts)) for part in parts]
    return HatCounts(axis, tuple(accumulate(ratios, mul)), shares, ends or None)


def _ratios(span: int, levels: int) -> tuple[int, ...]:
    """Near-equal ratios of that many strides whose largest fits a good few times into the span."""
    largest = max(span / (0.75 * span ** (1 / (levels + 1))), 2.0)
    found: list[int] = []
    below = 1
    for left in range(levels, 0, -1):
        found.append(max(2, round((largest / below) ** (1 / left))))
        below *= found[-1]
    return tuple(found)
