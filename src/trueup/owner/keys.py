"""Measuring keys through the one door: checked, charged, counted, noised, stored, in this order."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from trueup.ask.question import Neighbours
from trueup.cost import Cost
from trueup.errors import InputError
from trueup.keys import (
    KeyCounts,
    KeyMeasurement,
    KeyTerms,
    PrefixCounts,
    PrefixMeasurement,
    PrefixTerms,
)
from trueup.keys.measurement import measure_all_keys
from trueup.keys.prefix_release import measure_all_prefixes
from trueup.owner import where as filters
from trueup.owner.columns import Columns, Wanted
from trueup.owner.declared import Declared
from trueup.owner.keyed import KeyTally
from trueup.owner.ledger import Ledger
from trueup.owner.request import Count, Request
from trueup.owner.source import Source, quietly, retried
from trueup.period import Calendar, Covered, Period, told

Terms = TypeVar("Terms", KeyTerms, PrefixTerms)


class KeyOwner(Protocol):
    """An owner, as far as a measurement of keys needs one."""

    ledger: Ledger
    columns: Columns
    unit: str | None
    rows_per_unit: int
    table: Declared
    calendar: Calendar | None

    @property
    def protects(self) -> str:
        """What the noise hides."""

    def periods(self, period: object) -> tuple[Period, ...]:
        """The periods that were named, where the ledger has some."""


@dataclass(frozen=True, eq=False)
class KeyDoor:
    """Measures keys for an owner, from its source."""

    owner: KeyOwner
    source: Source
    turn: AbstractContextManager[Any]

    def measure(
        self,
        question: KeyCounts,
        epsilon: object = None,
        key: str | None = None,
        *,
        where: str | None = None,
        neighbours: Neighbours = "add-remove",
        by: str | None = None,
        period: object = None,
    ) -> KeyMeasurement:
        """The keys that are shown and their noisy counts, charged before they are drawn.

        `epsilon` is an ε, or a Cost: `Cost.of(1, delta="1e-6")` shows keys by a δ, without a
        universe. `key`, `where`, `neighbours`, `by` and `period` are as for `Owner.measure`.
        """
        terms = self._terms(KeyTerms.of, question, epsilon, neighbours)
        covered, periods = self._covered(period)

        ours: list[tuple[bytes, KeyMeasurement]] = []

        def noised(found: KeyTally) -> bytes:
            measured = measure_all_keys(found.keys, found.counts, terms)
            measured = replace(measured, period=covered)
            answer = measured.to_bytes()
            ours.append((answer, measured))
            return answer

        request = {"rows_per_unit": terms.keys_per_unit}
        stored = self._paid(terms, request, key, (where, periods), by, noised)
        for answer, measured in ours:
            if answer == stored:  # not what another process drew
                return measured
        return KeyMeasurement.from_bytes(stored)

    def measure_prefixes(
        self,
        question: PrefixCounts,
        epsilon: object = None,
        key: str | None = None,
        *,
        where: str | None = None,
        neighbours: Neighbours = "add-remove",
        by: str | None = None,
        period: object = None,
    ) -> PrefixMeasurement:
        """The tree of prefixes, split where counts are, charged before its noise is drawn."""
        terms = self._terms(PrefixTerms.of, question, epsilon, neighbours)
        covered, periods = self._covered(period)

        def noised(found: KeyTally) -> bytes:
            measured = measure_all_prefixes(found.keys, found.counts, terms)
            return replace(measured, period=covered).to_bytes()

        request = {"rows_per_unit": terms.rows_per_unit}
        stored = self._paid(terms, request, key, (where, periods), by, noised)
        return PrefixMeasurement.from_bytes(stored)

    def _terms(
        self,
        make: Callable[..., Terms],
        question: object,
        epsilon: object,
        neighbours: Neighbours,
    ) -> Terms:
        """The noise and the threshold; refused where the ledger counts otherwise."""
        owner = self.owner
        if owner.protects == "edge":
            raise InputError("A graph answers SortedCounts(nodes, …), its degree sequence.")
        cost = Cost.of(epsilon)
        cost.counted_in(owner.ledger.notion)
        return make(question, cost, neighbours, owner.protects, owner.rows_per_unit)

    def _covered(self, period: object) -> tuple[Covered | None, tuple[Period, ...]]:
        """The periods that were named, as the answers say them and as rows are counted by them."""
        periods = self.owner.periods(period)
        calendar = self.owner.calendar
        return None if calendar is None else Covered.of(calendar, periods), periods

    def _paid(
        self,
        terms: KeyTerms | PrefixTerms,
        bound: dict[str, int],
        key: str | None,
        among: tuple[str | None, tuple[Period, ...]],
        by: str | None,
        noised: Callable[[KeyTally], bytes],
    ) -> bytes:
        """The stored answer: found under its key, or charged, counted and noised now.

        `among` are the filter and the periods of the rows.
        """
        key = secrets.token_hex(16) if key is None else key
        where, periods = among
        part = None if where is None else filters.parse(where)
        request: dict[str, object] = {
            "question": terms.question.to_json(),
            "neighbours": terms.neighbours,
            "unit": terms.unit,
            **bound,
            "where": None if part is None else filters.written(part),
            "source": dict(self.source.about),
        }
        if self.owner.calendar is not None:
            request["period"] = told(self.owner.calendar, periods)
        ledger, cost = self.owner.ledger, terms.cost
        stored = ledger.recall(request, cost, key=key, by=by)
        if stored is not None:
            return stored
        count = self._prepared(terms, bound["rows_per_unit"], part, periods)
        terms.rehearse()

        def draw() -> bytes:
            with self.turn:
                found = quietly(
                    lambda: retried(count),
                    f"The source could not be read. The charge stands: ask again under the key "
                    f"{key!r}, at no further cost.",
                )
            return noised(found)

        return ledger.spend(request, cost, draw=draw, key=key, by=by)

    def _prepared(
        self,
        terms: KeyTerms | PrefixTerms,
        rows: int,
        part: filters.Part | None,
        periods: tuple[Period, ...],
    ) -> Count:
        """A count that is ready to run: its columns checked, its source open, no row read."""
        question = terms.question
        reads: tuple[Any, ...] = question.universe.reads
        values = tuple(
            self.owner.columns.wanted(column, kind, "value" if len(reads) == 1 else f"value{place}")
            for place, (column, kind) in enumerate(zip(question.columns, reads, strict=True))
        )
        compared: tuple[Wanted, ...] = ()
        if part is not None:
            compared = tuple(
                self.owner.columns.compared(column, f"filter{place}")
                for place, column in enumerate(filters.columns(part))
            )
            part = filters.checked(part, {one.column: one.kind for one in compared})
        name, columns = self.owner.unit, self.owner.columns
        unit = None if name is None else columns.naming(name, "unit")
        request = Request(
            0,
            values,
            where=part,
            compared=compared,
            unit=unit,
            rows_per_unit=rows,
            key=secrets.token_hex(32),
            dated=self.owner.table.dated(periods),
            universe=question.universe,
            once=question.duplicates == "once",
        )
        with self.turn:
            return quietly(
                lambda: self.source.prepare(request),
                "The source cannot be opened, or is no longer as it was.",
            )

    def check_prefixes(
        self,
        question: PrefixCounts,
        epsilon: object = None,
        *,
        where: str | None = None,
        neighbours: Neighbours = "add-remove",
        period: object = None,
    ) -> PrefixTerms:
        """Refuses what `measure_prefixes` would refuse, the ledger's limit apart. Free."""
        terms = self._terms(PrefixTerms.of, question, epsilon, neighbours)
        part = None if where is None else filters.parse(where)
        self._prepared(terms, terms.rows_per_unit, part, self.owner.periods(period))
        terms.rehearse()
        return terms

    def check(
        self,
        question: KeyCounts,
        epsilon: object = None,
        *,
        where: str | None = None,
        neighbours: Neighbours = "add-remove",
        period: object = None,
    ) -> KeyTerms:
        """Refuses what `measure` would refuse, the ledger's limit apart. Free: no row is read."""
        terms = self._terms(KeyTerms.of, question, epsilon, neighbours)
        part = None if where is None else filters.parse(where)
        self._prepared(terms, terms.keys_per_unit, part, self.owner.periods(period))
        terms.rehearse()
        return terms
