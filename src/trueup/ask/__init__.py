"""Ask: sequences of counting queries whose true answers obey known constraints.

The paper's L (`UnitCounts`), H (`TreeCounts`), S (`SortedCounts`) and any named set of linear
counts (`CountQueries`); `HatCounts`, which answer ranges better than any tree; `YoungCounts`, S
asked adaptively. A question is frozen and knows nothing of noise or of inference.
"""

from __future__ import annotations

from typing import Any

from trueup.ask.grid import Grid
from trueup.ask.haar import HaarCounts
from trueup.ask.hats import HatCounts
from trueup.ask.lattice import LatticeCounts
from trueup.ask.queries import CountQueries
from trueup.ask.question import (
    Constraints,
    Neighbours,
    Question,
    check_neighbours,
    check_question,
    check_records,
    heaviest,
    unit_counts,
)
from trueup.ask.sorted import SortedCounts
from trueup.ask.strategy import StrategyCounts
from trueup.ask.tree import TreeCounts
from trueup.ask.unit import UnitCounts
from trueup.ask.young import YoungCounts
from trueup.axis import Axis
from trueup.errors import FileError

Histogram = UnitCounts | TreeCounts | HaarCounts | HatCounts | StrategyCounts
"""The questions whose release is a histogram: a count for every cell, and so for every range."""

__all__ = [
    "Constraints",
    "CountQueries",
    "Grid",
    "HaarCounts",
    "HatCounts",
    "Histogram",
    "LatticeCounts",
    "Neighbours",
    "Question",
    "SortedCounts",
    "StrategyCounts",
    "TreeCounts",
    "UnitCounts",
    "YoungCounts",
    "check_neighbours",
    "check_question",
    "check_records",
    "heaviest",
    "question_from_json",
    "unit_counts",
]


def question_from_json(spec: dict[str, Any]) -> Question:
    """The question that `to_json` described; checked as if typed."""
    if not isinstance(spec, dict):
        raise FileError("The question cannot be read: it is no description.")
    try:
        match spec.get("kind"):
            case "unit":
                return UnitCounts(Axis.from_json(spec["axis"]))
            case "tree":
                axis = Axis.from_json(spec["axis"])
                if "levels" in spec:
                    return TreeCounts(axis, levels=spec["levels"], shares=spec["shares"])
                return TreeCounts(axis, radices=spec["radices"], shares=spec["shares"])
            case "haar":
                return HaarCounts(Axis.from_json(spec["axis"]), spec["shares"])
            case "hats":
                axis = Axis.from_json(spec["axis"])
                return HatCounts(axis, spec["strides"], spec["shares"], spec["ends"])
            case "sorted":
                return SortedCounts(spec["groups"], spec["by"], spec["ends"])
            case "young":
                return YoungCounts.from_json(spec)
            case "strategy":
                return StrategyCounts.from_json(spec)
            case "grid":
                factors = [question_from_json(factor) for factor in spec["factors"]]
                return Grid(*factors)  # type: ignore[arg-type]
            case "lattice":
                return LatticeCounts.from_json(spec)
            case "queries":
                return CountQueries.from_json(spec)
    except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as wrong:
        raise FileError(f"The question cannot be read: {wrong!r}.") from None
    raise FileError(f"Question kind {spec.get('kind')!r} is not known to this version.")
