"""Answers read from a release: counts with intervals, quantiles, and pictures of any zoom.

All of it follows from what was published: it costs nothing and may be cached.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.axis import Axis
from trueup.axis.levels import nodes_inside
from trueup.errors import InputError
from trueup.law import EXACT, UPPER_BOUND, RangeErrors
from trueup.pictures.places import bar_edges, stretches
from trueup.release import Estimate, NamedRelease, Release, SortedRelease
from trueup.release.intervals import (
    allowing_for_rounding,
    cut_to_counts,
    reaches,
    share_band,
)
from trueup.release.rising import too_many
from trueup.release.wording import check_level
from trueup.server.reach import Reach

Version = Literal["unbiased", "whole"]

OF_UNBIASED = (
    "interval and standard error are those of the unbiased count; the interval is cut to whole "
    "numbers from 0 and stretched to hold the count"
)
OF_POOLED = (
    "the interval is that of the count as inferred, an upper bound, cut to whole numbers from 0 "
    "and stretched to hold the count; the standard error is that of its noise alone"
)
NEARLY = "from the law of the noise of ranges alike"
_MOST_TIMES = 200  # widths and levels that are remembered
_BARS = 64  # looked at for the bands of a picture
_PLAIN = 1 << 53  # whole numbers up to here are floats
_FEW = 32  # laws looked at on each side of a quantile
_MOST_VARIANCES = 1 << 24  # cells × ranges whose errors are worked out for one request
_FEWEST = 16  # bars that a picture has however large the grid is
_MOST_SHARES = 1 << 16  # cells × quantiles up to which their intervals are given


@dataclass(frozen=True, eq=False)
class Answering:
    """One version of a release that can be asked about ranges."""

    release: Release
    version: Version
    _times: dict[tuple[int, float], float] = field(default_factory=dict, repr=False)

    @property
    def axis(self) -> Axis:
        """What the ranges are over."""
        return self.release.axis

    @cached_property
    def _reach(self) -> Reach:
        return Reach(self.release.unbiased.errors, self.axis.size)

    def _ends(self, start: int, stop: int) -> list[Any]:
        return [self.axis.edge(start), self.axis.edge(stop)]

    def many(self, starts: Ints, stops: Ints, level: float | None) -> list[dict[str, Any]]:
        """The counts of ranges of cells, each with an interval of its own; without one at None."""
        own, shown = self.release.unbiased, self.release
        check_affordable(own.errors, len(starts))
        values = (own.prefix[stops] - own.prefix[starts]).astype(np.float64)
        counts = values if shown is own else shown.prefix[stops] - shown.prefix[starts]
        spread = np.sqrt(own.errors.range_variances(starts, stops))
        low: list[float | None] = [None] * len(starts)
        high, exact = low, np.ones(len(starts), np.bool_)
        if level is not None:
            check_level(level)
            reach, exact = self._reach.of(starts, stops, spread, level)
            reach = allowing_for_rounding(reach, values)
            low, high = self._readable(values - reach, values + reach, counts)
        best = UPPER_BOUND if own.errors.pooled else EXACT
        kinds = [best if each else NEARLY for each in exact.tolist()]
        of = OF_POOLED if own.errors.pooled else OF_UNBIASED
        kinds = kinds if shown is own else [of] * len(starts)
        columns = zip(
            self.axis.edges_at(starts),
            self.axis.edges_at(stops),
            counts.tolist(),
            low,
            high,
            spread.tolist(),
            kinds,
            strict=True,
        )
        return [
            {
                "range": [first, last],
                "count": count,
                "low": least,
                "high": most,
                "standard_error": error,
                "kind": kind,
            }
            for first, last, count, least, most, error, kind in columns
        ]

    def _readable(self, low: Floats, high: Floats, counts: Any) -> tuple[list[Any], list[Any]]:
        """The intervals of unbiased counts, for the version that is shown."""
        if self.release.unbiased is not self.release:
            low, high = cut_to_counts(low, high, counts)
        return low.tolist(), high.tolist()

    def difference(
        self, first: tuple[int, int], second: tuple[int, int], level: float
    ) -> dict[str, Any]:
        """The first count less the second, their common noise accounted for."""
        less = self.release.between(*first) - self.release.between(*second)
        ends = [self._ends(*first), self._ends(*second)]
        return {"range": ends, **told_count(less, level)}

    def quantiles(self, shares: Sequence[float], level: float) -> list[dict[str, Any]]:
        """The value below which each share of the total lies."""
        check_level(level)
        own = self.release.unbiased
        told = own.errors.work * len(shares) <= _MOST_SHARES
        told = told and own.errors.variance_work * self.axis.size <= _MOST_VARIANCES
        told = told and not too_many(own.prefix)
        found = []
        for share in shares:
            value = self.release.quantile(share)
            ends = (None, None)
            if told:
                ends = self.release.quantile_interval(share, level, _FEW)
            low, high = (None if end in (math.inf, -math.inf) else end for end in ends)
            found.append({"quantile": share, "value": value, "low": low, "high": high})
        return found

    def view(self, start: int, stop: int, points: int, level: float) -> dict[str, Any]:
        """Bars of the cells start … stop − 1, no more than so many, each with its interval.

        Bars are a power of two cells wide and stand on multiples of that, so that zooming in
        splits them and never moves them; the first and the last may reach a little further out.
        """
        check_level(level)
        points = affordable(self.release.errors, points)
        at = bar_edges(self.axis.size, points, start, stop)
        own = self.release.unbiased
        starts, stops = at[:-1], at[1:]
        counts = np.diff(self.release.prefix[at])
        values = np.diff(own.prefix[at]).astype(np.float64)
        if own.errors.alike:
            spread = np.sqrt(own.errors.range_variances(starts, stops))
            reach = spread * self._times_spread(int(at[1] - at[0]), level)
        else:
            reach = own.errors.half_widths(starts, stops, level)
        low, high = self._readable(values - reach, values + reach, counts)
        return told_bars(self.axis, at, counts.tolist(), low, high)

    def _times_spread(self, width: int, level: float) -> float:
        """How many standard errors the interval of a bar of so many cells reaches.

        Found once, from bars all over the axis, so that it is the same at every zoom.
        """
        if (width, level) not in self._times:
            errors, size = self.release.errors, self.axis.size
            last = -(-size // width) - 1
            bars = affordable(errors, _BARS)
            starts = np.unique(np.linspace(0, last, bars).astype(np.int64)) * width
            stops = np.minimum(starts + width, size)
            reach = reaches(errors, starts, stops, level, _few(errors))
            spread = np.sqrt(errors.range_variances(starts, stops))
            some = spread > 0
            if len(self._times) > _MOST_TIMES:
                self._times.clear()
            self._times[width, level] = float((reach[some] / spread[some]).max(initial=0.0))
        return self._times[width, level]

    def nodes(self, level: str, start: int, stop: int, most: int, sure: float) -> dict[str, Any]:
        """The nodes of a level of the axis inside some cells, each with its interval."""
        known = self.axis.every_level()
        if level not in known:
            words = ", ".join(known) or "none"
            raise InputError(f"'{self.axis.name}' has no level {level[:60]!r}. Levels: {words}.")
        starts, stops = nodes_inside(self.axis, level, start, stop, most)
        named = self.axis.level_labels(level, starts, stops)
        answers = self.many(starts, stops, sure) if len(starts) else []
        places = zip(named, starts.tolist(), stops.tolist(), answers, strict=True)
        told = []
        for label, first, last, answer in places:
            del answer["range"]  # told by its label
            told.append({"label": label, "start": first, "stop": last, **answer})
        return {"level": level, "nodes": told}

    def cdf(self, start: int, stop: int, points: int, level: float) -> dict[str, Any]:
        """The share of the total below each of so many edges, with a band."""
        check_level(level)
        points = affordable(self.release.errors, points)
        at = bar_edges(self.axis.size, points, start, stop)
        share = self.release.cdf_at(at)
        own = self.release.unbiased
        low, high = share_band(own.errors, own.prefix, at, share, level)
        return {
            "edges": self.axis.edges_at(at),
            "cells": at.tolist(),
            "share": share.tolist(),
            "low": low.tolist(),
            "high": high.tolist(),
        }


def told_bars(axis: Axis, at: Ints, counts: list[Any], low: Any, high: Any) -> dict[str, Any]:
    """Bars between edges, as a picture is told them."""
    drawn = stretches(axis, at)
    return {
        "edges": axis.edges_at(at),
        "cells": at.tolist(),
        "counts": counts,
        "low": low,
        "high": high,
        "cells_per_point": int(at[1] - at[0]),
        "height": drawn.label,
        "times": drawn.times.tolist(),
    }


def affordable(errors: Any, points: int) -> int:
    """So many points, or fewer where the error of each takes long to work out."""
    return min(points, max(_FEWEST, _MOST_VARIANCES // errors.variance_work))


def check_affordable(errors: Any, number: int) -> None:
    """Refuses more ranges or boxes than can be answered in a moment."""
    most = max(_FEWEST, _MOST_VARIANCES // errors.variance_work)
    if number > most:
        raise InputError(
            f"Of so large a grid {most:,} ranges are answered at once, got {number:,}."
        )


def _few(errors: RangeErrors) -> int:
    """How many laws stand for all: two where each takes a while."""
    return 2 if errors.work > _MOST_SHARES else 8


def of_shown(own: Estimate) -> str:
    """What the interval is of a count that was made to be shown of this one."""
    return OF_UNBIASED if own.told_by_error else OF_POOLED


def told_count(estimate: Estimate, level: float) -> dict[str, Any]:
    """A count with its interval."""
    own = estimate.unbiased
    low, high = estimate.interval(level)
    return {
        "count": estimate.value,
        "low": low,
        "high": high,
        "standard_error": own.std_error,
        "kind": own.noise_law.words if own is estimate else of_shown(own),
    }


def told_difference(first: Estimate, second: Estimate, level: float) -> dict[str, Any]:
    """Two counts, and the first less the second."""
    each = {"first": first, "second": second, "difference": first - second}
    return {name: told_count(estimate, level) for name, estimate in each.items()}


def raw_counts(noisy_cells: npt.NDArray[Any], edges: Ints) -> list[Any]:
    """Noisy cells added up between edges: what a picture would show without inference."""
    sums = np.concatenate([[0], np.cumsum(noisy_cells)])
    return np.diff(sums[edges]).tolist()


def sorted_view(release: SortedRelease, points: int, level: float) -> dict[str, Any]:
    """Counts from the largest down, at ranks spaced as a log-log picture needs them."""
    counts = release.counts()[::-1]
    low, high = (np.asarray(side)[::-1] for side in release.band(level))
    places = ranks(len(counts), points) - 1
    return {
        "ranks": (places + 1).tolist(),
        "counts": counts[places].tolist(),
        "low": low[places].tolist(),
        "high": high[places].tolist(),
        "groups": len(counts),
    }


def ranks(size: int, points: int) -> Ints:
    """All ranks, or so many at most, from 1 to the last, evenly spaced on a logarithmic scale."""
    if size <= points:
        return np.arange(1, size + 1)
    return np.unique(np.geomspace(1, size, points).round().astype(np.int64))


def queries_view(release: NamedRelease, level: float) -> list[dict[str, Any]]:
    """The named counts, each with its interval."""
    return [{"range": [name], **told_count(release[name], level)} for name in release.names]


def span_of(axis: Axis, low: Any, high: Any) -> tuple[int, int]:
    """The cells of a range given by its ends, as they were typed or sent."""
    return axis.span(axis.parse(low), axis.parse(high))


def spans(axis: Axis, ranges: Sequence[Sequence[Any]]) -> tuple[Ints, Ints]:
    """The cells of ranges given by their ends: all at once where all of them are numbers."""
    if axis.traits.scale == "number" and all(
        type(end) in (int, float) and abs(end) < _PLAIN for pair in ranges for end in pair
    ):
        low, high = np.array(ranges, np.float64).T
        return axis.spans(low, high)
    found = [span_of(axis, *ends) for ends in ranges]
    starts, stops = np.array(found, np.int64).T
    return starts, stops
