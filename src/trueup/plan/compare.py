"""ε or ρ: which of two budgets is better for what one wants to publish, before spending either."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

from trueup.ask import Neighbours
from trueup.axis import Axis
from trueup.axis.numbers import whole_number
from trueup.cost import SHOWN_AT, Cost, Notion, rho_within
from trueup.epsilon import positive
from trueup.errors import InputError
from trueup.plan import Plan, plan
from trueup.plan.table import figure, html_table


@dataclass(frozen=True, eq=False, repr=False)
class TwoBudgets:
    """The best questions at an ε and at a ρ, for so many releases that share the budget alike.

    With k releases each has 1/k of the budget: k² times the squared error at an ε, k times at a ρ.
    """

    by_epsilon: Plan
    by_rho: Plan
    releases: int

    def error(self, notion: Notion, releases: int | None = None) -> float:
        """The expected squared error of an answer of the best question, noise on the real line."""
        number = self.releases if releases is None else releases
        if notion == "rho":
            return min(s.continuous for s in self.by_rho.strategies) * number
        return min(s.continuous for s in self.by_epsilon.strategies) * number**2

    @property
    def better(self) -> Notion:
        """The notion of the smaller error; of equal ones ε, which promises more."""
        return "rho" if self.error("rho") < self.error("epsilon") else "epsilon"

    @property
    def rho_from(self) -> int:
        """The number of releases from which on ρ is better."""
        return math.floor(self.error("rho", 1) / self.error("epsilon", 1)) + 1

    def table(self) -> str:
        """The comparison as a Markdown table."""
        names = [_best(self.by_epsilon), _best(self.by_rho)]
        lines = [
            f"| releases | {self.by_epsilon.cost}: {names[0]}, ± | "
            f"{self.by_rho.cost}: {names[1]}, ± | better |",
            "|--:|--:|--:|---|",
        ]
        for number in sorted({1, 2, self.rho_from, self.releases}):
            errors = self.error("epsilon", number), self.error("rho", number)
            better = "rho" if errors[1] < errors[0] else "epsilon"
            shown = " | ".join(figure(math.sqrt(error)) for error in errors)
            lines.append(f"| {number:,} | {shown} | {better} |")
        return "\n".join(lines)

    def __str__(self) -> str:
        means = Cost.of(rho=self.by_rho.rho).shown_at().rounded
        return (
            f"The standard error of a typical answer, of releases that share one budget\n\n"
            f"{self.table()}\n\n"
            f"Releases: {self.releases:,}. Take {self.better}. From {self.rho_from:,} on, rho is "
            f"better. {self.by_rho.cost} means {means}."
        )

    def __repr__(self) -> str:
        costs = f"{self.by_epsilon.cost}, {self.by_rho.cost}".replace(" = ", "=")
        return f"<TwoBudgets: {costs}, {self.releases:,} releases: {self.better} is better>"

    def _repr_html_(self) -> str:
        return html_table(self.table())


def compare(
    axis: Axis | int,
    epsilon: object,
    rho: object = None,
    releases: int = 1,
    workload: object = None,
    *,
    neighbours: Neighbours = "add-remove",
    rows_per_unit: int = 1,
) -> TwoBudgets:
    """Which budget gives better answers about an axis: ε in all, or ρ in all.

    `releases` is how many times you will publish from the same records, with equal parts of the
    budget. No data is looked at. The two budgets promise different things; `tu.Cost` says what a ρ
    means as (ε, δ). Without `rho` it is the largest of four digits that means no more than this ε,
    at δ = 10⁻⁶.

    >>> found = compare(64, epsilon=1, rho="0.0244", releases=8)
    >>> found.better
    'rho'
    """
    number = whole_number(releases, "releases")
    if number < 1:
        raise InputError(f"releases must be at least 1, got {number}.")
    if rho is None:
        rho = rho_within(positive(epsilon), SHOWN_AT)
    asked = partial(plan, axis, neighbours=neighbours, rows_per_unit=rows_per_unit)
    return TwoBudgets(asked(epsilon, workload), asked(None, workload, rho=rho), number)


def _best(found: Plan) -> str:
    return min(found.strategies, key=lambda strategy: strategy.continuous).name
