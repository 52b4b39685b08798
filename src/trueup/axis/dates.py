"""Cells over time: minutes, hours, days, weeks, months."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints
from trueup.axis.numbers import MOST_LISTED, check_size, each, off_grid, outside
from trueup.axis.traits import CellTraits
from trueup.errors import InputError, shown

UNITS = ("minute", "hour", "day", "week", "month", "year")
LEVELS = ("year", "month", "day", "hour", "minute")  # what nests in what; weeks nest in nothing
_MICROSECONDS = {"minute": 60_000_000, "hour": 3_600_000_000, "day": 86_400_000_000}
_MICROSECONDS["week"] = 7 * _MICROSECONDS["day"]
_MONDAY = 4 * _MICROSECONDS["day"]  # 5 January 1970
_CODES = {"year": "Y", "month": "M", "week": "D", "day": "D", "hour": "h", "minute": "m"}
_NONE = np.iinfo(np.int64).min  # numpy's NaT
_STEPS = {"D": 86_400_000_000, "s": 1_000_000, "ms": 1000, "us": 1, "ns": 0}  # in microseconds
_FINER = ("ns", "ps", "fs", "as")
_TO_MICROSECOND = len("2013-01-31T12:00:00.000000")
_WRITTEN = re.compile(
    r"(\d{4}(?:-\d\d(?:-\d\d(?:[T ]\d\d(?::\d\d(?::\d\d(?:\.\d{1,9})?)?)?)?)?)?)"
    r"(Z|[+-]\d\d(?::?\d\d)?)?",
    re.ASCII,
)


def instant(value: object, what: str) -> np.datetime64:
    """The moment a value names, at the precision it was written with; zones become UTC.

    Text is a date as ISO 8601 writes it; words such as "today" are none.
    """
    try:
        if isinstance(value, str):
            return _read(value, what)
        if isinstance(value, dt.datetime) and value.tzinfo is not None:
            value = value.astimezone(dt.UTC).replace(tzinfo=None)
        if isinstance(value, (dt.date, np.datetime64)):
            moment = np.datetime64(value)
            if np.datetime_data(moment)[0] != "generic" and microsecond(moment) != _NONE:
                return moment
    except (ValueError, OverflowError, TypeError):  # TypeError: pandas' NaT is a datetime
        pass
    raise _no_date(value, what)


def _read(text: str, what: str) -> np.datetime64:
    found = _WRITTEN.fullmatch(text.strip())
    if not found:
        raise _no_date(text, what)
    moment, zone = np.datetime64(found[1]), found[2]
    if len(found[1]) > _TO_MICROSECOND:
        # Nanoseconds end in 2262, and numpy counts on from 1677; microseconds do not.
        whole = np.datetime64(found[1][:_TO_MICROSECOND])
        moment = moment if moment.astype("datetime64[us]") == whole else whole
    if zone in (None, "Z"):
        return moment
    if ":" not in found[1]:  # a date is no instant
        raise _no_date(text, what)
    digits = zone[1:].replace(":", "").ljust(4, "0")
    ahead = np.timedelta64(int(digits[:2]) * 60 + int(digits[2:]), "m")
    return moment - ahead if zone[0] == "+" else moment + ahead


def _no_date(value: object, what: str) -> InputError:
    return InputError(f'{what} must be a date or time such as "2013-01-31", got {shown(value)}.')


def microsecond(moment: np.datetime64) -> int:
    """A moment as microseconds since 1970; the least int64 if it is none or too far off."""
    exact = moment.astype("datetime64[us]")
    if np.datetime_data(moment)[0] not in _FINER and exact.astype(moment.dtype) != moment:
        return _NONE
    return int(exact.astype(np.int64))


def ticks(count: Ints, unit: str) -> Ints:
    """Times counted in D, s, ms, us or ns since 1970 as microseconds, rounded down.

    The least int64, which is no time, where there are too many for microseconds; so are the two
    numbers next to the ends, with which engines write infinity.
    """
    top, least = np.iinfo(np.int64).max, _NONE
    if unit == "ns":
        return np.where((count > least + 1) & (count < top), count // 1000, _NONE)
    most = (top - 1) // _STEPS[unit]
    near = (count >= -most) & (count <= most)
    return np.where(near, np.where(near, count, 0) * _STEPS[unit], _NONE)


def microseconds(values: npt.ArrayLike, name: str) -> Ints:
    """Each value as microseconds since 1970 in UTC; the least int64 where there is none."""
    array = np.asarray(values)
    if array.dtype.kind == "M":
        unit, times = np.datetime_data(array.dtype)
        if (unit, times) in [(known, 1) for known in _STEPS]:
            return ticks(array.astype(np.int64), unit)
        exact = array.astype("datetime64[us]")
        lost = exact.astype(array.dtype) != array  # a year too far off for microseconds
        if unit in _FINER:
            lost = np.isnat(array)
        return np.where(lost | np.isnat(array), _NONE, exact.astype(np.int64))
    if array.dtype.kind in "OU":
        return np.array([_microsecond(value) for value in array.ravel()], np.int64).reshape(
            array.shape
        )
    raise InputError(f"Axis '{name}' takes dates and times, got an array of type {array.dtype}.")


def has_zone(text: bytes) -> bool:
    """Whether a written moment says its offset from UTC, so that it is one and the same anywhere.

    >>> has_zone(b"2013-01-31 12:00+01"), has_zone(b"2013-01-31 12:00")
    (True, False)
    """
    found = _WRITTEN.fullmatch(text.decode("ascii", "replace").strip())
    return found is not None and found[2] is not None


def read_microsecond(text: str) -> int | None:
    """A written moment as microseconds since 1970; None if it is none or too far off."""
    found = _microsecond(text)
    return None if found == _NONE else found


def _microsecond(value: object) -> int:
    try:
        return microsecond(instant(value, "a value"))
    except InputError:
        return _NONE


@dataclass(frozen=True)
class DateCells:
    """One cell for each unit of time from first to last, both included, in UTC.

    `first` and `last` are read at the precision they are written with: last="2013" is all of
    2013. Weeks are counted from the first day, or from a `monday`. Cells are whole units, unless
    `cut`: then the first and the last reach no further than `first` and `last` do.
    """

    name: str
    first: str
    last: str
    unit: str = "day"
    cut: bool = False
    monday: bool = False
    traits: ClassVar = CellTraits("dates", "time", scale="time")

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise InputError(
                f"The unit of axis '{self.name}' must be one of {', '.join(UNITS)}, "
                f"got {shown(self.unit)}."
            )
        first = instant(self.first, f"The first date of axis '{self.name}'")
        last = instant(self.last, f"The last date of axis '{self.name}'")
        start, stop = microsecond(first), microsecond(last + 1)
        object.__setattr__(self, "first", str(first))
        object.__setattr__(self, "last", str(last))
        if stop <= start:
            raise InputError(f"Axis '{self.name}' ends at {last}, before it begins at {first}.")
        edges = self._whole_units(first, last + 1, start, stop)
        if self.cut:
            edges[0], edges[-1] = start, stop
        if edges[0] != start:
            raise InputError(
                f"Axis '{self.name}' must begin at the start of a {self.unit}, got {first}."
            )
        edges.setflags(write=False)
        object.__setattr__(self, "_edges", edges)

    def _whole_units(self, first: np.datetime64, end: np.datetime64, start: int, stop: int) -> Ints:
        """The edges of the units that [start, stop) touches."""
        if self.unit in ("month", "year"):
            code = _CODES[self.unit]
            units = np.arange(first.astype(f"datetime64[{code}]"), _ceiling(end, code) + 1)
            return units.astype("datetime64[us]").astype(np.int64)
        width = _MICROSECONDS[self.unit]
        origin = self._origin(start)
        size = -(-(stop - origin) // width)
        check_size(size, self.name, MOST_LISTED)
        return origin + np.arange(size + 1, dtype=np.int64) * width

    def _origin(self, start: int) -> int:
        """Where the unit begins that holds the start; units of this kind are equally long."""
        if self.unit == "week" and not self.monday:
            return start
        return start - (start - _MONDAY) % _MICROSECONDS[self.unit]

    @property
    def origin(self) -> int:
        """From where equal units are counted: the beginning of the first, before it is cut."""
        return self._origin(int(self.edges[0]))

    @cached_property
    def edges(self) -> Ints:
        """The edges, in microseconds since 1970."""
        return self.__dict__["_edges"]

    @property
    def size(self) -> int:
        return len(self.edges) - 1

    def place(self, t: Ints) -> Ints:
        """The cell of each moment in microseconds since 1970; -1 for what is outside."""
        start, stop = int(self.edges[0]), int(self.edges[-1])
        inside = (t >= start) & (t < stop)
        t = np.where(inside, t, start)
        if self.unit in _MICROSECONDS:
            width = _MICROSECONDS[self.unit]
            cells = (t - self.origin) // width
        else:
            cells = np.searchsorted(self.edges, t, side="right") - 1
        return np.where(inside, cells, -1)

    def boundary(self, value: object) -> int:
        """The number of cells left of a moment that begins a cell (or ends the last)."""
        moment = instant(value, f"A range end on axis '{self.name}'")
        t = microsecond(moment)
        if not self.edges[0] <= t <= self.edges[-1]:
            raise outside(self.name, str(value), self.edge(0), self.edge(self.size))
        index = int(np.searchsorted(self.edges, t))
        if self.edges[index] != t:
            raise off_grid(self.name, str(value), self.edge(index - 1), self.edge(index))
        return index

    def boundaries(self, values: npt.ArrayLike) -> Ints:
        """As `boundary`, for an array."""
        array = np.asarray(values)
        if array.dtype.kind != "M":
            return each(self.boundary, array)
        t = microseconds(array, self.name)
        index = np.minimum(np.searchsorted(self.edges, t), self.size)
        if (self.edges[index] != t).any():
            return each(self.boundary, array)  # says what is wrong
        return index.astype(np.int64)

    def edge(self, index: int) -> str:
        """The moment with that many cells left of it, written at the axis's precision."""
        moment = np.datetime64(int(self.edges[index]), "us")
        for code in (_CODES[self.unit], "D", "m"):
            short = moment.astype(f"datetime64[{code}]")
            if short == moment:
                return str(short)
        return str(moment)

    def names(self, text: str) -> bool:
        """Whether a text, as typed, is a period: its colons are then no range."""
        return _WRITTEN.fullmatch(text.strip()) is not None

    def parse(self, text: str) -> str:
        """A moment or a period as typed."""
        return text

    def words(self, start: int, stop: int) -> str:
        """The period, or the first and the last of a run, both included."""
        ends = self.edges[[start, stop]] - [0, 1]
        first, last = ends.view("datetime64[us]").astype(f"datetime64[{_CODES[self.unit]}]")
        return f"{first}" if first == last else f"{first} – {last}"

    def describe(self) -> str:
        """The axis in words."""
        return f"{self.size:,} {self.unit}s from {self.edge(0)} to {self.last}"

    def part(self, start: int, stop: int) -> DateCells:
        """The cells start … stop − 1."""
        edges = self.edges.view("datetime64[us]")
        ends = str(edges[start]), str(edges[stop] - 1)
        return DateCells(self.name, *ends, self.unit, self.monday, self.monday)

    def level_labels(self, level: str, starts: Ints, stops: Ints) -> list[str]:
        """What the periods of a level are called."""
        begins = self.edges[starts].view("datetime64[us]")
        if level == "week" and self.unit != "week":
            days = [day.isocalendar() for day in begins.astype("datetime64[D]").tolist()]
            return [f"{day.year}-W{day.week:02}" for day in days]
        return [str(period) for period in begins.astype(f"datetime64[{_CODES[level]}]")]

    def node(self, *path: object) -> tuple[int, int]:
        """The cells [start, stop) of a period such as "2013", "2013-04" or "2013-04-01"."""
        moment = instant(path[-1] if path else None, f"A period of axis '{self.name}'")
        start, stop = microsecond(moment), microsecond(moment + 1)
        low, high = int(self.edges[0]), int(self.edges[-1])
        if stop <= low or start >= high:
            raise outside(self.name, str(path[-1]), self.edge(0), self.edge(self.size))
        ends = [max(start, low), min(stop, high)]
        found = np.searchsorted(self.edges, ends)
        for end, index in zip(ends, found, strict=True):
            if self.edges[index] != end:
                raise off_grid(
                    self.name, str(path[-1]), self.edge(int(index) - 1), self.edge(int(index))
                )
        return int(found[0]), int(found[1])

    def levels(self) -> dict[str, Ints]:
        """The first cell of every year, month, day … : the calendar as a tree, coarsest first."""
        if self.unit == "week":
            return {"week": np.arange(self.size)}
        begins = self.edges[:-1].view("datetime64[us]")
        found: dict[str, Ints] = {}
        for level in LEVELS[: LEVELS.index(self.unit) + 1]:
            period = begins.astype(f"datetime64[{_CODES[level]}]")
            found[level] = np.flatnonzero(np.r_[True, period[1:] != period[:-1]])
        return found

    def other_levels(self) -> dict[str, Ints]:
        """The first cell of every week, Monday to Sunday: weeks nest in no month and no year."""
        if self.unit not in ("minute", "hour", "day"):
            return {}
        week = (self.edges[:-1] - _MONDAY) // _MICROSECONDS["week"]
        return {"week": np.flatnonzero(np.r_[True, week[1:] != week[:-1]])}

    def coarsen(self, level: str) -> DateCells:
        """The same stretch of time in a coarser unit, its first and last cells cut to it."""
        begin, end = self.edges[[0, -1]].view("datetime64[us]")
        monday = level == "week" and (self.unit != "week" or self.monday)
        return DateCells(self.name, str(begin), str(end - 1), level, True, monday)

    def columns(self, starts: Ints, stops: Ints) -> dict[str, Any]:
        """The intervals [starts, stops) as columns of a table."""
        edges = self.edges.view("datetime64[us]")
        return {"low": edges[starts], "high": edges[stops]}

    def to_json(self) -> dict[str, Any]:
        ends = {"first": self.first, "last": self.last}
        said = {name: True for name in ("cut", "monday") if getattr(self, name)}
        return {"kind": "dates", **ends, "unit": self.unit, **said}


def _ceiling(moment: np.datetime64, code: str) -> np.datetime64:
    floor: np.datetime64 = moment.astype(f"datetime64[{code}]")
    return floor if floor == moment else floor + 1
