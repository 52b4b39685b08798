"""Plans for grids: products of questions compared by their exact error over all boxes.

Noise scales of a product are products, and so are the coefficients of a box: with noise on the
real line its variance is 2 · Π (variance of the side / 2). So the mean over all boxes is the same
product of the axes' means, and the best product is that of each axis's best question.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from html import escape

import numpy as np
import numpy.typing as npt

from trueup.ask import BoxCounts, CellCounts, GridCounts, HatCounts, Neighbours, TreeCounts
from trueup.ask.boxes import equal_parts
from trueup.ask.grid import Factor
from trueup.ask.several import check_grid, grid_axis
from trueup.axis import Axis
from trueup.errors import InputError
from trueup.grid_errors import GridErrors
from trueup.infer import grid_errors_of
from trueup.lattice_errors import LatticeErrors
from trueup.noise import LAWS, Noise
from trueup.plan.boxes import best_boxes, mean_energies
from trueup.plan.choice import best_of, named
from trueup.plan.figures import figures_of
from trueup.plan.hats import best_hats
from trueup.plan.search import best_question
from trueup.plan.table import figure, html_table
from trueup.plan.workload import Workload, as_workload

Floats = npt.NDArray[np.float64]

_SAMPLED = 48  # ranges of an axis: for what whole noise does to the figure of noise on the line
_WIDE = 16


@dataclass(frozen=True, eq=False)
class GridStrategy:
    """A question over several axes and the expected squared error of its boxes."""

    name: str
    question: GridCounts | BoxCounts
    mean: float
    continuous: float


@dataclass(frozen=True, eq=False)
class GridPlan:
    """Questions over several axes, of one price, compared by their expected errors.

    Over boxes, products of a range of each axis's workload. As for a `Plan` of one axis, none of it
    looks at data, and with `nonnegative` a rule names the best.
    """

    axes: tuple[Axis, ...]
    epsilon: Fraction
    workloads: tuple[Workload, ...]
    strategies: tuple[GridStrategy, ...]
    nonnegative: bool = False

    @property
    def best(self) -> GridCounts | BoxCounts:
        """The question to ask: of the least mean error, or best for non-negative counts."""
        return self.best_strategy.question

    @cached_property
    def best_strategy(self) -> GridStrategy:
        """The strategy of least mean error, of equal ones the simplest; or the rule's, the last."""
        return best_of(self.strategies, self.nonnegative)

    def __getitem__(self, which: int | str) -> GridStrategy:
        return named(self.strategies, which)

    def table(self) -> str:
        """The plan as a Markdown table."""
        rows = ["| strategy | mean error | continuous | typical ± |", "|---|--:|--:|--:|"]
        for s in self.strategies:
            name = f"**{s.name}**" if s is self.best_strategy else s.name
            numbers = [s.mean, s.continuous, s.mean**0.5]
            rows.append(f"| {name} | {' | '.join(figure(number) for number in numbers)} |")
        return "\n".join(rows)

    def _repr_html_(self) -> str:
        title, _, table = str(self).partition("\n\n")
        return f"<p>{escape(title)}</p>{html_table(table)}"

    def __str__(self) -> str:
        sides = " × ".join(f"'{axis.name}' ({axis.size:,})" for axis in self.axes)
        words = " × ".join(dict.fromkeys(workload.words for workload in self.workloads))
        shown = ", before counts are made non-negative" if self.nonnegative else ""
        title = f"Expected squared error over boxes, {words}, of {sides} at epsilon"
        return f"{title} = {self.epsilon}{shown}\n\n{self.table()}"


def plan_grid(
    axes: Sequence[Axis | int],
    epsilon: Fraction,
    workload: object,
    nonnegative: bool,
    neighbours: Neighbours,
    rows_per_unit: int,
) -> GridPlan:
    """The expected errors of products of questions over these axes."""
    over = tuple(grid_axis(axis, number) for number, axis in enumerate(axes))
    if len(over) < 2:
        raise InputError(f"A grid needs two axes or more, got {len(over)}.")
    check_grid(list(over), math.prod(axis.size for axis in over))
    workloads = _workloads(workload, over)
    found = []
    for name, question in _questions(over, workloads, nonnegative):
        noise = Noise(question, epsilon, neighbours, rows_per_unit)
        price = noise.scales[0] * question.blocks[0][1]
        if isinstance(question, BoxCounts):
            shares = tuple(1 / share for share in question.shares)
            line = LatticeErrors(question.widths, question.levels, shares, "continuous")
            one = line.mean_variance(mean_energies(line, over, workloads))
        else:
            one = 2 * math.prod(
                each.mean(figures_of(Noise(factor, Fraction(1), law="continuous")), axis) / 2
                for factor, axis, each in zip(question.factors, over, workloads, strict=True)
            )
        continuous = one * float(price) ** 2
        whole = _whole(noise, over, workloads)
        found.append(GridStrategy(name, question, continuous * whole, continuous))
    return GridPlan(over, epsilon, workloads, tuple(found), nonnegative)


