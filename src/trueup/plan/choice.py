"""What a plan compares: the candidates of all models, the best of them, the one of a name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from trueup.ask import Question
from trueup.axis import Axis
from trueup.errors import InputError
from trueup.infer import Candidate, models
from trueup.workload import Workload

_EQUAL = 1e-9  # errors this near to each other are the same


class Named(Protocol):
    """A strategy: what it is called, and its mean error."""

    @property
    def name(self) -> str:
        """What it is called in the plan's table."""

    @property
    def mean(self) -> float:
        """The expected squared error of an answer of the workload."""


S = TypeVar("S", bound=Named)


def candidates(
    axes: Sequence[Axis],
    workloads: Sequence[Workload],
    nonnegative: bool = False,
    gaussian: bool = False,
) -> list[Candidate]:
    """What the models offer for these axes, the simplest first; some for Gaussian noise alone."""

    def rank(each: Candidate) -> int:
        return each.rank if not gaussian or each.rank_at_rho is None else each.rank_at_rho

    found = [each for model in models() for each in model.candidates(axes, workloads, nonnegative)]
    some = [each for each in found if gaussian or not each.gaussian]
    return sorted(some, key=rank)


def asked_by(candidate: Candidate, gaussian: bool) -> Question | None:
    """The question of a candidate, for Laplace noise or for Gaussian noise; None if it has none."""
    if gaussian and candidate.at_rho is not None:
        return candidate.at_rho()
    return candidate.ask()


def best_of(strategies: Sequence[S], nonnegative: bool) -> S:
    """The strategy of least mean error; of equal ones, the first and simplest.

    For counts that are to be shown non-negative the errors of least squares do not decide: it is
    the last one, which a rule from measurements names.
    """
    if nonnegative:
        return strategies[-1]
    least = min(strategy.mean for strategy in strategies)
    return next(s for s in strategies if s.mean <= least * (1 + _EQUAL))


def named(strategies: Sequence[S], which: int | str) -> S:
    """The strategy of that name, or at that place of the table."""
    if isinstance(which, int):
        return strategies[which]
    for strategy in strategies:
        if strategy.name == which:
            return strategy
    names = ", ".join(repr(strategy.name) for strategy in strategies)
    raise InputError(f"There is no strategy {which!r} in this plan. Strategies: {names}.")
