"""Several questions about one period: one charge, one pass over the table, one stored answer.

The charge names what it publishes, and a ledger takes each name once a period. So whoever is
killed, and however many publish at once, nothing is charged twice: a charge whose answer was never
stored is completed, from what the charge itself says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from trueup.ask import Neighbours, Question, check_neighbours, question_from_json
from trueup.cost import Cost
from trueup.errors import InputError, LedgerError, NoiseError
from trueup.measure import measure_all
from trueup.measurement import Measurement
from trueup.owner import where as filters
from trueup.owner.account import canonical
from trueup.owner.charge import Charge
from trueup.owner.owner import Owner
from trueup.owner.rehearsal import check_noise
from trueup.period import Period, told

_MAGIC = b"trueup answers 1\n"


@dataclass(frozen=True)
class Standing:
    """A question that is asked again in every period, under a name."""

    name: str
    question: Question
    cost: Cost
    where: str | None = None

    def to_json(self, question: int) -> dict[str, Any]:
        """What a charge says of it, its question by the number it has there."""
        return {
            "name": self.name,
            "question": question,
            self.cost.notion: str(self.cost.amount),
            "where": None if self.where is None else filters.written(filters.parse(self.where)),
        }

    @staticmethod
    def from_json(said: Mapping[str, Any], questions: Sequence[Question]) -> Standing:
        """What `to_json` wrote."""
        cost = Cost.of(said.get("epsilon"), said.get("rho"))
        return Standing(said["name"], questions[said["question"]], cost, said["where"])


def _told(standing: Sequence[Standing]) -> dict[str, Any]:
    """What a charge says of several: questions that are the same only once."""
    numbers: dict[str, int] = {}
    each = [
        one.to_json(numbers.setdefault(canonical(one.question.to_json()), len(numbers)))
        for one in standing
    ]
    return {"publishes": each, "questions": [json.loads(line) for line in numbers]}


def measure_together(
    owner: Owner,
    standing: Sequence[Standing],
    period: object,
    key: str,
    neighbours: Neighbours = "add-remove",
) -> dict[str, Measurement]:
    """The noisy answers to several questions about one period, by their names.

    All of them are charged at once, before any row is read. A name that was charged for the period
    already, under another key, is refused.
    """
    (one,) = owner.periods(period)
    names = [each.name for each in standing]
    if not names or len(set(names)) < len(names):
        raise InputError("Questions that are published together have names, each its own.")
    assert owner.calendar is not None
    request = {
        **_told(standing),
        "neighbours": check_neighbours(neighbours),
        "unit": owner.protects,
        "rows_per_unit": owner.rows_per_unit,
        "source": owner.source,
        "period": told(owner.calendar, [one]),
    }
    return _spend(owner, request, standing, one, key)


def complete(owner: Owner, charge: Charge) -> dict[str, Measurement]:
    """The answers to a charge, drawn now if they were never stored: nothing had left then."""
    request = json.loads(charge.request)
    questions = [question_from_json(said) for said in request["questions"]]
    standing = [Standing.from_json(said, questions) for said in request["publishes"]]
    if (request["unit"], request["rows_per_unit"]) != (owner.protects, owner.rows_per_unit):
        raise LedgerError(
            f"Entry {charge.entry} of the ledger was charged for {request['rows_per_unit']} rows "
            f"of each {request['unit']} and has no answer yet. Declare the table so once more, "
            f"and let it be completed."
        )
    ((name, _, _),) = request["period"]["periods"]
    (period,) = owner.periods(name)
    assert owner.calendar is not None
    if told(owner.calendar, [period]) != request["period"]:
        raise LedgerError(
            f"Entry {charge.entry} of the ledger was charged for {name}, which began or ended at "
            f"another moment then: this machine's time zones have changed since. Complete it on a "
            f"machine whose time zones are as they were."
        )
    return _spend(owner, request, standing, period, charge.key)


def stored_answers(stored: bytes) -> dict[str, Measurement]:
    """The measurements of a stored answer, by their names."""
    if not stored.startswith(_MAGIC):
        raise LedgerError("The stored answer holds no answers to several questions.")
    head, _, rest = stored[len(_MAGIC) :].partition(b"\n")
    found, start = {}, 0
    for name, size in json.loads(head):
        found[name] = Measurement.from_bytes(rest[start : start + size])
        if not found[name].private:
            raise NoiseError("The stored answer is NOT PRIVATE; it was not released.")
        start += size
    return found


def _spend(
    owner: Owner,
    request: Mapping[str, Any],
    standing: Sequence[Standing],
    period: Period,
    key: str,
) -> dict[str, Measurement]:
    # As `Owner.measure`: whatever can be wrong is found before the charge.
    notion, neighbours = owner.ledger.notion, check_neighbours(request["neighbours"])
    costs = [each.cost.counted_in(notion) for each in standing]
    total = Cost(notion, sum((cost.amount for cost in costs), Fraction(0)))
    stored = owner.ledger.recall(request, total, key=key)
    if stored is None:
        parts = [None if one.where is None else filters.parse(one.where) for one in standing]
        counts = owner.prepare_all(
            [
                owner.table.request_for(one.question, part, False, (period,))
                for one, part in zip(standing, parts, strict=True)
            ]
        )
        # Many ask the same, with other filters: its noise is tried once.
        for one in {(id(one.question), one.cost): one for one in standing}.values():
            check_noise(one.question, one.cost, neighbours, owner.rows_per_unit)

        def draw() -> bytes:
            found = owner.read(counts, key)
            return _packed(
                {
                    one.name: owner.covering(
                        measure_all(
                            each,
                            one.question,
                            one.cost.epsilon,
                            neighbours,
                            rho=one.cost.rho,
                            unit=owner.protects,
                            rows_per_unit=owner.rows_per_unit,
                        ),
                        (period,),
                    )
                    for one, each in zip(standing, found, strict=True)
                }
            )

        stored = owner.ledger.spend(request, total, draw=draw, key=key)
    return stored_answers(stored)


def _packed(measured: Mapping[str, Measurement]) -> bytes:
    each = {name: one.to_bytes() for name, one in measured.items()}
    head = json.dumps([[name, len(data)] for name, data in each.items()])
    return b"".join([_MAGIC, head.encode(), b"\n", *each.values()])
