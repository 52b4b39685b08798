"""L: the count of every cell."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.ask.question import (
    Block,
    Ints,
    Neighbours,
    Question,
    Space,
    as_axis,
    cell_counts,
    check_neighbours,
)
from trueup.axis import Axis
from trueup.intervaltree import IntervalTree

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, repr=False)
class CellCounts(Question):
    """L: the count of every cell.

    >>> CellCounts(Axis.integers("age", 0, 99)).sensitivity()
    1
    """

    axis: Axis
    kinds = ("unit",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", as_axis(self.axis))

    @property
    def space(self) -> Space:
        return Space("cells", (self.axis,), (self.axis,))

    @property
    def size(self) -> int:
        return self.axis.size

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

    def sensitivity(self, neighbours: Neighbours = "add-remove") -> int:
        return 2 if check_neighbours(neighbours) == "replace" and self.size > 1 else 1

    def price(self, neighbours: Neighbours = "add-remove") -> Fraction:
        return Fraction(self.sensitivity(neighbours))

    def square_price(self, neighbours: Neighbours = "add-remove") -> Fraction:
        return Fraction(self.sensitivity(neighbours))  # one or two answers move, by 1

    def answers(self, counts: npt.ArrayLike) -> Ints:
        return cell_counts(counts, self.size).copy()

    def labels(self) -> dict[str, Any]:
        cells = np.arange(self.size)
        return self.axis.columns(cells, cells + 1)

    def matrix(self) -> csr_array[Any]:
        from scipy.sparse import csr_array, eye_array

        return csr_array(eye_array(self.size))

    def to_json(self) -> dict[str, Any]:
        return {"kind": "unit", "axis": self.axis.to_json()}

    @classmethod
    def from_json(cls, spec: dict[str, Any]) -> CellCounts:
        return cls(Axis.from_json(spec["axis"]))
