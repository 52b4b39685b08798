"""Declared: the public facts of a table that turn a question into a request to count."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from trueup.ask import Question
from trueup.axis import Axis
from trueup.errors import InputError
from trueup.keys import KeyCounts, PrefixCounts
from trueup.owner import where as filters
from trueup.owner.columns import Columns, Wanted
from trueup.owner.dated import Dated, Share
from trueup.owner.graph import Graph, check_ends
from trueup.owner.paths import Group, counted
from trueup.owner.request import Request
from trueup.period import Period


@dataclass(frozen=True)
class Declared:
    """A table's columns, whose rows are bounded by how many, what its edges are, what dates a row.

    All of it is declared or in the schema. It reads nothing.
    """

    columns: Columns
    unit: str | None
    rows_per_unit: int
    graph: Graph | None
    date: Wanted | None
    share: Share | None = None

    def __post_init__(self) -> None:
        self._ends()
        if self.share is not None and self.unit is None:
            raise InputError('periods_per_unit goes with a unit, such as unit="user_id".')
        if self.unit is not None:
            self.columns.naming(self.unit, "unit")  # refused here rather than at the first question

    def _ends(self) -> tuple[Wanted, ...]:
        """The columns of an edge's two ends, where there are edges."""
        if self.graph is None:
            return ()
        source = self.columns.naming(self.graph.source, "source")
        target = self.columns.naming(self.graph.target, "target")
        if self.graph.kind == "undirected" and source.kind != target.kind:
            raise InputError("The two ends of an undirected edge must be columns of one type.")
        return source, target

    def request_for(
        self,
        question: Question,
        part: filters.Part | None,
        number: bool,
        periods: tuple[Period, ...] = (),
    ) -> Request:
        """What a question counts, its columns checked."""
        axes: tuple[Axis, ...] = ()
        groups: tuple[Group, ...] = ()
        space = question.space
        if number or space.kind == "ranks":
            values = self._groups(space.axes[0].name if number else space.by)
            if not number:
                check_ends(self.graph, space)
        elif self.graph is not None:
            raise InputError("A graph answers SortedCounts(nodes, …), its degree sequence.")
        else:
            read = counted(self.columns, space.axes)
            axes, values, groups = read.axes, read.values, read.groups
        return Request(
            question.size,
            values,
            axes,
            rows_per_unit=self.rows_per_unit,
            graph=self.graph,
            number=number,
            groups=groups,
            **self._rows(part, periods),
        )

    def keys_for(
        self,
        question: KeyCounts | PrefixCounts,
        rows_per_unit: int,
        part: filters.Part | None,
        periods: tuple[Period, ...],
    ) -> Request:
        """What a question about keys counts, its columns checked."""
        reads: tuple[Any, ...] = question.universe.reads
        values = tuple(
            self.columns.wanted(column, kind, "value" if len(reads) == 1 else f"value{place}")
            for place, (column, kind) in enumerate(zip(question.columns, reads, strict=True))
        )
        return Request(
            0,
            values,
            rows_per_unit=rows_per_unit,
            universe=question.universe,
            once=question.duplicates == "once",
            **self._rows(part, periods),
        )

    def _rows(self, part: filters.Part | None, periods: tuple[Period, ...]) -> dict[str, Any]:
        """What any request says of its rows: which are counted, and whose they are."""
        part, compared = filters.read_from(part, self.columns.compared)
        return {
            "where": part,
            "compared": compared,
            "unit": None if self.unit is None else self.columns.naming(self.unit, "unit"),
            "key": secrets.token_hex(32),
            "dated": None if self.date is None else Dated(self.date, periods, self.share),
        }

    def _groups(self, by: str | None) -> tuple[Wanted, ...]:
        """The column whose values are the groups, or the two ends of an edge."""
        if self.graph is not None:
            return self._ends()
        if by is None:
            raise InputError('Name the column that has the groups: SortedCounts(n, by="…").')
        return (self.columns.naming(by, "value"),)
