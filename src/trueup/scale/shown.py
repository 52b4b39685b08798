"""Counts made to be shown, of a tree that is larger than memory: from the root down, run by run.

A *block* is a node of one level of the narrow tree with all its cells; a *run* is some blocks that
are in memory together. Every run goes up; the tree above the blocks goes up, and is settled. Every
run is settled below its roots, and its cells are added up; the tree above is made whole. Then every
run is made whole below its roots. Each number is made from the same numbers in the same order as by
`infer(…, nonnegative=True, integers=True)`, in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup._kernels.display.nonnegative import node_sums
from trueup._kernels.display.rounding import whole_below
from trueup._kernels.display.topdown import fall_nodes, project_top_down, rise_nodes
from trueup._kernels.threads import in_threads
from trueup._kernels.tree import blocks
from trueup.arrays import Bools, Floats, Ints
from trueup.intervaltree import IntervalTree
from trueup.intervaltree.narrow import Level, forest, lengths, narrow_levels

Read = Callable[[int, int, int], npt.NDArray[Any]]
"""The noisy answers of nodes first … stop − 1 of a level of the tree."""

_NONE = np.empty(0)


@dataclass(frozen=True, eq=False)
class Roots:
    """Of every block: its settled count, and its whole count."""

    settled: Floats
    whole: Ints

    @cached_property
    def before(self) -> Ints:
        """The whole count of all blocks before each, and of all."""
        return np.concatenate([[0], np.cumsum(self.whole)])


@dataclass(frozen=True, eq=False)
class ShownTree:
    """A tree whose noisy answers are stored, with the weight of each asked level.

    `unit` is the standard error of an answer of weight 1, `most` the cells of a run. If it is
    `projected`, only cells are read, consistent ones, and made non-negative top-down.
    """

    tree: IntervalTree
    weights: Mapping[int, float]
    unit: float
    read: Read
    most: int
    threads: int = 1
    projected: bool = False

    @cached_property
    def _levels(self) -> tuple[Level, ...]:
        return narrow_levels(self.tree)

    @cached_property
    def _top(self) -> int:
        """The level whose nodes are the blocks: the highest whose nodes are small."""
        size = self.tree.size
        small = (min(level.width, size) <= blocks.SPAN for level in self._levels)
        return list(small).index(True)

    @property
    def _blocks(self) -> Level:
        return self._levels[self._top]

    @cached_property
    def roots(self) -> int:
        """How many blocks there are."""
        return int(self._blocks.node(self.tree.size - 1)) + 1

    @cached_property
    def _per_run(self) -> int:
        return max(1, self.most // self._blocks.width)

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return -(-self.roots // self._per_run)

    def blocks(self, run: int) -> slice:
        """The blocks of a run, by number."""
        return slice(run * self._per_run, min((run + 1) * self._per_run, self.roots))

    def _cell(self, block: int) -> int:
        """The first cell of a block; past the last one, the end."""
        return int(self._blocks.starts(block)) if block < self.roots else self.tree.size

    def _nodes(
        self, levels: tuple[Level, ...], start: int, stop: int, read: Read
    ) -> tuple[Floats, Floats]:
        """The noisy answers and weights of the nodes over some cells; 0 where not asked."""
        each = lengths(levels, start, stop)
        answers, weights = np.zeros(sum(each)), np.zeros(sum(each))
        taken = 0
        for level, length in zip(levels, each, strict=True):
            if level.own is not None and level.own in self.weights:
                first = int(level.node(start))
                answers[taken : taken + length] = read(level.own, first, first + length)
                weights[taken : taken + length] = self.weights[level.own]
            taken += length
        return answers, weights

    def _each(self, own: slice, work: Callable[[slice, _Pile], None]) -> None:
        """Some work on a few blocks at a time, in threads; their answers are read at once."""
        start, stop = self._cell(own.start), self._cell(own.stop)
        levels = self._levels[self._top :]
        held: dict[int, tuple[int, npt.NDArray[Any]]] = {}
        for level in levels:
            if level.own is not None and level.own in self.weights:
                span = int(level.node(start)), int(level.node(stop - 1)) + 1
                held[level.own] = span[0], self.read(level.own, *span)

        def part(level: int, first: int, end: int) -> npt.NDArray[Any]:
            begin, answers = held[level]
            return answers[first - begin : end - begin]

        few = max(1, blocks.SPAN // self._blocks.width)

        def some(begin: int, end: int) -> None:
            for k in range(begin, end):
                first = own.start + k * few
                each = slice(first, min(first + few, own.stop))
                a, b = self._cell(each.start), self._cell(each.stop)
                nodes = self._nodes(levels, a, b, part)
                pile = _Pile(forest(levels, a, b), *nodes, self.projected)
                work(each, pile)

        in_threads(some, -(-(own.stop - own.start) // few), self.threads)

    # Up.

    def rise(self, run: int) -> tuple[Floats, Floats]:
        """What each block of a run is estimated at from its own answers, and the variance."""
        own = self.blocks(run)
        found, variance = np.empty(own.stop - own.start), np.empty(own.stop - own.start)

        def work(each: slice, pile: _Pile) -> None:
            below = pile.rise(_NONE)
            place = slice(each.start - own.start, each.stop - own.start)
            found[place] = pile.values[: each.stop - each.start]
            variance[place] = _variances(below[0], pile.weights, each.stop - each.start)

        self._each(own, work)
        return found, variance

    def settle_above(self, found: Floats, variance: Floats) -> Floats:
        """The settled count of every block, from what all were estimated at."""
        levels = self._levels[: self._top + 1]
        start, stop = 0, self.tree.size
        values, weights = self._nodes(levels[:-1], start, stop, self.read)
        answer = float(values[0]) if self._top else math.nan
        if not self._top:  # one block: its root is that of the tree
            return found
        pile = _Pile(
            forest(levels, start, stop),
            np.concatenate([values, found]),
            np.concatenate([weights, np.zeros(len(found))]),
            self.projected,
        )
        pile.fall(pile.rise(variance), self.unit, answer)
        return pile.values[len(values) :].copy()

    # Down.

    def _settle(self, pile: _Pile, settled: Floats) -> Floats:
        """Settles a pile below its roots; its cells."""
        answer = math.nan if self._top else float(pile.values[0])
        below = pile.rise(_NONE)
        if self._top:
            pile.values[: len(settled)] = settled
        pile.fall(below, self.unit, answer)
        return pile.leaves

    def sums(self, run: int, settled: Floats) -> Floats:
        """The sum of the settled cells of each block of a run."""
        own = self.blocks(run)
        found = np.empty(own.stop - own.start)

        def work(each: slice, pile: _Pile) -> None:
            cells = self._settle(pile, settled[each])
            number = each.stop - each.start
            found[each.start - own.start : each.stop - own.start] = node_sums(pile.first, cells)[
                :number
            ]

        self._each(own, work)
        return found

    def whole_above(self, sums: Floats) -> Ints:
        """The whole count of every block."""
        first = forest(self._levels[: self._top + 1], 0, self.tree.size)
        values = node_sums(first, sums)
        root = np.array([math.floor(values[0] + 0.5)], np.int64)
        return whole_below(first, values, root, True)[len(first) - 1 - len(sums) :]

    def whole(self, start: int, stop: int, roots: Roots) -> tuple[Ints, int]:
        """The whole counts of cells start … stop − 1, and of all the cells before them."""
        level = self._blocks
        own = slice(int(level.node(start)), int(level.node(stop - 1)) + 1)
        begin = self._cell(own.start)
        found = np.empty(self._cell(own.stop) - begin, np.int64)

        def work(each: slice, pile: _Pile) -> None:
            cells = self._settle(pile, roots.settled[each])
            values = node_sums(pile.first, cells)
            whole = whole_below(pile.first, values, roots.whole[each], True)
            place = slice(self._cell(each.start) - begin, self._cell(each.stop) - begin)
            found[place] = whole[len(whole) - len(cells) :]

        self._each(own, work)
        before = int(roots.before[own.start]) + int(found[: start - begin].sum())
        return found[start - begin : stop - begin], before


@dataclass(frozen=True, eq=False)
class _Pile:
    """A few blocks with all that is below them, breadth first."""

    first: Ints
    values: Floats
    weights: Floats
    projected: bool

    def rise(self, ends: Floats) -> tuple[Floats, Floats, Floats]:
        if self.projected:
            self.values[:] = node_sums(self.first, self.leaves)
            return np.zeros(len(self.values)), _NONE, _NONE
        return rise_nodes(self.first, self.values, self.weights, ends)

    def fall(self, below: tuple[Floats, Floats, Floats], unit: float, answer: float) -> None:
        if self.projected:
            self.values[self._ends] = project_top_down(self.first, self.values)
            return
        fall_nodes(self.first, self.values, self.weights, below, unit, 0.0, answer)

    @property
    def _ends(self) -> Bools:
        return self.first[:-1] == self.first[1:]

    @property
    def leaves(self) -> Floats:
        return self.values[self._ends]


def _variances(known: Floats, weights: Floats, roots: int) -> Floats:
    """The variances of the roots of a pile; of those that are cells, 1 / weight."""
    if len(known) >= roots:
        return known[:roots]
    return 1.0 / weights[:roots]
