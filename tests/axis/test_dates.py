"""Cells of time against Python's own calendar."""

from __future__ import annotations

import datetime as dt
import json
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueup as tu
from trueup import Axis, InputError

EPOCH = dt.datetime(1970, 1, 1)
moments = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1))
units = st.sampled_from(["minute", "hour", "day", "week", "month", "year"])


def begin(moment, unit):
    """The start of the minute, hour, day, month or year that holds a moment."""
    fields = {"minute": 5, "hour": 4, "day": 3, "month": 2, "year": 1}[unit]
    return dt.datetime(*(*moment.timetuple()[:fields], 1, 1)[: max(fields, 3)])


@given(moments, st.integers(0, 40), units, moments, st.randoms(use_true_random=False))
def test_a_moment_is_in_the_cell_of_its_unit(first, more, unit, stranger, random):
    first = begin(first, "day" if unit == "week" else unit)
    step = {"minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400}.get(unit, 28 * 86400)
    last = first + dt.timedelta(seconds=more * step)
    axis = Axis.dates("t", first, last, unit)
    span = (last - first) + dt.timedelta(days=40)
    inside = [first, last, first + span * random.random(), last + dt.timedelta(microseconds=-1)]
    for moment, cell in zip([*inside, stranger], axis.locate([*inside, stranger]), strict=True):
        if cell == -1:
            end = axis.interval(axis.size - 1)[1]
            assert moment < first or np.datetime64(moment) >= np.datetime64(end)
            continue
        low, high = (np.datetime64(edge).astype("M8[us]").item() for edge in axis.interval(cell))
        assert low <= moment < high
        if unit == "week":
            assert (low - first).days % 7 == 0
            assert high - low == dt.timedelta(days=7)
        else:
            assert low == begin(moment, unit)
            assert begin(high - dt.timedelta(microseconds=1), unit) == low


@given(moments.map(lambda m: begin(m, "day")), units, st.integers(0, 60))
def test_the_interval_of_a_cell_gives_the_cell_back(first, unit, more):
    first = first.replace(day=1, month=1)
    axis = Axis.dates("t", first, first + dt.timedelta(days=more), unit)
    for cell in {0, axis.size // 2, axis.size - 1}:
        low, high = axis.interval(cell)
        assert axis.locate([low])[0] == cell
        assert axis.span(low, high) == (cell, cell + 1)
        ends = np.array([low, high]).astype("M8[us]")
        assert axis.spans(ends[:1], ends[1:]) == (cell, cell + 1)
        assert axis.locate([high])[0] == (cell + 1 if cell + 1 < axis.size else -1)


def test_both_ends_are_included_at_the_precision_they_are_written_with():
    assert Axis.dates("d", "2013-01-01", "2013-12-31").size == 365
    assert Axis.dates("d", "2012", "2012").size == 366
    assert Axis.dates("d", "2012", "2012", "hour").size == 366 * 24
    assert Axis.dates("d", "2012-02", "2012-02", "minute").size == 29 * 1440
    assert Axis.dates("d", "2013", "2014", "month").size == 24
    assert Axis.dates("d", "2013", "2014", "year").size == 2
    assert Axis.dates("d", dt.date(2013, 1, 1), dt.date(2013, 1, 31)).size == 31
    assert Axis.dates("d", dt.datetime(2013, 1, 1), dt.datetime(2013, 1, 31)).size == 31
    assert Axis.dates("d", "2013", "2013", "week").size == 53


@pytest.mark.parametrize("unit", ["ns", "10ns", "ps", "25ps", "fs"])
def test_a_moment_finer_than_a_microsecond_is_in_the_cell_that_holds_it(unit):
    axis = Axis.dates("d", "1970-01-01T00:00", "1970-01-01T00:59", "minute")
    size, code = (int(unit[:-2] or 1), unit[-2:])
    one = {"ns": 10**9, "ps": 10**12, "fs": 10**15}[code] // size  # a second
    counts = [60 * one + 1, 120 * one - 1, 120 * one, 0, 3600 * one - 1, 3600 * one, -1]
    found = axis.locate(np.array([*counts, -(2**63)], f"M8[{unit}]"))
    assert found.tolist() == [1, 1, 2, 0, 59, -1, -1, -1]


def test_only_weeks_say_that_they_begin_on_monday():
    days = Axis.dates("d", "2013-01-02", "2013-12-30")
    for level in ("day", "month", "year"):
        assert "monday" not in days.coarsen(level).to_json()
    weeks = days.coarsen("week")
    assert weeks.to_json()["monday"] is True
    begins = [dt.date.fromisoformat(weeks.interval(cell)[0]) for cell in range(weeks.size)]
    assert [begin.weekday() for begin in begins[1:]] == [0] * (weeks.size - 1)
    assert (
        "monday"
        not in Axis.dates("d", "2013-01-02", "2013-12-30", "week").coarsen("week").to_json()
    )


def test_zones_become_utc():
    axis = Axis.dates("d", "2013-03-10", "2013-03-12")
    berlin, fiji = ZoneInfo("Europe/Berlin"), ZoneInfo("Pacific/Fiji")
    instants = [
        dt.datetime(2013, 3, 11, 0, 30, tzinfo=berlin),  # 23:30 the day before
        dt.datetime(2013, 3, 11, 0, 30),
        dt.datetime(2013, 3, 11, 11, 0, tzinfo=fiji),  # 23:00 the day before
        pd.Timestamp("2013-03-11T00:30", tz="Europe/Berlin"),
        "2013-03-11T00:30+01:00",
        "2013-03-11T00:30:00.5+0100",
        "2013-03-10T20:30-04:00",
        "2013-03-11T00:30Z",
        "2013-03-11 00:30",
        np.datetime64("2013-03-11T00:30"),
    ]
    expected = [0, 1, 0, 0, 0, 0, 1, 1, 1, 1]
    assert axis.locate(np.fromiter(instants, dtype=object)).tolist() == expected
    aware = pd.Series(pd.to_datetime(["2013-03-11T00:30+01:00"]))
    assert axis.locate(aware).tolist() == [0]
    local = pd.Series(pd.to_datetime(["2013-03-11T00:30"])).dt.tz_localize("Europe/Berlin")
    assert axis.locate(local).tolist() == [0]
    assert axis.locate(pl.Series([instants[0]])).tolist() == [0]
    assert axis.locate(pa.array([instants[0]])).tolist() == [0]


def test_what_is_missing_or_no_date_is_in_no_cell():
    axis = Axis.dates("d", "1600", "2100")
    values = [None, np.nan, pd.NaT, np.datetime64("NaT"), 20130101, 2013.0, True, b"1/1/2013"]
    values += ["", "NaT", "today", "now", "20130101", "2013-13-01", "2013-02-30", "２０13"]
    assert axis.locate(np.fromiter(values, dtype=object)).tolist() == [-1] * len(values)
    assert axis.locate(np.array(["NaT", "2013"], "M8[D]")).tolist()[0] == -1
    assert axis.locate(np.array(["NaT"], "M8[ns]")).tolist() == [-1]
    assert axis.locate(np.array(["300000-01-01", "-300000-01-01"], "M8[D]")).tolist() == [-1, -1]
    far = np.array([2**62, -(2**62)]).astype("M8[s]")
    assert axis.locate(far).tolist() == [-1, -1]
    assert axis.locate(np.fromiter(far, dtype=object)).tolist() == [-1, -1]
    with pytest.raises(InputError, match="takes dates or times, but this column holds whole num"):
        axis.locate(np.array([2013]))
    with pytest.raises(InputError, match=r"holds text .*pd.to_datetime\(column, format="):
        axis.locate(np.array(["31/12/2013"]))


def test_nanoseconds_far_off_are_no_other_year():
    axis = Axis.dates("d", "1600", "9999", "year")
    for year in (1600, 1676, 1678, 2024, 2261, 2263, 9999):
        for digits in ("000000001", "999999999", "1234567"):
            value = np.array([f"{year}-06-12T00:25:26.{digits}"], object)
            assert axis.locate(value).tolist() == [year - 1600]


@given(st.integers(-(2**62), 2**62))
def test_nanoseconds_fall_into_the_microsecond_before_them(nanoseconds):
    axis = Axis.dates("d", "1970-01-01T00:00", "1970-01-01T00:09", "minute")
    value = np.array([nanoseconds]).astype("M8[ns]")
    inside = 0 <= nanoseconds < 600 * 10**9
    assert axis.locate(value)[0] == (nanoseconds // (60 * 10**9) if inside else -1)
    assert axis.locate(np.array([-1, 0]).astype("M8[ns]")).tolist() == [-1, 0]


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Axis.dates("d", "2013-02-01", "2013-01-01"), "ends at 2013-01-01, before"),
        (lambda: Axis.dates("d", "today", "2013"), "The first date of axis 'd' must be a date"),
        (lambda: Axis.dates("d", "2013", "now"), "The last date of axis 'd' must be a date"),
        (lambda: Axis.dates("d", "20130101", "20130131"), "got '20130101'"),
        (lambda: Axis.dates("d", 2013, 2014), "got 2013"),
        (lambda: Axis.dates("d", None, "2014"), "got None"),
        (lambda: Axis.dates("d", pd.NaT, "2014"), "got NaT"),
        (lambda: Axis.dates("d", np.datetime64(2**62, "s"), "2014"), "must be a date or time"),
        (lambda: Axis.dates("d", "2013-01-01+01:00", "2014"), "got '2013-01-01+01:00'"),
        (lambda: Axis.dates("d", "2013", "2014", "second"), "must be one of minute, hour, day"),
        (lambda: Axis.dates("d", "2013-01-15", "2014", "month"), "at the start of a month"),
        (lambda: Axis.dates("d", "2013-01-01T00:30", "2014", "hour"), "at the start of a hour"),
        (lambda: Axis.dates("d", "0001", "9999", "minute"), "Use wider bins"),
    ],
)  # fmt: skip
def test_an_axis_of_time_that_makes_no_sense_is_refused(make, told):
    with pytest.raises(InputError) as refusal:
        make()
    assert told in str(refusal.value)


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("2013-01-01T12:00", "The nearest edges are 2013-01-01 and 2013-01-02"),
        (
            "2014-01-02",
            "'2014-01-02' is outside axis 'd', which runs from 2013-01-01 to 2014-01-01",
        ),
        ("soon", "A range end on axis 'd' must be a date"),
        (5, "A range end on axis 'd' must be a date"),
        (np.datetime64(2**62, "s"), "must be a date"),
    ],
)
def test_a_moment_off_the_grid_is_refused_and_the_nearest_edges_named(end, told):
    axis = Axis.dates("d", "2013-01-01", "2013-12-31")
    with pytest.raises(InputError) as refusal:
        axis.span(None, end)
    assert told in str(refusal.value)
    with pytest.raises(InputError, match="2013-07-01T01"):
        axis.spans(np.array(["2013-07-01T01"], "M8[h]"), np.array(["2013-08"], "M8[M]"))
    with pytest.raises(InputError, match="reversed"):
        axis.span("2013-02", "2013-01")


