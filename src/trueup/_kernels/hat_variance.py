"""Variances after least squares on leaves and hats, from the tables of `hats` alone.

For the part of a query inside an interval we carry Q, its variance, and C, its covariance with
the interval's state. A chain that is joined to a child has, with g the covariance of the query
with the hats at the joint, Q less g' F⁻¹ g and C less gain · g. Both maps are linear in C, so that
sums of Q over whole families of queries need no more than sums of C and of CC'.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trueup._kernels.compiled import compiled
from trueup._kernels.hats import LAST, HatTables, begin, extend, kind_of, slot_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@compiled
def _line_query(tables: HatTables, interval: int, start: int, stop: int, C: Floats) -> float:
    """C and Q of the cells [start, stop) of a finest interval."""
    lines = tables.lines[kind_of(interval, tables.counts[0])]
    C[0] = lines[stop, 0] - lines[start, 0]
    C[1] = lines[stop, 1] - lines[start, 1]
    return lines[stop, 2] - lines[start, 2]


@compiled
def _add(
    tables: HatTables, m: int, slot: int, position: int, chain: Floats, child: Floats, g: Floats
) -> float:
    """Joins a child's C to a chain's; gives how much Q falls. `g` is room for a number a hat."""
    ratio = tables.ratios[m - 1]
    if position == 0:
        begin(child, m, ratio, chain)
        return 0.0
    fall = 0.0
    for level in range(m):
        g[level] = chain[m + 1 + level] + child[level]
    extend(chain, child, m, position, ratio)
    for level in range(m):
        for part in range(2 * m + 2):
            chain[part] -= tables.gain[slot, part, level] * g[level]
        for other in range(m):
            fall += g[level] * tables.inverse[slot, level, other] * g[other]
    return fall


@compiled
def _pass_up(
    tables: HatTables,
    m: int,
    parent: int,
    left: int,
    right: int,
    C_left: Floats,
    C_right: Floats,
    work: Floats,
) -> float:
    """C of a query over the children [left, right] of a parent, and how much Q changes.

    The first and the last of them are met in part, as C_left and C_right say; those between
    are counted whole. A query that comes from left of the parent has left = −1, and one that
    goes on beyond its end has right = number of children.
    """
    ratio, count = tables.ratios[m - 1], tables.counts[m - 1]
    first = parent * ratio
    children = min(ratio, count - first)
    chain, nothing, g = work[2], work[3], work[4]
    change = 0.0
    i = left
    for part in range(2 * m + 2):
        chain[part] = 0.0
    if left < 0:
        i = right
        if right > 0:
            slot = slot_of(tables, m, first + right)
            change = tables.whole_q[slot]
            for part in range(2 * m + 2):
                chain[part] = tables.whole_c[slot, part]
    while i < children:
        if i == right:
            child = C_right
        elif i == left:
            child = C_left
        elif left < i < right:
            kind = kind_of(first + i, count)
            child = tables.child_c[m - 1, kind]
            change += tables.child_q[m - 1, kind]
        else:
            child = nothing
        change -= _add(tables, m, slot_of(tables, m, first + i), i, chain, child, g)
        i += 1
    return change


@compiled
def _range_variance(tables: HatTables, start: int, stop: int, work: Floats) -> float:
    k, H = tables.strides[0], len(tables.strides)
    left, right = start // k, (stop - 1) // k
    C_left, C_right, chain = work[0], work[1], work[2]
    if left == right:
        Q = _line_query(tables, left, start - left * k, stop - left * k, C_left)
    else:
        Q = _line_query(tables, left, start - left * k, k, C_left)
        Q += _line_query(tables, right, 0, stop - right * k, C_right)
    for m in range(1, H + 1):
        ratio = tables.ratios[m - 1]
        up_left, up_right = left // ratio, right // ratio
        if up_left == up_right:
            other = C_left if left == right else C_right
            i, j = left - up_left * ratio, right - up_left * ratio
            Q += _pass_up(tables, m, up_left, i, j, C_left, other, work)
            for part in range(2 * m + 2):
                C_left[part] = chain[part]
        else:
            Q += _pass_up(tables, m, up_left, left - up_left * ratio, ratio, C_left, C_left, work)
            for part in range(2 * m + 2):
                C_left[part] = chain[part]
            Q += _pass_up(tables, m, up_right, -1, right - up_right * ratio, C_left, C_right, work)
            for part in range(2 * m + 2):
                C_right[part] = chain[part]
        left, right = up_left, up_right
    for a in range(2 * H):
        for b in range(2 * H):
            Q -= C_left[a + a // H] * tables.root[a, b] * C_left[b + b // H]
    return Q


@compiled
def _range_variances(tables: HatTables, starts: Ints, stops: Ints, found: Floats) -> None:
    work = np.zeros((5, 2 * len(tables.strides) + 2))
    for i in range(len(starts)):
        if starts[i] < stops[i]:
            found[i] = max(_range_variance(tables, starts[i], stops[i], work), 0.0)


def range_variances(tables: HatTables, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
    """The variance of each range [start, stop) of cells, in units of a leaf's; O(ratios) a range.

    >>> from trueup._kernels.hats import hat_tables
    >>> range_variances(hat_tables(8, [4], [1.0]), [0, 0], [1, 8]).round(6).tolist()
    [0.663241, 2.084034]
    """
    starts = np.atleast_1d(np.asarray(starts, np.int64))
    stops = np.atleast_1d(np.asarray(stops, np.int64))
    if not len(tables.strides):
        return np.maximum(stops - starts, 0).astype(np.float64)
    found = np.zeros(len(starts))
    _range_variances(tables, starts, stops, found)
    return found


# Families of queries, for exact mean errors. A family over an interval or chain is the sum over
# its queries of Q, and of (1, C)(1, C)'. Index: those that begin at the left end, those that
# end at the right end, and all; the query of everything belongs to each of the three.
_FROM_LEFT, _TO_RIGHT, _ANY = 0, 1, 2


@compiled
def _line_families(tables: HatTables, kind: int, cells: int, moments: Floats, Q: Floats) -> None:
    C = np.ones(3)
    lines = tables.lines[kind]
    for start in range(cells):
        for stop in range(start + 1, cells + 1):
            C[1] = lines[stop, 0] - lines[start, 0]
            C[2] = lines[stop, 1] - lines[start, 1]
            for family in range(3):
                if (family == _FROM_LEFT and start > 0) or (family == _TO_RIGHT and stop < cells):
                    continue
                Q[family] += lines[stop, 2] - lines[start, 2]
                for a in range(3):
                    for b in range(3):
                        moments[family, a, b] += C[a] * C[b]


@compiled
def _cross(chain: Floats, q: float, child: Floats, p: float, both: Floats) -> float:
    """Adds up (1, C, C') over pairs of a chain's and a child's query; gives the sum of their Q."""
    d, c = chain.shape[0], child.shape[0]
    for a in range(d):
        for b in range(d):
            both[a, b] += chain[a, b] * child[0, 0]
        for b in range(1, c):
            both[a, d + b - 1] += chain[a, 0] * child[0, b]
            both[d + b - 1, a] += chain[a, 0] * child[0, b]
    for a in range(1, c):
        for b in range(1, c):
            both[d + a - 1, d + b - 1] += chain[0, 0] * child[a, b]
    return q * child[0, 0] + chain[0, 0] * p


@compiled
def _mapped(tables: HatTables, m: int, slot: int, position: int, both: Floats) -> Floats:
    """The moments of a chain's C after a child is joined, from those of both."""
    d = 2 * m + 3
    rows = both.shape[0]
    half = np.empty((d, rows))
    g = np.empty(m)
    for row in range(rows):
        _add(tables, m, slot, position, both[row, 1:d], both[row, d:], g)
        for part in range(d):
            half[part, row] = both[row, part]
    moments = np.empty((d, d))
    for row in range(d):
        _add(tables, m, slot, position, half[row, 1:d], half[row, d:], g)
        for part in range(d):
            moments[row, part] = half[row, part]
    return moments


@compiled
def _fall(tables: HatTables, m: int, slot: int, both: Floats) -> float:
    """How much the sum of Q falls by the hats at a joint."""
    fall = 0.0
    for level in range(m):
        r, c = m + 2 + level, 2 * m + 3 + level
        for other in range(m):
            s, e = m + 2 + other, 2 * m + 3 + other
            g = both[r, s] + both[r, e] + both[c, s] + both[c, e]
            fall += g * tables.inverse[slot, level, other]
    return fall


@compiled
def _point(C: Floats, size: int) -> Floats:
    """The moments of a single query."""
    moments = np.empty((size + 1, size + 1))
    for a in range(size + 1):
        for b in range(size + 1):
            moments[a, b] = (C[a - 1] if a else 1.0) * (C[b - 1] if b else 1.0)
    return moments


@compiled
def _join_families(
    tables: HatTables,
    m: int,
    at: int,
    chain: Floats,
    chain_q: Floats,
    child: Floats,
    child_q: Floats,
) -> tuple[Floats, Floats]:
    """The families of a chain with one more child, number `at` of its level."""
    d, slot = 2 * m + 3, slot_of(tables, m, at)
    position = at % tables.ratios[m - 1]
    kind = kind_of(at, tables.counts[m - 1])
    after, after_q = np.empty((3, d, d)), np.empty(3)
    nothing = np.zeros(2 * m + 2)
    no_child, no_chain = _point(nothing, 2 * m), _point(nothing, 2 * m + 2)
    whole_child, whole_q = _point(tables.child_c[m - 1, kind], 2 * m), tables.child_q[m - 1, kind]
    for family in range(3):
        both = np.zeros((d + 2 * m, d + 2 * m))
        if position == 0:
            q = _cross(no_chain, 0.0, child[family], child_q[family], both)
        elif family == _FROM_LEFT:
            q = _cross(chain[family], chain_q[family], no_child, 0.0, both)
            before = _point(tables.whole_c[slot], 2 * m + 2)
            q += _cross(before, tables.whole_q[slot], child[family], child_q[family], both)
        elif family == _TO_RIGHT:
            q = _cross(chain[family], chain_q[family], whole_child, whole_q, both)
            q += _cross(no_chain, 0.0, child[family], child_q[family], both)
        else:
            q = _cross(chain[family], chain_q[family], no_child, 0.0, both)
            q += _cross(no_chain, 0.0, child[family], child_q[family], both)
            q += _cross(
                chain[_TO_RIGHT], chain_q[_TO_RIGHT], child[_FROM_LEFT], child_q[_FROM_LEFT], both
            )
        after_q[family] = q - (_fall(tables, m, slot, both) if position else 0.0)
        after[family] = _mapped(tables, m, slot, position, both)
    return after, after_q


@compiled
def _parent_families(
    tables: HatTables, m: int, parent: int, children: Floats, children_q: Floats
) -> tuple[Floats, Floats]:
    """The families of a parent, from those of the three kinds of children."""
    ratio, count = tables.ratios[m - 1], tables.counts[m - 1]
    chain, chain_q = np.zeros((3, 2 * m + 3, 2 * m + 3)), np.zeros(3)
    for at in range(parent * ratio, min((parent + 1) * ratio, count)):
        kind = kind_of(at, count)
        chain, chain_q = _join_families(
            tables, m, at, chain, chain_q, children[kind], children_q[kind]
        )
    return chain, chain_q


@compiled
def _sum_variances(tables: HatTables) -> Floats:
    k, H = tables.strides[0], len(tables.strides)
    children, children_q = np.zeros((3, 3, 3, 3)), np.zeros((3, 3))
    for kind in range(3):
        cells = tables.size - (tables.counts[0] - 1) * k if kind == LAST else k
        _line_families(tables, kind, cells, children[kind], children_q[kind])
    for m in range(1, H + 1):
        parents = -(-tables.counts[m - 1] // tables.ratios[m - 1])
        made, made_q = np.zeros((3, 3, 2 * m + 3, 2 * m + 3)), np.zeros((3, 3))
        for kind, parent in enumerate((1, 0, parents - 1)):
            if kind_of(parent, parents) == kind:
                made[kind], made_q[kind] = _parent_families(tables, m, parent, children, children_q)
        children, children_q = made, made_q
    moments, Q = children[LAST], children_q[LAST]
    for family in range(3):
        for a in range(2 * H):
            for b in range(2 * H):
                Q[family] -= tables.root[a, b] * moments[family, 1 + a + a // H, 1 + b + b // H]
    return Q


def mean_variances(tables: HatTables) -> tuple[float, float]:
    """The mean variance over all ranges, and over all prefixes, in units of a leaf's.

    Exact, in time that grows with the ratios of the strides.

    >>> from trueup._kernels.hats import hat_tables
    >>> mean_variances(hat_tables(2, [], []))
    (1.3333333333333333, 1.5)
    """
    n = tables.size
    if not len(tables.strides):
        return (n + 2) / 3, (n + 1) / 2
    from_left, _, both = _sum_variances(tables)
    return float(both) / (n * (n + 1) / 2), float(from_left) / n
