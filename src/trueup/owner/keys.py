"""Measuring keys through the one door: checked, charged, counted, noised, stored, in this order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar, Unpack

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
from trueup.owner.keyed import KeyTally
from trueup.owner.order import AskedTerms, Order
from trueup.owner.request import Count

if TYPE_CHECKING:
    from trueup.owner.owner import Owner

Terms = TypeVar("Terms", KeyTerms, PrefixTerms)


@dataclass(frozen=True, eq=False)
class KeyDoor:
    """Measures keys for an owner, from its source."""

    owner: Owner

    def measure(
        self,
        question: KeyCounts,
        epsilon: object = None,
        key: str | None = None,
        **asked: Unpack[AskedTerms],
    ) -> KeyMeasurement:
        """The keys that are shown and their noisy counts, charged before they are drawn.

        `epsilon` is an ε, or a Cost: `Cost.of(1, delta="1e-6")` shows keys by a δ, without a
        universe. `key`, `where`, `neighbours`, `by` and `period` are as for `Owner.measure`.
        """
        order = Order.of(self.owner, Cost.of(epsilon), key, asked)
        terms = self._terms(KeyTerms.of, question, order)
        ours: list[tuple[bytes, KeyMeasurement]] = []

        def noised(found: KeyTally) -> bytes:
            measured = measure_all_keys(found.keys, found.counts, terms)
            measured = replace(measured, period=self.owner.covered(order.periods))
            answer = measured.to_bytes()
            ours.append((answer, measured))
            return answer

        stored = self._paid(terms, terms.keys_per_unit, order, noised)
        for answer, measured in ours:
            if answer == stored:  # not what another process drew
                return measured
        return KeyMeasurement.from_bytes(stored)

    def measure_prefixes(
        self,
        question: PrefixCounts,
        epsilon: object = None,
        key: str | None = None,
        **asked: Unpack[AskedTerms],
    ) -> PrefixMeasurement:
        """The tree of prefixes, split where counts are, charged before its noise is drawn."""
        order = Order.of(self.owner, Cost.of(epsilon), key, asked)
        terms = self._terms(PrefixTerms.of, question, order)

        def noised(found: KeyTally) -> bytes:
            measured = measure_all_prefixes(found.keys, found.counts, terms)
            return replace(measured, period=self.owner.covered(order.periods)).to_bytes()

        stored = self._paid(terms, terms.rows_per_unit, order, noised)
        return PrefixMeasurement.from_bytes(stored)

    def check(
        self, question: KeyCounts, epsilon: object = None, **asked: Unpack[AskedTerms]
    ) -> KeyTerms:
        """Refuses what `measure` would refuse, the ledger's limit apart. Free: no row is read."""
        order = Order.of(self.owner, Cost.of(epsilon), None, asked)
        terms = self._terms(KeyTerms.of, question, order)
        self._ready(terms, terms.keys_per_unit, order)
        return terms

    def check_prefixes(
        self, question: PrefixCounts, epsilon: object = None, **asked: Unpack[AskedTerms]
    ) -> PrefixTerms:
        """Refuses what `measure_prefixes` would refuse, the ledger's limit apart. Free."""
        order = Order.of(self.owner, Cost.of(epsilon), None, asked)
        terms = self._terms(PrefixTerms.of, question, order)
        self._ready(terms, terms.rows_per_unit, order)
        return terms

    def _terms(self, make: Callable[..., Terms], question: object, order: Order) -> Terms:
        """The noise and the threshold; refused where the ledger counts otherwise."""
        owner = self.owner
        if owner.protects == "edge":
            raise InputError("A graph answers SortedCounts(nodes, …), its degree sequence.")
        return make(question, order.cost, order.neighbours, owner.protects, owner.rows_per_unit)

    def _paid(
        self,
        terms: KeyTerms | PrefixTerms,
        rows: int,
        order: Order,
        noised: Callable[[KeyTally], bytes],
    ) -> bytes:
        """The stored answer: found under its key, or charged, counted and noised now."""
        owner = self.owner
        request = order.request(owner, terms.question.to_json(), rows_per_unit=rows)

        def ready() -> Callable[[], bytes]:
            count = self._ready(terms, rows, order)
            return lambda: noised(owner.read(count, order.key))

        return order.paid(owner, request, ready)

    def _ready(self, terms: KeyTerms | PrefixTerms, rows: int, order: Order) -> Count:
        """A count that is ready to run: its columns checked, its source open, no row read.

        The noise is rehearsed, too.
        """
        owner = self.owner
        request = owner.table.keys_for(terms.question, rows, order.part, order.periods)
        count = owner.prepare(request)
        terms.rehearse()
        return count
