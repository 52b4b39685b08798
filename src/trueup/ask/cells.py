"""L: the count of every cell."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints
from trueup.ask.question import AxisQuestion, Block, Weights, cell_counts, moved_in_each
from trueup.axis import Axis
from trueup.intervaltree import IntervalTree

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, repr=False)
class CellCounts(AxisQuestion):
    """L: the count of every cell.

    >>> CellCounts(Axis.integers("age", 0, 99)).sensitivity()
    1
    """

    axis: Axis
    kinds = ("unit",)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return ((self.size, Fraction(1)),)

    @property
    def heaviest(self) -> int:
        return 1

    @property
    def shape(self) -> IntervalTree:
        """A flat tree: a root that is not asked over the cells."""
        return IntervalTree.regular(self.size, (self.size,))

    def moved(self, weights: Weights, power: int, replacing: bool) -> Fraction:
        return moved_in_each(self.blocks, weights, replacing)

    def answers(self, counts: npt.ArrayLike) -> Ints:
        return cell_counts(counts, self.size).copy()

    def labels(self) -> dict[str, Any]:
        cells = np.arange(self.size)
        return self.axis.columns(cells, cells + 1)

    def matrix(self) -> csr_array[Any]:
        from scipy.sparse import csr_array, eye_array

        return csr_array(eye_array(self.size))