def _workloads(workload: object, axes: tuple[Axis, ...]) -> tuple[Workload, ...]:
    if workload is None:
        workload = "all ranges"
    several = isinstance(workload, (list, tuple))
    each = tuple(workload) if isinstance(workload, (list, tuple)) else (workload,) * len(axes)
    if several and len(each) != len(axes):
        raise InputError(f"There are {len(axes)} axes, but {len(each)} workloads.")
    chosen = tuple(as_workload(one) for one in each)
    for one, axis in zip(chosen, axes, strict=True):
        one.check(axis)
    return chosen


def _questions(
    axes: tuple[Axis, ...], workloads: tuple[Workload, ...], nonnegative: bool
) -> list[tuple[str, GridCounts | BoxCounts]]:
    """Each strategy's name and question, simplest first; those that fit into memory."""
    flat: list[Factor] = [CellCounts(axis) for axis in axes]
    binary: list[Factor] = [TreeCounts(axis, branching=2) for axis in axes]
    trees: list[Factor] = []
    hats: list[Factor] = []
    for axis, workload in zip(axes, workloads, strict=True):
        trees.append(TreeCounts(axis) if axis.traits.nested else best_question(axis, workload))
        wide = best_hats(axis, workload)
        hats.append(wide if wide is not None else CellCounts(axis))
    best: list[Factor] = []
    for number, workload in enumerate(workloads):
        several = [flat[number], trees[number], hats[number]]
        errors = [
            workload.mean(figures_of(Noise(factor, Fraction(1), law="continuous")), axes[number])
            for factor in several
        ]
        best.append(several[int(np.argmin(np.array(errors) * (1 + 1e-9 * np.arange(3))))])
    products = {"cells alone": flat, "binary trees": binary, "best trees": trees}
    if any(isinstance(factor, HatCounts) for factor in hats):
        products["hats"] = hats
    if not any(best == factors for factors in products.values()):
        products["each axis's best"] = best
    found: list[tuple[str, GridCounts | BoxCounts]] = []
    for name, factors in products.items():
        try:
            found.append((name, GridCounts(*factors)))
        except InputError:  # too large with all these answers: the cells alone fit
            continue
    quadtree = _quadtree(axes)
    if quadtree is not None:
        found.insert(-1, ("quadtree", quadtree))
    boxes = None if any(axis.traits.labelled for axis in axes) else best_boxes(axes, workloads)
    if boxes is not None and len(boxes.levels) > 1:
        found.insert(-1, ("lattice of boxes", boxes))
    if nonnegative:
        found.append(("for non-negative counts", quadtree or _shown(axes)))
    return found


def _quadtree(axes: tuple[Axis, ...]) -> BoxCounts | None:
    """Boxes in boxes, sixteen or so in each, where every axis can be cut into equal parts."""
    branching = max(2, round(_WIDE ** (1 / len(axes))))
    if any(axis.traits.labelled or equal_parts(axis.size, branching) is None for axis in axes):
        return None
    return BoxCounts.quadtree(*axes, branching=branching)


def _shown(axes: tuple[Axis, ...]) -> GridCounts:
    """Where boxes in boxes cannot be asked: the product of wide trees."""
    factors: list[Factor] = []
    for axis in axes:
        if axis.traits.nested:
            factors.append(TreeCounts(axis))
        elif axis.traits.labelled or axis.size <= 2 * _WIDE:
            factors.append(CellCounts(axis))
        else:
            factors.append(TreeCounts(axis, branching=_WIDE, root=False))
    return GridCounts(*factors)


def _whole(noise: Noise, axes: tuple[Axis, ...], workloads: tuple[Workload, ...]) -> float:
    """How much smaller the error is with whole noise, as of some boxes."""
    spans = [w.sample(axis, _SAMPLED) for axis, w in zip(axes, workloads, strict=True)]
    discrete, continuous = (grid_errors_of(replace(noise, law=law)) for law in LAWS)
    if isinstance(discrete, GridErrors) and isinstance(continuous, GridErrors):
        squares = [
            likely @ discrete.squares(number, starts, stops)
            for number, (starts, stops, likely) in enumerate(spans)
        ]
        return discrete.mean_variance(squares) / continuous.mean_variance(squares)
    low = np.stack([starts for starts, _, _ in spans], axis=1)
    high = np.stack([stops for _, stops, _ in spans], axis=1)
    means = [float(errors.box_variances(low, high).mean()) for errors in (discrete, continuous)]
    return means[0] / means[1]
