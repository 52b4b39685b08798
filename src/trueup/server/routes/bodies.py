"""What may be sent: every field, its type and its bounds. Unknown fields are refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

from trueup.axis import Axis
from trueup.cost import Cost
from trueup.server.errors import FieldError, field
from trueup.server.questions import Asked, AskedPart

T = TypeVar("T")
End = StrictInt | StrictFloat | Annotated[StrictStr, Field(max_length=500)] | None
Range = Annotated[list[End], Field(min_length=2, max_length=2)]
Column = Annotated[StrictStr, Field(max_length=200)]
Cells = Annotated[StrictInt, Field(ge=1, le=1 << 40)]
Level = Annotated[StrictFloat, Field(gt=0, lt=1)]
Versions = Literal["unbiased", "whole"]
PeriodName = Annotated[StrictStr, Field(max_length=20)]
Epsilon = Annotated[StrictStr, Field(min_length=1, max_length=100)] | StrictInt | StrictFloat


class Sent(BaseModel):
    """A body: no field that is not named."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


def example(*bodies: dict[str, Any]) -> ConfigDict:
    """The rules of a body, with examples of it."""
    return ConfigDict(
        extra="forbid", hide_input_in_errors=True, json_schema_extra={"examples": [*bodies]}
    )


class OfCounts(Sent):
    """What every question about the counts of a release says."""

    column: Column | None = Field(None, description="Of a grid: the column of the margin.")
    level: Level = 0.95
    version: Versions = "unbiased"


class PictureAsked(Sent):
    """The same of a picture, in the address."""

    column: Annotated[str, Field(max_length=200)] | None = Field(
        None, description="Of a grid: the column of the margin."
    )
    version: Versions = "unbiased"
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95


class ColumnAsked(Sent):
    """One of the columns of a grid, or a part of its axis."""

    column: Column
    range: Range | None = Field(None, description="Two edges of the declared axis.")
    cells: Cells | None = None

    def part(self) -> AskedPart:
        """The same in the words of the library."""
        return AskedPart(self.column, _ends(self.range), self.cells)


class Ask(Sent):
    """What is asked of a dataset: a column or two, or parts of their axes, at a price."""

    model_config = example(
        {"column": "age", "epsilon": "1/10", "range": [0, 80], "cells": 40, "strategy": "best"},
        {"columns": [{"column": "age", "cells": 50}, {"column": "borough"}], "epsilon": "1/10"},
        {"keys": "word", "epsilon": "1/10"},
    )

    epsilon: Epsilon | None = Field(None, description='The price, exact: "1/10", "0.1" or 0.1.')
    rho: Epsilon | None = Field(
        None, description="The price in rho instead, for Gaussian noise, where rho is counted."
    )
    column: Column | None = None
    range: Range | None = Field(None, description="Two edges of the declared axis.")
    cells: Cells | None = None
    columns: Annotated[list[ColumnAsked], Field(min_length=2, max_length=2)] | None = Field(
        None, description="Two columns, in place of one: a grid of their cells."
    )
    keys: Annotated[StrictStr, Field(max_length=200)] | None = Field(
        None, description="Declared keys that nobody can list, in place of columns."
    )
    among: Annotated[StrictStr, Field(max_length=140)] | None = Field(
        None,
        description="A release of keys of this dataset: those that it shows are the labels that "
        "are counted, in place of a column.",
    )
    delta: Epsilon | None = Field(None, description="Of keys: shown by this delta.")
    strategy: Annotated[StrictStr, Field(max_length=40)] = Field(
        "best",
        description="best, sorted, or a way that a quote names: adaptive, shown, tree, hats, flat, "
        "binary.",
    )
    where: Annotated[StrictStr, Field(max_length=10_000)] | None = None
    workload: Literal["all ranges", "prefixes", "cell counts"] | None = None
    period: (
        PeriodName | Annotated[list[PeriodName], Field(min_length=1, max_length=1_000)] | None
    ) = Field(
        None,
        description="Where each period has a limit, the one or those whose rows are counted: "
        "2026-03-01.",
    )
    through: PeriodName | None = Field(
        None, description="With one period: all periods from it through this one."
    )

    def asked(self) -> Asked:
        """The same in the words of the library."""
        if self.columns is not None and (self.column, self.range, self.cells) != (None,) * 3:
            raise FieldError("Give column, range and cells, or columns, not both.", "/columns")
        if self.keys is not None and (self.column or self.range or self.cells or self.columns):
            raise FieldError("Give keys, or columns, not both.", "/keys")
        others = (self.column, self.range, self.cells, self.columns, self.keys)
        if self.among is not None and others != (None,) * 5:
            raise FieldError("Give among, or what else is counted, not both.", "/among")
        if self.delta is not None and self.keys is None:
            raise FieldError("Only keys are asked with a delta.", "/delta")
        parts: tuple[AskedPart, ...] = (AskedPart(self.column, _ends(self.range), self.cells),)
        if self.columns is not None:
            parts = tuple(each.part() for each in self.columns)
        with field("epsilon" if self.rho is None else "rho"):
            cost = Cost.of(self.epsilon, self.rho, 0 if self.delta is None else self.delta)
        return Asked(
            parts,
            cost,
            self.strategy,
            self.where or None,
            self.workload,
            self.keys,
            tuple(self.period) if isinstance(self.period, list) else self.period,
            self.through,
            self.among,
        )


def _ends(given: Range | None) -> tuple[Any, Any] | None:
    return None if given is None else (given[0], given[1])