@given(moments.map(lambda m: begin(m, "hour")), st.integers(1, 2000))
def test_levels_are_the_calendar(first, hours):
    axis = Axis.dates("t", first, first + dt.timedelta(hours=hours - 1), "hour")
    cells = [first + dt.timedelta(hours=i) for i in range(hours)]
    for level, starts in axis.levels().items():
        periods = [begin(cell, level) for cell in cells]
        assert starts.tolist() == [
            i for i in range(hours) if i == 0 or periods[i] != periods[i - 1]
        ]
    assert list(axis.levels()) == ["year", "month", "day", "hour"]


@given(
    moments.map(lambda m: begin(m, "day")), st.integers(1, 900), st.sampled_from(["year", "month"])
)
def test_a_coarser_axis_counts_what_its_cells_add_up_to(first, days, level):
    axis = Axis.dates("t", first, first + dt.timedelta(days=days - 1))
    coarse = axis.coarsen(level)
    starts = axis.levels()[level]
    assert coarse.size == len(starts)
    for moment in (first - dt.timedelta(days=1), first, first + dt.timedelta(days=days)):
        assert (axis.locate([moment])[0] < 0) == (coarse.locate([moment])[0] < 0)
    every = np.datetime64(first, "h") + np.arange(-40 * 24, (days + 40) * 24, 7)
    expected = np.add.reduceat(axis.count(every), starts)
    assert coarse.count(every).tolist() == expected.tolist()
    assert Axis.from_json(coarse.to_json()) == coarse


