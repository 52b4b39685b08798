"""Multiplicative weights of a table: in memory, or through an owner and charged to its ledger."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

import numpy as np

from trueup.ask import CellCounts, GridCounts, Neighbours, Question
from trueup.axis import Axis
from trueup.cost import Cost
from trueup.errors import InputError, NoiseError
from trueup.owner import where as filters
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
        return _measured(table, asked, **charged)
    if charged:
        raise InputError(f"{', '.join(charged)} goes with an Owner, whose ledger is charged.")
    return reweighted(table, asked)


def _measured(
    owner: Owner,
    asked: Weighing,
    key: str | None = None,
    where: str | None = None,
    by: str | None = None,
) -> ReweightedCounts:
    """Checked, charged, counted, drawn, stored: in this order."""
    owner.check_number("Multiplicative weights")
    if owner.calendar is not None:
        raise InputError(
            "Multiplicative weights are not charged by period. Open another ledger, at another "
            "path, with one limit for all time."
        )
    cost = Cost.of(asked.epsilon)
    cost.counted_in(owner.ledger.notion)
    key = secrets.token_hex(16) if key is None else key
    part = None if where is None else filters.parse(where)
    request = {
        "question": asked.to_json(),
        "neighbours": asked.neighbours,
        "unit": owner.protects,
        "rows_per_unit": owner.rows_per_unit,
        "where": None if part is None else filters.written(part),
        "source": owner.source,
    }
    stored = owner.ledger.recall(request, cost, key=key, by=by)
    if stored is None:
        count = owner.prepared(_cells(asked.axes), part)
        # The scales of a count and of a choice; neighbours play no part in them.
        for share in (asked.part, asked.part / 2):
            check_noise(_ONE, Cost.of(share), "add-remove", owner.rows_per_unit)
        paid = key

        def draw() -> bytes:
            counts = np.asarray(owner.read(count, paid)).reshape(asked.sizes)
            return asked.drawn(counts, owner.protects, owner.rows_per_unit).to_bytes()

        stored = owner.ledger.spend(request, cost, draw=draw, key=key, by=by)
    answer = ReweightedCounts.from_bytes(stored)
    if not answer.facts.private:
        raise NoiseError("The stored answer is NOT PRIVATE; it was not released.")
    return answer


def _cells(axes: tuple[Axis, ...]) -> Question:
    """The question that counts every cell."""
    return CellCounts(axes[0]) if len(axes) == 1 else GridCounts(*map(CellCounts, axes))
