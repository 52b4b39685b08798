"""Plan: what each question would cost in accuracy, exactly, before any ε is spent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from html import escape
from itertools import cycle
from typing import cast

from trueup.arrays import Floats, Ints
from trueup.ask import Neighbours, Question, QuestionOfCells, check_neighbours
from trueup.ask.question import as_axis
from trueup.ask.several import check_grid, grid_axis
from trueup.axis import Axis
from trueup.axis.numbers import whole_number
from trueup.cost import Cost
from trueup.errors import InputError, shown
from trueup.infer import Candidate, figures_of, table_model
from trueup.noise import Noise, check_rows_per_unit
from trueup.plan.choice import asked_by, best_of, candidates, named
from trueup.plan.goals import epsilon_for, error_for, rho_for
from trueup.plan.least import least_error
from trueup.plan.shapes import shown_errors
from trueup.plan.table import figure, html_table
from trueup.workload import Figures, Workload, as_workload, default_workload

__all__ = ["Plan", "Strategy", "Workload", "epsilon_for", "error_for", "plan", "rho_for"]


_ADAPTIVE = {
    "adaptive tree": "Where many cells are empty, an adaptive tree's shown counts have about half "
    "the squared error of those asked at once, and its intervals are 1 to 1.5 times as wide: "
    "shown_errors() simulates the first; publish(…, adaptive=False) asks at once.",
    "adaptive quadtree": "Where many cells are empty, an adaptive quadtree's shown counts have "
    "about 0.7 of the squared error, and its intervals are 1.1 to 1.6 times as wide: "
    "shown_errors() simulates the first.",
}
_SHOWN = ("for non-negative counts", *_ADAPTIVE)


@dataclass(frozen=True, eq=False, repr=False)
class Strategy:
    """A question and the expected squared error of its answers; `worst` of an axis's ranges."""

    name: str
    question: Question
    mean: float
    continuous: float
    worst: float = math.nan
    figures: Figures | None = None

    def __repr__(self) -> str:
        return f"<Strategy '{self.name}': typical ± {figure(self.mean**0.5)}, {self.question!r}>"


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """Questions at the same ε, over one axis or several, compared by their exact expected errors.

    Over several axes the errors are those of boxes: one range of each axis's workload. Errors are
    squared counts, for discrete Laplace noise; `continuous` is the error for Laplace noise on the
    real line, which tables elsewhere give. No data is looked at.

    >>> found = plan(365, epsilon=1)
    >>> found.best.strides, round(found["hats"].mean, 1), round(found["best tree"].mean, 1)
    ((25,), 78.9, 92.8)
    """

    axes: tuple[Axis, ...]
    epsilon: Fraction | None
    workloads: tuple[Workload, ...]
    strategies: tuple[Strategy, ...]
    nonnegative: bool = False
    rho: Fraction | None = None
    rows_per_unit: int = 1

    @property
    def axis(self) -> Axis:
        """The one axis; refused where there are several."""
        if len(self.axes) > 1:
            raise InputError("This plan is over several axes: see its axes.")
        return self.axes[0]

    @property
    def workload(self) -> Workload:
        """What will be asked of the first axis, and of all where one was given for all."""
        return self.workloads[0]

    @property
    def best(self) -> QuestionOfCells:
        """The question to ask: of the least mean error, or best for non-negative counts."""
        return cast(QuestionOfCells, self.best_strategy.question)

    @cached_property
    def best_strategy(self) -> Strategy:
        """The strategy of least mean error, of equal ones the simplest; or the rule's, the last."""
        return best_of(self.strategies, self.nonnegative)

    @cached_property
    def least_possible(self) -> float | None:
        """A mean error that no linear question has less of, proven; at a ρ, for noise on the line.

        None where none is known: at an ε, over several axes, for other workloads than all ranges
        or all prefixes.
        """
        if self.rho is None or len(self.axes) > 1:
            return None
        return least_error(self.axis.size, self.workload, self.rho, self.rows_per_unit)

    def __getitem__(self, which: int | str) -> Strategy:
        return named(self.strategies, which)

    def lengths(self) -> Ints:
        """Lengths from one cell to the whole axis, doubling."""
        return Workload.log_uniform().cells(self.axis)

    def by_length(self) -> dict[str, Floats]:
        """The mean squared error of a range of each of `lengths`, by strategy."""
        lengths = self.lengths()
        known = [(s.name, s.figures) for s in self.strategies]
        return {name: own.mean_by_length(lengths) for name, own in known if own is not None}

    def shown_errors(self, draws: int = 20) -> dict[str, dict[str, float]]:
        """What non-negative counts are off by, by simulation, on shapes of counts that are made up.

        The mean squared error over the workload of counts that are dense, sparse and clustered, for
        an adaptive tree, or over two axes an adaptive quadtree, and for the best question for
        non-negative counts that is asked at once. No data is looked at, and nothing is spent.
        """
        if not self.nonnegative:
            raise InputError("Ask for the plan of counts that are shown: nonnegative=True.")
        chosen = {s.name: s.question for s in self.strategies if s.name in _SHOWN}
        draws = whole_number(draws, "draws")
        if draws < 1:
            raise InputError(f"draws must be at least 1, got {draws}.")
        if self.epsilon is None:
            raise InputError("Shown counts are simulated at an epsilon, not at a rho.")
        return shown_errors(self.axes, chosen, self.epsilon, self.workloads, draws)

    def table(self) -> str:
        """The plan as a Markdown table."""
        one, least = len(self.axes) == 1, self.least_possible
        names = ["strategy", "mean error", "continuous", *(["worst"] * one), "typical ±"]
        names += ["of the best possible"] if least else []
        rows = [f"| {' | '.join(names)} |", f"|---{'|--:' * (len(names) - 1)}|"]
        for s in self.strategies:
            name = f"**{s.name}**" if s is self.best_strategy else s.name
            numbers = [s.mean, s.continuous, *([s.worst] * one), s.mean**0.5]
            numbers += [s.continuous / least] if least else []
            rows.append(f"| {name} | {' | '.join(figure(number) for number in numbers)} |")
        if least:
            told = ["the best possible", "", f"≥ {figure(least)}", "", figure(least**0.5), "1"]
            rows.append(f"| {' | '.join(told)} |")
        return "\n".join(rows)

    def __str__(self) -> str:
        offered = [_ADAPTIVE[s.name] for s in self.strategies if s.name in _ADAPTIVE]
        told = offered if self.nonnegative else []
        return "\n\n".join([self._title(), self.table(), *told])

    def __repr__(self) -> str:
        over = " × ".join(f"'{axis.name}' ({axis.size:,})" for axis in self.axes)
        best = self.best_strategy
        return (
            f"<Plan: {over}, {self.cost.replace(' ', '')}, {len(self.strategies)} strategies, "
            f"best '{best.name}' (typical ± {figure(best.mean**0.5)}); print it for the table>"
        )

    def _title(self) -> str:
        words = " × ".join(dict.fromkeys(workload.words for workload in self.workloads))
        if len(self.axes) == 1:
            over = f"{words} of '{self.axis.name}' ({self.axis.size:,} cells)"
        else:
            sides = " × ".join(f"'{axis.name}' ({axis.size:,})" for axis in self.axes)
            over = f"boxes, {words}, of {sides}"
        shown = ", before counts are made non-negative" if self.nonnegative else ""
        return f"Expected squared error over {over} at {self.cost}{shown}"

    @property
    def cost(self) -> str:
        """What it is compared at: epsilon = 1, or rho = 1/2."""
        return f"epsilon = {self.epsilon}" if self.rho is None else f"rho = {self.rho}"

    def picture(self) -> str:
        """Error against the length of a range, as the paper's Figure 6: an SVG."""
        from trueup.pictures.svg import Curve, Panel, svg
        from trueup.pictures.theme import CURVES, MARKERS

        lengths = self.lengths().tolist()
        lines = tuple(
            Curve(name, lengths, curve.tolist(), colour, marker)
            for (name, curve), colour, marker in zip(
                self.by_length().items(), cycle(CURVES), cycle(MARKERS), strict=False
            )
        )
        ticks = [(length, f"{length:,}") for length in lengths]
        panel = Panel(
            "",
            "cells in the range",
            "squared error",
            lines,
            x_ticks=ticks,
            log_x=True,
            log_y=True,
            columns=2,
            height=340,
        )
        return svg(self._title(), [[panel]])

    def _repr_html_(self) -> str:
        drawn = self.picture() if len(self.axes) == 1 else f"<p>{escape(self._title())}</p>"
        return f"{drawn}{html_table(self.table())}"