@given(moments.map(lambda m: begin(m, "day")), st.integers(1, 900), st.data())
def test_a_period_holds_the_cells_that_begin_in_it(first, days, data):
    axis = Axis.dates("t", first, first + dt.timedelta(days=days - 1))
    day = first + dt.timedelta(days=data.draw(st.integers(0, days - 1)))
    for written in (f"{day:%Y-%m-%d}", f"{day.year:04}-{day:%m}", f"{day.year:04}"):
        cells = [i for i in range(days) if str(first + dt.timedelta(days=i)).startswith(written)]
        assert axis.node(written) == (cells[0], cells[-1] + 1)


def test_a_period_outside_or_finer_than_the_cells_is_refused():
    axis = Axis.dates("d", "2013", "2013")
    with pytest.raises(InputError, match="'2014' is outside axis 'd'"):
        axis.node("2014")
    with pytest.raises(InputError, match="nearest edges are 2013-01-01 and 2013-01-02"):
        axis.node("2013-01-01T00")
    with pytest.raises(InputError, match="A period of axis 'd' must be a date"):
        axis.node()
    with pytest.raises(
        InputError, match=r"Axis 'd' has no level 'decade'\. Levels: year, month, day"
    ):
        axis.coarsen("decade")


def weeks(first: str, last: str) -> list[tuple[str, int]]:
    """The weeks of a stretch of days by the standard library: the name and how many days of it."""
    day, end = dt.date.fromisoformat(first), dt.date.fromisoformat(last)
    found: dict[str, int] = {}
    while day <= end:
        year, week, _ = day.isocalendar()
        found[f"{year}-W{week:02}"] = found.get(f"{year}-W{week:02}", 0) + 1
        day += dt.timedelta(days=1)
    return list(found.items())


