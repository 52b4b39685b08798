"""A charge: one line of a ledger's history, and the history as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from trueup.cost import Cost
from trueup.owner.lazily import pa

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class Charge:
    """One charge: what was asked, what it cost, and the hash of its stored answer, if any yet.

    `cost` is in the notion that was asked in, `charged` in the ledger's.
    """

    entry: int
    key: str
    cost: Cost
    charged: Cost
    total: Cost  # of the ledger, or of the fullest of its periods, this charge included
    request: str  # canonical JSON: question, neighbours, unit, source, filter
    by: str | None
    time: str  # of the charge, which is before any row is read
    answer: str | None = None
    answered: int | None = None  # the entry that recorded the answer
    resumed: bool = False  # asked again before there was an answer
    periods: tuple[str, ...] = ()  # that it was charged to, where each has a limit of its own

    @property
    def epsilon(self) -> Fraction | None:
        """The ε it was asked with; None if it was asked with ρ."""
        return self.cost.epsilon

    @property
    def rho(self) -> Fraction | None:
        """The ρ it was charged; None in a ledger that counts ε."""
        return self.charged.rho

    @property
    def delta(self) -> Fraction:
        """The δ it was charged."""
        return self.charged.delta

    @property
    def spent(self) -> Fraction:
        """What the ledger had spent then, this charge included."""
        return self.total.amount

    @property
    def spent_delta(self) -> Fraction:
        """What the ledger had spent of δ then, this charge included."""
        return self.total.delta


def history_table(charges: Sequence[Charge], plain: bool = True) -> pyarrow.Table:
    """The charges as an Arrow table, one row each; costs are exact text.

    Of a `plain` ledger, which counts ε alone, there is nothing to say of ρ and δ.
    """
    names = ["entry", "time", "key", "by", "epsilon", "spent", "request", "answer"]
    if not plain:
        names += ["rho", "delta", "spent_delta"]
    if any(charge.periods for charge in charges):
        names.append("periods")

    def told(charge: Charge, name: str) -> object:
        value = getattr(charge, name)
        if isinstance(value, tuple):
            return ", ".join(value)
        return str(value) if isinstance(value, Fraction) else value

    kinds = {name: pa.int64() if name == "entry" else pa.string() for name in names}
    return pa.table(
        {
            name: pa.array([told(charge, name) for charge in charges], kind)
            for name, kind in kinds.items()
        }
    )
