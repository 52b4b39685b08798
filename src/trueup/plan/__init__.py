"""Plan: what each question would cost in accuracy, exactly, before any ε is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import cycle
from typing import overload

import numpy as np
import numpy.typing as npt

from trueup.ask import CellCounts, Neighbours, TreeCounts, WaveletCounts, check_neighbours
from trueup.ask.question import as_axis
from trueup.axis import Axis
from trueup.axis.numbers import whole_number
from trueup.epsilon import positive
from trueup.errors import InputError
from trueup.noise import LAWS, Noise
from trueup.pictures.svg import Line, Panel, svg
from trueup.pictures.theme import CURVES, MARKERS
from trueup.plan.choice import best_of, named
from trueup.plan.figures import Planned, figures_of
from trueup.plan.goals import epsilon_for, error_for
from trueup.plan.grids import GridPlan, GridStrategy, plan_grid
from trueup.plan.hats import best_hats
from trueup.plan.search import best_branching, best_own_levels, best_question, shown_question
from trueup.plan.table import figure, html_table
from trueup.plan.workload import Figures, Workload, as_workload, default_workload

__all__ = [
    "GridPlan",
    "GridStrategy",
    "Plan",
    "Strategy",
    "Workload",
    "epsilon_for",
    "error_for",
    "plan",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Strategy:
    """A question, how it is answered, and the expected squared error of its answers."""

    name: str
    question: Planned
    figures: Figures
    mean: float
    continuous: float
    worst: float


@dataclass(frozen=True, eq=False)
class Plan:
    """Questions of one price compared by their exact expected errors.

    Errors are squared counts, of discrete Laplace noise; `continuous` is that of Laplace noise on
    the real line, which tables elsewhere give. None of it looks at data.

    >>> found = plan(365, epsilon=1)
    >>> found.best.strides, round(found["hats"].mean, 1), round(found["best tree"].mean, 1)
    ((25,), 78.9, 92.8)
    """

    axis: Axis
    epsilon: Fraction
    workload: Workload
    strategies: tuple[Strategy, ...]
    nonnegative: bool = False

    @property
    def best(self) -> Planned:
        """The question to ask: of the least mean error, or best for non-negative counts."""
        return self.best_strategy.question

    @cached_property
    def best_strategy(self) -> Strategy:
        """The strategy of least mean error, of equal ones the simplest; or the rule's, the last."""
        return best_of(self.strategies, self.nonnegative)

    def __getitem__(self, which: int | str) -> Strategy:
        return named(self.strategies, which)

    def lengths(self) -> Ints:
        """Lengths from one cell to the whole axis, doubling."""
        n = self.axis.size
        return np.unique(np.append(1 << np.arange(n.bit_length()), n)).astype(np.int64)

    def by_length(self) -> dict[str, Floats]:
        """The mean squared error of a range of each of `lengths`, by strategy."""
        lengths = self.lengths()
        return {s.name: s.figures.mean_by_length(lengths) for s in self.strategies}

    def table(self) -> str:
        """The plan as a Markdown table."""
        rows = [
            "| strategy | mean error | continuous | worst | typical ± |",
            "|---|--:|--:|--:|--:|",
        ]
        for s in self.strategies:
            name = f"**{s.name}**" if s is self.best_strategy else s.name
            numbers = [s.mean, s.continuous, s.worst, s.mean**0.5]
            rows.append(f"| {name} | {' | '.join(figure(number) for number in numbers)} |")
        return "\n".join(rows)

    def __str__(self) -> str:
        return f"{self._title()}\n\n{self.table()}"

    def _title(self) -> str:
        return (
            f"Expected squared error over {self.workload.words} of '{self.axis.name}' "
            f"({self.axis.size:,} cells) at epsilon = {self.epsilon}"
            + (", before counts are made non-negative" if self.nonnegative else "")
        )

    def picture(self) -> str:
        """Error against the length of a range, as the paper's Figure 6: an SVG."""
        lengths = self.lengths().tolist()
        lines = tuple(
            Line(name, lengths, curve.tolist(), colour, marker)
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
        return f"{self.picture()}{html_table(self.table())}"


@overload
def plan(
    axis: Axis | int,
    epsilon: object = 1,
    workload: object = None,
    *,
    nonnegative: bool = False,
    neighbours: Neighbours = "add-remove",
    rows_per_unit: int = 1,
) -> Plan: ...


@overload
def plan(
    axis: Sequence[Axis | int],
    epsilon: object = 1,
    workload: object = None,
    *,
    nonnegative: bool = False,
    neighbours: Neighbours = "add-remove",
    rows_per_unit: int = 1,
) -> GridPlan: ...


def plan(
    axis: Axis | int | Sequence[Axis | int],
    epsilon: object = 1,
    workload: object = None,
    *,
    nonnegative: bool = False,
    neighbours: Neighbours = "add-remove",
    rows_per_unit: int = 1,
) -> Plan | GridPlan:
    """The expected error of each way to ask, for an axis (or a number of cells) and ε.

    The workload is all ranges unless said otherwise; for a hierarchy of labels, whose order means
    nothing, all its levels alike. Tree and hats are searched for the workload, with noise on the
    real line; at an ε so large that noise is mostly 0 another strategy may beat them, and then
    that one is `best`. With `nonnegative` the best is the question for counts that are shown
    non-negative, where many cells may be empty. It all follows from public facts.

    Given a list of axes, it is the plan of a grid: over boxes, a range of each axis's workload (one
    for all, or a list of them).

    >>> plan(1024, epsilon=1).best.strides
    (12, 132)
    >>> plan(1024, epsilon=1, nonnegative=True).best.radices
    (9, 10, 12)
    >>> [type(each).__name__ for each in plan([1024, 12], epsilon=1).best.factors]
    ['HatCounts', 'CellCounts']
    """
    epsilon = positive(epsilon)
    check_neighbours(neighbours)
    if nonnegative not in (True, False):
        raise InputError(f"nonnegative must be True or False, got {nonnegative!r}.")
    if whole_number(rows_per_unit, "rows_per_unit") < 1:
        raise InputError(f"rows_per_unit must be at least 1, got {rows_per_unit}.")
    if isinstance(axis, (list, tuple)):
        return plan_grid(axis, epsilon, workload, nonnegative, neighbours, rows_per_unit)
    axis = as_axis(axis)  # type: ignore[arg-type]
    chosen = default_workload(axis) if workload is None else as_workload(workload)
    chosen.check(axis)
    found = []
    for name, question, inferred in _questions(axis, chosen, nonnegative):
        figures, continuous = (
            figures_of(Noise(question, epsilon, neighbours, rows_per_unit, law), inferred=inferred)
            for law in LAWS
        )
        means = chosen.mean(figures, axis), chosen.mean(continuous, axis)
        found.append(Strategy(name, question, figures, *means, chosen.worst(figures, axis)))
    return Plan(axis, epsilon, chosen, tuple(found), nonnegative)


def _questions(
    axis: Axis, workload: Workload, nonnegative: bool
) -> list[tuple[str, Planned, bool]]:
    """Each strategy's name, its question, and whether answers are inferred; simplest first."""
    found: list[tuple[str, Planned, bool]] = [("cells alone (L̃)", CellCounts(axis), True)]
    if axis.size > 1:
        paper = TreeCounts(axis, branching=2)
        found.append(("the paper's tree, fewest nodes (H̃)", paper, False))
        found.append(("the paper's tree, inferred (H̄)", paper, True))
        found.append(("Haar wavelet", WaveletCounts(axis), True))
        equal = best_branching(axis, workload)
        found.append((f"{equal.radices[0]}-ary, root not asked", equal, True))
        if axis.traits.nested or workload.by_level:
            alike = TreeCounts(axis, levels=list(axis.levels()), root=False)
            found.append(("the axis's own levels", alike, True))
            own = best_own_levels(axis, workload)
            found.append(("the axis's own levels, best shares", own, True))
    found.append(("best tree", best_question(axis, workload), True))
    hats = best_hats(axis, workload)
    if hats is not None:
        found.append(("hats", hats, True))
    if nonnegative:
        found.append(("for non-negative counts", shown_question(axis, workload), True))
    return found
