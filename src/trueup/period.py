"""Periods: hours, days, weeks, months and years, as exact stretches of time in a time zone.

A period is half open, [start, stop), and every moment is in exactly one. Its ends are computed
once, here, as whole microseconds since 1970; whatever counts rows only compares numbers.

A day begins at the first moment at which the zone's clocks show its midnight, or later. So a day
may have 23 or 25 hours; an hour that clocks show twice is one period of two hours; an hour, or a
day, that clocks leave out does not exist and is refused.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

from trueup.errors import InputError, shown

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

Per = Literal["hour", "day", "week", "month", "year"]
PER: tuple[Per, ...] = ("hour", "day", "week", "month", "year")
MOST_PERIODS = 1_000
"""The most periods that one measurement may be over."""

_FIRST_YEAR, _LAST_YEAR = 1900, 2999
_EPOCH = dt.datetime(1970, 1, 1)
_MONDAY = dt.date(1970, 1, 5)
_SECOND = 1_000_000
_WRITTEN: dict[Per, re.Pattern[str]] = {
    "hour": re.compile(r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d)(?::00(?::00)?)?", re.ASCII),
    "day": re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII),
    "week": re.compile(r"(\d{4})-W(\d\d)", re.ASCII),
    "month": re.compile(r"(\d{4})-(\d\d)", re.ASCII),
    "year": re.compile(r"(\d{4})", re.ASCII),
}
_EXAMPLES: dict[Per, str] = {
    "hour": "2026-03-01T13",
    "day": "2026-03-01",
    "week": "2026-W09",
    "month": "2026-03",
    "year": "2026",
}


class PeriodTerms(TypedDict, total=False):
    """How a ledger, or a dataset, declares its periods."""

    per: str | None
    date: str | None
    zone: str | None
    periods_per_unit: tuple[int, int] | None


@dataclass(frozen=True)
class Period:
    """One period: its name, its number in the calendar, and its ends in microseconds since 1970.

    `start` and `stop` are moments. `first` and `last` are what the zone's clocks show there, for
    times that are written without a zone; the last is not part of it.
    """

    name: str
    number: int
    start: int
    stop: int
    first: int
    last: int

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Calendar:
    """The periods of a table: how long they are, which column dates a row, in which time zone.

    With `periods_per_unit=(l, m)` a unit counts in l of any m periods that follow each other, which
    a keyed hash of the unit alone chooses.

    >>> days = Calendar("day", date="picked_up", zone="Europe/Berlin")
    >>> summer = days.period("2026-03-29")  # clocks go forward
    >>> summer.name, (summer.stop - summer.start) // 3_600_000_000
    ('2026-03-29', 23)
    >>> [each.name for each in days.between("2026-02-27", "2026-03-01")]
    ['2026-02-27', '2026-02-28', '2026-03-01']
    """

    per: Per
    date: str
    zone: str = "UTC"
    periods_per_unit: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.per not in PER:
            raise InputError(f"per must be one of {', '.join(PER)}, got {shown(self.per)}.")
        if not isinstance(self.date, str) or not self.date:
            raise InputError(
                f"per={self.per!r} goes with date=, the name of the column that dates a row."
            )
        _zone(self.zone if isinstance(self.zone, str) else shown(self.zone))
        if self.periods_per_unit is not None:
            object.__setattr__(self, "periods_per_unit", check_share(self.periods_per_unit))

    @staticmethod
    def said(terms: Mapping[str, Any]) -> Calendar | None:
        """What was said about periods; None if nothing was."""
        given = {word: value for word, value in terms.items() if value is not None}
        unknown = set(terms) - set(PeriodTerms.__annotations__)
        if unknown:
            raise TypeError(f"unexpected keyword argument {sorted(unknown)[0]!r}")
        if not given:
            return None
        if "per" not in given:
            raise InputError(
                f"{', '.join(given)} goes with per=, the length of a period: {', '.join(PER)}."
            )
        return Calendar(
            given["per"],
            given.get("date", ""),
            given.get("zone", "UTC"),
            given.get("periods_per_unit"),
        )

    def period(self, given: object) -> Period:
        """The period of a name, or the one that a date or a moment with a zone is in."""
        if isinstance(given, Period):
            given = given.name
        if isinstance(given, dt.datetime) and given.tzinfo is not None:
            return self.at(given)
        if isinstance(given, str):
            return self.existing(self._number(given))
        if isinstance(given, dt.date) and (self.per != "hour") != isinstance(given, dt.datetime):
            return self.existing(_numbers[self.per](dt.datetime(*given.timetuple()[:6])))
        raise self._unreadable(given)

    def named(self, given: object) -> tuple[Period, ...]:
        """The periods that were asked for, each once, in order: one, or several in a list."""
        several = isinstance(given, Sequence) and not isinstance(given, (str, bytes))
        each = list(cast("Sequence[object]", given)) if several else [given]
        if not 0 < len(each) <= MOST_PERIODS:
            raise InputError(f"Give 1 to {MOST_PERIODS:,} periods, got {len(each):,}.")
        found = {period.number: period for period in map(self.period, each)}
        if len(found) < len(each):
            raise InputError(f"A {self.per} is named twice; name each once.")
        return tuple(found[number] for number in sorted(found))

    def at(self, moment: dt.datetime) -> Period:
        """The period that a moment is in; it must have a zone."""
        if moment.tzinfo is None:
            raise InputError("A moment needs a time zone, such as datetime.now(UTC).")
        if not _FIRST_YEAR - 1 <= moment.year <= _LAST_YEAR + 1:
            raise _beyond(moment)
        instant = _micro(moment.astimezone(dt.UTC).replace(tzinfo=None))
        local = moment.astimezone(_zone(self.zone)).replace(tzinfo=None)
        number = _numbers[self.per](local)
        while instant < self.bound(number):
            number -= 1
        while instant >= self.bound(number + 1):
            number += 1
        return self.existing(number)

    def after(self, period: Period) -> Period:
        """The next period that there is."""
        return _following(self, period.number)

    def between(self, first: object, last: object) -> tuple[Period, ...]:
        """All periods from one to another, both included; those that clocks leave out are not."""
        each, end = self.period(first), self.period(last)
        if each.number > end.number:
            return ()
        found = [each]
        while found[-1].number < end.number:  # of the very last that there is, none comes after
            found.append(self.after(found[-1]))
        return tuple(found)

    @property
    def example(self) -> str:
        """How a period is named."""
        return _EXAMPLES[self.per]

    @property
    def one(self) -> str:
        """What is protected of a unit: its rows of one period."""
        return f"of one {self.per}"

    def loses(self, unit: str, amount: str, rho: bool = False) -> str:
        """What somebody who is there again and again gives away, in words.

        Each period's cost is for its rows alone, so the costs of all periods add up. Of one
        measurement over k periods somebody in all of them loses k times its ε, and k² times its ρ.

        >>> Calendar("day", "at").loses("user", "1")
        'a user with rows on 30 days: at most 30 × 1'
        """
        who = {"row": "person", "edge": "person"}.get(unit, unit)
        if self.periods_per_unit is not None:
            few, of = self.periods_per_unit
            said = f"a {who}: at most {few} × {amount} in any {of} {self.per}s"
            return f"{said}, or {few}² × where one question is over all" if rho else said
        rows = "edges" if unit == "edge" else "rows"
        said = f"a {who} with {rows} on 30 {self.per}s: at most 30 × {amount}"
        return f"{said}, or 900 × where one question is over all 30" if rho else said

    def to_json(self) -> dict[str, Any]:
        """What a ledger's first entry says of it."""
        said: dict[str, Any] = {"per": self.per, "date": self.date, "zone": self.zone}
        if self.periods_per_unit is not None:
            said["periods_per_unit"] = list(self.periods_per_unit)
        return said

    @staticmethod
    def from_json(said: Mapping[str, Any]) -> Calendar:
        """What `to_json` wrote, checked."""
        return Calendar(said["per"], said["date"], said["zone"], said.get("periods_per_unit"))

    def __str__(self) -> str:
        few = self.periods_per_unit
        share = "" if few is None else f", {few[0]} of {few[1]} for each unit"
        return f"per {self.per} of {self.date!r} in {self.zone}{share}"

    def _number(self, name: str) -> int:
        found = _WRITTEN[self.per].fullmatch(name.strip())
        try:
            if found is not None:
                return _parsed(self.per, [int(part) for part in found.groups()])
        except ValueError:
            pass
        raise self._unreadable(name)

    def _unreadable(self, given: object) -> InputError:
        return InputError(
            f"A {self.per} is named like {_EXAMPLES[self.per]!r}, got {shown(given)}."
        )

    def existing(self, number: int) -> Period:
        """The period of this number; refused where clocks leave it out."""
        first = _walls[self.per](number)
        name = _names[self.per](first)
        if not _FIRST_YEAR <= first.year <= _LAST_YEAR:
            raise _beyond(name)
        last = _walls[self.per](number + 1)
        start, stop = self.bound(number), self.bound(number + 1)
        if start == stop:
            raise InputError(f"There was no {name} in {self.zone}: clocks left it out.")
        return Period(name, number, start, stop, _micro(first), _micro(last))

    def bound(self, number: int) -> int:
        """The moment at which the period of this number begins."""
        return _begins(_walls[self.per](number), self.zone)


