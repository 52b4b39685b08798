"""Dated rows: which period each row is in, by a function of its date alone.

Every engine compares a plain number with the same exact ends. A moment that has a zone is compared
with the moments at which the period starts and stops; a date, or a time written without a zone,
with what clocks show then. Of text each value is read by itself: what has an offset is a moment.
What is no date is in no period.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from trueup.arrays import Bools, Ints
from trueup.axis import written
from trueup.axis.dates import has_zone
from trueup.errors import SourceError
from trueup.owner.columns import Columns, Wanted
from trueup.owner.plain import plain, read_text
from trueup.period import Calendar, Period

TURN_BYTES = 6  # of a hash: its remainder by at most 1,000 is as good as equally likely


@dataclass(frozen=True)
class Share:
    """In which periods a unit counts: `few` of any `of` that follow each other.

    A unit's turn is a keyed hash of the unit alone, modulo `of`: it counts in the periods whose
    number is its turn, or one of the next few, modulo `of`. So nothing that others do, and nothing
    that it does in other periods, decides whether it counts.
    """

    few: int
    of: int
    key: str = field(repr=False)

    def turns(self, units: Any, whole: bool) -> Ints:
        """The turn of each unit, of an Arrow array of names (see `plain.names`)."""
        coded = units.dictionary_encode()
        key = bytes.fromhex(self.key)
        each = [self._turn(key, name, whole) for name in coded.dictionary.to_pylist()]
        codes = coded.indices.fill_null(len(each)).to_numpy(zero_copy_only=False)
        return np.array([*each, 0], np.int64)[codes]

    def _turn(self, key: bytes, name: bytes, whole: bool) -> int:
        if whole:  # 128 bits; an engine has 64, and both hash the same
            number = int.from_bytes(name, "little", signed=True)
            size = 8 if -(1 << 63) <= number < 1 << 63 else 16
            said = number.to_bytes(size, "big", signed=True)
        else:
            said = hashlib.sha256(name).digest()
        return int.from_bytes(hashlib.sha256(key + said).digest()[:TURN_BYTES], "big") % self.of

    def counts(self, turns: Ints, numbers: Ints) -> Bools:
        """Whether a unit of this turn counts in the period of this number."""
        return (numbers - turns) % self.of < self.few


@dataclass(frozen=True)
class Dated:
    """The periods that a request is over, in order, and the column that dates a row."""

    wanted: Wanted
    periods: tuple[Period, ...]
    share: Share | None = None

    @property
    def numbers(self) -> Ints:
        """The number of each period in the calendar."""
        return np.array([each.number for each in self.periods], np.int64)

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
