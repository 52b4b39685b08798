"""The largest error of any range after least squares on a regular tree, exactly.

A prefix of a node is a digit a level. Its Q is linear in the digits less a sum of squares, one
for each node above, of something linear in them; what the nodes still to come will subtract from a
part with (C, Q) is a·C² + b·C + constant, where only b depends on the digits above. So of all
prefixes of a node only those on the upper hull of (C, Q − aC²) can be part of the worst range:
a few points, whatever the number of cells.
"""

from __future__ import annotations

import numpy as np

from trueup.arrays import Floats, Ints
from trueup.intervaltree.variance import TreeVariance

Points = tuple[Floats, Floats]

_FULL, _LAST = 0, 1
_FEW = 64  # points


def _upper_hull(x: Floats, y: Floats) -> Ints:
    """Which points lie on the upper hull, ends included, from left to right."""
    if len(x) <= _FEW:
        return _hull_of_few(x.tolist(), y.tolist())
    order = np.lexsort((y, x))
    order = order[np.append(np.diff(x[order]) > 0, True)]  # of equal x, the highest
    while len(order) > 2:
        u, v = x[order], y[order]
        left, right = np.diff(u)[:-1], np.diff(u)[1:]
        # A point on or below the chord of its neighbours is not a corner, whoever else leaves.
        above = (v[1:-1] - v[:-2]) * right - (v[2:] - v[1:-1]) * left > 0
        if above.all():
            break
        order = order[np.concatenate([[True], above, [True]])]
    return order


def _hull_of_few(x: list[float], y: list[float]) -> Ints:
    """As `_upper_hull`, point by point."""
    hull: list[tuple[float, float, int]] = []
    for u, v, point in sorted(zip(x, y, range(len(x)), strict=True)):
        if hull and hull[-1][0] == u:  # of equal x, the highest
            hull.pop()
        while len(hull) > 1:
            (u0, v0, _), (u1, v1, _) = hull[-2:]
            if (v1 - v0) * (u - u1) - (v - v1) * (u1 - u0) > 0:
                break
            hull.pop()
        hull.append((u, v, point))
    return np.array([point for _, _, point in hull], np.int64)


def _prefixes(tree: TreeVariance, level: int, kind: int, a: float) -> Points:
    """C and Q of those prefixes of a node that can matter if a·C² is still to come off."""
    if level == tree.shape.height - 1:
        V = float(tree.levels[level].variance[kind])
        return np.array([0.0, V]), np.array([0.0, V])
    known = tree.levels[level]
    if tree.shape.size % tree.shape.widths[level] == 0 and known.shrink[0] == known.shrink[1]:
        kind = _FULL  # the last node is a full one: no need to walk down beside it
    shrink, gain = float(known.shrink[kind]), float(known.gain[kind])
    below = gain + shrink * shrink * a
    V = float(tree.levels[level + 1].variance[_FULL])
    k, m = tree.fan_out(level)
    before = V * np.arange(k if kind == _FULL else m)[:, None]
    C, Q = _prefixes(tree, level + 1, _FULL, below) if len(before) else (np.zeros(0),) * 2
    if kind == _FULL:
        C, Q = (before + C).ravel(), (before + Q).ravel()
    else:
        last_C, last_Q = _prefixes(tree, level + 1, _LAST, below)
        C = np.concatenate([(before + C).ravel(), m * V + last_C])
        Q = np.concatenate([(before + Q).ravel(), m * V + last_Q])
    C, Q = C * shrink, Q - gain * C * C
    corner = _upper_hull(C, Q - a * C * C)
    return C[corner], Q[corner]


def _spanning(left: Points, right: Points, V: float, most: int, a: float) -> float:
    """The largest Q − aC² of a suffix, up to `most` whole siblings and a prefix."""
    C = left[0][:, None] + right[0]
    Q = left[1][:, None] + right[1]
    between = np.full_like(C, most)
    if a > 0:  # concave in the number of siblings between: its best lies beside the vertex
        between = np.clip((1 / (2 * a) - C) / V, 0, most)
    found = []
    for number in (np.floor(between), np.ceil(between)):
        found.append(float((Q + number * V - a * (C + number * V) ** 2).max()))
    return max(found)


def worst_range(tree: TreeVariance) -> float:
    """The variance of the range that has the largest.

    >>> from trueup.intervaltree import IntervalTree
    >>> worst_range(TreeVariance(IntervalTree.regular(10, (10,)), (0, 1 / 2)))
    20.0
    """
    if tree.shape.height == 1:
        return float(tree.levels[0].variance[_LAST])
    worst = float(tree.range_variances(0, tree.shape.size))
    # What the nodes above take off a range inside a full node, at the least; off one inside the
    # last node.
    above_full, above_last = np.inf, 0.0
    for level in range(tree.shape.height - 1):
        known = tree.levels[level]
        V = float(tree.levels[level + 1].variance[_FULL])
        k, m = tree.fan_out(level)
        a_last = float(known.gain[_LAST] + known.shrink[_LAST] ** 2 * above_last)
        a_full = np.inf
        if tree.shape.length(level) > 1:
            a_full = float(known.gain[_FULL] + known.shrink[_FULL] ** 2 * above_full)
            ends = _prefixes(tree, level + 1, _FULL, a_full)
            worst = max(worst, _spanning(ends, ends, V, k - 2, a_full))
        if m:
            starts = _prefixes(tree, level + 1, _FULL, a_last)
            stops = _prefixes(tree, level + 1, _LAST, a_last)
            worst = max(worst, _spanning(starts, stops, V, m - 1, a_last))
            if m > 1:
                worst = max(worst, _spanning(starts, starts, V, m - 2, a_last))
        above_full = min(a_full, a_last if m else np.inf)
        above_last = a_last
    return worst
