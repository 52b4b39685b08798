"""Multiplicative weights of a table: in memory, or through an owner and charged to its ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypedDict, Unpack

import numpy as np

from trueup.ask import CellCounts, GridCounts, Neighbours, Question
from trueup.axis import Axis
from trueup.cost import Cost
from trueup.errors import InputError
from trueup.owner.order import AskedTerms, Order, check_private
from trueup.owner.owner import Owner
from trueup.owner.rehearsal import check_noise
from trueup.release.reweighted import ReweightedCounts
from trueup.reweighting import Weighing, reweighted

_ONE = CellCounts(Axis.integers("box", 0, 0))


class Charged(TypedDict, total=False):
    """What goes with an owner's table: as for `Owner.measure`."""

    key: str | None
    where: str | None
    by: str | None


def adaptive(
    table: Any,
    axes: Axis | Sequence[Axis],
    epsilon: object,
    rounds: int = 10,
    workload: object = None,
    neighbours: Neighbours = "add-remove",
    **charged: Unpack[Charged],
) -> ReweightedCounts:
    """Counts over one axis or several by multiplicative weights: good where a few boxes tell most.

    `table` is an owner, whose ledger is charged before anything is read (with `key`, `where` and
    `by` as for `Owner.measure`); or a frame, or counts in axis order. `workload` says which ranges
    matter (of several axes, one for all or a list): boxes are chosen among some 4,000 of them.
    Costs ε in all. What comes back is non-negative and has no errors of its own; plan and publish
    give counts that do.
    """
    asked = Weighing.of(axes, epsilon, rounds, workload, neighbours)
    unknown = set(charged) - set(Charged.__annotations__)
    if unknown:
        raise TypeError(f"adaptive() got an unexpected keyword argument {sorted(unknown)[0]!r}")
    if isinstance(table, Owner):
        terms = AskedTerms(
            where=charged.get("where"), by=charged.get("by"), neighbours=asked.neighbours
        )
        return _measured(table, asked, charged.get("key"), terms)
    if charged:
        raise InputError(f"{', '.join(charged)} goes with an Owner, whose ledger is charged.")
    return reweighted(table, asked)


def _measured(
    owner: Owner, asked: Weighing, key: str | None, terms: AskedTerms
) -> ReweightedCounts:
    """Checked, charged, counted, drawn, stored: in this order."""
    owner.check_number("Multiplicative weights")
    if owner.calendar is not None:
        raise InputError(
            "Multiplicative weights are not charged by period. Open another ledger, at another "
            "path, with one limit for all time."
        )
    order = Order.of(owner, Cost.of(asked.epsilon), key, terms)
    request = order.request(owner, asked.to_json(), rows_per_unit=owner.rows_per_unit)

    def ready() -> Callable[[], bytes]:
        count = owner.prepared(_cells(asked.axes), order.part)
        # The scales of a count and of a choice; neighbours play no part in them.
        for share in (asked.part, asked.part / 2):
            check_noise(_ONE, Cost.of(share), "add-remove", owner.rows_per_unit)

        def draw() -> bytes:
            counts = np.asarray(owner.read(count, order.key)).reshape(asked.sizes)
            return asked.drawn(counts, owner.protects, owner.rows_per_unit).to_bytes()

        return draw

    answer = ReweightedCounts.from_bytes(order.paid(owner, request, ready))
    check_private(answer.facts.private)
    return answer


def _cells(axes: tuple[Axis, ...]) -> Question:
    """The question that counts every cell."""
    return CellCounts(axes[0]) if len(axes) == 1 else GridCounts(*map(CellCounts, axes))
