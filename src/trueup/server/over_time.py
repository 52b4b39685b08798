"""Answers over time: a range in every period of a series, added up over periods, compared.

The noise of different periods is independent, so sums over periods, and differences of such sums,
have exact intervals.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from trueup.arrays import Ints
from trueup.errors import InputError
from trueup.period import Period
from trueup.pictures.places import bar_edges
from trueup.release import Estimate, Release
from trueup.release.intervals import cut_to_counts
from trueup.release.wording import check_level
from trueup.server import errors
from trueup.server.answers import Version, affordable, span_of, told_bars, told_count
from trueup.server.opened import OpenedMeasurement
from trueup.server.series import PeriodRun, Volumes

MOST_PERIODS = 400
"""Periods that are told or added up at once: a year of days, and some."""
MOST_SUMS = 1_200
"""Periods × ranges of one request, each period of each sum counted."""
MOST_WORK = 1 << 25
"""Cells × laws of one request."""
_MOST_KEPT = 1 << 22  # counts of releases that are kept open
_BARS = 3  # whose sums' exact intervals stand for all of a picture
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class What:
    """What is counted in each period: a range of a column, or everything."""

    low: Any = None
    high: Any = None
    column: str | None = None
    version: Version = "unbiased"


@dataclass(frozen=True, eq=False)
class OverTime:
    """Answers about series. Releases are kept open, as many as have room."""

    _open: OrderedDict[str, OpenedMeasurement] = field(default_factory=OrderedDict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def opened(self, volumes: Volumes, period: Period) -> OpenedMeasurement:
        """The release of a period."""
        name = volumes.release(period)
        with self._lock:
            found = self._open.get(name)
            if found is not None:
                self._open.move_to_end(name)
                return found
        found = OpenedMeasurement(name, volumes.stored(period.name))
        with self._lock:
            self._open[name] = found
            room = max(1, _MOST_KEPT // len(found.measurement.noisy))
            while len(self._open) > room:
                self._open.popitem(last=False)
        return found

    def points(
        self, volumes: Volumes, periods: Sequence[Period], what: What, level: float
    ) -> list[dict[str, Any]]:
        """The count of each period, with an interval of its own."""
        check_level(level)
        found = []
        for period in periods:
            estimate = self.estimate(volumes, period, what)
            found.append({**placed(volumes, period), **told_count(estimate, level)})
        return found

    def estimate(
        self, volumes: Volumes, period: Period, what: What, at: Sequence[object] = ("low",)
    ) -> Estimate:
        """The count of one period; `at` is the field that a range without cells is blamed on."""
        opened = self.opened(volumes, period)
        if what.column is None and what.low is None and what.high is None:
            found = opened.version(what.version)
            if not isinstance(found, Release):
                raise InputError("This series has sorted counts: ask about one period.")
            return found.total()
        asked = opened.answering(what.version, what.column)
        with errors.field(*at):
            return asked.release.between(*span_of(asked.axis, what.low, what.high))

    def sum(
        self, volumes: Volumes, stretch: PeriodRun, what: What, at: Sequence[object] = ("low",)
    ) -> Estimate:
        """The count of all periods of a stretch that are published."""
        return added([self.estimate(volumes, each, what, at) for each in stretch.published])

    def check_work(self, volumes: Volumes, periods: int, sums: int) -> None:
        """Refuses what cannot be answered in a moment: each period of each sum takes a law."""
        work = periods * sums
        if work > MOST_SUMS:
            raise InputError(
                f"{periods:,} periods and {sums:,} ranges are more than are answered at once. "
                f"Ask for fewer."
            )
        most = self._laws(volumes)
        if work > most:
            raise InputError(
                f"Of so large releases {most:,} counts are answered at once, got {work:,}."
            )
        most = self._opened(volumes)
        if periods > most:
            raise InputError(
                f"Of so large releases {most:,} periods are opened at once, got {periods:,}."
            )

    def affordable(self, volumes: Volumes) -> int:
        """How many periods are answered in a moment, one count of each."""
        return min(self._laws(volumes), self._opened(volumes))

    def _laws(self, volumes: Volumes) -> int:
        """How many counts of periods are answered in a moment."""
        release = self._latest(volumes).version("unbiased")
        if not isinstance(release, Release):
            raise InputError("This series has sorted counts: ask about one period.")
        return max(1, MOST_WORK // release.errors.work)

    def _opened(self, volumes: Volumes) -> int:
        """How many periods are read and inferred in a moment."""
        return max(1, MOST_WORK // len(self._latest(volumes).measurement.noisy))

    def _latest(self, volumes: Volumes) -> OpenedMeasurement:
        (latest, _) = next(reversed(volumes.published().values()))
        return self.opened(volumes, latest)

    def view(
        self, volumes: Volumes, stretch: PeriodRun, what: What, points: int, level: float
    ) -> dict[str, Any]:
        """Bars of all periods of a stretch together: a histogram of their sum.

        Variances add up. How many standard errors the intervals reach is that of the widest of a
        few exact ones.
        """
        check_level(level)
        asked = [
            self.opened(volumes, period).answering(what.version, what.column)
            for period in stretch.published
        ]
        axis = asked[0].axis
        if any(each.axis != axis for each in asked):
            raise InputError("The axis of this series has changed: choose periods of one axis.")
        if len(asked) == 1:
            return asked[0].view(0, axis.size, points, level)
        at = bar_edges(axis.size, affordable(asked[0].release.errors, points), 0, axis.size)
        starts, stops = at[:-1], at[1:]
        own = [each.release.unbiased for each in asked]
        counts = np.sum([np.diff(each.release.prefix[at]) for each in asked], axis=0)
        values = np.sum([np.diff(each.prefix[at]) for each in own], axis=0).astype(np.float64)
        variances = [each.errors.range_variances(starts, stops) for each in own]
        reach = np.sqrt(np.sum(variances, axis=0)) * _times_spread(own, starts, stops, level)
        low, high = values - reach, values + reach
        if what.version == "whole":
            low, high = cut_to_counts(low, high, counts)
        return told_bars(axis, at, counts.tolist(), low.tolist(), high.tolist())


def placed(volumes: Volumes, period: Period) -> dict[str, str]:
    """A period, what clocks show when it begins, and its release."""
    begins = (_EPOCH + timedelta(microseconds=period.first)).strftime("%Y-%m-%dT%H:%M")
    return {"period": period.name, "begins": begins, "release": volumes.release(period)}


def _times_spread(own: Sequence[Release], starts: Ints, stops: Ints, level: float) -> float:
    """How many standard errors the exact interval of a bar of the sum reaches, at most."""
    some = np.unique(np.linspace(0, len(starts) - 1, _BARS).astype(np.int64))
    found = [0.0]
    for start, stop in zip(starts[some].tolist(), stops[some].tolist(), strict=True):
        both = added([each.between(start, stop) for each in own])
        if both.std_error > 0:
            found.append(both.noise_law.half_width(level) / both.std_error)
    return max(found)


def added(estimates: Sequence[Estimate]) -> Estimate:
    """Their sum, by halves: adding one by one would copy ever longer sums."""
    if len(estimates) == 1:
        return estimates[0]
    middle = len(estimates) // 2
    return added(estimates[:middle]) + added(estimates[middle:])
