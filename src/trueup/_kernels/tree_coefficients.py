"""How the noisy answers of a tree enter an estimate: the coefficient of each, in classes.

An estimate q of cell values a_i (a range has 1 inside and 0 outside) puts the coefficient
w_u · Cov(q, x_u) on the noisy answer of node u, x the least-squares counts. With C = Cov(q, total)
of a child given what was asked at or below it, and t = ΣV of the children of v,

    Cov(q, x_c) = C_c + (V_c / t) · (Cov(q, x_v) − ΣC).

Under a node all whose cells have the same value, covariances fall off by V alone; so in a regular
tree all nodes of a level under such siblings share one coefficient. Only nodes cut by a change of
value, those on the paths to the ends of a range, are walked one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from trueup._kernels.tree_variance import TreeVariance

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Classes = tuple[Floats, Ints, Floats]
"""Coefficient, level and number of the noisy answers of each class."""

_FULL, _LAST = 0, 1


@dataclass(frozen=True, eq=False)
class TreeCoefficients:
    """The coefficients that least squares on a tree puts on its noisy answers."""

    tree: TreeVariance

    def classes(self, cuts: Sequence[int], values: Sequence[float]) -> Classes:
        """Those in Σ values[i] · count[cuts[i], cuts[i + 1]), cuts rising from 0 to the end.

        >>> from trueup._kernels.shape import Shape
        >>> flat = TreeCoefficients(TreeVariance(Shape.regular(10, (10,)), (0, 1 / 2)))
        >>> [part.tolist() for part in flat.classes((0, 4, 10), (1, 0))]
        [[1.0], [1], [4.0]]
        """
        if self.tree.regular:
            found = _regular(self.tree, self._numbers, cuts, values)
        else:
            found = _irregular(self.tree, cuts, values)
        coefficients, levels, counts = found
        present = (coefficients != 0) & (counts > 0)
        return coefficients[present], levels[present], counts[present]

    @cached_property
    def _numbers(self) -> _Regular:
        return _Regular(self.tree)


class _Regular:
    """What is asked again and again of a regular tree, as plain numbers."""

    def __init__(self, tree: TreeVariance) -> None:
        self.widths = tree.shape.widths
        self.lengths = [tree.shape.length(level) for level in range(tree.shape.height)]
        self.V = [level.variance.tolist() for level in tree.levels]
        self.below = [level.below.tolist() for level in tree.levels]
        self.shrink = [level.shrink.tolist() for level in tree.levels]
        self.weight = [level.weight.tolist() for level in tree.levels]
        self.full_children = [tree.fan_out(lv)[1] for lv in range(tree.shape.height - 1)]
        # For a full node of each level, by level below: the coefficient and number of its nodes.
        height = tree.shape.height
        self.under = np.zeros((height, height))
        self.number = np.zeros((height, height))
        for level in range(height):
            passed = 1.0
            for lower in range(level, height):
                V = self.V[lower][_FULL]
                self.under[level, lower] = self.weight[lower][_FULL] * V * passed
                self.number[level, lower] = self.widths[level] / self.widths[lower]
                passed *= self.shrink[lower][_FULL]


def _regular(
    tree: TreeVariance, known: _Regular, cuts: Sequence[int], values: Sequence[float]
) -> Classes:
    size, height, widths = tree.shape.size, tree.shape.height, tree.shape.widths
    inner = [cut for cut in cuts if 0 < cut < size]
    # Nodes cut by a change of value, and Cov(q, total) of each given what is below it, or its own.
    path: list[dict[int, tuple[float, float]]] = [{} for _ in range(height)]
    runs: dict[tuple[int, int], list[tuple[int, int, float]]] = {}
    for level in range(height - 2, -1, -1):
        width, narrow, end = widths[level], widths[level + 1], known.lengths[level + 1]
        full, last = known.V[level + 1]
        for node in sorted({cut // width for cut in inner if cut % width}):
            start, stop = node * width, min((node + 1) * width, size)
            past = -(-stop // narrow)
            mine = []
            for low, high, value in zip(cuts, cuts[1:], values, strict=False):
                if low >= stop or high <= start:
                    continue
                first = -(-max(low, start) // narrow)
                after = past if high >= stop else high // narrow
                if first < after:
                    mine.append((first, after, value))
            C = sum(
                value * ((after - first) * full + (last - full if after == end else 0.0))
                for first, after, value in mine
            )
            for child in path[level + 1]:
                if child * narrow // width == node:
                    C += path[level + 1][child][1]
            kind = node == known.lengths[level] - 1
            path[level][node] = (C, C * known.shrink[level][kind])
            runs[level, node] = mine
    # Full nodes, all of one value below: level, factor, number. Single nodes: coefficient, level.
    parts: list[tuple[int, float, float]] = [(0, 0.0, 0.0)]
    alone: list[tuple[float, int]] = []

    def last_node(level: int, factor: float) -> None:
        """The last node of a level and what is under it, all of one value."""
        while True:
            covariance = known.V[level][_LAST] * factor
            alone.append((known.weight[level][_LAST] * covariance, level))
            if level == height - 1:
                return
            factor *= known.shrink[level][_LAST]
            level += 1
            parts.append((level, factor, known.full_children[level - 1]))

    if not path[0]:
        last_node(0, float(values[0]))
    covariances = {0: path[0][0][1]} if path[0] else {}
    for level in range(height - 1):
        lower: dict[int, float] = {}
        end = known.lengths[level + 1]
        for node, covariance in covariances.items():
            kind = node == known.lengths[level] - 1
            alone.append((known.weight[level][kind] * covariance, level))
            excess = (covariance - path[level][node][0]) / known.below[level][kind]
            for first, after, value in runs[level, node]:
                number = after - first
                if after == end:
                    number -= 1
                    last_node(level + 1, value + excess)
                parts.append((level + 1, value + excess, number))
            for child, (_, C) in path[level + 1].items():
                if child * widths[level + 1] // widths[level] == node:
                    V = known.V[level + 1][child == end - 1]
                    lower[child] = C + V * excess
        covariances = lower
    return _gathered(known, parts, alone)


def _gathered(
    known: _Regular, parts: list[tuple[int, float, float]], alone: list[tuple[float, int]]
) -> Classes:
    level, factor, number = (np.array(column) for column in zip(*parts, strict=True))
    height = len(known.under)
    each = known.under[level] * factor[:, None]
    counts = known.number[level] * number[:, None]
    single, at = (np.array(column) for column in zip(*alone, strict=True))
    levels = np.broadcast_to(np.arange(height), each.shape)
    return (
        np.concatenate([each.ravel(), single]),
        np.concatenate([levels.ravel(), at]),
        np.concatenate([counts.ravel(), np.ones(len(at))]),
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
