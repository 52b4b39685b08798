"""A hierarchy in slabs: least squares of a tree of uneven nodes, a part of it in memory at a time.

A *block* is a node of one level, the highest whose nodes are all small, with all that is below it;
a slab is a run of blocks. Where nodes begin is kept in memory, as the axis keeps it; answers,
counts and what is fitted are not. Each number is made from the same numbers in the same order as
by `any_tree_by_level.fit_by_levels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trueup._kernels.threads import in_threads
from trueup._kernels.tree.any_tree_by_level import Risen, fall_levels, rise_levels
from trueup._kernels.tree.fused import Noise as Drawn
from trueup._kernels.tree.fused import Run
from trueup.arrays import Floats, Ints
from trueup.infer.model import AskedLevels
from trueup.intervaltree import IntervalTree
from trueup.noise import Noise

_TOGETHER = 1 << 16  # answers that are drawn by one thread at a time


@dataclass(frozen=True, eq=False)
class NestedSlabs:
    """A hierarchy in slabs of at most so many cells.

    `weights` has the weight of every asked level; `first_cells` says where the cells of the tree
    begin on the axis, None where they are its own.
    """

    shape: IntervalTree
    weights: dict[int, float]
    first_cells: Ints | None
    axis_size: int
    most: int
    threads: int = 1

    @staticmethod
    def of(noise: Noise, levels: AskedLevels, most: int, threads: int = 1) -> NestedSlabs:
        """The hierarchy that is asked, under this noise."""
        weights = dict(zip(levels.asked, noise.relative_weights, strict=True))
        size = noise.question.size
        return NestedSlabs(levels.tree, weights, levels.first_cells, size, most, threads)

    @property
    def size(self) -> int:
        """How many cells the tree has."""
        return self.shape.size

    @cached_property
    def top(self) -> int:
        """The level whose nodes are the blocks: cells, if no other has small nodes alone."""
        widest = (
            int(np.diff(np.append(self.shape.starts(level), self.size)).max())
            for level in range(self.shape.height)
        )
        return next(level for level, width in enumerate(widest) if width <= self.most or width == 1)

    @property
    def roots(self) -> int:
        """How many blocks there are."""
        return self.shape.length(self.top)

    @cached_property
    def _cuts(self) -> Ints:
        """The first block of every slab, and the end."""
        ends, found = np.append(self.shape.starts(self.top), self.size), [0]
        while found[-1] < self.roots:
            reach = int(ends[found[-1]]) + self.most
            found.append(int(np.searchsorted(ends, reach, side="right")) - 1)
        return np.array(found)

    @property
    def number(self) -> int:
        """How many slabs there are."""
        return len(self._cuts) - 1

    def blocks(self, slab: int) -> slice:
        """The blocks of a slab, by number."""
        return slice(int(self._cuts[slab]), int(self._cuts[slab + 1]))

    @cached_property
    def _ends(self) -> Ints:
        """The first cell of every slab, and the end."""
        return np.append(self.shape.starts(self.top), self.size)[self._cuts]

    def cells(self, slab: int) -> tuple[int, int]:
        """The cells [start, stop) of a slab, of the tree."""
        return int(self._ends[slab]), int(self._ends[slab + 1])

    def counted(self, slab: int) -> tuple[int, int]:
        """The cells of the axis that are counted for a slab."""
        start, stop = self.cells(slab)
        if self.first_cells is None:
            return start, stop
        last = self.axis_size if stop == self.size else int(self.first_cells[stop])
        return int(self.first_cells[start]), last

    def slab_of(self, cell: int) -> int:
        """The slab that holds a cell of the tree."""
        return int(np.searchsorted(self._ends, cell, side="right")) - 1

    def _nodes(self, level: int, start: int, stop: int) -> tuple[int, int]:
        """The nodes [first, stop) of a level over some cells, which begin and end with nodes."""
        first, end = np.searchsorted(self.shape.starts(level), [start, stop]).tolist()
        return first, end

    def _levels(self, slab: int) -> list[tuple[int, int, int]]:
        """Of every level of a slab, blocks first: level, first node, and the node after the last.

        Number ABOVE has those above the blocks.
        """
        if slab < 0:
            return [(level, 0, self.shape.length(level)) for level in range(self.top)]
        cells = self.cells(slab)
        return [
            (level, *self._nodes(level, *cells)) for level in range(self.top, self.shape.height)
        ]

    def length(self, slab: int) -> int:
        """How many answers a slab has."""
        each = self._levels(slab)
        return sum(stop - first for level, first, stop in each if level in self.weights)

    @property
    def length_above(self) -> int:
        """How many answers there are above the blocks."""
        return self.length(-1)

    # The first pass.

    def _noised(self, slab: int, counts: dict[int, Ints], noise: Drawn) -> Ints:
        """The noisy answers of a slab, level by level, from the true counts of each level."""
        parts, runs, begin = list[Ints](), list[Run](), 0
        for level, first, stop in self._levels(slab):
            if level in self.weights:
                parts.append(counts[level])
                for node in range(first, stop, _TOGETHER):
                    end = min(node + _TOGETHER, stop)
                    place = begin + node - first
                    runs.append(Run(level, place, place + end - node, node))
                begin += stop - first
        answers = np.concatenate([np.empty(0, np.int64), *parts])
        in_threads(lambda a, b: noise(answers, runs[a:b], 0), len(runs), self.threads)
        return answers

    def _added_up(self, levels: Sequence[tuple[int, int, int]], below: Ints) -> dict[int, Ints]:
        """The true counts of the nodes of some levels, from those of the lowest."""
        counts = {levels[-1][0]: below}
        for level, first, stop in reversed(levels[:-1]):
            begins = self.shape.first_child(level, np.arange(first, stop))
            below = np.add.reduceat(below, begins - begins[0])
            counts[level] = below
        return counts

    def _own(self, slab: int, cells: Ints) -> Ints:
        """The counts of the tree's cells, from those of the axis's."""
        if self.first_cells is None:
            return np.ascontiguousarray(cells, np.int64)
        start, stop = self.cells(slab)
        begins = self.first_cells[start:stop]
        return np.add.reduceat(np.asarray(cells, np.int64), begins - begins[0])

    def draw(self, slab: int, cells: Ints, noise: Drawn) -> tuple[Ints, Ints]:
        """The noisy answers of a slab, and the true totals of its blocks."""
        counts = self._added_up(self._levels(slab), self._own(slab, cells))
        totals = counts[self.top].copy()
        return self._noised(slab, counts, noise), totals

    def totals(self, slab: int, cells: Ints) -> Ints:
        """The true totals of the blocks of a slab."""
        return self._added_up(self._levels(slab), self._own(slab, cells))[self.top]

    def draw_above(self, totals: Ints, noise: Drawn) -> Ints:
        """The noisy answers above the blocks, whose true totals are given."""
        levels = [*self._levels(-1), (self.top, 0, self.roots)]
        return self._noised(-1, self._added_up(levels, totals), noise)

    # The second pass.

    def by_level(self, slab: int, answers: Ints) -> dict[int, tuple[int, Ints]]:
        """The answers of a slab level by level: the number of the first node, and all of them."""
        found, taken = dict[int, tuple[int, Ints]](), 0
        for level, first, stop in self._levels(slab):
            if level in self.weights:
                found[level] = first, answers[taken : taken + stop - first]
                taken += stop - first
        return found

    def above_by_level(self, answers: Ints) -> dict[int, tuple[int, Ints]]:
        """As `by_level`, for the answers above the blocks."""
        return self.by_level(-1, answers)

    def first_cell(self, level: int, node: int) -> int:
        """The first cell of a node."""
        return self.shape.bounds(level, node)[0]

    def _risen(
        self, slab: int, answers: Ints, roots: Floats | None = None, ends: Floats | None = None
    ) -> tuple[Risen, Floats]:
        """The nodes of a slab gone up; above the slabs, on top of the blocks' roots."""
        levels, known = self._levels(slab), self.by_level(slab, answers)
        if roots is not None:
            levels = [*levels, (self.top, 0, self.roots)]
        bounds = np.concatenate([[0], np.cumsum([stop - first for _, first, stop in levels])])
        fitted, weights = np.zeros(int(bounds[-1])), np.zeros(int(bounds[-1]))
        parts = []
        for k, (level, first, stop) in enumerate(levels):
            own = slice(int(bounds[k]), int(bounds[k + 1]))
            if level in known:
                fitted[own], weights[own] = known[level][1], self.weights[level]
            if k + 1 < len(levels):
                begins = self.shape.first_child(level, np.arange(first, stop))
                parts.append(begins - levels[k + 1][1] + int(bounds[k + 1]))
        if roots is not None:
            fitted[bounds[-2] :] = roots
        first_child = np.concatenate([*parts, [int(bounds[-1])]]).astype(np.int64)
        return rise_levels(first_child, bounds, fitted, weights, ends), fitted

    def rise(self, slab: int, answers: Ints) -> tuple[Floats, Floats]:
        """What is fitted to each block of a slab from its own answers, and its variance."""
        number = self.blocks(slab).stop - self.blocks(slab).start
        risen, fitted = self._risen(slab, answers)
        return fitted[:number].copy(), risen.variances[:number].copy()

    def final_steps(self, above: Ints, roots: Floats, steps: Floats) -> Floats:
        """The final count of every block, from what all were fitted to, and the variances."""
        if self.top == 0:
            return roots
        risen, fitted = self._risen(-1, above, roots, steps)
        fall_levels(risen, fitted)
        return fitted[len(fitted) - self.roots :]

    def fall(self, slab: int, answers: Ints, steps: Floats, leaves: Floats) -> None:
        """Writes the fitted cells of a slab, the counts of its blocks being final."""
        risen, fitted = self._risen(slab, answers)
        fitted[: len(steps)] = steps
        fall_levels(risen, fitted)
        start, stop = self.cells(slab)
        leaves[:] = fitted[len(fitted) - (stop - start) :]
