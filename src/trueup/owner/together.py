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
from trueup.cost import Cost, Notion
from trueup.errors import InputError, LedgerError, TrueupError
from trueup.measure import measure_all
from trueup.measurement import Measurement
from trueup.owner import where as filters
from trueup.owner.account import canonical
from trueup.owner.charge import Charge
from trueup.owner.order import check_private
from trueup.owner.owner import Owner
from trueup.owner.rehearsal import check_noise
from trueup.owner.request import Counts
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
            "where": filters.rewritten(self.where),
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


@dataclass(frozen=True)
class Together:
    """Questions about one period that are charged together, and what the charge says of them."""

    standing: tuple[Standing, ...]
    period: Period
    key: str
    request: Mapping[str, Any]

    @staticmethod
    def of(
        owner: Owner,
        standing: Sequence[Standing],
        period: object,
        key: str,
        neighbours: Neighbours = "add-remove",
    ) -> Together:
        """Refused where names are missing or not apart."""
        (one,) = owner.periods(period)
        owner.check_number("Publications by period")
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
        return Together(tuple(standing), one, key, request)

    @staticmethod
    def charged(owner: Owner, charge: Charge) -> Together:
        """What a charge says; refused where it would mean something else today."""
        request = json.loads(charge.request)
        questions = [question_from_json(said) for said in request["questions"]]
        standing = [Standing.from_json(said, questions) for said in request["publishes"]]
        if (request["unit"], request["rows_per_unit"]) != (owner.protects, owner.rows_per_unit):
            raise LedgerError(
                f"Entry {charge.entry} of the ledger was charged for {request['rows_per_unit']} "
                f"rows of each {request['unit']} and has no answer yet. Declare the table so once "
                f"more, and let it be completed."
            )
        ((name, _, _),) = request["period"]["periods"]
        (period,) = owner.periods(name)
        assert owner.calendar is not None
        if told(owner.calendar, [period]) != request["period"]:
            raise LedgerError(
                f"Entry {charge.entry} of the ledger was charged for {name}, which began or ended "
                f"at another moment then: this machine's time zones have changed since. Complete "
                f"it on a machine whose time zones are as they were."
            )
        return Together(tuple(standing), period, charge.key, request)

    @property
    def cells(self) -> int:
        """How many numbers are counted."""
        return sum(each.question.size for each in self.standing)

    def total(self, notion: Notion) -> Cost:
        """What all of it costs the period."""
        costs = [each.cost.counted_in(notion) for each in self.standing]
        return Cost(notion, sum((cost.amount for cost in costs), Fraction(0)))


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
    found, wrong = spend_together(owner, [Together.of(owner, standing, period, key, neighbours)])
    if wrong is not None:
        raise wrong
    return found[0]


def complete_all(owner: Owner, charges: Sequence[Charge]) -> list[dict[str, Measurement]]:
    """The answers to several charges, in one pass over the table.

    Those that were never stored are drawn now: nothing had left then.
    """
    found, wrong = spend_together(owner, [Together.charged(owner, charge) for charge in charges])
    if wrong is not None:
        raise wrong
    return found


def stored_answers(stored: bytes) -> dict[str, Measurement]:
    """The measurements of a stored answer, by their names."""
    return {name: _private(data) for name, data in _unpacked(stored).items()}


def stored_answer(stored: bytes, name: str) -> bytes:
    """The one measurement of this name in a stored answer, as the bytes of its file."""
    found = _unpacked(stored)
    if name not in found:
        raise LedgerError(f"The stored answer holds no answer called {name!r}.")
    _private(found[name])
    return found[name]


def _unpacked(stored: bytes) -> dict[str, bytes]:
    if not stored.startswith(_MAGIC):
        raise LedgerError("The stored answer holds no answers to several questions.")
    head, _, rest = stored[len(_MAGIC) :].partition(b"\n")
    found, start = {}, 0
    for name, size in json.loads(head):
        found[name] = rest[start : start + size]
        start += size
    return found


def _private(data: bytes) -> Measurement:
    measured = Measurement.from_bytes(data)
    check_private(measured.private)
    return measured


def spend_together(
    owner: Owner, asked: Sequence[Together]
) -> tuple[list[dict[str, Measurement]], TrueupError | None]:
    """The answers about several periods: each is charged, then all are counted in one pass.

    Where a period cannot be charged, those before it are answered all the same; why comes beside.
    """
    # As `Owner.measure`: whatever can be wrong is found before the charge.
    notion = owner.ledger.notion
    costs = [(each.request, each.total(notion), each.key) for each in asked]
    lacking = [
        place
        for place, (request, cost, key) in enumerate(costs)
        if owner.ledger.recall(request, cost, key=key) is None
    ]
    ready = _prepared(owner, [asked[place] for place in lacking]) if lacking else None
    # Many ask the same, with other filters: its noise is tried once.
    tried = {
        (id(one.question), one.cost, each.request["neighbours"]): one
        for each in (asked[place] for place in lacking)
        for one in each.standing
    }
    for (_, _, neighbours), one in tried.items():
        check_noise(one.question, one.cost, neighbours, owner.rows_per_unit)

    ours: dict[bytes, dict[str, Measurement]] = {}

    def draw(places: Sequence[int]) -> list[bytes]:
        some = [asked[place] for place in places]
        as_before = None if list(places) != lacking else ready
        count = _prepared(owner, some) if as_before is None else as_before
        counts = iter(owner.read(count, some[0].key))
        for each in some:
            noisy = {one.name: _noisy(owner, one, next(counts), each) for one in each.standing}
            ours[_packed(noisy)] = noisy
        return list(ours)

    stored, wrong = owner.ledger.spend_all(costs, draw)
    # Another process may have been first; what is stored then is its answer.
    return [ours[each] if each in ours else stored_answers(each) for each in stored], wrong


def _prepared(owner: Owner, asked: Sequence[Together]) -> Counts:
    """The counts of all questions, ready to run in one pass where that can be."""
    return owner.prepare_all(
        [
            owner.table.request_for(
                one.question,
                filters.parsed(one.where),
                False,
                (each.period,),
            )
            for each in asked
            for one in each.standing
        ]
    )


def _noisy(owner: Owner, one: Standing, counts: Any, asked: Together) -> Measurement:
    measured = measure_all(
        counts,
        one.question,
        one.cost.epsilon,
        asked.request["neighbours"],
        rho=one.cost.rho,
        unit=owner.protects,
        rows_per_unit=owner.rows_per_unit,
    )
    return owner.covering(measured, (asked.period,))


def _packed(measured: Mapping[str, Measurement]) -> bytes:
    each = {name: one.to_bytes() for name, one in measured.items()}
    head = json.dumps([[name, len(data)] for name, data in each.items()])
    return b"".join([_MAGIC, head.encode(), b"\n", *each.values()])
