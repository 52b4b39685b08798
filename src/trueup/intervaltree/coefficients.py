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
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from trueup.intervaltree.variance import TreeVariance

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

        >>> from trueup.intervaltree import IntervalTree
        >>> flat = TreeCoefficients(TreeVariance(IntervalTree.regular(10, (10,)), (0, 1 / 2)))
        >>> [part.tolist() for part in flat.classes((0, 4, 10), (1, 0))]
        [[1.0], [1], [4.0]]
        """
        if self.tree.regular:
            found = _regular(self.tree, self.numbers, cuts, values)
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
    tree: TreeVariance, known: Regular, cuts: Sequence[int], values: Sequence[float]
) -> Classes:
    size, height = tree.shape.size, tree.shape.height
    # Each cut, and the value that begins there.
    turns = [(cut, values[i]) for i, cut in enumerate(cuts[:-1]) if 0 < cut < size]
    # Nodes cut by a change of value, left to right: number, Cov(q, total) given what is below it
    # and given its own answer too, the runs of its children that are of one value, and how many
    # of its children are cut.
    path: list[list[_Cut]] = [[] for _ in range(height)]
    for level in range(height - 2, -1, -1):
        path[level] = _cut_nodes(known, level, size, turns, values[0], path[level + 1])
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
    covariances = [cut.own for cut in path[0]]
    for level in range(height - 1):
        lower: list[float] = []
        end, final = known.lengths[level + 1], known.lengths[level] - 1
        weight, below, V = known.weight[level], known.below[level], known.V[level + 1]
        children = iter(path[level + 1])
        for cut, covariance in zip(path[level], covariances, strict=True):
            kind = cut.node == final
            alone.append((weight[kind] * covariance, level))
            excess = (covariance - cut.below) / below[kind]
            for first, after, value in cut.runs:
                if after == end:
                    after -= 1
                    last_node(level + 1, value + excess)
                parts.append((level + 1, value + excess, after - first))
            for child in islice(children, cut.children):
                lower.append(child.own + V[child.node == end - 1] * excess)
        covariances = lower
    return _gathered(known, parts, alone)


class _Cut(NamedTuple):
    """A node under which the value changes."""

    node: int
    below: float  # Cov(q, total), given what was asked below it
    own: float  # and given its own answer too
    runs: list[tuple[int, int, float]]  # children of one value: first, one past the last, value
    children: int  # that are cut themselves


def _cut_nodes(
    known: Regular,
    level: int,
    size: int,
    turns: Sequence[tuple[int, float]],
    value: float,
    lower: Sequence[_Cut],
) -> list[_Cut]:
    """The cut nodes of a level; `value` is that of the first cell, `lower` the next level's."""
    width, narrow, end = known.widths[level], known.widths[level + 1], known.lengths[level + 1]
    full, last = known.V[level + 1]
    shrink, final = known.shrink[level], known.lengths[level] - 1
    found: list[_Cut] = []
    at = below = 0  # turns and lower nodes passed
    while at < len(turns):
        node, offset = divmod(turns[at][0], width)
        if not offset:  # the value changes between two nodes
            value = turns[at][1]
            at += 1
            continue
        stop = min((node + 1) * width, size)
        child, past = node * width // narrow, -(-stop // narrow)
        runs = []
        C = 0.0
        while at < len(turns) and turns[at][0] < stop:
            place, offset = divmod(turns[at][0], narrow)
            if child < place:
                runs.append((child, place, value))
                C += value * (place - child) * full
            child = max(child, place + (offset > 0))
            value = turns[at][1]
            at += 1
        if child < past:
            runs.append((child, past, value))
            C += value * ((past - child) * full + (last - full if past == end else 0.0))
        number = below
        while below < len(lower) and lower[below].node < past:
            C += lower[below].own
            below += 1
        found.append(_Cut(node, C, C * shrink[node == final], runs, below - number))
    return found


def _gathered(
    known: Regular, parts: list[tuple[int, float, float]], alone: list[tuple[float, int]]
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
