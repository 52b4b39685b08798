"""Grids: products of questions over two axes and more."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints
from trueup.ask.boxes import BoxCounts
from trueup.ask.cells import CellCounts
from trueup.ask.hats import HatCounts
from trueup.ask.kinds import question_from_json
from trueup.ask.question import Block, Neighbours, Space, check_neighbours
from trueup.ask.several import (
    MOST_CELLS,
    TableQuestion,
    check_grid,
    grid_axis,
    grid_counts,
    nested_boxes,
)
from trueup.ask.tree import TreeCounts
from trueup.axis import Axis
from trueup.errors import InputError
from trueup.intervaltree import IntervalTree

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Factor = CellCounts | TreeCounts | HatCounts

_HEAVIEST = 1 << 40


@dataclass(frozen=True, init=False, repr=False)
class GridCounts(TableQuestion):
    """The product of a question over each axis: every answer of one with every of the others.

    For an axis, the question that suits its size is chosen: hats if there are many cells, plain
    counts if there are few or if they are labels, the levels of a hierarchy. Each product of
    answers gets the product of their shares of ε. Counts are an array with one dimension for each
    axis; answers come block by block, the last axis running fastest.

    `marginals`, lists of names of axes, asks only for these margins of the table, each with the
    same part of ε, and not for its cells; see `BoxCounts.marginals`.

    >>> age, month = Axis.integers("age", 0, 99), Axis.dates("month", "2013-01", "2013-12", "month")
    >>> grid = GridCounts(age, month)
    >>> grid.sizes, [type(factor).__name__ for factor in grid.factors], grid.price()
    ((100, 12), ['HatCounts', 'HatCounts'], Fraction(1, 1))
    """

    factors: tuple[Factor, ...]
    kinds = ("grid",)

    def __new__(
        cls, *axes: Axis | int | Factor, marginals: Iterable[Iterable[str]] | None = None
    ) -> Any:
        # Margins alone are no product: another question, for which this is the name to ask by.
        if marginals is None:
            return super().__new__(cls)
        for axis in axes:
            if not isinstance(axis, (Axis, int, np.integer)):
                raise InputError(
                    f"Marginals count the cells of axes; give the axes alone, not {axis!r}."
                )
        return BoxCounts.marginals(*axes, marginals=marginals)  # type: ignore[arg-type]

    def __init__(
        self, *axes: Axis | int | Factor, marginals: Iterable[Iterable[str]] | None = None
    ) -> None:
        if len(axes) < 2:
            raise InputError(
                f"A grid needs two axes or more, got {len(axes)}; ask HatCounts of one."
            )
        factors = tuple(_factor(axis, number) for number, axis in enumerate(axes))
        object.__setattr__(self, "factors", factors)
        answers = math.prod(q.length for q in factors)
        check_grid([factor.axis for factor in factors], 0 if self._lines else answers)
        if self.heaviest > _HEAVIEST:
            raise InputError(
                f"The hats of this grid weigh up to {self.heaviest:,}; at most {_HEAVIEST:,} can "
                f"be added up in 64 bits. Ask smaller strides."
            )

    @property
    def _lines(self) -> bool:
        """Whether it is cells by a tree, which may be larger than memory: a line at a time."""
        return len(self.factors) == 2 and tuple(map(type, self.factors)) == (CellCounts, TreeCounts)

    def check_new(self) -> None:
        if self.length > MOST_CELLS:
            raise InputError(
                f"The grid has {self.length:,} answers, more than are kept in memory. Publish it "
                f"to a folder: publish(…, to='folder')."
            )

    @property
    def space(self) -> Space:
        return Space("cells", self.axes, self.axes)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes, in order."""
        return tuple(factor.axis for factor in self.factors)

    @property
    def heaviest(self) -> int:
        """No cell weighs more in an answer, nor in a sum on the way to it."""
        return math.prod(factor.heaviest for factor in self.factors)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """How many answers each axis's question has."""
        return tuple(factor.length for factor in self.factors)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(
            (math.prod(length for length, _ in each), math.prod((w for _, w in each), start=_ONE))
            for each in itertools.product(*(factor.blocks for factor in self.factors))
        )

    @property
    def shapes(self) -> list[IntervalTree]:
        """A tree over each axis: what counts for people are handed down by, box by box."""
        axes = len(self.factors)
        return [
            factor.shape
            if isinstance(factor, TreeCounts) and factor.levels
            else nested_boxes(factor.size, axes)
            for factor in self.factors
        ]

    def _places(self) -> Iterator[tuple[slice, ...]]:
        """Where each block lies in the array of all answers, one dimension an axis."""
        runs = []
        for factor in self.factors:
            ends = itertools.accumulate(factor.block_lengths, initial=0)
            runs.append([slice(a, b) for a, b in itertools.pairwise(ends)])
        yield from itertools.product(*runs)

    def as_array(self, flat: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Answers block by block as an array with one dimension an axis."""
        array = np.empty(self.lengths, flat.dtype)
        taken = 0
        for place, (length, _) in zip(self._places(), self.blocks, strict=True):
            array[place] = flat[taken : taken + length].reshape(array[place].shape)
            taken += length
        return array

    def as_flat(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The answers of an array with one dimension an axis, block by block."""
        return np.concatenate([array[place].ravel() for place in self._places()])

    def sensitivity(self, neighbours: Neighbours = "add-remove") -> int:
        one = math.prod(factor.sensitivity() for factor in self.factors)
        if check_neighbours(neighbours) == "add-remove":
            return one
        return 2 * one if self._spared else max(one, int(self._apart([_ONE] * len(self.blocks))))

    def price(self, neighbours: Neighbours = "add-remove") -> Fraction:
        one = math.prod((factor.price() for factor in self.factors), start=_ONE)
        if check_neighbours(neighbours) == "add-remove":
            return one
        return 2 * one if self._spared else max(one, self._furthest)

    def square_price(self, neighbours: Neighbours = "add-remove") -> Fraction:
        # A cell's column is the product of the axes' columns, and so is its square. No weight is
        # negative: the squared distance of two columns is at most the sum of their squares.
        one = math.prod((factor.square_price() for factor in self.factors), start=_ONE)
        return one if check_neighbours(neighbours) == "add-remove" or self.size == 1 else 2 * one

    @cached_property
    def _furthest(self) -> Fraction:
        return self._apart([weight for _, weight in self.blocks])

    @property
    def _spared(self) -> bool:
        """Whether some axis has two cells under no common answer: all its answers are cells, or
        hats are left out.

        Two cells of the grid that differ there, and pay in full on all axes, are as far apart as
        any can be.
        """
        return any(
            (isinstance(factor, HatCounts) and not factor.ends)
            or (factor.size > 1 and factor.sensitivity() == 1)
            for factor in self.factors
        )

    def _apart(self, weights: list[Fraction]) -> Fraction:
        """How far apart the columns of two opposite corners are, at most.

        On each axis, and for hats, nodes and cells alike, what two columns share can only shrink
        as their cells move apart, whatever they are multiplied by on the other axes. So no two
        cells are further apart than the corners that lie on their sides.
        """
        corners = []
        for factor, matrix in zip(self.factors, self._matrices, strict=True):
            ends = matrix.tocsc()[:, [0, factor.size - 1]].toarray()
            cuts = np.cumsum(factor.block_lengths)[:-1]
            # Of each block the rows that either end enters.
            corners.append([block[block.any(axis=1)] for block in np.split(ends, cuts)])
        found = []
        for turned in itertools.product((0, 1), repeat=len(corners) - 1):
            total = Fraction(0)
            for weight, parts in zip(weights, itertools.product(*corners), strict=True):
                first, last = (
                    math.prod(
                        np.ix_(*(p[:, end ^ t] for p, t in zip(parts, (0, *turned), strict=True)))
                    )
                    for end in (0, 1)
                )
                total += weight * int(np.abs(first - last).sum())
            found.append(total)
        return max(found)

    @cached_property
    def _matrices(self) -> list[csr_array[Any]]:
        return [factor.matrix().astype(np.int64) for factor in self.factors]

    def answers(self, counts: npt.ArrayLike) -> Ints:
        array = grid_counts(counts, self.sizes)
        for number, (factor, matrix) in enumerate(zip(self.factors, self._matrices, strict=True)):
            lines = np.moveaxis(array, number, 0)
            found = matrix @ np.ascontiguousarray(lines).reshape(factor.size, -1)
            array = np.moveaxis(found.reshape(factor.length, *lines.shape[1:]), 0, number)
        return np.asarray(self.as_flat(array), np.int64)

    def matrix(self) -> csr_array[Any]:
        from scipy.sparse import csr_array, kron, vstack

        parts = []
        for factor in self.factors:
            ends, rows = itertools.accumulate(factor.block_lengths, initial=0), factor.matrix()
            parts.append([rows[a:b] for a, b in itertools.pairwise(ends)])
        found = []
        for each in itertools.product(*parts):
            product = each[0]
            for part in each[1:]:
                product = csr_array(kron(product, part))
            found.append(product)
        return csr_array(vstack(found))

    def to_json(self) -> dict[str, Any]:
        return {"kind": "grid", "factors": [factor.to_json() for factor in self.factors]}

    @classmethod
    def from_json(cls, spec: dict[str, Any]) -> GridCounts:
        return cls(*(question_from_json(factor) for factor in spec["factors"]))  # type: ignore[arg-type]


_ONE = Fraction(1)


def _factor(axis: Axis | int | Factor, number: int) -> Factor:
    if isinstance(axis, (CellCounts, TreeCounts, HatCounts)):
        if axis.space.answer_axes[0].size != axis.size:
            raise InputError(
                f"In a grid the finest level of '{axis.axis.name}' must be its cells. Use "
                f"axis.coarsen(level) for a coarser axis."
            )
        return axis
    axis = grid_axis(axis, number)
    if axis.traits.nested:
        return TreeCounts(axis)
    return CellCounts(axis) if axis.traits.labelled else HatCounts(axis)
