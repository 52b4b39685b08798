"""Boxes in boxes, asked from the largest down: where little is left, neighbours are pooled."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints
from trueup.ask.adaptive_tree import AdaptiveTreeCounts
from trueup.ask.boxes import BoxCounts, chain_of_levels
from trueup.ask.pooled import Pooled, PooledQuestion, Rule, pooled_from
from trueup.ask.question import Block, Draw
from trueup.ask.several import block_labels, grid_counts
from trueup.ask.tree import TreeCounts
from trueup.axis import Axis
from trueup.errors import InputError
from trueup.intervaltree import IntervalTree
from trueup.intervaltree.boxes import nested

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SMALL, CROWDED = 3.0, 3.0  # standard deviations: from experiments on made-up grids


@dataclass(frozen=True, init=False, repr=False)
class AdaptiveBoxCounts(PooledQuestion):
    """The counts of a quadtree, asked from the root down, with few answers where it is empty.

    It is an adaptive tree over the cells in nested order: the boxes in a box are siblings, those
    beside each other in reading order may be pooled. `boxes` says what is asked where nothing is
    small: a `BoxCounts.quadtree`. `BoxCounts.quadtree(…, adaptive=True)` makes one.

    >>> asked = AdaptiveBoxCounts(BoxCounts.quadtree(64, 64))
    >>> asked.nested.tree.radices, asked.settled
    ((16, 16, 16), False)
    """

    boxes: BoxCounts
    pooled: Pooled | None
    kinds = ("adaptive quadtree",)
    again = "BoxCounts.quadtree(…, adaptive=True)"

    def __init__(self, boxes: BoxCounts, pooled: Pooled | None = None) -> None:
        if not isinstance(boxes, BoxCounts) or boxes.centred:
            raise InputError("An adaptive quadtree is made from BoxCounts.quadtree(…).")
        if boxes.levels != chain_of_levels(boxes.radices):
            raise InputError(
                "An adaptive quadtree asks boxes in boxes, level by level down to the cells: make "
                "it from BoxCounts.quadtree(…)."
            )
        object.__setattr__(self, "boxes", boxes)
        object.__setattr__(self, "pooled", pooled)
        self.nested  # noqa: B018  checks what was pooled

    @cached_property
    def _in_order(self) -> tuple[Ints, IntervalTree]:
        sides = zip(self.boxes.axes, self.boxes.radices, strict=True)
        return nested([IntervalTree.regular(axis.size, radices) for axis, radices in sides])

    @property
    def order(self) -> Ints:
        """The number of each cell, the last axis running fastest, in nested order."""
        return self._in_order[0]

    @cached_property
    def nested(self) -> AdaptiveTreeCounts:
        """The same question about the cells in nested order."""
        shape = self._in_order[1]
        lengths = [shape.length(level) for level in range(shape.height)]
        radices = [below // above for above, below in pairwise(lengths)]
        if not radices:
            return AdaptiveTreeCounts(TreeCounts(1, radices=(), shares=(1,)), self.pooled)
        tree = TreeCounts(shape.size, radices=radices, shares=(0, *self.boxes.shares))
        return AdaptiveTreeCounts(tree, self.pooled)

    def back(self, cells: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values of the cells in nested order as a table, one dimension an axis."""
        found = np.empty_like(cells)
        found[self.order] = cells
        return found.reshape(self.boxes.sizes)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes that are counted over."""
        return self.boxes.axes

    @property
    def at_once(self) -> BoxCounts:
        return self.boxes

    def count(self, table: Any) -> Ints:
        """How many rows of a table fall into each cell: its columns are named as the axes are."""
        return self.boxes.count(table)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self.nested.blocks

    @property
    def squares(self) -> tuple[Fraction, ...]:
        return self.nested.squares

    def measure_adaptively(
        self, counts: npt.ArrayLike, scale: Fraction, draw: Draw
    ) -> tuple[AdaptiveBoxCounts, Ints]:
        cells = grid_counts(counts, self.boxes.sizes).ravel()[self.order]
        settled, noisy = self.nested.measure_by(cells, scale, draw, Rule(SMALL, CROWDED))
        return AdaptiveBoxCounts(self.boxes, settled.pooled), noisy

    def check_answers(self, noisy: npt.NDArray[Any], scale: Fraction) -> None:
        self.nested.check_answers(noisy, scale)

    def in_order(self, answers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return self.nested.in_order(answers)

    def answers(self, counts: npt.ArrayLike) -> Ints:
        return self.nested.answers(grid_counts(counts, self.boxes.sizes).ravel()[self.order])

    def labels(self) -> dict[str, Any]:
        own = block_labels(self.boxes.sizes, self.block_lengths)
        return {**own, "pooled": self.nested.labels()["pooled"]}

    def matrix(self) -> csr_array[Any]:
        back = np.empty(math.prod(self.boxes.sizes), np.int64)
        back[self.order] = np.arange(len(back))
        return self.nested.matrix()[:, back]

    def to_json(self) -> dict[str, Any]:
        return self.with_pooled({"kind": self.kinds[0], "boxes": self.boxes.to_json()})

    @classmethod
    def from_json(cls, spec: dict[str, Any]) -> AdaptiveBoxCounts:
        return cls(BoxCounts.from_json(spec["boxes"]), pooled_from(spec))
