"""Dated rows: which period each row is in, by a function of its date alone.

Every engine compares a plain number with the same exact ends. A moment that has a zone is compared
with the moments at which the period starts and stops; a date, or a time written without a zone,
with what clocks show then. Of text each value is read by itself: what has an offset is a moment.
What is no date is in no period.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from trueup.axis import written
from trueup.axis.dates import has_zone
from trueup.axis.numbers import Ints
from trueup.errors import SourceError
from trueup.owner.columns import Columns, Wanted
from trueup.owner.plain import plain, read_text
from trueup.period import Calendar, Period


@dataclass(frozen=True)
class Dated:
    """The periods that a request is over, in order, and the column that dates a row."""

    wanted: Wanted
    periods: tuple[Period, ...]

    @property
    def ends(self) -> list[tuple[int, int]]:
        """The ends of each period, for values as the column stores them."""
        if self.wanted.storage == "zoned":
            return [(each.start, each.stop) for each in self.periods]
        return [(each.first, each.last) for each in self.periods]

    def places(self, column: Any, rows: int) -> Ints:
        """Which of the periods each row of a raw Arrow column is in; -1 for none."""
        if self.wanted.storage == "raw" and column is not None:
            return read_text(column, self._place_of_text, -1)
        found = plain(column, rows, self.wanted)
        return np.where(found.known, _among(found.values, self._sorted), -1)

    @cached_property
    def _sorted(self) -> tuple[Ints, Ints]:
        ends = np.array(self.ends, np.int64).reshape(-1, 2)
        return ends[:, 0].copy(), ends[:, 1].copy()

    def _place_of_text(self, text: bytes) -> int:
        """Which of the periods a written date is in."""
        value = written.time(text)
        if value is None:
            return -1
        zoned = has_zone(text)
        for place, each in enumerate(self.periods):
            start, stop = (each.start, each.stop) if zoned else (each.first, each.last)
            if start <= value < stop:
                return place
        return -1


def _among(values: Ints, ends: tuple[Ints, Ints]) -> Ints:
    """Which of some rising, half-open stretches each value is in; -1 for none."""
    starts, stops = ends
    place = np.searchsorted(starts, values, side="right") - 1
    return np.where((place >= 0) & (values < stops[place]), place, -1)


def dating(columns: Columns, calendar: Calendar) -> Wanted:
    """The column that dates a row, refused by the schema alone if it cannot."""
    wanted = columns.wanted(calendar.date, "time", "dated")
    if wanted.storage == "times":
        raise SourceError(
            f"Column {calendar.date!r} has a time zone in some files and none in others, so a "
            f"row's {calendar.per} is not known. Store it in one way."
        )
    if wanted.storage == "date" and calendar.per == "hour":
        raise SourceError(f"Column {calendar.date!r} holds dates, which have no hours.")
    return wanted


def runs(ends: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same stretches of time, those that touch put together."""
    found: list[tuple[int, int]] = []
    for start, stop in ends:
        if found and found[-1][1] == start:
            found[-1] = found[-1][0], stop
        else:
            found.append((start, stop))
    return found
