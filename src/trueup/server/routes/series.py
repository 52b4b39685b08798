"""Routes about series: every period of a question that is published again and again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from pydantic import Field, StrictStr
from starlette.responses import Response

from trueup.errors import InputError
from trueup.files.codec import csv_bytes
from trueup.period import Covered, Period
from trueup.release import Estimate
from trueup.server import errors
from trueup.server.answers import told_count, told_difference
from trueup.server.over_time import MOST_PERIODS, What, placed
from trueup.server.routes import told_series
from trueup.server.routes.asking import Parts, reply
from trueup.server.routes.bodies import OfCounts, Page, PictureAsked, Range, Sent, example
from trueup.server.routes.owner import Owner
from trueup.server.series import PeriodRun, Volumes
from trueup.server.service import holder
from trueup.server.written import MEDIA
from trueup.standing import statuses

router = APIRouter(prefix="/api/v1", tags=["series"], dependencies=[Depends(holder)])
Name = Annotated[str, Path(max_length=100, description="As in the list of series.")]
PeriodName = Annotated[str, Field(max_length=20)]
_MOST_RANGES = 20
_ALL = 1 << 40  # more periods than there are
_FILES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A file.",
        "content": {"text/csv": {"schema": {"type": "string", "format": "binary"}}},
    },
}


class PeriodsAsked(Sent):
    """From which period to which: all of them unless you say."""

    first: PeriodName | None = Field(None, description="The first period, such as 2026-03-01.")
    through: PeriodName | None = Field(None, description="The last period, included.")


class PeriodsListed(PeriodsAsked, Page):
    """Which periods are listed: all of them unless you say."""


class CountedOver(PeriodsAsked, PictureAsked):
    """What is counted in each period, and of which periods: all of them unless you say."""

    low: Annotated[str, Field(max_length=500)] | None = None
    high: Annotated[str, Field(max_length=500)] | None = None

    def what(self) -> What:
        """The range that is counted."""
        return What(self.low, self.high, self.column, self.version)


class CountedByPage(CountedOver):
    """The same, a page of periods at a time."""

    start: Annotated[int, Field(ge=0, le=1 << 40)] = 0
    limit: Annotated[int, Field(ge=1, le=MOST_PERIODS)] = MOST_PERIODS


class SumDrawn(PeriodsAsked, PictureAsked):
    """The periods whose sum is drawn, and how finely."""

    points: Annotated[int, Field(ge=1, le=2_000)] = 200


class PeriodsSummed(OfCounts):
    """Ranges that are added up over periods, the first and the last included."""

    model_config = example(
        {"first": "2026-01-01", "through": "2026-01-03", "ranges": [[None, None], [0, 20]]},
    )

    first: Annotated[StrictStr, Field(max_length=20)] | None = None
    through: Annotated[StrictStr, Field(max_length=20)] | None = None
    ranges: Annotated[list[Range], Field(min_length=1, max_length=_MOST_RANGES)]


Ends = Annotated[
    list[Annotated[StrictStr, Field(max_length=20)]], Field(min_length=2, max_length=2)
]


class PeriodsCompared(OfCounts):
    """Two stretches of periods, each by its first and its last; ranges of both."""

    model_config = example(
        {
            "periods": ["2026-01-03", "2026-01-04"],
            "others": ["2026-01-01", "2026-01-02"],
            "ranges": [[0, 20]],
        }
    )

    periods: Ends
    others: Ends
    ranges: Annotated[list[Range], Field(min_length=1, max_length=_MOST_RANGES)]


@router.get("/series", response_model=told_series.SeriesList)
def every_series(parts: Parts, page: Annotated[Page, Query()]) -> Response:
    """Series: each a question that is published again in every period."""
    every = list(parts.shelf.volumes.values())
    return reply({"series": [_line(one) for one in page.of(every)], **page.places(len(every))})


def _line(volumes: Volumes) -> dict[str, Any]:
    series, found = volumes.series, list(volumes.published())
    space, cost = series.question.space, series.cost
    return {
        "name": series.name,
        "title": series.title or series.name,
        "description": series.description,
        "dataset": series.dataset.name,
        "dataset_title": series.dataset.title or series.dataset.name,
        "per": series.calendar.per,
        "columns": [axis.name for axis in space.axes] or [str(space.by)],
        "kind": "sorted" if space.kind == "ranks" else "histogram" if space.one_axis else "grid",
        "where": series.where,
        "notion": cost.notion,
        "cost": str(cost.amount),
        "published": len(found),
        "first": found[0] if found else None,
        "last": found[-1] if found else None,
    }


@router.get("/series/{series}", response_model=told_series.SeriesTold)
def one_series(parts: Parts, series: Name) -> Response:
    """One series: what it is about, whom it protects, and what its periods add up to."""
    volumes = parts.shelf.find(series)
    declared, table = volumes.series, volumes.table
    calendar, unit = declared.calendar, table.owner.protects
    whom = "person" if unit in ("row", "edge") else unit
    amount = f"{declared.cost.notion} {declared.cost.amount}"
    missing, at_once = [], MOST_PERIODS
    if volumes.published():
        missing = list(volumes.between(None, None, _ALL).missing)
        if declared.question.space.kind != "ranks":
            at_once = min(at_once, parts.over_time.affordable(volumes))
    return reply(
        {
            **_line(volumes),
            "about": [table.axis(axis) for axis in declared.question.space.axes],
            "caption": f"Protects the rows of one {unit} of one {calendar.per}, at {amount}."
            if unit not in ("row", "edge")
            else f"Protects one {unit}, at {amount} for each {calendar.per}.",
            "loses": calendar.loses(whom, amount, declared.cost.notion == "rho"),
            "sampled": calendar.periods_per_unit is not None,
            "sample": Covered.of(calendar, [declared.first]).sampled,
            "zone": calendar.zone,
            "gaps": missing[:MOST_PERIODS],
            "at_once": at_once,
        }
    )


@router.get("/series/{series}/periods", response_model=told_series.PeriodList)
def periods(parts: Parts, series: Name, asked: Annotated[PeriodsListed, Query()]) -> Response:
    """The periods that are published, in their order, and the release of each."""
    volumes = parts.shelf.find(series)
    found = _between(volumes, asked.first, asked.through)
    listed = [placed(volumes, period) for period in asked.of(found)]
    return reply({"periods": listed, **asked.places(len(found))})


@router.get("/series/{series}/over", response_model=told_series.OverTold)
def over(parts: Parts, series: Name, asked: Annotated[CountedByPage, Query()]) -> Response:
    """The count of a range in each period, with an interval of its own; without ends, of all."""
    volumes = parts.shelf.find(series)
    periods = _between(volumes, asked.first, asked.through)
    shown = _page(parts, volumes, periods, asked.start, asked.limit)
    points = parts.over_time.points(volumes, shown, asked.what(), asked.level)
    after = asked.start + len(shown)
    return reply(
        {
            "points": points,
            "total": len(periods),
            "next": after if shown and after < len(periods) else None,
        }
    )


def _between(volumes: Volumes, first: str | None, through: str | None) -> Sequence[Period]:
    """The periods that are published from one to another; none if nothing is."""
    return volumes.inside(first, through) if volumes.published() else ()


def _page(
    parts: Parts, volumes: Volumes, periods: Sequence[Period], start: int, limit: int
) -> Sequence[Period]:
    """The periods of a page: fewer where each takes a while."""
    if not periods:
        return ()
    most = min(limit, parts.over_time.affordable(volumes))
    return periods[start : start + most]


@router.get("/series/{series}/file", response_class=Response, responses=_FILES)
def series_file(parts: Parts, series: Name, asked: Annotated[CountedOver, Query()]) -> Response:
    """The count of a range in each period, as CSV: a line a period."""
    volumes = parts.shelf.find(series)
    periods = _between(volumes, asked.first, asked.through)
    if len(periods) > MOST_PERIODS:
        said = f"At most {MOST_PERIODS:,} periods in a file, got {len(periods):,}."
        raise errors.FieldError(f"{said} Say first and through.", "/first")
    if periods:
        parts.over_time.check_work(volumes, len(periods), 1)
    points = parts.over_time.points(volumes, periods, asked.what(), asked.level)
    words = ("period", "count", "low", "high", "standard_error")
    about = {"series": series, "level": asked.level, "version": asked.version}
    about |= {"low": asked.low, "high": asked.high, "column": asked.column}
    columns = {word: [point[word] for point in points] for word in words}
    data = csv_bytes(columns, {name: said for name, said in about.items() if said is not None})
    headers = {"Content-Disposition": f'attachment; filename="{series}.csv"'}
    return Response(data, headers=headers, media_type=MEDIA["csv"])


@router.post("/series/{series}/sum", response_model=told_series.SumsTold)
def sum_over_periods(parts: Parts, series: Name, body: PeriodsSummed) -> Response:
    """Ranges added up over periods, with the exact interval of each sum."""
    volumes = parts.shelf.find(series)
    stretch = volumes.between(body.first, body.through, MOST_PERIODS)
    parts.over_time.check_work(volumes, len(stretch.published), len(body.ranges))
    found = _sums(parts, volumes, stretch, body)
    return reply({**_said(stretch), "answers": [told_count(each, body.level) for each in found]})


def _sums(
    parts: Parts, volumes: Volumes, stretch: PeriodRun, body: PeriodsSummed | PeriodsCompared
) -> list[Estimate]:
    found = []
    for place, (low, high) in enumerate(body.ranges):
        what = What(low, high, body.column, body.version)
        found.append(parts.over_time.sum(volumes, stretch, what, ("ranges", place)))
    return found


def _said(stretch: PeriodRun) -> dict[str, Any]:
    """Which periods are in a sum, and which are not."""
    return {
        "first": stretch.published[0].name,
        "last": stretch.published[-1].name,
        "periods": len(stretch.published),
        "missing": list(stretch.missing),
    }


@router.post("/series/{series}/compare", response_model=told_series.PeriodsComparedTold)
def compare_periods(parts: Parts, series: Name, body: PeriodsCompared) -> Response:
    """Ranges over two stretches of periods, such as this year and the last: how they differ.

    The difference has its exact interval. The noise of a period that is in both cancels.
    """
    volumes = parts.shelf.find(series)
    both = []
    for word, (first, through) in (("periods", body.periods), ("others", body.others)):
        with errors.field(word):
            both.append(_stretch(volumes, first, through))
    ours, theirs = both
    number = len(ours.published) + len(theirs.published)
    parts.over_time.check_work(volumes, number, len(body.ranges))
    pairs = zip(_sums(parts, volumes, ours, body), _sums(parts, volumes, theirs, body), strict=True)
    answers = [told_difference(a, b, body.level) for a, b in pairs]
    return reply({"periods": _said(ours), "others": _said(theirs), "answers": answers})


def _stretch(volumes: Volumes, first: str, through: str) -> PeriodRun:
    try:
        return volumes.between(first, through, MOST_PERIODS)
    except errors.FieldError as wrong:  # of the whole field: which end it is, the words say
        raise InputError(str(wrong)) from None


@router.get("/series/{series}/view", response_model=told_series.SeriesView)
def series_view(parts: Parts, series: Name, shown: Annotated[SumDrawn, Query()]) -> Response:
    """A picture's worth of the sum of some periods: bars, each with its interval."""
    volumes = parts.shelf.find(series)
    stretch = volumes.between(shown.first, shown.through, MOST_PERIODS)
    parts.over_time.check_work(volumes, len(stretch.published), 1)
    what = What(column=shown.column, version=shown.version)
    drawn = parts.over_time.view(volumes, stretch, what, shown.points, shown.level)
    return reply({**_said(stretch), "kind": "histogram", **drawn})


@router.get("/publications", response_model=told_series.PublicationList)
def publications(parts: Parts, who: Owner) -> Response:
    """How far the standing publications are: what is published, due, unfinished or missing."""
    found = statuses(parts.shelf.series, datetime.now(UTC))
    return reply({"publications": [each.to_json() for each in found]})
