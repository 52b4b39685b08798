"""An order: a question's price, its rows, and for whom it is asked; and the one way to pay for it.

However an answer is made, it is paid for here: what a key has paid for is given back, whatever can
fail is tried, the ledger is charged, and only then is anything drawn.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from trueup.ask import Neighbours, check_neighbours
from trueup.cost import Cost
from trueup.errors import NoiseError
from trueup.owner import where as filters
from trueup.period import Period, told

if TYPE_CHECKING:
    from trueup.owner.owner import Owner


class AskedTerms(TypedDict, total=False):
    """What else a question is asked with, as for `Owner.measure`."""

    where: str | None
    neighbours: Neighbours
    by: str | None
    period: object


@dataclass(frozen=True)
class Order:
    """What goes with a question, checked: its cost, its key, whose rows are counted, for whom."""

    cost: Cost
    key: str
    part: filters.Part | None
    neighbours: Neighbours
    by: str | None
    periods: tuple[Period, ...]

    @staticmethod
    def of(owner: Owner, cost: Cost, key: str | None, asked: AskedTerms) -> Order:
        """The order as it was put; without a key it is a new one."""
        unknown = set(asked) - set(AskedTerms.__annotations__)
        if unknown:
            raise TypeError(f"A question is not asked with {sorted(unknown)[0]!r}.")
        neighbours = check_neighbours(asked.get("neighbours", "add-remove"))
        cost.counted_in(owner.ledger.notion)
        return Order(
            cost,
            secrets.token_hex(16) if key is None else key,
            filters.parsed(asked.get("where")),
            neighbours,
            asked.get("by"),
            owner.periods(asked.get("period")),
        )

    def request(self, owner: Owner, question: object, **said: object) -> dict[str, object]:
        """What the ledger records of it: the question as plain values, and what else is said."""
        request: dict[str, object] = {
            "question": question,
            "neighbours": self.neighbours,
            "unit": owner.protects,
            "where": None if self.part is None else filters.written(self.part),
            "source": owner.source,
            **said,
        }
        if owner.calendar is not None:
            request["period"] = told(owner.calendar, self.periods)
        return request

    def paid(
        self, owner: Owner, request: Mapping[str, Any], ready: Callable[[], Callable[[], bytes]]
    ) -> bytes:
        """The stored answer: what the key has paid for already, or charged and drawn now.

        `ready` gives what draws it. Everything that can be wrong with the request is found by then:
        all of it follows from the request, the schema and the ledger.
        """
        stored = owner.ledger.recall(request, self.cost, key=self.key, by=self.by)
        if stored is not None:
            return stored
        draw = ready()
        return owner.ledger.spend(request, self.cost, draw=draw, key=self.key, by=self.by)


def check_private(private: bool) -> None:
    """Refuses to hand out a stored answer that is not private."""
    if not private:
        raise NoiseError("The stored answer is NOT PRIVATE; it was not released.")
