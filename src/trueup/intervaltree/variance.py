"""Exact variances and noise coefficients of any range after least squares on a tree.

For a node, given only what was asked at or below it, let V be the variance of its total; for a
part q of it Q = Var(q) and C = Cov(q, total). Children are independent, so their V, C and Q add,
t = ΣV; a noisy answer of weight w = 1/variance for the node itself then turns

    V = t / (1 + wt),   C → C / (1 + wt),   Q → Q − wC² / (1 + wt).

A range touches the nodes on the paths to its two ends; all others are covered or left out whole.
Plain numpy, no compiling: a single answer should not wait for a compiler.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.intervaltree import IntervalTree


class Level(NamedTuple):
    """What is known of the nodes of one level, by kind of node.

    In a regular tree there are two kinds, 0 the full ones and 1 the last; in an irregular tree
    every node is of its own kind.
    """

    weight: Floats  # of the node's own answer, 0 where it was not asked
    below: Floats  # t: the variance of its total from the answers below it alone
    variance: Floats  # V: from its own answer too
    shrink: Floats  # V / t
    gain: Floats  # w / (1 + wt)


def _level(weight: Floats, below: Floats) -> Level:
    shrink = 1 / (1 + weight * below)
    return Level(weight, below, below * shrink, shrink, weight * shrink)


@dataclass(frozen=True, eq=False)
class TreeVariance:
    """The variances of a tree's nodes, from the weight of each answer.

    `weights` is one number a level, or one array a level by kind of node: for a regular tree
    (full nodes, last node), for an irregular one an entry for each node.
    """

    shape: IntervalTree
    weights: Sequence[float | Floats]

    @property
    def regular(self) -> bool:
        return bool(self.shape.widths)

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """What is known of each level, root first."""
        height = self.shape.height
        weights = [self._by_kind(level) for level in range(height)]
        leaf = weights[-1]
        nothing = np.zeros_like(leaf)
        with np.errstate(divide="ignore"):
            last = Level(leaf, nothing + np.inf, 1 / leaf, nothing, leaf)
        found = [last]
        for level in range(height - 2, -1, -1):
            V = found[-1].variance
            if self.regular:
                k, m = self.fan_out(level)
                below = np.array([k * V[0], m * V[0] + V[1]])
            else:
                below = np.add.reduceat(V, self.shape.children(level)[:-1])
            found.append(_level(weights[level], below))
        return tuple(reversed(found))

    def _by_kind(self, level: int) -> Floats:
        kinds = 2 if self.regular else self.shape.length(level)
        return np.broadcast_to(np.asarray(self.weights[level], np.float64), kinds).copy()

    def fan_out(self, level: int) -> tuple[int, int]:
        """In a regular tree: the children of a full node; the last node's, before its last."""
        width, below = self.shape.widths[level : level + 2]
        return width // below, ((self.shape.size - 1) % width) // below

    def _kind(self, level: int, nodes: Ints) -> Ints:
        if self.regular:
            return (nodes == self.shape.length(level) - 1).astype(np.int64)
        return nodes

    @cached_property
    def _before(self) -> tuple[Floats, ...]:
        """In an irregular tree: for each node the variance of its earlier siblings together."""
        found = [np.zeros(1)]
        for level in range(1, self.shape.height):
            V = self.levels[level].variance
            running = np.concatenate([[0.0], np.cumsum(V)])
            first = self.shape.children(level - 1)
            # Subtracting the parent's start keeps the sums small, and so exact enough.
            before = running[:-1] - np.repeat(running[first[:-1]], np.diff(first))
            found.append(np.append(before, np.nan))
        return tuple(found)

    def before(self, level: int, nodes: Ints, parents: Ints) -> Floats:
        """The variance, together, of the children of `parents` left of `nodes`.

        A node number may be one past the last: then it is that of all the parent's children.
        """
        end = self.shape.length(level)
        if self.regular:
            width, below = self.shape.widths[level - 1 : level + 1]
            found = (nodes - parents * (width // below)) * self.levels[level].variance[0]
        else:
            found = self._before[level][nodes]
        past = nodes == end
        if past.any():
            whole = self.levels[level - 1].below[self._kind(level - 1, parents)]
            found = np.where(past, whole, found)
        return found

    def node_of(self, level: int, cuts: Ints) -> Ints:
        """The node a cut between cells lies in; at the end of the axis, the last one.

        On the last level a cut has a cell to its right, or is one past the last.
        """
        if level == self.shape.height - 1:
            return cuts
        inside = np.minimum(cuts, self.shape.size - 1)
        return self.shape.node_of(level, inside)

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of the count in each [start, stop), after least squares.

        >>> tree = TreeVariance(IntervalTree.regular(4, (2, 2)), (1 / 2, 1 / 2, 1 / 2))
        >>> tree.range_variances([0, 0, 0], [1, 2, 4]).round(6).tolist()
        [1.238095, 0.952381, 1.142857]
        """
        i, j = np.asarray(starts, np.int64), np.asarray(stops, np.int64)
        i, j = np.minimum(i, j), np.maximum(i, j)
        zero = np.zeros(i.shape)
        fi = fj = gi = gj = C = Q = zero
        child_i, child_j = i, j
        joined = i == j
        if self.shape.height == 1:
            return np.where(joined, zero, self.levels[0].variance[-1])
        for level in range(self.shape.height - 2, -1, -1):
            known = self.levels[level]
            node_i, node_j = self.node_of(level, i), self.node_of(level, j)
            before_i = self.before(level + 1, child_i, node_i)
            before_j = self.before(level + 1, child_j, node_j)
            Fi, Fj = before_i + fi, before_j + fj
            now = (node_i == node_j) & ~joined
            C = np.where(now, Fj - Fi, C)
            Q = np.where(now, before_j - before_i - 2 * fi + gi + gj, Q)
            joined = joined | now
            kind = self._kind(level, node_i)
            shrink, gain = known.shrink[kind], known.gain[kind]
            Q, C = Q - gain * C * C, C * shrink
            gi, fi = before_i + gi - gain * Fi * Fi, Fi * shrink
            kind = self._kind(level, node_j)
            shrink, gain = known.shrink[kind], known.gain[kind]
            gj, fj = before_j + gj - gain * Fj * Fj, Fj * shrink
            child_i, child_j = node_i, node_j
        return np.maximum(Q, 0.0)
