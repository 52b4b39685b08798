"""Books: what was spent of a limit, of the whole ledger or of each of its periods.

A ledger has one book, or one for each period that was ever charged. A charge is written into all
the books that it touches, or into none.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

from trueup.budget import Balance, Budget, advised
from trueup.cost import Cost
from trueup.errors import BudgetError, LedgerError
from trueup.period import Calendar, Period

Allowances = Mapping[str, Fraction]


@dataclass
class Book:
    """What was spent of one limit: in all, and on behalf of each person. `of` names its period."""

    total: Cost
    spent_by: dict[str | None, Fraction] = field(default_factory=dict)
    of: str = ""

    def after(self, charged: Cost) -> Cost:
        """The total that a charge would make."""
        return self.total + charged

    def take(self, charged: Cost, by: str | None) -> None:
        """Writes a charge in."""
        self.total = self.after(charged)
        self.spent_by[by] = self.own(by) + charged.amount

    def own(self, by: str | None) -> Fraction:
        """What was spent on behalf of one person."""
        return self.spent_by.get(by, Fraction(0))

    def passes(self, charged: Cost, by: str | None, budget: Budget, allowed: Allowances) -> bool:
        """Whether a charge would pass the limit, that of δ, or what a person may spend."""
        total, own = self.after(charged), self.own(by) + charged.amount
        if by is not None and own > allowed.get(by, own):
            return True
        return total.amount > budget.limit or total.delta > (budget.delta_limit or 0)

    def balance(self, budget: Budget) -> Balance:
        """How far it is spent, its δ included."""
        limit = Cost(budget.notion, budget.limit, budget.delta_limit or Fraction(0))
        return Balance(limit, self.total, budget.shown_at)

    def check_left(self, cost: Cost, by: str | None, budget: Budget, allowed: Allowances) -> None:
        """Refuses what would pass the limit, a person's allowance, or the limit of δ."""
        charged, here = cost.counted_in(budget.notion), f" for {self.of}" if self.of else ""
        left, of = budget.limit - self.total.amount, str(budget.limit)
        more = f"Nothing more can be asked{' of it' if here else ''}."
        if by is not None and by in allowed:
            own = max(allowed[by] - self.own(by), Fraction(0))
            if own < left:  # the smaller of the two is what this person can still spend
                left, of, more = own, f"your own {allowed[by]}", "Ask for more."
        if charged.amount > left:
            notion = budget.notion
            advice = advised(left, notion, cost.notion) if left else more
            price = f"{charged.amount}" if notion == "epsilon" else f"rho {charged.amount}"
            also = f" (epsilon {cost.amount})" if cost.notion != notion else ""
            raise BudgetError(f"This costs {price}{also}; {left} of {of} is left{here}. {advice}")
        most = budget.delta_limit or Fraction(0)
        if charged.delta and not most:
            raise BudgetError(
                f"This costs delta {charged.delta}, and the ledger was made without any delta. "
                f"Ask with delta 0, or open another ledger, at another path, with delta_limit=."
            )
        if charged.delta > most - self.total.delta:
            raise BudgetError(
                f"This costs delta {charged.delta}; {most - self.total.delta} of {most} is "
                f"left{here}."
            )


@dataclass
class Books:
    """The books of a ledger: the one of the whole, or with a calendar one for each period."""

    whole: Book
    calendar: Calendar | None = None
    periods: dict[str, Book] = field(default_factory=dict)
    _starts: list[int] = field(default_factory=list)  # of the periods charged so far, rising
    _spans: dict[int, tuple[str, int]] = field(default_factory=dict)  # name and stop, by start

    def touched(self, request: Mapping[str, Any]) -> list[Book]:
        """The books that a request is charged to; those of new periods are empty, and not kept."""
        if self.calendar is None:
            if "period" in request:
                raise LedgerError(
                    "This ledger has one limit for all time, and the request names a period. Open "
                    'another ledger, at another path, with per="day" and date=, the column.'
                )
            return [self.whole]
        return [self._book(*each) for each in self._named(request, self.calendar)]

    def take(self, request: Mapping[str, Any], charged: Cost, by: str | None) -> None:
        """Writes a charge into all books that it touches."""
        for book in self.touched(request):
            book.take(charged, by)
            if self.calendar is not None:
                self.periods[book.of] = book
        for name, start, stop in self._named(request, self.calendar) if self.calendar else ():
            if start not in self._spans:
                bisect.insort(self._starts, start)
                self._spans[start] = name, stop

    def of(self, period: Period) -> Book:
        """The book of a period."""
        return self._book(period.name, period.start, period.stop)

    def fullest_for(self, by: str) -> Fraction:
        """What was spent on behalf of one person: of the period where that is most."""
        return max(book.own(by) for book in (self.whole, *self.periods.values()))

    @property
    def in_order(self) -> list[Book]:
        """The books of all periods that were charged, the earliest first."""
        return [self.periods[self._spans[start][0]] for start in self._starts]

    def _named(self, request: Mapping[str, Any], calendar: Calendar) -> list[tuple[str, int, int]]:
        said = request.get("period")
        if said is None:
            raise LedgerError(
                f"This ledger has a limit for each {calendar.per}, and the request names none. "
                f"Say which: period=."
            )
        if Calendar.from_json(said) != calendar:
            raise LedgerError(
                f"This ledger has a limit {calendar}; the request is {Calendar.from_json(said)}."
            )
        found = [(str(name), int(start), int(stop)) for name, start, stop in said["periods"]]
        apart = all(one[2] <= two[1] for one, two in pairwise(found))
        if not found or not apart or len({name for name, _, _ in found}) < len(found):
            raise LedgerError("A charge names its periods, each once, in their order.")
        return found

    def _book(self, name: str, start: int, stop: int) -> Book:
        """The book of a period; refused if it overlaps one that was charged, or is not as it was.

        Otherwise a row could lie in two periods, or in another one than it was charged to.
        """
        at = bisect.bisect_right(self._starts, start)
        before = self._starts[at - 1] if at else None
        same = before == start and self._spans[start] == (name, stop)
        apart = before is None or self._spans[before][1] <= start < stop
        following = self._starts[at] if at < len(self._starts) else None
        if start >= stop or not (same or apart) or (following is not None and following < stop):
            raise LedgerError(_MOVED.format(name=name))
        if name in self.periods and not same:
            raise LedgerError(_MOVED.format(name=name))
        known = self.periods.get(name)
        return Book(Cost.nothing(self.whole.total.notion), of=name) if known is None else known


_MOVED = (
    "The period {name} is not what it was, or overlaps one that was charged: this machine's time "
    "zones have changed since. Ask on a machine whose time zones are as they were."
)
