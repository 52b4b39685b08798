"""What an ε or a ρ buys, in counts, and which one buys what is wanted."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from trueup.ask import Neighbours, Question, check_neighbours
from trueup.ask.question import as_axis
from trueup.axis import Axis
from trueup.cost import Cost, Notion
from trueup.epsilon import rounded
from trueup.errors import InputError, shown
from trueup.infer import axis_model, figures_of
from trueup.law import Law, NoiseLaw
from trueup.noise import Noise, check_rows_per_unit
from trueup.plan.choice import asked_by, best_of, candidates
from trueup.release.wording import check_level
from trueup.workload import Workload, as_workload, default_workload

_SAMPLED = 2000


@dataclass(frozen=True)
class Terms:
    """Whom the noise protects: the neighbour relation, and the rows of one unit; in ε or in ρ."""

    neighbours: Neighbours = "add-remove"
    rows_per_unit: int = 1
    notion: Notion = "epsilon"

    def __post_init__(self) -> None:
        check_neighbours(self.neighbours)
        check_rows_per_unit(self.rows_per_unit)

    def noise(self, question: Question, amount: Fraction) -> Noise:
        """The noise of a question at this price."""
        rows = self.rows_per_unit
        if self.notion == "rho":
            return Noise(question, neighbours=self.neighbours, rows_per_unit=rows, rho=amount)
        return Noise(question, amount, self.neighbours, rows)

    def on_the_line(self, question: Question) -> Noise:
        """The same noise on the real line, at a cost that makes it 1/weight in every block."""
        return Noise.of_unit(question, "normal" if self.notion == "rho" else "continuous")


def error_for(
    axis: Axis | int,
    epsilon: object,
    level: float = 0.95,
    workload: object = None,
    *,
    nonnegative: bool = False,
    worst: bool = False,
    neighbours: Neighbours = "add-remove",
    rows_per_unit: int = 1,
) -> float:
    """How far a typical answer will be from the truth, at most, with probability `level`.

    Of the question that `plan(axis, epsilon, workload, nonnegative=…).best` asks; before counts are
    made non-negative, where that is wanted, and of an adaptive tree as where nothing is small. A
    typical answer is one whose expected squared error is the workload's mean (with worst=True, the
    largest of any range). It is half of what `Estimate.interval` will give for such an answer. For
    a ρ, give the `Cost`.

    >>> round(error_for(4096, epsilon=1), 1)
    28.4
    >>> round(error_for(4096, Cost.of(rho="1/2")), 1) < 10
    True
    """
    check_level(level)
    cost = Cost.of(epsilon)
    terms = Terms(neighbours, rows_per_unit, cost.notion)
    return _Goal.of(axis, workload, nonnegative, worst, terms).reach(cost.amount, level)


def epsilon_for(
    axis: Axis | int,
    within: float,
    level: float = 0.95,
    workload: object = None,
    *,
    nonnegative: bool = False,
    worst: bool = False,
    neighbours: Neighbours = "add-remove",
    rows_per_unit: int = 1,
) -> Fraction:
    """The least ε, to three figures, at which `error_for` is no more than `within` counts.

    With `nonnegative` it is that of an adaptive tree's intervals where nothing is small.

    >>> epsilon_for(4096, within=50)
    Fraction(569, 1000)
    """
    goal = _Goal.of(axis, workload, nonnegative, worst, Terms(neighbours, rows_per_unit))
    return _least(goal, within, level)


def rho_for(
    axis: Axis | int,
    within: float,
    level: float = 0.95,
    workload: object = None,
    *,
    nonnegative: bool = False,
    worst: bool = False,
    neighbours: Neighbours = "add-remove",
    rows_per_unit: int = 1,
) -> Fraction:
    """As `epsilon_for`, the least ρ: with Gaussian noise, and the question that is best for it.

    >>> rho = rho_for(64, within=50)
    >>> error_for(64, Cost.of(rho=rho)) <= 50
    True
    """
    terms = Terms(neighbours, rows_per_unit, "rho")
    return _least(_Goal.of(axis, workload, nonnegative, worst, terms), within, level)


def _least(goal: _Goal, within: float, level: float) -> Fraction:
    """The least cost, to three figures, at which the reach is no more than `within`."""
    check_level(level)
    real = isinstance(within, (int, float, np.number)) and not isinstance(within, bool)
    if not real or not 0 < within < math.inf:
        raise InputError(
            f"within must be a positive number of counts, got {shown(within)}. No epsilon makes "
            f"noisy counts exact."
        )
    # The reach is nearly in proportion to 1/ε, or 1/√ρ: a first guess, a bracket, halving.
    power = 2 if goal.terms.notion == "rho" else 1
    guess = (goal.reach(Fraction(1), level) / within) ** power
    low = high = Fraction(guess).limit_denominator(10**6)
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
    return Fraction(rounded(high, upward=True))


@dataclass(frozen=True, eq=False)
class _Goal:
    """The questions that the plan compares, each with the range that stands for its answers."""

    standing: tuple[_Standing, ...]
    terms: Terms

    @staticmethod
    def of(
        axis: Axis | int, workload: object, nonnegative: bool, worst: bool, terms: Terms
    ) -> _Goal:
        axis = as_axis(axis)
        chosen = default_workload(axis) if workload is None else as_workload(workload)
        chosen.check(axis)
        gaussian = terms.notion == "rho"
        every = candidates((axis,), (chosen,), nonnegative, gaussian)
        some = every[-1:] if nonnegative else [each for each in every if each.figures is None]
        asked = [q for each in some if (q := asked_by(each, gaussian)) is not None]
        standing = (_Standing(each, axis, chosen, worst, terms) for each in asked)
        return _Goal(tuple(standing), terms)

    def reach(self, epsilon: Fraction, level: float) -> float:
        """The half-width of the interval of the range that stands for all, of the best question."""
        best = self.standing[0]
        if len(self.standing) > 1:
            best = best_of([each.at(self.terms, epsilon) for each in self.standing], False).standing
        noise = self.terms.noise(best.question, epsilon)
        return best.times * best.noise_law(noise).half_width(level)


@dataclass(frozen=True, eq=False)
class _Standing:
    """A question, and the range of it that stands for the answers of a workload."""

    question: Question
    axis: Axis
    workload: Workload
    worst: bool
    terms: Terms

    def at(self, terms: Terms, epsilon: Fraction) -> _Compared:
        """Its mean error at a price."""
        figures = figures_of(terms.noise(self.question, epsilon))
        return _Compared("", self.workload.mean(figures, self.axis), self)

    @cached_property
    def _range(self) -> tuple[int, int, float]:
        """A range whose error is near the goal, and how many times its deviation is the goal's."""
        figures = figures_of(self.terms.on_the_line(self.question))
        measure = self.workload.worst if self.worst else self.workload.mean
        goal = measure(figures, self.axis)
        starts, stops, _ = self.workload.sample(self.axis, _SAMPLED)
        errors = figures.range_variances(starts, stops)
        nearest = int(np.argmin(np.abs(errors - goal)))
        return int(starts[nearest]), int(stops[nearest]), math.sqrt(goal / errors[nearest])

    @property
    def times(self) -> float:
        """The rest of the way from the range's error to the goal."""
        return self._range[2]

    def noise_law(self, noise: Noise) -> Law:
        """The law of the range's error.

        Where it takes time in the number of cells what each answer counts for is taken once, as
        of noise on the real line: it hardly depends on ε.
        """
        errors = axis_model(noise).errors
        if errors.work == 1:
            return errors.noise_law(((self._range[:2], 1.0),))
        times = float(noise.scales[0] / self.terms.on_the_line(self.question).scales[0])
        law = self._unit_law
        return replace(law, scales=times * law.scales) if isinstance(law, NoiseLaw) else law

    @cached_property
    def _unit_law(self) -> Law:
        line = self.terms.on_the_line(self.question)
        law = axis_model(line).errors.noise_law(((self._range[:2], 1.0),))
        return replace(law, law=line.laws[0]) if isinstance(law, NoiseLaw) else law


@dataclass(frozen=True, eq=False)
class _Compared:
    """A standing question and its mean error."""

    name: str
    mean: float
    standing: _Standing
