"""What is answered about counts: ranges, quantiles, views, nodes, boxes and heatmaps."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from trueup.server.routes.told import Edge, Number, Numbers, Told


class CountTold(Told):
    """A count with its interval."""

    count: Number
    low: Number | None
    high: Number | None
    standard_error: float
    kind: str


class RangeTold(CountTold):
    """The count of a range; of a difference, of the first range less the second."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "range": [0, 20],
                    "count": 1234.5,
                    "low": 1178.0,
                    "high": 1291.0,
                    "standard_error": 28.6,
                    "kind": "exact, from the law of the noise",
                }
            ]
        },
    )

    range: list[Edge]


class RangesTold(Told):
    """The counts of many ranges."""

    answers: list[RangeTold]


class DifferenceTold(CountTold):
    """The count of the first range less that of the second."""

    range: list[list[Edge]]


class QuantileTold(Told):
    """The value below which a share of the total lies; no ends where they take too long."""

    quantile: Number
    value: Edge
    low: Edge
    high: Edge


class QuantilesTold(Told):
    """Quantiles."""

    answers: list[QuantileTold]


class HistogramView(Told):
    """Bars of a part of a release."""

    kind: Literal["histogram"]
    edges: list[Edge]
    cells: list[int]
    counts: Numbers
    low: Numbers
    high: Numbers
    cells_per_point: int
    height: str
    times: Numbers
    raw: Numbers | None = None


class SortedView(Told):
    """Counts by rank."""

    kind: Literal["sorted"]
    ranks: list[int]
    counts: Numbers
    low: Numbers
    high: Numbers
    groups: int
    raw: Numbers | None = None


class QueriesView(Told):
    """Named counts."""

    kind: Literal["queries"]
    answers: list[RangeTold]


ViewTold = HistogramView | SortedView | QueriesView


class CdfTold(Told):
    """The share of the total below each edge."""

    edges: list[Edge]
    cells: list[int]
    share: Numbers
    low: Numbers
    high: Numbers


class NodeTold(CountTold):
    """A label, a period or a prefix, and its cells."""

    label: str
    start: int
    stop: int


class NodesTold(Told):
    """The nodes of a level."""

    level: str
    nodes: list[NodeTold]


class BoxTold(CountTold):
    """The count of a box."""

    box: list[list[Edge]]


class BoxesTold(Told):
    """The counts of many boxes."""

    answers: list[BoxTold]


class MarginTold(Told):
    """Counts along one column of what is shown."""

    counts: Numbers
    low: Numbers
    high: Numbers
    standard_errors: Numbers


class HeatmapTold(Told):
    """Boxes of a part of a grid."""

    columns: list[str]
    cells: list[list[int]]
    edges: list[list[Edge]]
    times: list[Numbers]
    counts: list[Numbers]
    low: list[Numbers]
    high: list[Numbers]
    standard_errors: list[Numbers]
    margins: list[MarginTold]
    total: BoxTold
