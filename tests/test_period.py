"""Periods cut time as clocks do: against every second that a zone's clocks show."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup.errors import InputError
from trueup.period import MOST_PERIODS, PER, Calendar, Covered, Period, told

HOUR = 3_600_000_000
# Clocks forward, back, by half an hour, at midnight, a minute past it, and by a whole day.
STRANGE = {
    "Europe/Berlin": "2026-10-25",
    "America/Sao_Paulo": "2018-11-04",
    "Australia/Lord_Howe": "2026-04-05",
    "America/St_Johns": "2006-10-29",
    "America/Toronto": "1919-03-31",
    "Pacific/Apia": "2011-12-31",
    "Asia/Kathmandu": "2026-01-01",
}


def shows(second: int, zone: str) -> dt.datetime:
    """What clocks show then."""
    moment = dt.datetime.fromtimestamp(second, dt.UTC)
    return moment.astimezone(zoneinfo.ZoneInfo(zone)).replace(tzinfo=None)


@pytest.mark.parametrize(("zone", "name"), STRANGE.items())
def test_a_period_begins_when_clocks_first_show_its_beginning_or_later(
    zone: str, name: str
) -> None:
    for per in ("hour", "day"):
        calendar = Calendar(per, "at", zone)  # type: ignore[arg-type]
        day = Calendar("day", "at", zone).period(name)
        first = calendar.at(dt.datetime.fromtimestamp(day.start / 1e6, dt.UTC))
        each = [first]
        for _ in range(5):
            each.append(calendar.after(each[-1]))
        for period in each:
            wall = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=period.first)
            begin = period.start // 1_000_000
            assert period.start % 1_000_000 == 0
            assert shows(begin, zone) >= wall
            assert all(shows(begin - back, zone) < wall for back in range(1, 7300, 60))
            assert shows(begin - 1, zone) < wall
        assert all(one.stop == two.start for one, two in pairwise(each))  # no gap, no overlap


def test_hours_that_clocks_repeat_are_one_and_those_they_leave_out_are_none() -> None:
    hours = Calendar("hour", "at", "Europe/Berlin")
    twice = hours.period("2026-10-25T02")
    assert twice.stop - twice.start == 2 * HOUR
    with pytest.raises(InputError, match="no 2026-03-29T02 in Europe/Berlin"):
        hours.period("2026-03-29T02")
    assert [each.name[-2:] for each in hours.between("2026-03-29T01", "2026-03-29T04")] == [
        "01", "03", "04",
    ]  # fmt: skip
    with pytest.raises(InputError, match="no 2011-12-30 in Pacific/Apia"):
        Calendar("day", "at", "Pacific/Apia").period("2011-12-30")


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(PER),
    st.sampled_from(list(STRANGE)),
    st.datetimes(dt.datetime(1905, 1, 1), dt.datetime(2900, 1, 1), timezones=st.just(dt.UTC)),
)
def test_every_moment_is_in_exactly_one_period(per: str, zone: str, moment: dt.datetime) -> None:
    calendar = Calendar(per, "at", zone)  # type: ignore[arg-type]
    period, micro = (
        calendar.at(moment),
        round((moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) / dt.timedelta(microseconds=1)),
    )
    assert period.start <= micro < period.stop
    assert calendar.period(period.name) == period
    assert calendar.after(period).start == period.stop
    assert calendar.period(moment) == period


def test_weeks_months_and_years_are_those_of_iso_and_the_calendar() -> None:
    weeks = Calendar("week", "at")
    for number in range(-10, 10 * 366, 5):  # also weeks that begin in one year and are of another
        day = dt.date(2020, 1, 1) + dt.timedelta(days=number)
        year, week, _ = day.isocalendar()
        assert weeks.period(day).name == f"{year}-W{week:02}"
        assert weeks.period(weeks.period(day).name) == weeks.period(day)
        assert weeks.period(day).first % (24 * HOUR) == 0
    assert (
        Calendar("month", "at").period("2024-02").stop
        == Calendar("month", "at").period(dt.date(2024, 3, 31)).start
    )
    year = Calendar("year", "at").period("2024")
    assert (year.stop - year.start) // (24 * HOUR) == 366


@pytest.mark.parametrize(
    ("per", "given"),
    [
        ("day", "2026-3-1"), ("day", "2026-02-30"), ("day", "2026-03"), ("day", 5), ("day", None),
        ("day", dt.datetime(2026, 3, 1)), ("hour", dt.date(2026, 3, 1)), ("week", "2026-W54"),
        ("week", "2025-W53"), ("month", "2026-13"), ("year", "26"), ("day", "１２３４-01-01"),
    ],
)  # fmt: skip
def test_what_names_no_period_is_refused(per: str, given: object) -> None:
    with pytest.raises(InputError, match=f"A {per} is named like"):
        Calendar(per, "at").period(given)  # type: ignore[arg-type]


def test_a_calendar_is_checked_where_it_is_declared() -> None:
    with pytest.raises(InputError, match="per must be one of hour, day"):
        Calendar("minute", "at")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="goes with date="):
        Calendar("day", "")
    for zone in ("Mars/Base", "../../etc/passwd", "", "/etc/localtime"):
        with pytest.raises(InputError, match="zone must be a time zone"):
            Calendar("day", "at", zone)
    assert Calendar.said({"per": None}) is None
    with pytest.raises(InputError, match="goes with per="):
        Calendar.said({"zone": "UTC"})
    with pytest.raises(TypeError, match="unexpected keyword argument 'perr'"):
        Calendar.said({"perr": "day"})
    with pytest.raises(InputError, match="between the years 1900 and 2999"):
        Calendar("year", "at").period("1899")
    with pytest.raises(InputError, match="needs a time zone"):
        Calendar("day", "at").at(dt.datetime(2026, 1, 1))


@pytest.mark.parametrize(
    "share", [(0, 5), (5, 5), (6, 5), (-1, 5), (1, MOST_PERIODS + 1), (1.0, 5), (True, 5), (1,), 3]
)
def test_a_share_is_some_periods_of_more(share: Any) -> None:
    assert Calendar("day", "at", periods_per_unit=(4, 5)).periods_per_unit == (4, 5)
    assert Calendar("day", "at", periods_per_unit=(1, MOST_PERIODS)).periods_per_unit
    with pytest.raises(InputError, match="0 < l < m"):
        Calendar("day", "at", periods_per_unit=share)


def test_periods_are_named_each_once_and_put_in_order() -> None:
    days = Calendar("day", "at")
    names = ["2026-03-02", "2026-03-01"]
    assert [period.name for period in days.named(names)] == sorted(names)
    assert len(days.named(days.between("2026-01-01", "2026-01-31"))) == 31
    with pytest.raises(InputError, match="named twice"):
        days.named(["2026-03-01", dt.date(2026, 3, 1)])
    many = days.between("2024-01-01", "2026-09-26")
    assert len(many) == MOST_PERIODS
    assert days.named(many) == many
    for wrong in ([], ["2026-03-01"] * (MOST_PERIODS + 1)):
        with pytest.raises(InputError, match="1 to 1,000 periods"):
            days.named(wrong)


def test_what_is_told_of_periods_is_read_back() -> None:
    days = Calendar("day", "at", "Europe/Berlin")
    both = days.between("2026-03-28", "2026-03-29")
    said = told(days, both)
    assert Calendar.from_json(said) == days
    assert said["periods"][1][2] - said["periods"][1][1] == 23 * HOUR
    covered = Covered.of(days, both)
    assert Covered.from_json(covered.to_json()) == covered
    assert str(covered) == "2 days, 2026-03-28 – 2026-03-29"
    assert str(both[0]) == "2026-03-28"
    assert isinstance(both[0], Period)
    with pytest.raises(InputError, match="say their periods"):
        Covered("day", "UTC", ())
    some = Covered.of(replace(days, periods_per_unit=(4, 30)), both)
    assert (some.periods_per_unit, covered.periods_per_unit) == ((4, 30), None)
    assert Covered.from_json(some.to_json()) == some != covered
    assert "4 of 30 days, so multiply by 15/2;" in some.sampled
    assert covered.sampled == ""


def test_what_somebody_loses_who_is_there_again_and_again_is_said() -> None:
    days = Calendar("day", "at")
    assert days.loses("user", "1/2") == "a user with rows on 30 days: at most 30 × 1/2"
    assert days.loses("row", "1") == "a person with rows on 30 days: at most 30 × 1"
    assert "900 ×" in days.loses("user", "1/2", rho=True)
    few = Calendar("day", "at", periods_per_unit=(3, 30))
    assert few.loses("user", "1/2") == "a user: at most 3 × 1/2 in any 30 days"
    # A unit of three periods moves the answers of one question three times as far, squares nine.
    assert few.loses("user", "1/2", rho=True).endswith(", or 3² × where one question is over all")


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_periods_lie_between_1900_and_2999(zone: str) -> None:
    names = {"day": "{}-{}-{}", "month": "{}-{}", "year": "{}"}
    for per, name in names.items():
        calendar = Calendar(per, "at", zone)  # type: ignore[arg-type]
        for there in (("1900", "01", "01"), ("2999", "12", "31")):
            assert calendar.period(name.format(*there)).name == name.format(*there)
        for beyond in (("1899", "12", "31"), ("3000", "01", "01"), ("0001", "01", "01"),
                       ("9999", "12", "31")):  # fmt: skip
            with pytest.raises(InputError, match="between the years 1900 and 2999"):
                calendar.period(name.format(*beyond))


@pytest.mark.parametrize("per", ["hour", "day", "week", "month", "year"])
def test_a_stretch_may_end_with_the_last_period_that_there_is(per: Any) -> None:
    calendar = Calendar(per, "at")
    last = calendar.at(dt.datetime(2999, 12, 31, 23, 30, tzinfo=dt.UTC))
    before = calendar.existing(last.number - 1)
    assert calendar.between(last, last) == (last,)
    assert calendar.between(before, last) == (before, last)
    assert calendar.between(last, before) == ()


@pytest.mark.parametrize("per", ["hour", "day", "week", "month", "year"])
@pytest.mark.parametrize("hours", [-12, 0, 12])
def test_moments_at_the_ends_of_all_calendars_are_refused(per: Any, hours: int) -> None:
    zone = dt.timezone(dt.timedelta(hours=hours))
    for moment in (dt.datetime.min, dt.datetime.max):
        with pytest.raises(InputError, match="between the years 1900 and 2999"):
            Calendar(per, "at", "Asia/Tokyo").period(moment.replace(tzinfo=zone))
    for text in ("9999-12-31T23", "0001-W01", "9999-W52"):
        with pytest.raises(InputError):
            Calendar(per, "at").period(text)
