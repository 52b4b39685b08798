"""L̃: the cells alone. They obey no constraints, and stay as they are."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats
from trueup.ask import CellCounts
from trueup.axis import Axis
from trueup.infer.model import AskedLevels, Candidate, Line
from trueup.infer.tree import NodeModel
from trueup.intervaltree import IntervalTree
from trueup.workload import Workload


@dataclass(frozen=True)
class CellLine:
    """Every cell asked once."""

    size: int

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many answers: one a cell."""
        return (self.size,)

    def fit_lines(self, noisy: Floats) -> Floats:
        """The noisy cells of each line."""
        return noisy

    def coefficients(self, values: Floats) -> Floats:
        """Each noisy cell counts as the cell does."""
        return values


class CellModel(NodeModel[CellCounts]):
    """Noisy cells: the leaves of a flat tree whose root is not asked."""

    asks = CellCounts

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """All for the cells."""
        return (Fraction(0), Fraction(1))

    def levels(self) -> AskedLevels:
        """The noisy answers as the last level of a flat tree."""
        size = self.question.size
        return AskedLevels(IntervalTree.regular(size, (size,)), (1,), None, (size,))

    @property
    def line(self) -> Line:
        """The cells along the lines of a grid."""
        return CellLine(self.question.size)

    def fit(self, noisy: npt.NDArray[Any]) -> Floats:
        """The noisy cells."""
        return np.asarray(noisy, np.float64)

    @classmethod
    def candidates_over(cls, axis: Axis, workload: Workload, nonnegative: bool) -> list[Candidate]:
        """The cells of the axis."""
        return [Candidate("cells alone (L̃)", lambda: CellCounts(axis), 0, "flat")]