@pytest.mark.parametrize(
    ("first", "last"),
    [("2013-01-01", "2013-12-31"), ("2024-12-28", "2025-01-08"), ("1969-12-01", "1970-02-01")],
)
def test_weeks_of_days_run_from_monday_to_sunday(first: str, last: str) -> None:
    axis = Axis.dates("day", first, last)
    starts = axis.every_level()["week"]
    stops = np.append(starts[1:], axis.size)
    named = axis.level_labels("week", starts, stops)
    assert list(zip(named, (stops - starts).tolist(), strict=True)) == weeks(first, last)
    by_week = axis.coarsen("week")
    assert by_week.size == len(starts)
    assert Axis.from_json(json.loads(json.dumps(by_week.to_json()))) == by_week
    days = np.arange(axis.size)
    moments = np.datetime64(first) + days
    np.testing.assert_array_equal(
        by_week.locate(moments), np.searchsorted(starts, days, side="right") - 1
    )
    hours = Axis.dates("hour", first, last, "hour")
    np.testing.assert_array_equal(hours.every_level()["week"], starts * 24)


def test_weeks_are_asked_and_read_as_levels_are() -> None:
    axis = Axis.dates("day", "2013-01-01", "2013-12-31")
    counts = np.arange(365)
    starts = axis.every_level()["week"]
    exact = np.add.reduceat(counts, starts)
    by_day = tu.infer(tu.measure(counts, tu.TreeCounts(axis), epsilon=100))
    table = by_day.table(level="week")
    np.testing.assert_allclose(table["count"].to_numpy(), exact, atol=1)
    for levels in (["week"], ["week", "day"]):
        question = tu.TreeCounts(axis, levels=levels)
        release = tu.infer(tu.measure(counts, question, epsilon=100))
        found = release.table(level="week") if len(levels) > 1 else release.to_frame()
        np.testing.assert_allclose(found["count"].to_numpy(), exact, atol=1)
    part = by_day.table("2013-02", level="week")
    assert part["count"].to_numpy().sum() == pytest.approx(by_day.node("2013-02").value)
    with pytest.raises(tu.InputError, match="weeks nest in no month"):
        tu.TreeCounts(axis, levels=["month", "week"])
    with pytest.raises(tu.InputError, match="weeks nest in no month"):
        tu.TreeCounts(axis, levels=["day", "week"])
    starts, _ = tu.Workload.level("week").spans(axis)
    assert len(starts) == len(exact)
