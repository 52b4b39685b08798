"""What is answered about series: lists, counts over time, sums, comparisons, publications."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from trueup.server.routes.told import ColumnTold, Counts, Exact, Paged, Per, Told
from trueup.server.routes.told_counts import CountTold, HistogramView


class SeriesLine(Told):
    """A series, in the list."""

    name: str
    title: str
    description: str
    dataset: str
    dataset_title: str
    per: Per
    columns: list[str]
    kind: Literal["histogram", "sorted", "grid"]
    where: str | None
    notion: Counts
    cost: Exact = Field(description="Of each period.")
    published: int = Field(description="How many periods are.")
    first: str | None
    last: str | None


class SeriesList(Paged):
    """Every series."""

    series: list[SeriesLine]


class SeriesTold(SeriesLine):
    """One series."""

    about: list[ColumnTold]
    caption: str
    loses: str = Field(description="What somebody loses who is there again and again.")
    sampled: bool = Field(description="Whether only some of the units count in each period.")
    sample: str = Field(description="The same in words, with the factor; empty if all count.")
    zone: str
    gaps: list[str] = Field(description="Periods that are missing before a published one.")
    at_once: int = Field(description="How many periods, missing ones too, may be added up at once.")


class PeriodTold(Told):
    """A period that is published, and its release."""

    period: str
    begins: str = Field(description="What clocks show when it begins.")
    release: str


class PeriodList(Paged):
    """Periods, the earliest first."""

    periods: list[PeriodTold]


class PointTold(CountTold, PeriodTold):
    """The count of one period, and the release that it is read from."""


class OverTold(Paged):
    """Counts over time."""

    points: list[PointTold]


class StretchTold(Told):
    """Which periods are in a sum, and which between them are not published."""

    first: str
    last: str
    periods: int
    missing: list[str]


class SumsTold(StretchTold):
    """Ranges added up over periods."""

    answers: list[CountTold]


class PeriodsDiffer(Told):
    """A range over two stretches of periods, and the first less the second."""

    first: CountTold
    second: CountTold
    difference: CountTold


class PeriodsComparedTold(Told):
    """Two stretches of periods."""

    periods: StretchTold
    others: StretchTold
    answers: list[PeriodsDiffer]


class SeriesView(HistogramView, StretchTold):
    """Bars of the sum of some periods."""


class PublicationTold(Told):
    """How far one standing publication is."""

    series: str
    dataset: str
    per: Per
    status: Literal["published", "due", "gap"]
    published: int
    last: str | None
    missing: list[str]
    unanswered: list[str]
    unwritten: list[str]
    gaps: list[str]


class PublicationList(Told):
    """Every standing publication."""

    publications: list[PublicationTold]
