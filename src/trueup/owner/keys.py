"""Measuring keys through the one door: checked, charged, counted, noised, stored, in this order."""

from __future__ import annotations

import secrets
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from trueup.ask.question import Neighbours
from trueup.cost import Cost
from trueup.errors import InputError
from trueup.keys import KeyCounts, KeyMeasurement, KeyTerms
from trueup.keys.measurement import measure_all_keys
from trueup.owner import where as filters
from trueup.owner.columns import Columns, Wanted
from trueup.owner.ledger import Ledger
from trueup.owner.request import Count, Request
from trueup.owner.source import Source, quietly, retried


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

    def terms(self, question: KeyCounts, cost: Cost, neighbours: Neighbours) -> KeyTerms:
        """The noise and the threshold; refused where the ledger counts otherwise."""
        owner = self.owner
        if owner.protects == "edge":
            raise InputError("A graph answers SortedCounts(nodes, …), its degree sequence.")
        if owner.calendar is not None:
            raise InputError(
                "Keys are not measured by period yet. Open another ledger, at another path, with "
                "one limit for all time."
            )
        cost.counted_in(owner.ledger.notion)
        return KeyTerms.of(question, cost, neighbours, owner.protects, owner.rows_per_unit)

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
        cost = Cost.of(epsilon)
        terms = self.terms(question, cost, neighbours)
        key = secrets.token_hex(16) if key is None else key
        part = None if where is None else filters.parse(where)
        request = {
            "question": question.to_json(),
            "neighbours": terms.neighbours,
            "unit": terms.unit,
            "rows_per_unit": terms.keys_per_unit,
            "where": None if part is None else filters.written(part),
            "source": dict(self.source.about),
        }
        stored = self.owner.ledger.recall(request, cost, key=key, by=by)
        if stored is None:
            count = self._prepared(terms, part)
            _rehearse(terms)

            def draw() -> bytes:
                with self.turn:
                    found = quietly(
                        lambda: retried(count),
                        f"The source could not be read. The charge stands: ask again under the key "
                        f"{key!r}, at no further cost.",
                    )
                return measure_all_keys(found.keys, found.counts, terms).to_bytes()

            stored = self.owner.ledger.spend(request, cost, draw=draw, key=key, by=by)
        return KeyMeasurement.from_bytes(stored)

    def _prepared(self, terms: KeyTerms, part: filters.Part | None) -> Count:
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
            rows_per_unit=terms.keys_per_unit,
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
        terms = self.terms(question, Cost.of(epsilon), neighbours)
        self._prepared(terms, None if where is None else filters.parse(where))
        _rehearse(terms)
        return terms


def _rehearse(terms: KeyTerms) -> None:
    """Does, without data and without noise, what could fail after the charge."""
    from trueup._kernels.noise.bits import Keystream
    from trueup._kernels.noise.gauss_tables import gauss_tables
    from trueup._kernels.noise.laplace_tables import tables

    Keystream()
    for scale in (terms.count_scale, terms.total_scale, terms.number_scale):
        if scale is not None:
            gauss_tables(scale) if terms.gaussian else tables(scale)
    total, number = (
        0 if share else None for share in (terms.question.total, terms.question.number)
    )
    KeyMeasurement(terms, (), np.zeros(0, np.int64), total, number).to_bytes()