def plan(
    axis: Axis | int | Sequence[Axis | int],
    epsilon: object = None,
    workload: object = None,
    *,
    rho: object = None,
    nonnegative: bool = False,
    neighbours: Neighbours = "add-remove",
    rows_per_unit: int = 1,
) -> Plan:
    """The expected error of each way to ask about an axis (or a number of cells), at this ε or ρ.

    The plan looks at public facts only and costs nothing. `workload` says which ranges you will
    ask for: all of them if you do not say; for a hierarchy of labels, whose order means nothing,
    the nodes of all its levels. The best tree and the best hats are searched for that workload.
    (They are searched with noise on the real line. At an ε so large that the noise is mostly 0,
    another strategy may beat them, and is then `best`.) With `nonnegative`, `best` is the question
    for counts that are shown non-negative, where many cells may be empty: at an ε, and up to 2^20
    cells, an adaptive tree; else one that is asked at once, which "for non-negative counts" is.

    The plan compares what the registered models offer (`trueup.infer.MODELS`). At a ρ it says
    beside each how far it is from the best that any linear question can be (`least_possible`).

    For a list of axes it is the plan of a grid. Its errors are those of boxes: one range of each
    axis's workload (one workload for all, or a list of them).

    >>> plan(1024, epsilon=1).best.strides
    (12, 132)
    >>> shown = plan(1024, epsilon=1, nonnegative=True)
    >>> shown.best.tree.radices, shown["for non-negative counts"].question.radices
    ((9, 10, 12), (9, 10, 12))
    >>> [type(each).__name__ for each in plan([1024, 12], epsilon=1).best.factors]
    ['HatCounts', 'CellCounts']
    """
    cost = Cost.of(1 if epsilon is None and rho is None else epsilon, rho)
    check_neighbours(neighbours)
    check_rows_per_unit(rows_per_unit)
    if nonnegative not in (True, False):
        raise InputError(f"nonnegative must be True or False, got {shown(nonnegative)}.")
    axes, workloads = _over(axis, workload)
    found = []
    for candidate in candidates(axes, workloads, nonnegative, cost.rho is not None):
        question = asked_by(candidate, cost.rho is not None)
        if question is None:
            continue
        noise = Noise(question, cost.epsilon, neighbours, rows_per_unit, rho=cost.rho)
        compared = _compared if len(axes) == 1 else _compared_over_boxes
        found.append(compared(candidate, noise, axes, workloads))
    told = tuple(found), nonnegative, cost.rho, rows_per_unit
    return Plan(axes, cost.epsilon, workloads, *told)


