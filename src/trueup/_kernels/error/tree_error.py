"""Exact expected squared error of least squares on a regular tree, without visiting its nodes.

A regular tree has two kinds of node a level: full ones, all alike, and the last one, which may be
cut short. For a node, given only what was asked at or below it, let V be the variance of its
total, and for a part q of it Q = Var(q) and C = Cov(q, total). Children are independent, so their
V, C and Q add; a noisy answer of weight w = 1/variance for the node itself then turns

    V → V / (1 + wV),   C → C / (1 + wV),   Q → Q − wC² / (1 + wV).

Everything below carries *sums* of C, C² and Q over many parts at once (all prefixes, all ranges,
all ranges of one length), which obey recursions of their own: a few operations a level.

A tree is given by its number of cells and its widths, the number of cells under a full node of
each level, root first, 1 last. Weights are one a level; `last_weights` where the last node of a
level differs. A level not asked has weight 0. Weights may be negative as long as the answers
together determine the counts: the Haar wavelet is such a tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

Weights = Sequence[float]


def full_children(size: int, widths: Sequence[int], level: int) -> int:
    """How many children the last node of a level has before its own last one."""
    width, below = widths[level], widths[level + 1]
    return ((size - 1) % width) // below


class _Node(NamedTuple):
    """Sums over the parts of one node, given what was asked at or below it.

    Prefixes are the `size` non-empty ones, the whole node included; so are ranges.
    """

    size: float
    variance: float
    prefix_c: float
    prefix_cc: float
    prefix_q: float
    range_c: float
    range_cc: float
    range_q: float


def _joined(full: _Node, m: int, last: _Node) -> _Node:
    """A node of m full children and a last one, before its own answer is taken in."""
    s, V, p1, p2, pq, r1, r2, rq = full
    z, U, l1, l2, lq, u1, u2, uq = last
    d1 = m * (m - 1) / 2  # Σ c over the children c = 0 … m − 1
    d2 = d1 * (2 * m - 1) / 3  # Σ c²
    before = m * V
    prefix_c = V * s * d1 + m * p1 + before * z + l1
    prefix_cc = V * (V * s * d2 + 2 * p1 * d1) + m * p2 + before * (before * z + 2 * l1) + l2
    prefix_q = V * s * d1 + m * pq + before * z + lq
    # A range that starts inside a full child covers a non-empty suffix of it: the complement of
    # one of the prefixes 0 … s − 1.
    t1 = s * V - p1 + V
    t2 = s * V * V - 2 * V * p1 + p2 + V * V
    tq = s * V - 2 * p1 + pq + V
    # Pairs of full children with d others between: m − 1 − d of them. Then those that end in the
    # last child: one for each d.
    e0, e1, e2 = d1, d1 * (m - 2) / 3, d1 * (m - 1) * (m - 2) / 6
    h0 = t1 + p1
    g0 = t1 * z + s * l1
    both, ends = s * s * V, s * z * V
    range_c = m * r1 + u1 + e0 * s * h0 + e1 * both + m * g0 + d1 * ends
    range_cc = (
        m * r2
        + u2
        + e0 * (s * (t2 + p2) + 2 * t1 * p1)
        + V * (2 * e1 * s * h0 + e2 * both)
        + m * (z * t2 + s * l2 + 2 * t1 * l1)
        + V * (2 * d1 * g0 + d2 * ends)
    )
    range_q = m * rq + uq + e0 * s * (tq + pq) + e1 * both + m * (z * tq + s * lq) + d1 * ends
    return _Node(m * s + z, before + U, prefix_c, prefix_cc, prefix_q, range_c, range_cc, range_q)


def _observed(node: _Node, weight: float) -> _Node:
    """The node once its own noisy answer of that weight is taken in."""
    if weight == 0:
        return node
    size, t, p1, p2, pq, r1, r2, rq = node
    shrink = 1 / (1 + weight * t)
    gain = weight * shrink
    return _Node(
        size,
        t * shrink,
        p1 * shrink,
        p2 * shrink * shrink,
        pq - gain * p2,
        r1 * shrink,
        r2 * shrink * shrink,
        rq - gain * r2,
    )


def _root(size: int, widths: Sequence[int], weights: Weights, last_weights: Weights) -> _Node:
    def leaf(weight: float) -> _Node:
        V = 1 / weight
        return _Node(1, V, V, V * V, V, V, V * V, V)

    full, last = leaf(weights[-1]), leaf(last_weights[-1])
    for level in range(len(widths) - 2, -1, -1):
        m = full_children(size, widths, level)
        joined = _joined(full, m, last)
        if level:  # there is no full node above the first cut
            k = widths[level] // widths[level + 1]
            full = _observed(_joined(full, k - 1, full), weights[level])
        last = _observed(joined, last_weights[level])
    return last


def mean_over_ranges(
    size: int, widths: Sequence[int], weights: Weights, last_weights: Weights | None = None
) -> float:
    """The error of a range, averaged over all size·(size + 1)/2 of them.

    >>> mean_over_ranges(3, (3, 1), (0, 0.5))  # three answers of variance 2: 2 × mean length
    3.3333333333333335
    """
    root = _root(size, widths, weights, last_weights or weights)
    return root.range_q / (size * (size + 1) / 2)


def mean_over_prefixes(
    size: int, widths: Sequence[int], weights: Weights, last_weights: Weights | None = None
) -> float:
    """The error of a prefix, averaged over the size non-empty ones."""
    return _root(size, widths, weights, last_weights or weights).prefix_q / size