def _beyond(given: object) -> InputError:
    return InputError(f"Periods lie between the years {_FIRST_YEAR} and {_LAST_YEAR}, got {given}.")


@lru_cache(maxsize=1 << 14)  # many series ask for the same periods
def _following(calendar: Calendar, number: int) -> Period:
    """The next period that there is after the one of this number."""
    number += 1
    while calendar.bound(number) == calendar.bound(number + 1):
        number += 1
    return calendar.existing(number)


@dataclass(frozen=True)
class Covered:
    """The periods that some counts are of, as everything published about them says.

    What was paid protects all rows of a unit of one of these periods.

    >>> print(Covered("day", "UTC", ("2026-03-01",)))
    2026-03-01
    """

    per: Per
    zone: str
    names: tuple[str, ...]
    periods_per_unit: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.per not in PER or not self.names:
            raise InputError("Counts by period say their periods, and of which length they are.")
        if self.periods_per_unit is not None:
            object.__setattr__(self, "periods_per_unit", check_share(self.periods_per_unit))

    @staticmethod
    def of(calendar: Calendar, periods: Sequence[Period]) -> Covered:
        """The periods that were named."""
        names = tuple(each.name for each in periods)
        return Covered(calendar.per, calendar.zone, names, calendar.periods_per_unit)

    def __str__(self) -> str:
        if len(self.names) == 1:
            return self.names[0]
        return f"{len(self.names):,} {self.per}s, {self.names[0]} – {self.names[-1]}"

    @property
    def sampled(self) -> str:
        """That only a sample of units is counted, if that is so; else nothing."""
        if self.periods_per_unit is None:
            return ""
        few, of = self.periods_per_unit
        return (
            f"a sample: each unit counts on {few} of {of} {self.per}s, so multiply by "
            f"{Fraction(of, few)}; scaled() does, with the sampling error"
        )

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        said: dict[str, Any] = {"per": self.per, "zone": self.zone, "names": list(self.names)}
        if self.periods_per_unit is not None:
            said["periods_per_unit"] = list(self.periods_per_unit)
        return said

    @staticmethod
    def from_json(said: Mapping[str, Any]) -> Covered:
        """What `to_json` wrote, checked."""
        names = tuple(map(str, said["names"]))
        return Covered(said["per"], str(said["zone"]), names, said.get("periods_per_unit"))