def _over(
    axis: Axis | int | Sequence[Axis | int], workload: object
) -> tuple[tuple[Axis, ...], tuple[Workload, ...]]:
    """The axes, and the workload of each."""
    if not isinstance(axis, (list, tuple)):
        one = as_axis(axis)  # type: ignore[arg-type]
        chosen = default_workload(one) if workload is None else as_workload(workload)
        chosen.check(one)
        return (one,), (chosen,)
    axes = tuple(grid_axis(each, number) for number, each in enumerate(axis))
    if len(axes) < 2:
        raise InputError(f"A grid needs two axes or more, got {len(axes)}.")
    check_grid(list(axes), math.prod(each.size for each in axes))
    given = "all ranges" if workload is None else workload
    each = tuple(given) if isinstance(given, (list, tuple)) else (given,) * len(axes)
    if len(each) != len(axes):
        raise InputError(f"There are {len(axes)} axes, but {len(each)} workloads.")
    workloads = tuple(as_workload(one) for one in each)
    for one_workload, one_axis in zip(workloads, axes, strict=True):
        one_workload.check(one_axis)
    return axes, workloads


def _compared(
    candidate: Candidate, noise: Noise, axes: Sequence[Axis], workloads: Sequence[Workload]
) -> Strategy:
    """The errors of a question about ranges of one axis."""
    (axis,), (workload,) = axes, workloads
    own = candidate.figures or figures_of
    figures, continuous = (own(replace(noise, law=law)) for law in noise.laws)
    means = workload.mean(figures, axis), workload.mean(continuous, axis)
    name = candidate.name.format(noise.question)
    return Strategy(name, noise.question, *means, workload.worst(figures, axis), figures)


def _compared_over_boxes(
    candidate: Candidate, noise: Noise, axes: Sequence[Axis], workloads: Sequence[Workload]
) -> Strategy:
    """The errors of a question about boxes of several axes."""
    means = table_model(noise).mean_over_boxes(workloads)
    return Strategy(candidate.name.format(noise.question), noise.question, *means)
