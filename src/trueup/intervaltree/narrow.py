"""A tree made narrow, as `readable.grouped` makes it.

A regular one is made by arithmetic: no node is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from trueup.arrays import Ints
from trueup.intervaltree import IntervalTree
from trueup.intervaltree.readable import GROUP, WIDE, grouped


@dataclass(frozen=True)
class NarrowLevel:
    """Nodes of so many cells, beginning anew in every run of `within` cells.

    `own` is the level of the tree that it is, None where it was put in.
    """

    within: int
    width: int
    own: int | None

    @property
    def _each(self) -> int:
        return -(-self.within // self.width)

    def node(self, cells: Any) -> Any:
        """The number of the node that holds each cell."""
        return cells // self.within * self._each + cells % self.within // self.width

    def starts(self, nodes: Any) -> Any:
        """The first cell of each node."""
        return nodes // self._each * self.within + nodes % self._each * self.width


@dataclass(frozen=True, eq=False)
class CutLevel:
    """Nodes that begin at these cells; `width` is that of the widest."""

    cuts: Ints
    width: int
    own: int | None

    def node(self, cells: Any) -> Any:
        """The number of the node that holds each cell."""
        return np.searchsorted(self.cuts, cells, side="right") - 1

    def starts(self, nodes: Any) -> Any:
        """The first cell of each node."""
        return self.cuts[nodes]


Level = NarrowLevel | CutLevel


def _cut_levels(tree: IntervalTree) -> tuple[CutLevel, ...]:
    """The levels of any tree and those put in, root first."""
    narrow, own = grouped(tree)
    found = {place: level for level, place in enumerate(own)}
    return tuple(
        CutLevel(starts, int(np.diff(np.append(starts, tree.size)).max()), found.get(level))
        for level, starts in enumerate(narrow.starts(level) for level in range(narrow.height))
    )


def narrow_levels(tree: IntervalTree) -> tuple[Level, ...]:
    """The levels of a tree and those put in, root first: those of `grouped`."""
    if not tree.widths:
        return _cut_levels(tree)
    widths = tree.widths
    found = [NarrowLevel(widths[0], widths[0], 0)]
    for level in range(1, tree.height):
        within, width = widths[level - 1], widths[level]
        children, groups = min(within // width, tree.length(level)), list[NarrowLevel]()
        while children > WIDE:
            children = -(-children // GROUP)
            groups.append(NarrowLevel(within, width * GROUP ** (len(groups) + 1), None))
        found += [*reversed(groups), NarrowLevel(within, width, level)]
    return tuple(found)


def lengths(levels: Sequence[Level], start: int, stop: int) -> list[int]:
    """How many nodes of each level the cells start … stop − 1 have."""
    return [level.node(stop - 1) - level.node(start) + 1 for level in levels]


def forest(levels: Sequence[Level], start: int, stop: int) -> Ints:
    """The nodes of these levels over the cells start … stop − 1, as `IntervalTree.first`.

    The nodes of the first level are the roots; one of them begins at `start`.
    """
    each = lengths(levels, start, stop)
    begins = np.concatenate([[0], np.cumsum(each)])
    parts = []
    for k, (level, below) in enumerate(pairwise(levels)):
        nodes = np.arange(each[k], dtype=np.int64) + level.node(start)
        parts.append(below.node(level.starts(nodes)) - below.node(start) + begins[k + 1])
    parts.append(np.full(each[-1] + 1, begins[-1]))
    return np.concatenate(parts).astype(np.int64, copy=False)
