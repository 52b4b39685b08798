"""Variances after least squares on leaves and hats, from the tables of `hat_tables` alone.

For the part of a query inside an interval we carry Q, its variance, and C, its covariance with
the interval's state. A chain that is joined to a child has, with g the covariance of the query
with the hats at the joint, Q less g' F⁻¹ g and C less gain · g. Both maps are linear in C, so that
many queries are carried at once, and sums of Q over whole families of queries need no more than
sums of C and of CC'.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from trueup._kernels.compiled import worth_compiling
from trueup._kernels.hats.hat_range_variance import fill_variances
from trueup._kernels.hats.hat_tables import (
    FIRST,
    INNER,
    LAST,
    HatTables,
    begins,
    ends_of,
    extends,
    kind_of,
    slot_of,
)
from trueup.arrays import Floats, Ints

_TOGETHER = 1 << 13  # ranges carried at once


class _Joint(NamedTuple):
    """How a chain's C and a child's, side by side, become the chain's after they are joined."""

    turned: Floats  # the new C
    g: Floats  # the covariance with the hats at the joint; no rows where a chain begins
    inverse: Floats


def _joint(tables: HatTables, m: int, child: int) -> _Joint:
    ratio = int(tables.ratios[m - 1])
    position, d = child % ratio, 2 * m + 2
    if position == 0:
        turned = np.hstack([np.zeros((d, d)), begins(m, ratio)])
        return _Joint(turned, np.zeros((0, d + 2 * m)), np.zeros((0, 0)))
    slot = slot_of(tables, m, child)
    g = np.zeros((m, d + 2 * m))
    g[:, m + 1 : 2 * m + 1] = g[:, d : d + m] = np.eye(m)
    turned = np.hstack(extends(m, position, ratio)) - tables.gain[slot, :d, :m] @ g
    return _Joint(turned, g, tables.inverse[slot, :m, :m])


def _kinds(intervals: Ints, count: int) -> Ints:
    """`kind_of` of many intervals of a level."""
    return np.where(intervals == count - 1, LAST, np.where(intervals == 0, FIRST, INNER))


