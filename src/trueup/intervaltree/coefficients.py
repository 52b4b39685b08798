"""How the noisy answers of a tree enter an estimate: the coefficient of each, in classes.

An estimate q of cell values a_i (a range has 1 inside and 0 outside) puts the coefficient
w_u · Cov(q, x_u) on the noisy answer of node u, x the least-squares counts. With C = Cov(q, total)
of a child given what was asked at or below it, and t = ΣV of the children of v,

    Cov(q, x_c) = C_c + (V_c / t) · (Cov(q, x_v) − ΣC).

Under a node all whose cells have the same value, covariances fall off by V alone; so in a regular
tree all nodes of a level under such siblings share one coefficient. Only nodes cut by a change of
value, those on the paths to the ends of a range, are walked one by one (`tree_walk`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from trueup._kernels.law.tree_walk import KnownTree, room_for, walk
from trueup.arrays import Floats, Ints
from trueup.intervaltree.variance import TreeVariance

Classes = tuple[Floats, Ints, Floats]
"""Coefficient, level and number of the noisy answers of each class."""

_FULL = 0


@dataclass(frozen=True, eq=False)
class TreeCoefficients:
    """The coefficients that least squares on a tree puts on its noisy answers."""

    tree: TreeVariance

    def classes(self, cuts: Sequence[int], values: Sequence[float]) -> Classes:
        """Those in Σ values[i] · count[cuts[i], cuts[i + 1]), cuts rising from 0 to the end.

        >>> from trueup.intervaltree import IntervalTree
        >>> flat = TreeCoefficients(TreeVariance(IntervalTree.regular(10, (10,)), (0, 1 / 2)))
        >>> [part.tolist() for part in flat.classes((0, 4, 10), (1, 0))]
        [[1.0], [1], [4.0]]
        """
        if self.tree.regular:
            found = _regular(self.numbers, cuts, values)
        else:
            found = _irregular(self.tree, cuts, values)
        coefficients, levels, counts = found
        present = (coefficients != 0) & (counts > 0)
        return coefficients[present], levels[present], counts[present]

    @cached_property
    def numbers(self) -> Regular:
        """What is asked again and again of a regular tree, as plain numbers."""
        return Regular(self.tree)


class Regular:
    """What is asked again and again of a regular tree, as plain numbers."""

    def __init__(self, tree: TreeVariance) -> None:
        shape, height = tree.shape, tree.shape.height
        self.known = KnownTree(
            shape.size,
            shape.widths,
            [shape.length(level) for level in range(height)],
            [level.variance.tolist() for level in tree.levels],
            [level.below.tolist() for level in tree.levels],
            [level.shrink.tolist() for level in tree.levels],
            [level.weight.tolist() for level in tree.levels],
            [tree.fan_out(level)[1] for level in range(height - 1)],
        )
        # For a full node of each level, by level below: the coefficient and number of its nodes.
        self.under = np.zeros((height, height))
        self.number = np.zeros((height, height))
        for level in range(height):
            passed = 1.0
            for lower in range(level, height):
                V = self.known.V[lower][_FULL]
                self.under[level, lower] = self.known.weight[lower][_FULL] * V * passed
                self.number[level, lower] = shape.widths[level] / shape.widths[lower]
                passed *= self.known.shrink[lower][_FULL]


def _zeros(zero: float, *shape: int) -> Any:
    """A list of zeros, or a list of such lists."""
    return [zero] * shape[0] if len(shape) == 1 else [[zero] * shape[1] for _ in range(shape[0])]


def _regular(numbers: Regular, cuts: Sequence[int], values: Sequence[float]) -> Classes:
    known = numbers.known
    height = len(known.widths)
    turns = [cut for cut in cuts[:-1] if 0 < cut < known.size]
    turned = [values[i] for i, cut in enumerate(cuts[:-1]) if 0 < cut < known.size]
    path, found = room_for(height, max(1, len(turns)), partial(_zeros, 0), partial(_zeros, 0.0))
    parts, alone = walk(known, turns, turned, float(values[0]), path, found)
    level = np.array(found.level[:parts], np.int64)
    each = numbers.under[level] * np.array(found.factor[:parts]).reshape(-1, 1)
    counts = numbers.number[level] * np.array(found.number[:parts]).reshape(-1, 1)
    levels = np.broadcast_to(np.arange(height), each.shape)
    return (
        np.concatenate([each.ravel(), found.alone[:alone]]),
        np.concatenate([levels.ravel(), np.array(found.alone_level[:alone], np.int64)]),
        np.concatenate([counts.ravel(), np.ones(alone)]),
    )


def _irregular(tree: TreeVariance, cuts: Sequence[int], values: Sequence[float]) -> Classes:
    """As above for a tree of any shape: every node by itself, equal coefficients then joined."""
    shape = tree.shape
    cell_values = np.repeat(np.asarray(values, np.float64), np.diff(cuts))
    C = cell_values * tree.levels[-1].variance
    sums = [C]
    totals = []
    for level in range(shape.height - 2, -1, -1):
        total = np.add.reduceat(C, shape.children(level)[:-1])
        totals.append(total)
        C = total * tree.levels[level].shrink
        sums.append(C)
    sums.reverse()
    totals.reverse()
    covariance = sums[0]
    found = [tree.levels[0].weight * covariance]
    for level in range(shape.height - 1):
        excess = (covariance - totals[level]) / tree.levels[level].below
        number = np.diff(shape.children(level))
        lower = tree.levels[level + 1]
        covariance = sums[level + 1] + lower.variance * np.repeat(excess, number)
        found.append(lower.weight * covariance)
    coefficients, levels, counts = [], [], []
    for level, each in enumerate(found):
        distinct, number = np.unique(each, return_counts=True)
        coefficients.append(distinct)
        levels.append(np.full(len(distinct), level))
        counts.append(number.astype(np.float64))
    return np.concatenate(coefficients), np.concatenate(levels), np.concatenate(counts)