class Ranges(Sent):
    """Ranges [low, high) in the units of the axis; null is the end of the axis."""

    model_config = example({"ranges": [[0, 16], [16, None]], "level": 0.95})

    ranges: Annotated[list[Range], Field(min_length=1)]
    column: Column | None = Field(None, description="Of a grid: the column of the margin.")
    level: Level | None = Field(0.95, description="Of the intervals; null for counts alone.")
    version: Versions = "unbiased"


class Zoom(PictureAsked):
    """What a picture shows: from low to high in axis units, or from cell start to cell stop."""

    low: Annotated[str, Field(max_length=500)] | None = None
    high: Annotated[str, Field(max_length=500)] | None = None
    start: Annotated[int, Field(ge=0, le=1 << 40)] | None = None
    stop: Annotated[int, Field(ge=0, le=1 << 40)] | None = None
    points: Annotated[int, Field(ge=1, le=2_000)] = 600

    def cells(self, axis: Axis) -> tuple[int, int]:
        """The cells that are shown."""
        if self.start is None and self.stop is None:
            return axis.around(self.low, self.high)
        if self.low is not None or self.high is not None:
            raise FieldError("Give low and high, or start and stop, not both.", "/start")
        if self.start is not None and self.stop is not None and self.start >= self.stop:
            raise FieldError(f"start {self.start} must lie before stop {self.stop}.", "/start")
        start = 0 if self.start is None else min(self.start, axis.size - 1)
        stop = axis.size if self.stop is None else min(self.stop, axis.size)
        return start, max(stop, start + 1)


class View(Zoom):
    """The same of bars; with `raw`, the noisy counts beside them."""

    raw: bool = False


class Nodes(Sent):
    """The nodes of a level, inside the cells from start to stop."""

    level: Annotated[str, Field(max_length=200, description="A level that the axis names.")]
    start: Annotated[int, Field(ge=0, le=1 << 40)] = 0
    stop: Annotated[int, Field(ge=0, le=1 << 40)] = 1 << 40
    column: Annotated[str, Field(max_length=200)] | None = None
    sure: Annotated[float, Field(gt=0, lt=1, description="The level of the intervals.")] = 0.95
    version: Versions = "unbiased"


BoxAsked = Annotated[list[Range | None], Field(min_length=2, max_length=8)]


class ManyBoxes(Sent):
    """Boxes of a grid: for each column [low, high) in its units, or null for all of it."""

    model_config = example({"boxes": [[[20, 40], None], [None, None]]})

    boxes: Annotated[list[BoxAsked], Field(min_length=1)]
    level: Level | None = Field(0.95, description="Of the intervals; null for counts alone.")
    version: Versions = "unbiased"


class Heatmap(Sent):
    """A part of a grid, by cells of its first two columns; all of it unless you say."""

    first_start: Annotated[int, Field(ge=0, le=1 << 40)] = 0
    first_stop: Annotated[int, Field(ge=0, le=1 << 40)] = 1 << 40
    second_start: Annotated[int, Field(ge=0, le=1 << 40)] = 0
    second_stop: Annotated[int, Field(ge=0, le=1 << 40)] = 1 << 40
    points: Annotated[int, Field(ge=1, le=128, description="Boxes on a side, at most.")] = 64
    version: Versions = "unbiased"
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95

    def spans(self, axes: Sequence[Axis]) -> tuple[tuple[int, int], ...]:
        """The cells that are shown."""
        given = ((self.first_start, self.first_stop), (self.second_start, self.second_stop))
        found = []
        names = ("first_start", "second_start")
        for name, axis, (start, stop) in zip(names, axes[:2], given, strict=True):
            if start >= min(stop, axis.size):
                raise FieldError(f"{start} … {stop} has no cell of '{axis.name}'.", f"/{name}")
            found.append((start, min(stop, axis.size)))
        return tuple(found)


class Difference(OfCounts):
    """Two ranges: the count of the first less that of the second."""

    model_config = example({"first": [0, 16], "second": [16, 32]})

    first: Range
    second: Range


class Quantiles(OfCounts):
    """Shares of the total."""

    model_config = example({"quantiles": [0.25, 0.5, 0.75]})

    quantiles: Annotated[
        list[Annotated[StrictFloat | StrictInt, Field(ge=0, le=1)]],
        Field(min_length=1, max_length=20),
    ]


class NewToken(Sent):
    """A token to be made."""

    model_config = example({"name": "ana", "role": "analyst", "limit": "1/2", "expires": "90d"})

    name: Annotated[StrictStr, Field(min_length=1, max_length=64)]
    role: Literal["reader", "analyst", "owner"]
    limit: Epsilon | None = Field(None, description="What an analyst may spend on each dataset.")
    rho: Epsilon | None = Field(None, description="The same, on each dataset that counts rho.")
    datasets: list[StrictStr] | None = Field(None, description="Those the limit is for; or all.")
    expires: Annotated[StrictStr, Field(max_length=40)] | None = Field(
        None, description="30d, 12h or a date."
    )


class Page(Sent):
    """A page of a list: from which of its lines, and how many."""

    start: Annotated[int, Field(ge=0, le=1 << 40)] = 0
    limit: Annotated[int, Field(ge=1, le=1_000)] = 1_000

    def of(self, lines: Sequence[T]) -> Sequence[T]:
        """The lines of this page."""
        return lines[self.start : self.start + self.limit]

    def places(self, total: int) -> dict[str, int | None]:
        """How many lines there are in all, and where the next page begins."""
        after = self.start + self.limit
        return {"total": total, "next": after if after < total else None}