def check_share(given: object) -> tuple[int, int]:
    """In how many periods, of how many, a unit counts; refused unless they are whole numbers."""
    if isinstance(given, (tuple, list)) and len(given) == 2:
        few, of = given
        whole = all(isinstance(each, int) and not isinstance(each, bool) for each in given)
        if whole and 0 < few < of <= MOST_PERIODS:
            return few, of
    raise InputError(
        f"periods_per_unit must be (l, m), l of any m periods, with 0 < l < m <= "
        f"{MOST_PERIODS:,}, got {shown(given)}."
    )


def told(calendar: Calendar, periods: Sequence[Period]) -> dict[str, Any]:
    """The periods of a request as its ledger keeps them: names, and the moments they meant."""
    return {
        **calendar.to_json(),
        "periods": [[each.name, each.start, each.stop] for each in periods],
    }


# The arithmetic of calendars: a period's number is how many come before it, from a fixed one on.


def _parsed(per: Per, parts: list[int]) -> int:
    if per == "week":
        return _numbers["week"](_midnight(dt.date.fromisocalendar(parts[0], parts[1], 1)))
    wall = dt.datetime(*[*parts, 1, 1][: max(3, len(parts))])  # type: ignore[arg-type]
    return _numbers[per](wall)


def _midnight(day: dt.date) -> dt.datetime:
    return dt.datetime(day.year, day.month, day.day)


