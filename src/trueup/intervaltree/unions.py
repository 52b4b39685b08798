"""Any union of cells of a tree: what every noisy answer counts for in its least-squares estimate.

As in `coefficients`, an estimate q of cell values a_i puts w_u · Cov(q, x_u) on the noisy answer of
node u. A node is *touched* if values change inside it. Under a node that is not touched, whether
counted or left out, covariances fall off by V_c / t alone, whatever the values: so the sums of the
squared coefficients of all its nodes, level by level, are known once and for all, and the variance
of q takes the touched nodes and their children, and no others. The law of q needs every
coefficient; cells under one node that is not touched share theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trueup.arrays import Bools, Floats, Ints
from trueup.intervaltree import IntervalTree

Classes = tuple[Floats, Floats]
"""Coefficients of noisy answers, and how many answers have each."""


@dataclass(frozen=True, eq=False)
class _Touched:
    """The children of the touched nodes of one level, and the covariances of q with them."""

    nodes: Ints  # those touched
    children: Ints
    number: Ints  # of children, of each node
    touched: Bools  # which of the children
    covariance: Floats  # C of each child, from what was asked at or below it
    variance: Floats  # V of each child


@dataclass(frozen=True, eq=False)
class TreeUnions:
    """Coefficients of estimates on a tree of any shape: one weight a level, 0 where not asked."""

    shape: IntervalTree
    weights: tuple[float, ...]

    @property
    def _last(self) -> int:
        return self.shape.height - 1

    @property
    def _leaf(self) -> float:
        """V of a cell."""
        return 1 / self.weights[-1]

    @cached_property
    def _children(self) -> list[Ints]:
        return [self.shape.children(level) for level in range(self._last)]

    @cached_property
    def _known(self) -> tuple[list[Floats], list[Floats]]:
        """t and V of every node above the cells, level by level."""
        below, variance = list[Floats](), list[Floats]()
        for level in range(self._last - 1, -1, -1):
            first = self._children[level]
            if level == self._last - 1:
                t = np.diff(first) * self._leaf
            else:
                t = np.add.reduceat(variance[0], first[:-1])
            below.insert(0, t)
            variance.insert(0, t / (1 + self.weights[level] * t))
        return below, variance

    @cached_property
    def _squares(self) -> list[Floats]:
        """Of every node above the cells, if q has covariance 1 with it and it is not touched: the
        sum of the squared covariances with the nodes of each level under it, itself among them."""
        below, variance = self._known
        found = list[Floats]()
        for level in range(self._last - 1, -1, -1):
            first = self._children[level]
            sums = np.zeros((len(first) - 1, self.shape.height))
            sums[:, level] = 1.0
            if level == self._last - 1:
                sums[:, -1] = np.diff(first) * (self._leaf / below[level]) ** 2
            else:
                each = found[0] * variance[level + 1][:, None] ** 2
                sums += np.add.reduceat(each, first[:-1], axis=0) / below[level][:, None] ** 2
            found.insert(0, sums)
        return found

    def _rise(self, cuts: Ints, values: Floats) -> tuple[list[_Touched], list[Floats]]:
        """The families under the touched nodes, and ΣC of the children of each such node."""
        families, sums = list[_Touched](), list[Floats]()
        above: tuple[Ints, Floats] | None = None  # the touched nodes of the level below, their C
        for level in range(self._last - 1, -1, -1):
            nodes = self._touched(level, cuts)
            first = self._children[level]
            number = first[nodes + 1] - first[nodes]
            ends = np.cumsum(number)
            children = np.arange(number.sum()) + np.repeat(first[nodes] - ends + number, number)
            begins = children if level == self._last - 1 else self.shape.starts(level + 1)[children]
            value = values[np.searchsorted(cuts, begins, side="right") - 1]
            variance = np.full(len(children), self._leaf)
            if level < self._last - 1:
                variance = self._known[1][level + 1][children]
            covariance, touched = value * variance, np.zeros(len(children), np.bool_)
            if above is not None:
                places = np.searchsorted(children, above[0])
                touched[places], covariance[places] = True, above[1]
            total = np.add.reduceat(covariance, ends - number) if len(nodes) else np.zeros(0)
            families.insert(0, _Touched(nodes, children, number, touched, covariance, variance))
            sums.insert(0, total)
            t = self._known[0][level][nodes]
            above = nodes, total / (1 + self.weights[level] * t)
        return families, sums

    def _touched(self, level: int, cuts: Ints) -> Ints:
        """The nodes of a level in which values change; of the root, always."""
        if level == 0:
            return np.zeros(1, np.int64)
        inner = cuts[1:-1]
        nodes = self.shape.node_of(level, inner)
        return np.unique(nodes[self.shape.starts(level)[nodes] != inner])

    def _fall(self, cuts: Ints, values: Floats) -> list[tuple[_Touched, Floats, Floats]]:
        """Per level of nodes above the cells: the families under touched nodes, Cov(q, x) of
        these nodes and of their children."""
        families, sums = self._rise(cuts, values)
        covariance = sums[0] / (1 + self.weights[0] * self._known[0][0])
        found = []
        for level, family in enumerate(families):
            excess = (covariance - sums[level]) / self._known[0][level][family.nodes]
            under = family.covariance + family.variance * np.repeat(excess, family.number)
            found.append((family, covariance, under))
            covariance = under[family.touched]
        return found

    def squares(self, cuts: Sequence[int], values: Sequence[float]) -> Floats:
        """Per level the sum of the squared coefficients in Σ values[i] · count[cuts[i], cuts[i+1]).

        Cuts rise from 0 to the end. It takes the touched nodes and their children.

        >>> tree = TreeUnions(IntervalTree.regular(4, (2, 2)), (1 / 2, 1 / 2, 1 / 2))
        >>> (2 * tree.squares((0, 1, 4), (1, 0))).sum().round(6)
        np.float64(1.238095)
        """
        if self._last == 0:
            return np.array([float(values[0]) ** 2])
        found = np.zeros(self.shape.height)
        walked = self._fall(np.asarray(cuts, np.int64), np.asarray(values, np.float64))
        for level, (family, own, under) in enumerate(walked):
            found[level] += (own**2).sum()
            if level == self._last - 1:
                found[-1] += (under**2).sum()
            else:
                rest = ~family.touched
                found += under[rest] ** 2 @ self._squares[level + 1][family.children[rest]]
        return found * np.array(self.weights) ** 2

    def classes(self, cuts: Sequence[int], values: Sequence[float]) -> list[Classes]:
        """Per level the coefficients in Σ values[i] · count[cuts[i], cuts[i+1]), and how many
        answers have each: all nodes above the cells, and cells that share one together."""
        if self._last == 0:
            return [(np.array([float(values[0])]), np.ones(1))]
        walked = self._fall(np.asarray(cuts, np.int64), np.asarray(values, np.float64))
        covariance = walked[0][1]
        found = list[Classes]()
        for level, (family, _, under) in enumerate(walked):
            found.append((self.weights[level] * covariance, np.ones(len(covariance))))
            number = np.diff(self._children[level])
            shared = covariance / self._known[0][level]
            if level < self._last - 1:
                covariance = self._known[1][level + 1] * np.repeat(shared, number)
                covariance[family.children] = under
                continue
            together = np.ones(len(number), np.bool_)
            together[family.nodes] = False
            alike, alone = shared[together] * self._leaf, under
            cells = np.concatenate([alike, alone]) * self.weights[-1]
            found.append((cells, np.concatenate([number[together], np.ones(len(alone))])))
        return found