def _pass_up(
    tables: HatTables,
    m: int,
    parents: Ints,
    left: Ints,
    right: Ints,
    ends: tuple[Floats, Floats],
) -> tuple[Floats, Floats]:
    """C of queries over the children [left, right] of their parents, and how much Q changes.

    The first and the last child are met in part, with the C that `ends` give, and those between
    are counted whole. A query that comes from left of its parent has left = −1, and one that goes
    on beyond its end has right = number of children.
    """
    ratio, count = int(tables.ratios[m - 1]), int(tables.counts[m - 1])
    number = -(-count // ratio)
    C, change = np.zeros((len(parents), 2 * m + 2)), np.zeros(len(parents))
    kinds = _kinds(parents, number)
    for kind, parent in ((INNER, 1), (FIRST, 0), (LAST, number - 1)):
        some = np.flatnonzero(kinds == kind)
        if not len(some):
            continue
        first = parent * ratio
        places = np.arange(min(ratio, count - first))
        own = _kinds(first + places, count)
        whole = (left[some, None] < places) & (places < right[some, None])
        children = whole[:, :, None] * tables.child_c[m - 1, own, : 2 * m]
        for at, part in ((left[some], ends[0][some]), (right[some], ends[1][some])):
            inside = np.flatnonzero((at >= 0) & (at < len(places)))
            children[inside, at[inside]] += part[inside]
        taken = whole @ tables.child_q[m - 1, own]
        # Where a chain begins it has the first child alone; then it meets one after another.
        chain = children[:, 0] @ begins(m, ratio).T
        slots = slot_of(tables, m, first)
        for i in range(1, len(places)):
            child, slot = children[:, i], slots + i
            met = chain[:, m + 1 : 2 * m + 1] + child[:, :m]
            taken -= np.einsum("ra,ra->r", met @ tables.inverse[slot, :m, :m], met)
            of_chain, of_child = extends(m, i, ratio)
            chain = chain @ of_chain.T + child @ of_child.T
            chain -= met @ tables.gain[slot, : 2 * m + 2, :m].T
        C[some], change[some] = chain, taken
    return C, change


def _some_variances(tables: HatTables, starts: Ints, stops: Ints) -> Floats:
    k, count = int(tables.strides[0]), int(tables.counts[0])
    left, right = starts // k, (stops - 1) // k
    apart = left < right
    lines = tables.lines
    kind = _kinds(left, count)
    at_left = lines[kind, np.where(apart, k, stops - left * k)] - lines[kind, starts - left * k]
    at_right = apart[:, None] * lines[_kinds(right, count), stops - right * k]
    Q = at_left[:, 2] + at_right[:, 2]
    C_left, C_right = at_left[:, :2], at_right[:, :2]
    for m, ratio in enumerate(tables.ratios.tolist(), start=1):
        up_left, up_right = left // ratio, right // ratio
        apart = up_left < up_right
        i, j = left - up_left * ratio, right - up_right * ratio
        far = np.where(apart, ratio, j)
        own, change = _pass_up(tables, m, up_left, i, far, (C_left, C_right))
        Q += change
        other = np.zeros_like(own)
        if apart.any():
            before = np.full(int(apart.sum()), -1)
            nothing = np.zeros((len(before), 2 * m))
            other[apart], change = _pass_up(
                tables, m, up_right[apart], before, j[apart], (nothing, C_right[apart])
            )
            Q[apart] += change
        C_left, C_right, left, right = own, other, up_left, up_right
    met = C_left[:, ends_of(len(tables.strides))]
    return np.asarray(Q - np.einsum("ra,ra->r", met @ tables.root, met))


def range_variances(tables: HatTables, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
    """The variance of each range [start, stop) of cells, in units of a leaf's; O(ratios) a range.

    >>> from trueup._kernels.hats.hat_tables import hat_tables
    >>> range_variances(hat_tables(8, [4], [1.0]), [0, 0], [1, 8]).round(6).tolist()
    [0.663241, 2.084034]
    """
    starts = np.atleast_1d(np.asarray(starts, np.int64))
    stops = np.atleast_1d(np.asarray(stops, np.int64))
    if not len(tables.strides):
        return np.maximum(stops - starts, 0).astype(np.float64)
    found = np.zeros(len(starts))
    some = np.flatnonzero(starts < stops)
    if worth_compiling(fill_variances, len(some) * int(tables.ratios.sum())):
        each = np.zeros(len(some))
        fill_variances(tables, starts[some], stops[some], each)
        found[some] = each
        return found
    for begin in range(0, len(some), _TOGETHER):
        now = some[begin : begin + _TOGETHER]
        found[now] = np.maximum(_some_variances(tables, starts[now], stops[now]), 0.0)
    return found


def every_cell(tables: HatTables) -> Floats:
    """The variance of every cell, in units of a leaf's; linear time.

    By how much the variance of a query inside an interval falls, through all that is learned
    outside, is a quadratic form in its C. Going down, a child's form follows from its parent's.

    >>> from trueup._kernels.hats.hat_tables import hat_tables
    >>> every_cell(hat_tables(8, [4], [1.0])).round(6).tolist()[:2]
    [0.663241, 0.819952]
    """
    H = len(tables.strides)
    if not H:
        return np.ones(tables.size)
    ends = ends_of(H)
    forms = np.zeros((1, 2 * H + 2, 2 * H + 2))
    forms[0][np.ix_(ends, ends)] = tables.root
    for m in range(H, 0, -1):
        ratio, count, d = int(tables.ratios[m - 1]), int(tables.counts[m - 1]), 2 * m + 2
        number = -(-count // ratio)
        below = np.empty((count, 2 * m, 2 * m))
        kinds = _kinds(np.arange(number), number)
        for kind, parent in ((INNER, 1), (FIRST, 0), (LAST, number - 1)):
            some = np.flatnonzero(kinds == kind)
            if not len(some):
                continue
            form, first = forms[some], parent * ratio
            for i in reversed(range(min(ratio, count - first))):
                turned, g, inverse = _joint(tables, m, first + i)
                both = turned.T @ form @ turned + g.T @ inverse @ g
                below[some * ratio + i], form = both[:, d:, d:], both[:, :d, :d]
        forms = below
    count = int(tables.counts[0])
    found = np.empty((count, int(tables.strides[0])))
    kinds = _kinds(np.arange(count), count)
    for kind in (INNER, FIRST, LAST):
        each = np.diff(tables.lines[kind], axis=0)
        C, some = each[:, :2], kinds == kind
        found[some] = each[:, 2] - np.einsum("ta,jab,tb->jt", C, forms[some], C)
    return np.maximum(found.ravel()[: tables.size], 0.0)


# Families of queries, for exact mean errors. A family over an interval or chain is the sum over
# its queries of Q, and of (1, C)(1, C)'. Those that begin at the left end, those that end at the
# right end, and all; the query of everything belongs to each of the three.
class _Family(NamedTuple):
    moments: Floats
    Q: float


class _Families(NamedTuple):
    from_left: _Family
    to_right: _Family
    any: _Family


def _point(C: Floats, Q: float) -> _Family:
    """A single query."""
    each = np.concatenate([[1.0], C])
    return _Family(np.outer(each, each), Q)


def _line_families(tables: HatTables, kind: int, cells: int) -> _Families:
    lines = tables.lines[kind, : cells + 1]

    def of(queries: Floats) -> _Family:
        each = np.hstack([np.ones((len(queries), 1)), queries[:, :2]])
        return _Family(each.T @ each, float(queries[:, 2].sum()))

    # Σ over pairs i < j of (L_j − L_i)(L_j − L_i)' is the number of points times Σ LL' around
    # their mean.
    centred = lines - lines.mean(axis=0)
    totals = (2 * np.arange(cells + 1) - cells) @ lines
    moments = np.empty((3, 3))
    moments[0, 0] = cells * (cells + 1) / 2
    moments[0, 1:] = moments[1:, 0] = totals[:2]
    moments[1:, 1:] = (cells + 1) * centred[:, :2].T @ centred[:, :2]
    every = _Family(moments, float(totals[2]))
    return _Families(of(lines[1:] - lines[0]), of(lines[-1] - lines[:-1]), every)


def _crossed(pairs: list[tuple[_Family, _Family]]) -> tuple[Floats, float]:
    """The sum of (1, C, C')(1, C, C')' over all pairs of a chain's and a child's query, and of Q.

    Each pair of families: all queries of one with all of the other.
    """
    chain_size, Q = len(pairs[0][0].moments), 0.0
    size = chain_size + len(pairs[0][1].moments) - 1
    both = np.zeros((size, size))
    for (chain, q), (child, p) in pairs:
        queries, others = chain[0, 0], child[0, 0]
        both[:chain_size, :chain_size] += others * chain
        both[:chain_size, chain_size:] += chain[:, :1] * child[0, 1:]
        both[chain_size:, chain_size:] += queries * child[1:, 1:]
        Q += float(q * others + queries * p)
    both[chain_size:, :chain_size] = both[:chain_size, chain_size:].T
    return both, Q


def _join_families(
    tables: HatTables, m: int, at: int, chain: _Families | None, child: _Families
) -> _Families:
    """The families of a chain with one more child, number `at` of its level."""
    joint, slot = _joint(tables, m, at), slot_of(tables, m, at)
    kind = kind_of(at, int(tables.counts[m - 1]))
    turned = np.zeros((2 * m + 3, 4 * m + 3))
    turned[0, 0], turned[1:, 1:] = 1.0, joint.turned
    no_chain, no_child = _point(np.zeros(2 * m + 2), 0.0), _point(np.zeros(2 * m), 0.0)
    if chain is None:
        pairs = [[(no_chain, family)] for family in child]
    else:
        whole = _point(tables.child_c[m - 1, kind, : 2 * m], float(tables.child_q[m - 1, kind]))
        before = _point(tables.whole_c[slot, : 2 * m + 2], float(tables.whole_q[slot]))
        pairs = [
            [(chain.from_left, no_child), (before, child.from_left)],
            [(chain.to_right, whole), (no_chain, child.to_right)],
            [
                (chain.any, no_child),
                (no_chain, child.any),
                (chain.to_right, child.from_left),
            ],
        ]
    found = []
    for each in pairs:
        both, Q = _crossed(each)
        met = joint.g @ both[1:, 1:] @ joint.g.T
        found.append(_Family(turned @ both @ turned.T, Q - float((met * joint.inverse).sum())))
    return _Families(*found)


def mean_variances(tables: HatTables) -> tuple[float, float]:
    """The mean variance over all ranges, and over all prefixes, in units of a leaf's.

    Exact, in time that grows with the ratios of the strides.

    >>> from trueup._kernels.hats.hat_tables import hat_tables
    >>> mean_variances(hat_tables(2, [], []))
    (1.3333333333333333, 1.5)
    """
    n, H = tables.size, len(tables.strides)
    if not H:
        return (n + 2) / 3, (n + 1) / 2
    k = int(tables.strides[0])
    rest = n - (int(tables.counts[0]) - 1) * k
    children = [_line_families(tables, kind, rest if kind == LAST else k) for kind in range(3)]
    for m in range(1, H + 1):
        ratio, count = int(tables.ratios[m - 1]), int(tables.counts[m - 1])
        parents = -(-count // ratio)
        made = list(children)
        for kind, parent in enumerate((1, 0, parents - 1)):
            if parent >= parents or kind_of(parent, parents) != kind:
                continue
            chain: _Families | None = None
            for at in range(parent * ratio, min((parent + 1) * ratio, count)):
                child = children[kind_of(at, count)]
                chain = _join_families(tables, m, at, chain, child)
            assert chain is not None
            made[kind] = chain
        children = made
    ends = 1 + ends_of(H)
    both, prefixes = (
        family.Q - float((tables.root * family.moments[np.ix_(ends, ends)]).sum())
        for family in (children[LAST].any, children[LAST].from_left)
    )
    return both / (n * (n + 1) / 2), prefixes / n
