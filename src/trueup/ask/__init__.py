"""Ask: sequences of counting queries whose true answers obey known constraints.

The paper's L (`CellCounts`), H (`TreeCounts`), S (`SortedCounts`) and any named set of linear
counts (`NamedCounts`); `HatCounts`, which answer ranges better than any tree; `YoungCounts`, S
asked adaptively. A question is frozen and knows nothing of noise or of inference.
"""

from __future__ import annotations

from typing import Any

from trueup.ask.boxes import BoxCounts
from trueup.ask.cells import CellCounts
from trueup.ask.grid import GridCounts
from trueup.ask.hats import HatCounts
from trueup.ask.named import NamedCounts
from trueup.ask.question import (
    Constraints,
    Neighbours,
    Question,
    cell_counts,
    check_neighbours,
    check_question,
    check_records,
    heaviest,
)
from trueup.ask.sorted import SortedCounts
from trueup.ask.tree import TreeCounts
from trueup.ask.wavelet import WaveletCounts
from trueup.ask.weighted import WeightedCounts
from trueup.ask.young import YoungCounts
from trueup.axis import Axis
from trueup.errors import FileError

Histogram = CellCounts | TreeCounts | WaveletCounts | HatCounts | WeightedCounts
"""The questions whose release is a histogram: a count for every cell, and so for every range."""

__all__ = [
    "BoxCounts",
    "CellCounts",
    "Constraints",
    "GridCounts",
    "HatCounts",
    "Histogram",
    "NamedCounts",
    "Neighbours",
    "Question",
    "SortedCounts",
    "TreeCounts",
    "WaveletCounts",
    "WeightedCounts",
    "YoungCounts",
    "cell_counts",
    "check_neighbours",
    "check_question",
    "check_records",
    "heaviest",
    "question_from_json",
]


def question_from_json(spec: dict[str, Any]) -> Question:
    """The question that `to_json` described; checked as if typed."""
    if not isinstance(spec, dict):
        raise FileError("The question cannot be read: it is no description.")
    try:
        match spec.get("kind"):
            case "unit":
                return CellCounts(Axis.from_json(spec["axis"]))
            case "tree":
                axis = Axis.from_json(spec["axis"])
                if "levels" in spec:
                    return TreeCounts(axis, levels=spec["levels"], shares=spec["shares"])
                return TreeCounts(axis, radices=spec["radices"], shares=spec["shares"])
            case "haar":
                return WaveletCounts(Axis.from_json(spec["axis"]), spec["shares"])
            case "hats":
                axis = Axis.from_json(spec["axis"])
                return HatCounts(axis, spec["strides"], spec["shares"], spec["ends"])
            case "sorted":
                return SortedCounts(spec["groups"], spec["by"], spec["ends"])
            case "young":
                return YoungCounts.from_json(spec)
            case "strategy":
                return WeightedCounts.from_json(spec)
            case "grid":
                factors = [question_from_json(factor) for factor in spec["factors"]]
                return GridCounts(*factors)  # type: ignore[arg-type]
            case "lattice":
                return BoxCounts.from_json(spec)
            case "queries":
                return NamedCounts.from_json(spec)
    except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as wrong:
        raise FileError(f"The question cannot be read: {wrong!r}.") from None
    raise FileError(f"Question kind {spec.get('kind')!r} is not known to this version.")
