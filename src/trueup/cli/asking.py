"""What the options of a command ask, and what error to expect of it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np
import numpy.typing as npt
import typer

from trueup.ask import (
    BoxCounts,
    GridCounts,
    Neighbours,
    Question,
    SortedCounts,
    TreeCounts,
)
from trueup.axis import Axis
from trueup.cli import axes
from trueup.config import Dataset
from trueup.errors import InputError
from trueup.noise import Noise

Epsilon = Annotated[
    str | None,
    typer.Option("--epsilon", envvar="TRUEUP_EPSILON", help="The cost, such as 0.1 or 1/10."),
]


def missing(option: str) -> str:
    """Refuses a command that lacks an option."""
    raise InputError(f"Give {option}.")


def expected_errors(
    question: Question, epsilon: Fraction, neighbours: Neighbours, rows: int
) -> list[tuple[str, float]]:
    """What 95 % of answers will be within, before anything is spent: (of what, counts)."""
    from trueup.infer import errors_of
    from trueup.release.intervals import reaches
    from trueup.uncertainty import NoiseLaw

    noise = Noise(question, epsilon, neighbours, rows)
    if isinstance(question, SortedCounts):
        alone = NoiseLaw(np.ones(1), np.array([float(noise.scales[0])]), np.ones(1), "discrete")
        return [("a count before inference", alone.half_width(0.95))]
    if isinstance(question, (GridCounts, BoxCounts)):
        return _expected_boxes(question, noise)
    errors = errors_of(noise)
    n = question.space.check_one_axis().size
    quarter = max(n // 4, 1)
    some = np.unique(np.linspace(0, n - quarter, 50).astype(np.int64))
    middle = np.array([n // 2])

    def within(starts: npt.NDArray[np.int64], cells: int) -> float:
        reach = reaches(errors, starts, starts + cells, 0.95)
        return float(np.sqrt(np.mean(reach**2)))

    return [
        ("one cell", within(middle, 1)),
        ("a quarter of the axis", within(some, quarter)),
        ("the total", within(middle * 0, n)),
    ]


def _expected_boxes(question: GridCounts | BoxCounts, noise: Noise) -> list[tuple[str, float]]:
    """The same for a grid: a cell, half of each axis, all of it."""
    from trueup.infer import grid_errors_of

    errors = grid_errors_of(noise)
    some = {
        "one cell": [(axis.size // 2, axis.size // 2 + 1) for axis in question.axes],
        "half of each axis": [
            (axis.size // 4, max(3 * axis.size // 4, 1)) for axis in question.axes
        ],
        "the total": [(0, axis.size) for axis in question.axes],
    }
    found = []
    for what, box in some.items():
        if question.complete or what == "the total":
            found.append((what, errors.noise_law(((tuple(box), 1.0),)).half_width(0.95)))
    return found


_GRIDS = {
    "flat": "cells alone",
    "binary": "binary trees",
    "tree": "best trees",
    "hats": "hats",
}


@dataclass(frozen=True)
class Asked:
    """What is to be asked of an axis, or of several, as the options say."""

    branching: int | None
    strategy: str | None
    epsilon: Fraction

    def of(self, axis: Axis) -> Question:
        """The question; the paper's tree if a branching is given, else the best tree."""
        if self.branching is not None and self.strategy is not None:
            raise InputError("Give --branching or --strategy, not both.")
        if self.strategy in (None, "tree"):
            return TreeCounts(axis, branching=self.branching)
        from trueup.plan import plan
        from trueup.plan.offers import question, ways
        from trueup.plan.workload import default_workload

        if self.strategy == "best":
            return plan(axis, self.epsilon).best
        for way in ways(axis):
            if way == self.strategy:
                return question(axis, way, default_workload(axis))
        known = ", ".join(("best", *ways(axis)))
        raise InputError(f"--strategy must be one of {known} here, got {self.strategy!r}.")

    def grid(
        self, columns: list[str], options: axes.AxisOptions, dataset: Dataset | None
    ) -> Question:
        """The question over several declared columns: the plan's best, or as --strategy says."""
        from trueup.plan import plan

        if dataset is None or options.axis() is not None:
            raise InputError(
                "The axes of several columns are declared in trueup.toml, under the name of the "
                "dataset; the options declare one."
            )
        if self.branching is not None:
            raise InputError("--branching is for one column; of several, --strategy binary.")
        found = plan([dataset.axis(column) for column in columns], self.epsilon)
        if self.strategy in (None, "best"):
            return found.best
        names = [strategy.name for strategy in found.strategies]
        known = {way: name for way, name in _GRIDS.items() if name in names}
        if self.strategy not in known:
            listed = ", ".join(("best", *known))
            raise InputError(f"--strategy must be one of {listed} here, got {self.strategy!r}.")
        return found[known[self.strategy]].question


def question_of(
    options: axes.AxisOptions,
    dataset: Dataset | None,
    asked: Asked,
    sorted_by: tuple[str | None, int | None],
    edges: tuple[str | None, int | None, str],
) -> Question:
    """The question that the options put: over an axis, or sorted counts."""
    by, groups = sorted_by
    degrees, nodes, graph = edges
    axis: Axis | None = options.axis()
    ways = [axis is not None, by is not None, degrees is not None]
    if sum(ways) > 1:
        raise InputError("Ask for one thing: an axis, --by, or --degrees.")
    if degrees is not None:
        count = nodes if nodes is not None else int(missing("--nodes with --degrees"))
        return SortedCounts(count, ends=2 if graph == "undirected" else 1)
    if by is not None:
        return SortedCounts(groups if groups is not None else int(missing("--groups")), by=by)
    if axis is None:
        if dataset is None:
            raise InputError(
                "Declare the axis: --column with --integers, --range and --bins, --edges, "
                "--dates, --categories, --ipv4 or --hierarchy; or --by, or --degrees."
            )
        axis = dataset.axis(options.column)
    elif options.column is None:
        raise InputError("Name the column to count: --column.")
    return asked.of(axis)
