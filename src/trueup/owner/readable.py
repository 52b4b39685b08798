"""What can be read of a ledger: its limit, what was spent, its periods and its charges."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from trueup.budget import Balance
from trueup.cost import Cost, Notion
from trueup.errors import LedgerError
from trueup.owner.account import Account, Protects
from trueup.owner.book import Book
from trueup.owner.charge import Charge, history_table
from trueup.period import Calendar, Period

if TYPE_CHECKING:
    import pyarrow

T = TypeVar("T")


class Readable(ABC):
    """The side of a ledger that only reads. Every look is at the last entry on disk."""

    @abstractmethod
    def _read(self, look: Callable[[Account], T]) -> T:
        """What a look at the account up to its last entry sees."""

    @property
    def limit(self) -> Fraction:
        """The most that may ever be spent."""
        return self._read(lambda now: now.limit)

    @property
    def spent(self) -> Fraction:
        """The sum of all charges so far, exactly."""
        return self._read(lambda now: now.spent)

    @property
    def remaining(self) -> Fraction:
        """What is left of the limit, exactly."""
        return self._read(lambda now: now.balance.remaining.amount)

    @property
    def notion(self) -> Notion:
        """What it counts: "epsilon" or "rho"."""
        return self._read(lambda now: now.budget.notion)

    @property
    def balance(self) -> Balance:
        """Limit and spent, δ included, as costs; its `words` tell them, ρ as (ε, δ) too."""
        return self._read(lambda now: now.balance)

    @property
    def calendar(self) -> Calendar | None:
        """The periods, each of which has the limit; None where there is one limit for all time."""
        return self._read(lambda now: now.calendar)

    def sampling_key(self) -> str:
        """The key by which the periods of a unit are chosen: the owner's secret."""
        return self._read(lambda now: now.sampling_key)

    @property
    def loses(self) -> str:
        """What somebody gives away who is there in many periods, in words; "" without periods."""

        def told(now: Account) -> str:
            unit = "person" if now.protects is None else now.protects.unit or "person"
            if now.calendar is None:
                return ""
            return now.calendar.loses(unit, str(now.limit), now.budget.notion == "rho")

        return self._read(told)

    def balance_in(self, period: object) -> Balance:
        """Limit and spent of one period: its name, such as "2026-03-01", or a date in it."""
        return self._read(lambda now: now.books.of(_period(now, period)).balance(now.budget))

    def spent_in(self, period: object) -> Fraction:
        """The sum of all charges to one period, exactly."""
        return self.balance_in(period).spent.amount

    def remaining_in(self, period: object) -> Fraction:
        """What is left of one period's limit, exactly."""
        return self.balance_in(period).remaining.amount

    @property
    def of_each(self) -> Balance:
        """The balance of a period that was never charged."""
        return self._read(lambda now: Book(Cost.nothing(now.budget.notion)).balance(now.budget))

    def left_in(self, periods: Sequence[object], by: str | None = None) -> Cost:
        """What is left of the fullest of some periods; for somebody with an allowance, of theirs.

        A charge to all of these periods may cost so much.
        """

        def left(now: Account) -> Cost:
            books = [now.books.of(_period(now, each)) for each in periods]
            whole = [book.balance(now.budget).remaining for book in books]
            amounts = [each.amount for each in whole]
            if by in now.allowances:
                amounts += [now.allowances[by] - book.own(by) for book in books]
            delta = min(each.delta for each in whole)
            return Cost(now.budget.notion, max(min(amounts), Fraction(0)), delta)

        return self._read(left)

    @property
    def periods(self) -> dict[str, Balance]:
        """Every period that was charged, with its balance, the earliest first."""
        return self._read(lambda now: now.balances)

    @property
    def protects(self) -> Protects | None:
        """Whom the ledger protects, and in which sense; None before that is fixed."""
        return self._read(lambda now: now.protects)

    def allowed(self, by: str) -> tuple[Fraction | None, Fraction]:
        """What one person may spend in all (None: no word of it), and what was spent for them.

        With periods: what they may spend of each, and what was spent for them of the fullest.
        """
        return self._read(lambda now: (now.allowances.get(by), now.books.fullest_for(by)))

    def find(self, key: str) -> Charge | None:
        """The charge made under a key, None if there is none."""
        return self._read(lambda now: now.charges.get(key))

    def history(self) -> tuple[Charge, ...]:
        """Every charge, oldest first."""
        return self._read(lambda now: tuple(now.charges.values()))

    @property
    def charges(self) -> pyarrow.Table:
        """The history as an Arrow table, one row a charge; costs are exact text."""
        plain, charges = self._read(lambda now: (now.budget.plain, tuple(now.charges.values())))
        return history_table(charges, plain)


def _period(now: Account, period: object) -> Period:
    if now.calendar is None:
        raise LedgerError("This ledger has one limit for all time: ask for remaining.")
    return now.calendar.period(period)
