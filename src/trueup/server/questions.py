"""From what an analyst asks for, in public words, to a question over a part of a declared axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from trueup.ask import Question, SortedCounts
from trueup.axis import Axis
from trueup.config import Dataset
from trueup.errors import InputError
from trueup.noise import Noise
from trueup.plan.offers import Offer, offers, question, sorted_error, ways
from trueup.workload import Workload, as_workload, default_workload

_STRATEGIES = {"unit": "flat", "young": "sorted"}
"""What analysts call a question where that is not its recorded kind."""


@dataclass(frozen=True)
class Asked:
    """What an analyst asks of a dataset; `ends` and `cells` choose a part of the axis."""

    column: str | None
    ends: tuple[Any, Any] | None
    cells: int | None
    epsilon: Fraction
    strategy: str
    where: str | None
    workload: str | None


@dataclass(frozen=True, eq=False)
class Asking:
    """A question that may be asked, and the other ways there were to ask it."""

    question: Question
    axis: Axis | None
    offers: tuple[Offer, ...]
    chosen: str
    mean: float
    typical: float

    @property
    def cells(self) -> int:
        """How many cells, or groups, it is about."""
        return self.question.size

    @property
    def sentence(self) -> str:
        """What to expect, in words."""
        what = "a count before inference" if self.axis is None else "a typical range"
        return f"±{_rounded(self.typical)} on {what} at 95 %"


def asking(dataset: Dataset, asked: Asked, most_cells: int) -> Asking:
    """The question that is asked of a dataset, with the expected errors of all ways to ask it."""
    if dataset.edges is not None or asked.strategy == "sorted":
        return _sorted(dataset, asked, most_cells)
    axis, workload = _over(dataset, asked, most_cells)
    found = _offers(dataset, axis, asked.epsilon, workload)
    wanted = found[0].way if asked.strategy == "best" else asked.strategy
    for offer in found:
        if offer.way == wanted:
            return Asking(offer.question, axis, found, wanted, offer.mean, offer.typical)
    raise _unknown(axis, wanted, [offer.way for offer in found])


def question_asked(dataset: Dataset, asked: Asked, most_cells: int) -> Question:
    """The same question, its errors worked out only where the best way must be found."""
    if dataset.edges is not None or asked.strategy in ("best", "sorted"):
        return asking(dataset, asked, most_cells).question
    axis, workload = _over(dataset, asked, most_cells)
    for way in ways(axis):
        if way == asked.strategy:
            return question((axis,), way, (workload,))
    raise _unknown(axis, asked.strategy, ways(axis))


def _over(dataset: Dataset, asked: Asked, most_cells: int) -> tuple[Axis, Workload]:
    axis = dataset.axis(asked.column).part(asked.ends, asked.cells)
    if axis.size > most_cells:
        raise InputError(
            f"{axis.size:,} cells are more than the {most_cells:,} that this server answers. "
            f"Choose a narrower range or fewer cells."
        )
    workload = default_workload(axis) if asked.workload is None else as_workload(asked.workload)
    workload.check(axis)
    return axis, workload


def _unknown(axis: Axis, wanted: str, known: Sequence[str]) -> InputError:
    listed = ", ".join(known)
    return InputError(
        f"'{axis.name}' cannot be asked by {wanted!r} at this price. "
        f"Strategies: best, {listed}, sorted."
    )


def _offers(
    dataset: Dataset, axis: Axis, epsilon: Fraction, workload: Workload
) -> tuple[Offer, ...]:
    return offers(
        axis,
        epsilon,
        workload,
        neighbours=dataset.neighbours,
        rows_per_unit=dataset.rows_per_unit,
    )


def _sorted(dataset: Dataset, asked: Asked, most_cells: int) -> Asking:
    """The counts in rising order: a graph's degrees, or the sizes of a column's groups."""
    if asked.ends is not None or asked.cells is not None:
        raise InputError("Sorted counts are about all groups: leave range and cells out.")
    if asked.workload is not None:
        raise InputError("Sorted counts answer no ranges: leave workload out.")
    if dataset.edges is not None:
        if asked.strategy not in ("best", "sorted"):
            raise InputError("A graph answers its sorted degrees only: strategy 'sorted'.")
        if asked.column is not None:
            raise InputError("A graph's groups are its nodes: leave column out.")
        ends = 2 if dataset.graph == "undirected" else 1
        assert dataset.nodes is not None
        counts = SortedCounts(dataset.nodes, ends=ends)
    else:
        axis = dataset.axis(asked.column)
        counts = SortedCounts(axis.size, by=axis.name)
    if counts.size > most_cells:
        raise InputError(f"{counts.size:,} groups are more than this server answers.")
    noise = Noise(counts, asked.epsilon, dataset.neighbours, dataset.rows_per_unit)
    noise.check_drawable()
    mean, typical = sorted_error(noise)
    return Asking(counts, None, (), "sorted", mean, typical)


def _rounded(error: float) -> str:
    return f"{error:,.0f}" if error >= 10 else f"{error:.2g}"


def strategy_of(question: Question) -> str:
    """The word by which analysts know the way that a question was asked."""
    spec = question.to_json()
    radices = spec.get("radices") if question.space.one_axis else None
    if radices and spec.get("shares") and all(radix == 2 for radix in radices):
        return "binary"
    return _STRATEGIES.get(question.kind, question.kind)
