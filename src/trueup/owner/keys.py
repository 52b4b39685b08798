"""Measuring keys through the one door: checked, charged, counted, noised, stored, in this order."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
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
from trueup.owner.keyed import KeyTally
from trueup.owner.ledger import Ledger
from trueup.owner.request import Count, Request
from trueup.owner.source import Source, quietly, retried

Terms = TypeVar("Terms", KeyTerms, PrefixTerms)


class KeyOwner(Protocol):
    """An owner, as far as a measurement of keys needs one."""

    ledger: Ledger
    columns: Columns
    unit: str | None
    rows_per_unit: int

    @property
    def protects(self) -> str:
        """What the noise hides."""

    @property
    def calendar(self) -> object:
        """The periods of the ledger, if it has some."""


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
    ) -> KeyMeasurement:
        """The keys that are shown and their noisy counts, charged before they are drawn.

        `epsilon` is an ε, or a Cost: `Cost.of(1, delta="1e-6")` shows keys by a δ, without a
        universe. `key`, `where`, `neighbours` and `by` are as for `Owner.measure`.
        """
        terms = self._terms(KeyTerms.of, question, epsilon, neighbours)

        def noised(found: KeyTally) -> bytes:
            return measure_all_keys(found.keys, found.counts, terms).to_bytes()

        request = {"rows_per_unit": terms.keys_per_unit}
        stored = self._paid(terms, request, key, where, by, noised)
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
    ) -> PrefixMeasurement:
        """The tree of prefixes, split where counts are, charged before its noise is drawn."""
        terms = self._terms(PrefixTerms.of, question, epsilon, neighbours)

        def noised(found: KeyTally) -> bytes:
            return measure_all_prefixes(found.keys, found.counts, terms).to_bytes()

        request = {"rows_per_unit": terms.rows_per_unit}
        stored = self._paid(terms, request, key, where, by, noised)
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
        if owner.calendar is not None:
            raise InputError(
                "Keys are not measured by period yet. Open another ledger, at another path, with "
                "one limit for all time."
            )
        cost = Cost.of(epsilon)
        cost.counted_in(owner.ledger.notion)
        return make(question, cost, neighbours, owner.protects, owner.rows_per_unit)

    def _paid(
        self,
        terms: KeyTerms | PrefixTerms,
        bound: dict[str, int],
        key: str | None,
        where: str | None,
        by: str | None,
        noised: Callable[[KeyTally], bytes],
    ) -> bytes:
        """The stored answer: found under its key, or charged, counted and noised now."""
        key = secrets.token_hex(16) if key is None else key
        part = None if where is None else filters.parse(where)
        request = {
            "question": terms.question.to_json(),
            "neighbours": terms.neighbours,
            "unit": terms.unit,
            **bound,
            "where": None if part is None else filters.written(part),
            "source": dict(self.source.about),
        }
        ledger, cost = self.owner.ledger, terms.cost
        stored = ledger.recall(request, cost, key=key, by=by)
        if stored is not None:
            return stored
        count = self._prepared(terms, bound["rows_per_unit"], part)
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
        self, terms: KeyTerms | PrefixTerms, rows: int, part: filters.Part | None
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
            universe=question.universe,
            once=question.duplicates == "once",
        )
        with self.turn:
            return quietly(
                lambda: self.source.prepare(request),
                "The source cannot be opened, or is no longer as it was.",
            )

    def check(
        self,
        question: KeyCounts,
        epsilon: object = None,
        *,
        where: str | None = None,
        neighbours: Neighbours = "add-remove",
    ) -> KeyTerms:
        """Refuses what `measure` would refuse, the ledger's limit apart. Free: no row is read."""
        terms = self._terms(KeyTerms.of, question, epsilon, neighbours)
        part = None if where is None else filters.parse(where)
        self._prepared(terms, terms.keys_per_unit, part)
        terms.rehearse()
        return terms