_numbers: dict[Per, Callable[[dt.datetime], int]] = {
    "hour": lambda wall: (wall - _EPOCH) // dt.timedelta(hours=1),
    "day": lambda wall: (wall.date() - _EPOCH.date()).days,
    "week": lambda wall: (wall.date() - _MONDAY).days // 7,
    "month": lambda wall: wall.year * 12 + wall.month - 1,
    "year": lambda wall: wall.year,
}
_walls: dict[Per, Callable[[int], dt.datetime]] = {
    "hour": lambda number: _EPOCH + dt.timedelta(hours=number),
    "day": lambda number: _EPOCH + dt.timedelta(days=number),
    "week": lambda number: _midnight(_MONDAY + dt.timedelta(weeks=number)),
    "month": lambda number: dt.datetime(number // 12, number % 12 + 1, 1),
    "year": lambda number: dt.datetime(number, 1, 1),
}


_names: dict[Per, Callable[[dt.datetime], str]] = {
    "hour": lambda wall: wall.isoformat(timespec="hours"),
    "day": lambda wall: wall.date().isoformat(),
    "week": lambda wall: "{}-W{:02}".format(*wall.isocalendar()),
    "month": lambda wall: wall.date().isoformat()[:7],
    "year": lambda wall: wall.date().isoformat()[:4],
}


def _micro(wall: dt.datetime) -> int:
    return (wall - _EPOCH) // dt.timedelta(microseconds=1)


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    import zoneinfo  # it takes a tenth of the time in which trueup is imported

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        pass
    raise InputError(
        f"zone must be a time zone of this machine, such as 'UTC' or 'Europe/Berlin', "
        f"got {shown(name)}."
    )


@lru_cache(maxsize=1 << 14)
def _begins(wall: dt.datetime, zone_name: str) -> int:
    """The first moment at which clocks show this time or a later one, in microseconds."""
    zone = _zone(zone_name)

    def moment(fold: int) -> dt.datetime:
        return wall.replace(tzinfo=zone, fold=fold).astimezone(dt.UTC)

    def shows(at: dt.datetime) -> dt.datetime:
        return at.astimezone(zone).replace(tzinfo=None)

    first = moment(0)  # of a time that is shown twice, the first
    if shows(first) == wall:
        return _micro(first.replace(tzinfo=None))
    # Clocks leave it out. They do so at one moment between these two: found to the second.
    low, high = (_micro(moment(fold).replace(tzinfo=None)) // _SECOND for fold in (1, 0))
    while high - low > 1:
        middle = (low + high) // 2
        if shows(dt.datetime.fromtimestamp(middle, dt.UTC)) >= wall:
            high = middle
        else:
            low = middle
    return high * _SECOND


def periods_named(calendar: Calendar | None, period: object) -> tuple[Period, ...]:
    """The periods that a question names; none, and none may be named, without a calendar."""
    if calendar is None:
        if period is not None:
            raise InputError(
                "This ledger has one limit for all time: leave period= out, or open another "
                'ledger, at another path, with per="day" and date=, the column.'
            )
        return ()
    if period is None:
        raise InputError(
            f"This ledger has a limit for each {calendar.per}: say which is asked about, "
            f"period={calendar.example!r}."
        )
    return calendar.named(period)
