"""What is answered: every field of every body. Routes write them; a test holds them to it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Edge = int | float | str | None
"""An edge or a label of an axis, in its units; null where there is none."""
Number = int | float
Counts = Literal["epsilon", "rho"]
Exact = Annotated[str, Field(description="An exact number, such as 1/10.", examples=["1/10"])]
Numbers = list[Number]


class Told(BaseModel):
    """A body: these fields and no others."""

    model_config = ConfigDict(extra="forbid")


class Paged(Told):
    """A page of a list."""

    total: int
    next: int | None = Field(description="Where the next page begins; null on the last.")


class Problem(Told):
    """The one shape of every error: RFC 9457."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "type": "urn:trueup:error:budget",
                    "title": "The budget does not allow this",
                    "status": 409,
                    "detail": "This costs 1/2; 3/10 of 1 is left. Ask with epsilon <= 3/10.",
                    "code": "budget",
                    "pointer": None,
                }
            ]
        },
    )

    type: str
    title: str
    status: int
    detail: str
    code: str
    pointer: str | None = Field(description="The field that is wrong, as a JSON pointer.")


class Health(Told):
    """A server that is up."""

    status: Literal["ok"]
    version: str


class SessionTold(Told):
    """Whether a browser is signed in, and as whom."""

    signed_in: bool
    name: str | None
    role: str | None
    expires: str | None


class Meant(Told):
    """What a cost in rho means: an epsilon, rounded up, at a delta. Shown; it decides nothing."""

    epsilon: float
    delta: float


Per = Literal["hour", "day", "week", "month", "year"]
PerPeriod = Annotated[
    Per | None,
    Field(description="Where each period has the limit: then spent is that of the fullest."),
]


class LimitTold(Told):
    """What an analyst may spend on a dataset, and has spent, in what its ledger counts."""

    limit: Exact
    spent: Exact
    notion: Counts
    per: PerPeriod


class OwnBudget(LimitTold):
    """What somebody may spend on a dataset, and what is left."""

    remaining: Exact | None = Field(description="null where each period has the limit.")


class Me(Told):
    """Who holds a token, and what they may spend."""

    name: str
    role: str
    expires: str | None
    limit: Exact | None
    spent: Exact | None
    remaining: Exact | None
    datasets: dict[str, OwnBudget]


class ColumnTold(Told):
    """A column that may be asked about, its axis, and what its owner says of it."""

    column: str
    title: str
    description: str
    units: str | None
    axis: dict[str, Any]
    cells: int
    describes: str
    labelled: bool
    nested: bool
    scale: Literal["number", "time"] | None
    levels: dict[str, int]
    regions: bool


class FilterTold(Told):
    """A column that filters may use."""

    column: str
    title: str
    type: str
    comparisons: list[str]
    labels: list[Edge] | None


class KeysDeclared(Told):
    """Keys that may be asked about, and what they could be."""

    name: str
    title: str
    description: str
    columns: list[str]
    universe: str
    tree: bool


class GraphTold(Told):
    """A graph, by the columns of its edges."""

    edges: list[str]
    kind: str
    nodes: int


class CalendarTold(Told):
    """The periods of a dataset, each of which has the limit."""

    per: Per
    zone: str
    example: str = Field(description="How a period is named.")
    last: str | None = Field(description="The latest period that was charged.")
    loses: str = Field(description="What somebody loses who is there again and again.")
    sampled: bool = Field(description="Whether only some of the units count in each period.")


class PeriodBudget(Told):
    """How far a period is spent."""

    period: str
    limit: Exact
    spent: Exact
    remaining: Exact
    yours: Exact | None = Field(description="What may be spent with this token; null for readers.")


class PeriodBudgets(Paged):
    """Periods that were charged, the latest first."""

    periods: list[PeriodBudget]


