"""A tree of intervals: which cells each node covers. Plain numpy, no compiling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trueup.arrays import Ints


@dataclass(frozen=True, eq=False)
class IntervalTree:
    """A tree over cells 0 … size − 1 whose leaves, the cells, all lie on the last level.

    Either regular, by the number of cells under a full node of each level (the last node of a
    level may be cut short), or by the first cell of each node. Level 0 is the root; nodes are
    numbered breadth first.
    """

    size: int
    widths: tuple[int, ...] = ()
    cuts: tuple[Ints, ...] = ()

    @staticmethod
    def regular(size: int, radices: Sequence[int]) -> IntervalTree:
        """The tree whose level l nodes have at most radices[l] children, filled from the left."""
        widths = [1]
        for radix in reversed(radices):
            widths.append(widths[-1] * radix)
        return IntervalTree(size, widths=tuple(reversed(widths)))

    @staticmethod
    def irregular(size: int, levels: Sequence[Ints]) -> IntervalTree:
        """The tree whose levels below the root begin nodes at the given cells."""
        root = np.zeros(1, np.int64)
        return IntervalTree(size, cuts=(root, *(np.asarray(level, np.int64) for level in levels)))

    @property
    def height(self) -> int:
        """The number of levels, as the paper counts: a root alone has height 1."""
        return len(self.widths) or len(self.cuts)

    def length(self, level: int) -> int:
        """How many nodes a level has."""
        return -(-self.size // self.widths[level]) if self.widths else len(self.cuts[level])

    @cached_property
    def level_starts(self) -> Ints:
        """The number of the first node of each level, and after the last the number of nodes."""
        lengths = [self.length(level) for level in range(self.height)]
        return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    def starts(self, level: int) -> Ints:
        """The first cell of each node of a level."""
        if self.widths:
            return np.arange(0, self.size, self.widths[level], dtype=np.int64)
        return self.cuts[level]

    def stops(self, level: int) -> Ints:
        """The cell after the last of each node of a level."""
        return np.append(self.starts(level)[1:], self.size)

    def bounds(self, level: int, node: int) -> tuple[int, int]:
        """The cells [start, stop) of one node of a level."""
        if self.widths:
            width = self.widths[level]
            return node * width, min((node + 1) * width, self.size)
        cuts = self.cuts[level]
        return int(cuts[node]), int(cuts[node + 1]) if node + 1 < len(cuts) else self.size

    def node_of(self, level: int, cells: Ints) -> Ints:
        """The node of a level that holds each cell."""
        if self.widths:
            return cells // self.widths[level]
        return np.searchsorted(self.cuts[level], cells, side="right").astype(np.int64) - 1

    def parents(self, level: int, nodes: Ints) -> Ints:
        """The parents, on this level, of nodes of the next."""
        if self.widths:
            return nodes // (self.widths[level] // self.widths[level + 1])
        return np.searchsorted(self._children[level], nodes, side="right").astype(np.int64) - 1

    def first_child(self, level: int, nodes: Ints) -> Ints:
        """The first child of nodes of a level; past the last node, the number of children."""
        if self.widths:
            radix = self.widths[level] // self.widths[level + 1]
            return np.minimum(nodes * radix, self.length(level + 1))
        return self._children[level][nodes]

    @cached_property
    def _children(self) -> list[Ints]:
        return [self.children(level) for level in range(self.height - 1)]

    def children(self, level: int) -> Ints:
        """For each node of a level its first child on the next level; one more entry at the end."""
        if self.widths:
            radix = self.widths[level] // self.widths[level + 1]
            below = self.length(level + 1)
            first = np.arange(self.length(level) + 1, dtype=np.int64) * radix
            return np.minimum(first, below)
        first = np.searchsorted(self.cuts[level + 1], self.cuts[level])
        return np.append(first, len(self.cuts[level + 1])).astype(np.int64)

    @cached_property
    def first(self) -> Ints:
        """The tree as one array: the children of node v are first[v] … first[v + 1] − 1."""
        parts = [
            self.children(level)[:-1] + self.level_starts[level + 1]
            for level in range(self.height - 1)
        ]
        nodes = int(self.level_starts[-1])
        leaves = np.full(self.length(self.height - 1) + 1, nodes, np.int64)
        return np.concatenate([*parts, leaves])
