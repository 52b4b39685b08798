"""What the options of a command ask, and what error to expect of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from trueup.ask import Neighbours, Question, SortedCounts, TreeCounts
from trueup.axis import Axis
from trueup.cli.axes import AxisOptions
from trueup.cli.options import Filter
from trueup.config import Dataset
from trueup.cost import Cost
from trueup.errors import InputError, shown
from trueup.infer import model_of
from trueup.noise import Noise
from trueup.workload import Workload, default_workload

Epsilon = Annotated[
    str | None,
    typer.Option("--epsilon", envvar="TRUEUP_EPSILON", help="The cost, such as 0.1 or 1/10."),
]
Rho = Annotated[
    str | None,
    typer.Option("--rho", help="The cost in rho instead, for Gaussian noise: 1/200."),
]


def missing(option: str) -> str:
    """Refuses a command that lacks an option."""
    raise InputError(f"Give {option}.")


def expected_errors(
    question: Question, cost: Cost, neighbours: Neighbours, rows: int
) -> list[tuple[str, float]]:
    """What 95 % of answers will be within, before anything is spent: (of what, counts)."""
    noise = Noise(question, cost.epsilon, neighbours, rows, rho=cost.rho)
    return model_of(noise).expected()


@dataclass(frozen=True)
class Counted:
    """The options about what is counted, and how it is asked."""

    column: Annotated[
        list[str] | None,
        typer.Option(help="The column to count; for a declared dataset, give several."),
    ] = None
    branching: Annotated[
        int | None, typer.Option(help="Ask the paper's tree with this fan-out.")
    ] = None
    strategy: Annotated[
        str | None,
        typer.Option(
            help="best (the default), adaptive (counts small neighbours together), shown (asked at "
            "once, with narrower intervals), tree, hats, flat or binary; on a server also sorted."
        ),
    ] = None
    by: Annotated[
        str | None,
        typer.Option(help="Count how often each value of this column occurs; needs --groups."),
    ] = None
    groups: Annotated[
        int | None, typer.Option(help="With --by: the number of groups; it must be public.")
    ] = None
    degrees: Annotated[
        str | None, typer.Option(help="The degree sequence of a graph: the two columns, src,dst.")
    ] = None
    nodes: Annotated[
        int | None, typer.Option(help="With --degrees: the number of nodes; it must be public.")
    ] = None
    graph: Annotated[str, typer.Option(help="undirected, directed or bipartite.")] = "undirected"
    where: Filter = None

    @property
    def ends(self) -> tuple[str, str] | None:
        """The two columns of an edge."""
        if self.degrees is None:
            return None
        parts = [part.strip() for part in self.degrees.split(",")]
        if len(parts) != 2 or not all(parts):
            raise InputError(
                f"--degrees names two columns, such as src,dst, got {shown(self.degrees)}."
            )
        return parts[0], parts[1]


def question_of(
    declared: AxisOptions,
    dataset: Dataset | None,
    counted: Counted,
    cost: Cost,
    neighbours: Neighbours,
    rows_per_unit: int,
    bounded: bool = False,
) -> Question:
    """The question that the options put: over an axis or several, or sorted counts.

    Over axes it is the paper's tree if a branching is given; as --strategy says; else what all
    publish. With `bounded` the rows of a unit that count are chosen privately.
    """
    from trueup.plan.default import question_for
    from trueup.plan.offers import question, ways

    columns = counted.column or []
    column = columns[0] if len(columns) == 1 else None
    axis = declared.axis(column)
    if sum([axis is not None, counted.by is not None, counted.degrees is not None]) > 1:
        raise InputError("Ask for one thing: an axis, --by, or --degrees.")
    if counted.degrees is not None:
        nodes = (
            counted.nodes if counted.nodes is not None else int(missing("--nodes with --degrees"))
        )
        return SortedCounts(nodes, ends=2 if counted.graph == "undirected" else 1)
    if counted.by is not None:
        groups = counted.groups if counted.groups is not None else int(missing("--groups"))
        return SortedCounts(groups, by=counted.by)
    if len(columns) > 1:
        axes = _several(columns, axis, dataset, counted)
        workloads = (Workload.all_ranges(),) * len(axes)
    else:
        axes = (_one(axis, column, dataset),)
        workloads = (default_workload(axes[0]),)
    if counted.branching is not None:
        if counted.strategy is not None:
            raise InputError("Give --branching or --strategy, not both.")
        return TreeCounts(axes[0], branching=counted.branching)
    if counted.strategy in (None, "best"):
        over = axes if len(axes) > 1 else axes[0]
        return question_for(over, cost, True, neighbours, rows_per_unit, bounded=bounded)
    known = ways(*axes, gaussian=True)
    if counted.strategy not in known:
        listed = ", ".join(("best", *known))
        raise InputError(f"--strategy must be one of {listed} here, got {shown(counted.strategy)}.")
    return question(axes, str(counted.strategy), workloads)


def _one(axis: Axis | None, column: str | None, dataset: Dataset | None) -> Axis:
    """The axis that was declared, by the options or for the dataset."""
    if axis is None:
        if dataset is None:
            raise InputError(
                "Declare the axis: --column with --integers, --range and --bins, --edges, "
                "--dates, --categories, --ipv4 or --hierarchy; or --by, or --degrees."
            )
        return dataset.axis(column)
    if column is None:
        raise InputError("Name the column to count: --column.")
    return axis


def _several(
    columns: list[str], axis: Axis | None, dataset: Dataset | None, counted: Counted
) -> tuple[Axis, ...]:
    """The axes of several columns, which a dataset declares."""
    if dataset is None or axis is not None:
        raise InputError(
            "The axes of several columns are declared in trueup.toml, under the name of the "
            "dataset; the options declare one."
        )
    if counted.branching is not None:
        raise InputError("--branching is for one column; of several, --strategy binary.")
    return tuple(dataset.axis(column) for column in columns)