class DatasetTold(Told):
    """A dataset: what may be asked, who is protected, what is left."""

    name: str
    title: str
    description: str
    protects: str
    unit: str
    rows_per_unit: int | None = Field(description="null where it is chosen for each question.")
    at_most: int | None = Field(description="The most rows of anybody, where it is chosen.")
    neighbours: str
    notion: Counts = Field(description="What limit, spent, remaining and yours are in.")
    limit: Exact
    periods: CalendarTold | None = Field(
        description="Where each period has the limit; spent, remaining and yours are null then."
    )
    spent: Exact | None
    remaining: Exact | None
    delta_limit: Exact
    spent_delta: Exact | None
    shown: Meant | None = Field(description="What is spent, as (ε, δ); null for epsilon.")
    limit_shown: Meant | None = Field(description="The limit, as (ε, δ); null for epsilon.")
    columns: list[ColumnTold]
    keys: list[KeysDeclared]
    graph: GraphTold | None
    filters: list[FilterTold]
    releases: int
    yours: Exact | None


class DatasetList(Told):
    """Every dataset."""

    datasets: list[DatasetTold]


class LengthTold(Told):
    """The error to expect of a range, or a box, of so many cells."""

    cells: int
    error_95: float


class StrategyTold(Told):
    """One way to ask, with its expected errors."""

    strategy: str
    name: str
    best: bool
    mean_error: float
    typical_95: float
    by_length: list[LengthTold]


class QuoteTold(Told):
    """What a measurement would cost and how wrong its answers would be."""

    cost: Exact
    notion: Counts = Field(description="What cost and remaining are in.")
    shown: Meant | None = Field(description="What rho means as (ε, δ); null for epsilon.")
    remaining: Exact
    allowed: bool
    why_not: str | None
    periods: list[str] = Field(description="Each of them pays; none where there are no periods.")
    axis: dict[str, Any] | None
    axes: list[dict[str, Any]]
    cells: int
    cell_choices: list[list[int]]
    strategy: str
    strategies: list[StrategyTold]
    sentence: str
    terms: dict[str, str] = Field(description="Of keys: what is shown, in words.")


class Measured(Told):
    """A release that was made, and where its measurement is."""

    release: str
    cost: Exact
    notion: Counts
    remaining: Exact
    measurement: str


class JobBegun(Told):
    """A measurement that missed its first deadline."""

    job: str
    url: str


class JobTold(Told):
    """How far a measurement has come."""

    state: Literal["running", "done", "failed"]
    step: int
    of: int
    words: str
    release: str | None
    error: Problem | None


class ChargeTold(Told):
    """What was asked for, and what it cost."""

    dataset: str
    column: str | None
    columns: list[str]
    strategy: str
    name: str
    epsilon: Exact | None = Field(description="What it was asked with; null for rho.")
    rho: Exact | None = Field(description="What it was charged; null where epsilon is counted.")
    cells: int
    where: str | None
    period: str | None = Field(description="The periods whose rows are counted, if any are named.")
    created: str
    by: str | None
    kind: Literal["histogram", "sorted", "queries", "grid", "keys", "prefixes"]


class HistoryLine(ChargeTold):
    """A charge in the ledger; `spent` is all that was spent with it."""

    entry: int
    spent: Exact
    release: str | None


class History(Paged):
    """Charges, oldest first."""

    dataset: str
    limit: Exact
    notion: Counts
    charges: list[HistoryLine]


class ReleaseLine(ChargeTold):
    """A release, in the list."""

    id: str
    link: str | None = Field(description="Of a public release.")


class ReleaseList(Paged):
    """Releases, oldest first."""

    releases: list[ReleaseLine]


class ReleaseTold(ReleaseLine):
    """A release: what it is about, whom it protects."""

    series: str | None = Field(description="The series that it is a period of.")
    dataset_title: str
    fractions: bool = Field(description="Whether unbiased counts may be no whole numbers.")
    axis: dict[str, Any] | None
    describes: str | None
    columns: list[ColumnTold]  # type: ignore[assignment]
    caption: str
    sample: str = Field(description="That only a sample of units is counted; empty if all are.")
    versions: list[str]
    noise_scales: list[Exact]
    neighbours: str
    unit: str
    rows_per_unit: int
    answers: int
    folder_bytes: int | None = Field(description="Of a release in a folder: how large that is.")


class LinkTold(Told):
    """A release and its public link; null if it has none."""

    release: str
    link: str | None


class Verified(Told):
    """A ledger that was checked."""

    entries: int
    sentence: str


class Ready(Told):
    """A server that can answer requests."""

    status: Literal["ready"]
