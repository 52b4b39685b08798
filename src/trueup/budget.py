"""Budget: what a ledger was made with, which never changes; and how far it has been spent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from trueup.cost import (
    SHOWN_AT,
    Cost,
    Notion,
    check_delta,
    check_notion,
    largest_epsilon,
    written,
)
from trueup.epsilon import positive
from trueup.errors import InputError


@dataclass(frozen=True)
class Budget:
    """The notion that a ledger counts in, its limit in it, its limit of δ, and the δ it shows at.

    None stands for what was not said: `made` fills it in, `are` does not compare it.
    """

    notion: Notion
    limit: Fraction
    delta_limit: Fraction | None = None
    shown_at: Fraction | None = None

    @staticmethod
    def said(
        limit: object = None,
        rho: object = None,
        delta_limit: object = None,
        shown_at_delta: object = None,
    ) -> Budget | None:
        """What was said about a ledger, each number checked; None if nothing was."""
        if limit is not None and rho is not None:
            raise InputError(
                "A ledger counts epsilon or rho: give limit= (in epsilon) or rho=, not both."
            )
        if limit is None and rho is None:
            if delta_limit is not None or shown_at_delta is not None:
                raise InputError("delta_limit and shown_at_delta go with limit= or rho=.")
            return None
        if shown_at_delta is not None and rho is None:
            raise InputError("shown_at_delta goes with rho=: epsilon is shown as it is.")
        most = None if delta_limit is None else check_delta(delta_limit, "delta_limit")
        shown = None
        if shown_at_delta is not None:
            shown = check_delta(positive(shown_at_delta, "shown_at_delta"), "shown_at_delta")
        if rho is not None:
            return Budget("rho", positive(rho, "rho"), most, shown)
        return Budget("epsilon", positive(limit, "limit"), most)

    @property
    def made(self) -> Budget:
        """The same for a new ledger, with what was not said filled in."""
        shown = self.shown_at or SHOWN_AT if self.notion == "rho" else None
        return Budget(self.notion, self.limit, self.delta_limit or Fraction(0), shown)

    def are(self, made: Budget) -> bool:
        """Whether a ledger that was made with these budget is what was said."""
        return (
            (self.notion, self.limit) == (made.notion, made.limit)
            and self.delta_limit in (None, made.delta_limit)
            and self.shown_at in (None, made.shown_at)
        )

    @property
    def options(self) -> dict[str, Any]:
        """The same as the options of a `Ledger`."""
        word = "limit" if self.notion == "epsilon" else "rho"
        also = {"delta_limit": self.delta_limit, "shown_at_delta": self.shown_at}
        return {word: self.limit, **also}

    @property
    def plain(self) -> bool:
        """Whether it counts ε alone, as all ledgers did once: its file is written as theirs."""
        return self.notion == "epsilon" and not self.delta_limit

    def to_json(self, spelled: bool = False) -> dict[str, str]:
        """What the first entry says of them; all of it, if it is to be spelled out."""
        if self.plain and not spelled:
            return {"limit": str(self.limit)}
        said = {"privacy": self.notion, "limit": str(self.limit)}
        said["delta_limit"] = str(self.delta_limit)
        return said if self.shown_at is None else said | {"shown_at_delta": str(self.shown_at)}

    @staticmethod
    def from_json(fact: Mapping[str, Any], plain: bool) -> Budget:
        """What a first entry says."""
        limit = Fraction(fact["limit"])
        if plain:
            return Budget("epsilon", limit, Fraction(0))
        notion, most = check_notion(fact["privacy"]), check_delta(fact["delta_limit"])
        return Budget(
            notion, limit, most, check_delta(fact["shown_at_delta"]) if notion == "rho" else None
        )

    def __str__(self) -> str:
        first = f"limit {self.limit}" if self.notion == "epsilon" else f"rho {self.limit}"
        delta = f", delta_limit {self.delta_limit}" if self.delta_limit else ""
        shown = self.shown_at not in (None, SHOWN_AT)
        return first + delta + (f", shown_at_delta {self.shown_at}" if shown else "")


@dataclass(frozen=True)
class Balance:
    """How far a ledger has been spent: limit and spent are costs of one notion, δ included."""

    limit: Cost
    spent: Cost
    shown_at: Fraction | None = None

    @property
    def remaining(self) -> Cost:
        """What is left, exactly."""
        left = self.limit.delta - self.spent.delta
        return Cost(self.limit.notion, self.limit.amount - self.spent.amount, left)

    def shown(self, cost: Cost) -> str:
        """What a cost of this ledger means as (ε, δ), in words; nothing for one that is in ε."""
        if cost.notion == "epsilon" or self.shown_at is None:
            return ""
        return f"as (ε, δ): {cost.shown_at(self.shown_at).rounded}"

    def to_json(self) -> dict[str, Any]:
        """Limit, spent and what is left as text; of ρ and δ only where there are any."""
        limit, spent, left = self.limit, self.spent, self.remaining
        said: dict[str, Any] = {"notion": limit.notion}
        said |= {"limit": limit.amount, "spent": spent.amount, "remaining": left.amount}
        if limit.delta:
            said |= {"delta_limit": limit.delta, "spent_delta": spent.delta}
        said = {name: str(value) for name, value in said.items()}
        if self.shown_at is not None:
            for name, cost in (("shown", spent), ("limit_shown", limit)):
                meant = cost.shown_at(self.shown_at)
                said[name] = {"epsilon": float(meant.amount), "delta": float(meant.delta)}
        return said

    @property
    def words(self) -> str:
        """How much of the limit is spent, and what that means.

        >>> half = Balance(Cost.of(rho="1/2"), Cost.of(rho="1/8"), Fraction(1, 10**6))
        >>> print(half.words)
        ρ: 1/8 of 1/2 spent, 3/8 left; spent as (ε, δ): ε = 2.42, δ = 1e-6
        """
        spent, limit = self.spent, self.limit
        left = self.remaining
        notion = "" if limit.notion == "epsilon" else "ρ: "
        said = f"{notion}{spent.amount} of {limit.amount} spent, {left.amount} left"
        if limit.delta:
            said += f"; δ: {written(spent.delta)} of {written(limit.delta)} spent"
        shown = self.shown(spent)
        return f"{said}; spent {shown}" if shown and spent.amount else said


def advised(left: Fraction, notion: Notion, asked: Notion) -> str:
    """What can still be asked, in the ledger's notion and in the one that was asked in.

    >>> advised(Fraction(1, 8), "rho", "epsilon")
    'Ask with rho <= 1/8, or epsilon <= 1/2.'
    """
    if asked == notion:
        return f"Ask with {notion} <= {left}."
    return f"Ask with rho <= {left}, or epsilon <= {largest_epsilon(left)}."
