"""L: the count of every cell."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from trueup.ask.question import (
    Block,
    Constraints,
    Ints,
    Neighbours,
    as_axis,
    cell_counts,
    check_neighbours,
)
from trueup.axis import Axis
from trueup.intervaltree import IntervalTree

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class CellCounts:
    """L: the count of every cell.

    >>> CellCounts(Axis.integers("age", 0, 99)).sensitivity()
    1
    """

    axis: Axis

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", as_axis(self.axis))

    @property
    def size(self) -> int:
        return self.axis.size

    @property
    def length(self) -> int:
        return self.size

    @property
    def blocks(self) -> tuple[Block, ...]:
        return ((self.length, Fraction(1)),)

    @property
    def shape(self) -> IntervalTree:
        """A flat tree: a root that is not asked over the cells."""
        return IntervalTree.regular(self.size, (self.size,))

    @property
    def answer_axis(self) -> Axis:
        """The axis that a release of this question is over."""
        return self.axis

    def sensitivity(self, neighbours: Neighbours = "add-remove") -> int:
        return 2 if check_neighbours(neighbours) == "replace" and self.size > 1 else 1

    def price(self, neighbours: Neighbours = "add-remove") -> Fraction:
        return Fraction(self.sensitivity(neighbours))

    def answers(self, counts: npt.ArrayLike) -> Ints:
        return cell_counts(counts, self.size).copy()

    def matrix(self) -> csr_array[Any]:
        from scipy.sparse import csr_array, eye_array

        return csr_array(eye_array(self.size))

    def constraints(self) -> Constraints:
        from scipy.sparse import csr_array

        return Constraints(csr_array((0, self.length)), "==")

    def to_json(self) -> dict[str, Any]:
        return {"kind": "unit", "axis": self.axis.to_json()}
