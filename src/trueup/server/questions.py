"""From what an analyst asks for, in public words, to a question over a part of a declared axis."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from trueup.ask import Question, SortedCounts, question_from_json
from trueup.axis import Axis
from trueup.config import Dataset
from trueup.cost import Cost
from trueup.errors import FileError, InputError
from trueup.keys import KeyCounts, PrefixCounts
from trueup.noise import Noise
from trueup.plan.offers import Offer, grid_offers, offers, question, sorted_error, ways
from trueup.server import errors
from trueup.server.by_period import Named
from trueup.workload import Workload, as_workload, default_workload

_STRATEGIES = {"unit": "flat", "young": "sorted", "adaptive tree": "adaptive"}
"""What analysts call a question where that is not its recorded kind."""
_CHOICES = 60  # numbers of cells that are offered


@dataclass(frozen=True)
class AskedPart:
    """A column that is asked about; `ends` and `cells` choose a part of its axis."""

    column: str | None
    ends: tuple[Any, Any] | None = None
    cells: int | None = None


@dataclass(frozen=True)
class Asked:
    """What an analyst asks of a dataset: one column, or several for a grid, at a price."""

    parts: tuple[AskedPart, ...]
    cost: Cost
    strategy: str
    where: str | None
    workload: str | None
    keys: str | None = None
    period: Named = None
    through: str | None = None
    among: str | None = None  # a release of keys, whose keys are the labels


@dataclass(frozen=True, eq=False)
class Asking:
    """A question that may be asked, and the other ways there were to ask it."""

    question: Question
    axes: tuple[Axis, ...]  # none of sorted counts
    offers: tuple[Offer, ...]
    chosen: str
    mean: float
    typical: float
    each: str | None = None  # the unit, where how many of its rows count is not known yet

    @property
    def cells(self) -> int:
        """How many cells, or groups, it is about."""
        return self.question.size

    @property
    def sentence(self) -> str:
        """What to expect, in words."""
        what = ("a count before inference", "a typical range", "a typical box")[len(self.axes)]
        grows = f", times the rows of a {self.each} that count" if self.each else ""
        return f"±{_rounded(self.typical)} on {what} at 95 %{grows}"


def asking(dataset: Dataset, asked: Asked, most_cells: int) -> Asking:
    """The question that is asked of a dataset, with the expected errors of all ways to ask it."""
    if dataset.edges is not None or asked.strategy == "sorted":
        return _sorted(dataset, asked, most_cells)
    axes, workloads = _over(dataset, asked, most_cells)
    found = _offers(dataset, axes, asked.cost, workloads)
    wanted = found[0].way if asked.strategy == "best" else asked.strategy
    for offer in found:
        if offer.way == wanted:
            each = None if dataset.at_most is None else dataset.unit
            return Asking(offer.question, axes, found, wanted, offer.mean, offer.typical, each)
    raise _unknown(axes, wanted, [offer.way for offer in found])


def keys_asked(dataset: Dataset, name: str) -> KeyCounts | PrefixCounts:
    """The question about keys that the owner has declared under a name."""
    if name not in dataset.keys:
        known = ", ".join(dataset.keys) or "none"
        said = f"Dataset '{dataset.name}' has no keys {name[:60]!r}. Declared keys: {known}."
        raise errors.FieldError(said, "/keys")
    return dataset.keys[name]


def question_asked(
    dataset: Dataset, asked: Asked, most_cells: int
) -> Question | KeyCounts | PrefixCounts:
    """The same question, its errors worked out only where the best way must be found."""
    if asked.keys is not None:
        return keys_asked(dataset, asked.keys)
    if dataset.edges is not None or asked.strategy in ("best", "sorted"):
        return asking(dataset, asked, most_cells).question
    axes, workloads = _over(dataset, asked, most_cells)
    known = ways(*axes, gaussian=asked.cost.rho is not None)
    if asked.strategy in known:
        return question(axes, asked.strategy, workloads)
    raise _unknown(axes, asked.strategy, known)


def _over(
    dataset: Dataset, asked: Asked, most_cells: int
) -> tuple[tuple[Axis, ...], tuple[Workload, ...]]:
    axes = tuple(_axis(dataset, part, place) for part, place in _placed(asked))
    names = [axis.name for axis in axes]
    if len(set(names)) < len(names):
        said = f"A grid is over different columns, got {names[0]!r} twice."
        raise errors.FieldError(said, "/columns")
    cells = math.prod(axis.size for axis in axes)
    if cells > most_cells:
        raise InputError(
            f"{cells:,} cells are more than the {most_cells:,} that this server answers. "
            f"Choose a narrower range or fewer cells."
        )
    given = None if asked.workload is None else as_workload(asked.workload)
    workloads = tuple(default_workload(axis) if given is None else given for axis in axes)
    with errors.field("workload"):
        for axis, workload in zip(axes, workloads, strict=True):
            workload.check(axis)
    return axes, workloads


def _placed(asked: Asked) -> list[tuple[AskedPart, tuple[object, ...]]]:
    """The columns that are asked about, and where in the request each stands."""
    if len(asked.parts) == 1:
        return [(asked.parts[0], ())]
    return [(part, ("columns", number)) for number, part in enumerate(asked.parts)]


def _axis(dataset: Dataset, part: AskedPart, place: tuple[object, ...]) -> Axis:
    """The part of an axis that is asked about."""
    with errors.field(*place, "column"):
        axis = dataset.axis(part.column)
    low, high = part.ends or (None, None)
    for number, alone in enumerate(((low, None), (None, high))):
        with errors.field(*place, "range", number):
            axis.part(alone, None)
    with errors.field(*place, "range"):
        axis.part(part.ends, None)
    with errors.field(*place, "cells"):
        return axis.part(part.ends, part.cells)


def _unknown(axes: Sequence[Axis], wanted: str, known: Sequence[str]) -> InputError:
    named = " × ".join(f"'{axis.name}'" for axis in axes)
    also = ", sorted" if len(axes) == 1 else ""
    said = (
        f"{named} cannot be asked by {wanted!r} at this price. "
        f"Strategies: best, {', '.join(known)}{also}."
    )
    return errors.FieldError(said, "/strategy")


def _offers(
    dataset: Dataset, axes: tuple[Axis, ...], cost: Cost, workloads: tuple[Workload, ...]
) -> tuple[Offer, ...]:
    terms: Any = {"neighbours": dataset.neighbours, "rows_per_unit": dataset.rows_per_unit}
    terms["at_once"] = dataset.at_most is not None  # a bound is chosen for questions that are fixed
    if len(axes) > 1:
        return grid_offers(axes, cost, workloads, **terms)
    return offers(axes[0], cost, workloads[0], **terms)


def cell_choices(axis: Axis, ends: tuple[Any, Any] | None) -> list[int]:
    """The numbers of cells in which a part of an axis can be asked, most first; some of them.

    >>> cell_choices(Axis.integers("age", 0, 99), None)
    [100, 50, 25, 20, 10, 5, 4, 2, 1]
    """
    part = axis.part(ends, None)
    if part.traits.kind in ("integers", "regular"):
        few = [cells for cells in range(1, math.isqrt(part.size) + 1) if part.size % cells == 0]
        return sorted({*few, *(part.size // cells for cells in few)}, reverse=True)[:_CHOICES]
    levels = set(part.level_sizes().values())
    return sorted({part.size, *levels}, reverse=True)


def _sorted(dataset: Dataset, asked: Asked, most_cells: int) -> Asking:
    """The counts in rising order: a graph's degrees, or the sizes of a column's groups."""
    if len(asked.parts) > 1:
        raise InputError("Sorted counts are about the groups of one column: name one.")
    (part,) = asked.parts
    if part.ends is not None or part.cells is not None:
        raise InputError("Sorted counts are about all groups: leave range and cells out.")
    if asked.workload is not None:
        raise InputError("Sorted counts answer no ranges: leave workload out.")
    if dataset.edges is not None:
        if asked.strategy not in ("best", "sorted"):
            raise InputError("A graph answers its sorted degrees only: strategy 'sorted'.")
        if part.column is not None:
            raise InputError("A graph's groups are its nodes: leave column out.")
        ends = 2 if dataset.graph == "undirected" else 1
        assert dataset.nodes is not None
        counts = SortedCounts(dataset.nodes, ends=ends)
    else:
        axis = dataset.axis(part.column)
        counts = SortedCounts(axis.size, by=axis.name)
    if counts.size > most_cells:
        raise InputError(f"{counts.size:,} groups are more than this server answers.")
    cost, terms = asked.cost, (dataset.neighbours, dataset.rows_per_unit)
    noise = Noise(counts, cost.epsilon, *terms, rho=cost.rho)
    noise.check_drawable()
    mean, typical = sorted_error(noise)
    return Asking(counts, (), (), "sorted", mean, typical)


def _rounded(error: float) -> str:
    return f"{error:,.0f}" if error >= 10 else f"{error:.2g}"


def strategy_of(question: Question) -> str:
    """The word by which analysts know the way that a question was asked."""
    spec = question.to_json()
    if "factors" in spec:  # a product: by the word that all its factors have, or by its kind
        words = {strategy_of(question_from_json(each)) for each in spec["factors"]}
        return words.pop() if len(words) == 1 else question.kind
    radices = spec.get("radices") if question.space.one_axis else None
    if radices and spec.get("shares") and all(radix == 2 for radix in radices):
        return "binary"
    return _STRATEGIES.get(question.kind, question.kind)


def question_of(said: Mapping[str, Any]) -> Question | KeyCounts | PrefixCounts:
    """The question that a ledger has, about counts or about keys."""
    match said.get("kind"):
        case "keys":
            return KeyCounts.from_json(said)
        case "prefixes":
            return PrefixCounts.from_json(said)
    return question_from_json(said)


@lru_cache(maxsize=1024)
def question_paid(request: str) -> Question | KeyCounts | PrefixCounts | None:
    """The question that a charge paid for; None if it is of a kind that is not served.

    Owners charge their ledgers for more than that: streams, series, multiplicative weights.
    """
    said = json.loads(request).get("question")
    try:
        return None if said is None else question_of(said)
    except (FileError, InputError):
        return None
