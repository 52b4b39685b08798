"""Ask: sequences of counting queries whose true answers obey known constraints.

The paper's L (`CellCounts`), H (`TreeCounts`), S (`SortedCounts`) and any named set of linear
counts (`NamedCounts`); `HatCounts`, which answer ranges better than any tree; products of questions
over several axes. A question is frozen and knows nothing of noise or of inference.
"""

from __future__ import annotations

from trueup.ask.adaptive_boxes import AdaptiveBoxCounts
from trueup.ask.adaptive_tree import AdaptiveTreeCounts
from trueup.ask.boxes import BoxCounts
from trueup.ask.cells import CellCounts
from trueup.ask.grid import GridCounts
from trueup.ask.hats import HatCounts
from trueup.ask.kinds import known_kinds, question_from_json, register
from trueup.ask.named import NamedCounts
from trueup.ask.past import PastCounts
from trueup.ask.question import (
    AdaptiveQuestion,
    AxisQuestion,
    Neighbours,
    Question,
    Space,
    cell_counts,
    check_neighbours,
    check_question,
    check_records,
)
from trueup.ask.sorted import SortedCounts
from trueup.ask.tree import TreeCounts
from trueup.ask.wavelet import WaveletCounts
from trueup.ask.weighted import WeightedCounts
from trueup.ask.windows import WindowCounts

QUESTIONS: tuple[type[Question], ...] = (
    CellCounts,
    TreeCounts,
    AdaptiveTreeCounts,
    HatCounts,
    WaveletCounts,
    WeightedCounts,
    WindowCounts,
    PastCounts,
    NamedCounts,
    GridCounts,
    BoxCounts,
    AdaptiveBoxCounts,
    SortedCounts,
)
QuestionOfCells = (
    CellCounts
    | TreeCounts
    | AdaptiveTreeCounts
    | HatCounts
    | WaveletCounts
    | WeightedCounts
    | WindowCounts
    | PastCounts
    | GridCounts
    | BoxCounts
    | AdaptiveBoxCounts
)
"""The questions about the cells of one axis or several, for those who check types."""

for _question in QUESTIONS:
    register(_question)

__all__ = [
    "QUESTIONS",
    "AdaptiveBoxCounts",
    "AdaptiveQuestion",
    "AdaptiveTreeCounts",
    "AxisQuestion",
    "BoxCounts",
    "CellCounts",
    "GridCounts",
    "HatCounts",
    "NamedCounts",
    "Neighbours",
    "PastCounts",
    "Question",
    "QuestionOfCells",
    "SortedCounts",
    "Space",
    "TreeCounts",
    "WaveletCounts",
    "WeightedCounts",
    "WindowCounts",
    "cell_counts",
    "check_neighbours",
    "check_question",
    "check_records",
    "known_kinds",
    "question_from_json",
    "register",
]
