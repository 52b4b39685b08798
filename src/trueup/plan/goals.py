"""What an ε buys, in counts, and which ε buys what is wanted."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np

from trueup.ask import CellCounts, HatCounts, Neighbours, TreeCounts, check_neighbours
from trueup.ask.question import as_axis
from trueup.axis import Axis
from trueup.axis.numbers import whole_number
from trueup.epsilon import positive
from trueup.errors import InputError
from trueup.infer import errors_of
from trueup.linear_errors import HatErrors
from trueup.noise import Noise
from trueup.plan.figures import figures_of
from trueup.plan.hats import best_hats
from trueup.plan.search import best_question
from trueup.plan.workload import as_workload, default_workload
from trueup.release.estimate import check_level
from trueup.uncertainty import Law, NoiseLaw

_SAMPLED = 2000


def error_for(
    axis: Axis | int,
    epsilon: object,
    level: float = 0.95,
    workload: object = None,
    *,
    worst: bool = False,
    neighbours: Neighbours = "add-remove",
    rows_per_unit: int = 1,
) -> float:
    """The counts within which a typical answer will lie of the truth, with probability `level`.

    Of the best question for the workload; a typical answer is one whose expected squared error is
    the workload's mean (with worst=True, the largest of any range). It is half of what
    `Estimate.interval` will give for such an answer.

    >>> round(error_for(4096, epsilon=1), 1)
    28.4
    """
    check_level(level)
    goal = _Goal.of(axis, workload, worst, neighbours, rows_per_unit)
    return goal.reach(positive(epsilon), level)


def epsilon_for(
    axis: Axis | int,
    within: float,
    level: float = 0.95,
    workload: object = None,
    *,
    worst: bool = False,
    neighbours: Neighbours = "add-remove",
    rows_per_unit: int = 1,
) -> Fraction:
    """The least ε, to three figures, at which `error_for` is no more than `within` counts.

    >>> epsilon_for(4096, within=50)
    Fraction(569, 1000)
    """
    check_level(level)
    real = isinstance(within, (int, float, np.number)) and not isinstance(within, bool)
    if not real or not 0 < within < math.inf:
        raise InputError(
            f"within must be a positive number of counts, got {within!r}. No epsilon makes noisy "
            f"counts exact."
        )
    goal = _Goal.of(axis, workload, worst, neighbours, rows_per_unit)
    # The reach is nearly in proportion to 1/ε: a first guess, a bracket around it, halving.
    low = high = Fraction(goal.reach(Fraction(1), level) / within).limit_denominator(10**6)
    low = high = max(high, Fraction(1, 10**6))
    while goal.reach(high, level) > within:
        low, high = high, 2 * high
    while goal.reach(low, level) <= within:
        low, high = low / 2, low
    while high > low * Fraction(10005, 10000):
        middle = ((low + high) / 2).limit_denominator(10**9)
        if goal.reach(middle, level) <= within:
            high = middle
        else:
            low = middle
    return _three_figures(high)


@dataclass(frozen=True, eq=False)
class _Goal:
    """The questions that may be best, each with the range that stands for its answers."""

    candidates: tuple[_Candidate, ...]
    neighbours: Neighbours
    rows_per_unit: int

    @staticmethod
    def of(
        axis: Axis | int, workload: object, worst: bool, neighbours: Neighbours, rows: int
    ) -> _Goal:
        axis = as_axis(axis)
        check_neighbours(neighbours)
        if whole_number(rows, "rows_per_unit") < 1:
            raise InputError(f"rows_per_unit must be at least 1, got {rows}.")
        chosen = default_workload(axis) if workload is None else as_workload(workload)
        chosen.check(axis)
        starts, stops, _ = chosen.sample(axis, _SAMPLED)
        candidates = []
        hats = best_hats(axis, chosen)
        for question in (CellCounts(axis), best_question(axis, chosen), hats):
            if question is None:
                continue
            figures = figures_of(Noise(question, Fraction(1), law="continuous"))
            goal = chosen.worst(figures, axis) if worst else chosen.mean(figures, axis)
            errors = figures.range_variances(starts, stops)
            nearest = int(np.argmin(np.abs(errors - goal)))
            times = math.sqrt(goal / errors[nearest])  # the rest of the way to the goal
            candidates.append(
                _Candidate(question, int(starts[nearest]), int(stops[nearest]), times)
            )
        return _Goal(tuple(candidates), neighbours, rows)

    def reach(self, epsilon: Fraction, level: float) -> float:
        """The half-width of the interval of the range that stands for all, of the best question."""
        found = []
        for each in self.candidates:
            noise = Noise(each.question, epsilon, self.neighbours, self.rows_per_unit)
            found.append(each.times * each.noise_law(noise).half_width(level))
        return min(found)


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A question, a range whose error is near the goal, and how many times it is the goal."""

    question: CellCounts | TreeCounts | HatCounts
    start: int
    stop: int
    times: float

    def noise_law(self, noise: Noise) -> Law:
        """The law of the range's error."""
        if isinstance(self.question, HatCounts):
            times = float(noise.scales[0] / Noise.of_unit(self.question).scales[0])
            return replace(self._hat_law, scales=times * self._hat_law.scales)
        return errors_of(noise).noise_law((((self.start, self.stop), 1.0),))

    @cached_property
    def _hat_law(self) -> NoiseLaw:
        """The same for a unit of 1.

        What each answer counts for takes time in the number of cells, and hardly depends on ε: it
        is taken once, as of noise on the real line.
        """
        errors = errors_of(Noise.of_unit(self.question))
        assert isinstance(errors, HatErrors)
        return replace(errors.noise_law((((self.start, self.stop), 1.0),)), law="discrete")


def _three_figures(epsilon: Fraction) -> Fraction:
    """The least decimal of three figures that is no smaller."""
    context = Context(prec=3, rounding=ROUND_CEILING)
    return Fraction(context.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator)))
