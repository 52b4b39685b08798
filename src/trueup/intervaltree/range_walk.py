"""The variances of the same ranges in one regular tree, whatever the weights of its levels.

What `TreeVariance.range_variances` does, with all that does not depend on the weights worked out
once: a search for the best shares of ε tries many weights on a tree. The two ends of each range
are walked up together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from trueup.arrays import Bools, Floats, Ints
from trueup.intervaltree import IntervalTree


class _Step(NamedTuple):
    """A level, seen from the nodes that the ends of the ranges lie in: first ends, then last."""

    fan_out: int  # children of a full node
    before_last: int  # of the last node: its children before its own last
    earlier: Floats  # siblings left of the child that each end lies in
    past: Bools | None  # ends past the last child: all children of the node
    meet: Bools  # ranges whose two paths meet here
    last: Ints | None  # 1 where the node is the last of the level; None where none is


@dataclass(frozen=True, eq=False)
class RangeWalk:
    """Ranges [start, stop) of cells of a regular tree, each of at least one cell."""

    shape: IntervalTree
    steps: tuple[_Step, ...]  # lowest level first
    number: int

    @staticmethod
    def of(shape: IntervalTree, starts: Ints, stops: Ints) -> RangeWalk:
        """The walk up from the ends of these ranges."""
        cuts = np.stack([starts, stops])
        children, joined = cuts, np.zeros(len(starts), bool)
        steps = []
        for level in range(shape.height - 2, -1, -1):
            width, below = shape.widths[level : level + 2]
            nodes = np.minimum(cuts, shape.size - 1) // width
            past = children == shape.length(level + 1)
            meet = (nodes[0] == nodes[1]) & ~joined
            joined = joined | meet
            last = nodes == shape.length(level) - 1
            steps.append(
                _Step(
                    width // below,
                    (shape.size - 1) % width // below,
                    (children - nodes * (width // below)).astype(np.float64),
                    past if past.any() else None,
                    meet,
                    last.astype(np.int64) if last.any() else None,
                )
            )
            children = nodes
        return RangeWalk(shape, tuple(steps), len(starts))

    def variances(self, weights: Sequence[float]) -> Floats:
        """The variance of each range; a weight for each level, root first, the cells' above 0.

        >>> tree = IntervalTree.regular(4, (2, 2))
        >>> walk = RangeWalk.of(tree, np.array([0, 0, 0]), np.array([1, 2, 4]))
        >>> walk.variances((1 / 2, 1 / 2, 1 / 2)).round(6).tolist()
        [1.238095, 0.952381, 1.142857]
        """
        full = last = 1 / weights[-1]
        if not self.steps:
            return np.full(self.number, full)
        C, Q = np.zeros(self.number), np.zeros(self.number)
        # Of the part of the node left of each end: Cov(part, total) and Var(part).
        f, g = np.zeros((2, self.number)), np.zeros((2, self.number))
        for step, weight in zip(self.steps, weights[-2::-1], strict=True):
            totals = step.fan_out * full, step.before_last * full + last
            before = step.earlier * full
            if step.past is not None:
                whole = totals[0] if step.last is None else np.array(totals)[step.last]
                before = np.where(step.past, whole, before)
            F = before + f
            C = np.where(step.meet, F[1] - F[0], C)
            parts = before[1] - before[0] - 2 * f[0] + g[0] + g[1]
            Q = np.where(step.meet, parts, Q)
            shrinks = 1 / (1 + weight * totals[0]), 1 / (1 + weight * totals[1])
            full, last = totals[0] * shrinks[0], totals[1] * shrinks[1]
            if not weight:
                g, f = before + g, F
                continue
            if step.last is None:
                shrink: Floats | float = shrinks[0]
                Q, C = Q - weight * shrinks[0] * C * C, C * shrinks[0]
            else:
                shrink = np.array(shrinks)[step.last]
                Q, C = Q - weight * shrink[0] * C * C, C * shrink[0]
            g, f = before + g - weight * shrink * F * F, F * shrink
        return np.maximum(Q, 0.0)
