"""Non-negative counts on a tree: the ones nearest to all noisy answers at once, exactly.

A tree is the array `first`: the children of node v are nodes first[v] .. first[v+1]-1, in
breadth-first order. `leaves_of` says which nodes are leaves; results are given on them, in node
order, because every other count is a sum of leaves.

Minimise Σ w (x − y)² with every parent the sum of its children and every leaf ≥ 0.
Solve without the signs, drop every leaf that came out negative, solve again on what lives. The
Gram matrix of the leaves is ultrametric (a weight on the diagonal plus nested blocks of equal
weights), so its inverse is an M-matrix: taking a negative leaf away lowers the others, and so
no dropped leaf ever wants to come back. Each round costs one pass up and one pass down over the
live nodes. Inputs made so that each round drops one leaf only would take n rounds: after
ROUNDS of them the breakpoints of the total as a function of its price are merged up the tree
instead, which tells the live leaves directly in O(n·height) steps.
"""

from __future__ import annotations

import numpy as np

from trueup._kernels.compiled import ARRAY_ELEMENTS, compiled
from trueup._kernels.display.by_level import added, levels_of
from trueup.arrays import Floats, Ints

ROUNDS = 40


@compiled
def leaves_of(first: Ints) -> Ints:
    """The nodes without children, in node order."""
    nodes = len(first) - 1
    count = 0
    for v in range(nodes):
        count += first[v] == first[v + 1]
    leaves = np.empty(count, np.int64)
    count = 0
    for v in range(nodes):
        if first[v] == first[v + 1]:
            leaves[count] = v
            count += 1
    return leaves


def _node_sums_by_level(first: Ints, at_leaves: Floats) -> Floats:
    sums = np.empty(len(first) - 1)
    sums[first[:-1] == first[1:]] = at_leaves
    for level in reversed(list(levels_of(first))):
        for families in level:
            sums[families.parents] = added(families.read(sums))
    return sums


@compiled(most=ARRAY_ELEMENTS, plain=_node_sums_by_level)
def node_sums(first: Ints, at_leaves: Floats) -> Floats:
    """Every node's total, given the values of the leaves in node order."""
    nodes = len(first) - 1
    sums = np.empty(nodes)
    leaf = len(at_leaves)
    for v in range(nodes - 1, -1, -1):
        if first[v] == first[v + 1]:
            leaf -= 1
            sums[v] = at_leaves[leaf]
        else:
            s = 0.0
            for c in range(first[v], first[v + 1]):
                s += sums[c]
            sums[v] = s
    return sums


@compiled
def _solve(
    first: Ints,
    y: Floats,
    w: Floats,
    total: float,
    x: Floats,
    variance: Floats,
    sums: Floats,
    spread: Floats,
) -> tuple[int, int]:
    """Drop the leaves that x has negative, solve least squares for the others into x.

    Up with (z, V), down with the difference shared out by V. A dropped leaf is one of variance
    0: it takes no share, and so stays at 0. Returns how many leaves live and how many of those
    have come out negative.
    """
    nodes = len(y)
    inner = nodes  # from here on all are leaves: they need no look at their children
    while inner > 0 and first[inner - 1] == first[inner]:
        inner -= 1
    living = 0
    for v in range(inner, nodes):
        lives = x[v] >= 0.0 and variance[v] > 0.0
        living += lives
        variance[v] = variance[v] if lives else 0.0
        x[v] = y[v] if lives else 0.0
    for v in range(inner - 1, -1, -1):
        a, b = first[v], first[v + 1]
        if a == b:
            lives = x[v] >= 0.0 and variance[v] > 0.0
            living += lives
            variance[v] = variance[v] if lives else 0.0
            x[v] = y[v] if lives else 0.0
            continue
        t, s = variance[a], x[a]
        for c in range(a + 1, b):
            t += variance[c]
            s += x[c]
        spread[v], sums[v] = t, s
        shrink = 1.0 / (1.0 + w[v] * t)
        x[v] = (w[v] * y[v] * t + s) * shrink
        variance[v] = t * shrink
    if not np.isnan(total):
        x[0] = total
    negative = 0
    for v in range(inner):
        a, b = first[v], first[v + 1]
        if a == b:
            negative += x[v] < 0.0
            continue
        gap = (x[v] - sums[v]) / spread[v] if spread[v] > 0.0 else 0.0
        for c in range(a, b):
            x[c] += variance[c] * gap
    for v in range(inner, nodes):
        negative += x[v] < 0.0
    return living, negative


@compiled
def _keep(
    first: Ints, y: Floats, w: Floats, leaf: Ints, x: Floats, variance: Floats
) -> tuple[Ints, Floats, Floats, Ints]:
    """The tree of the nodes that hold a live leaf, in order, and which node each leaf was."""
    nodes = len(first) - 1
    live = np.empty(nodes, np.int32)  # 1 more than the number of live children; 0 if dropped
    kept = 0
    for v in range(nodes - 1, -1, -1):
        a, b = first[v], first[v + 1]
        if a == b:
            live[v] = x[v] >= 0.0 and variance[v] > 0.0
        else:
            count = 0
            for c in range(a, b):
                count += live[c] > 0
            live[v] = count + (count > 0)
        kept += live[v] > 0
    new_first, new_leaf = np.empty(kept + 2, np.int64), np.empty(kept + 1, np.int64)
    new_y, new_w = np.empty(kept + 1), np.empty(kept + 1)
    at = 0
    child = 1
    for v in range(nodes):  # every node is written, the place moves on after a live one only:
        new_y[at] = y[v]  # no branch for the processor to guess wrong
        new_w[at] = w[v]
        new_leaf[at] = leaf[v] if len(leaf) > 0 else v
        new_first[at] = child
        child += max(live[v] - 1, 0)
        at += live[v] > 0
    new_first[kept] = kept
    return new_first[: kept + 1], new_y[:kept], new_w[:kept], new_leaf[:kept]


@compiled
def _depth_first(first: Ints) -> tuple[Ints, Ints]:
    """Where the leaves of each subtree lie, depth first, and how many there are."""
    nodes = len(first) - 1
    leaves = np.zeros(nodes, np.int64)
    for v in range(nodes - 1, -1, -1):
        if first[v] == first[v + 1]:
            leaves[v] = 1
        for c in range(first[v], first[v + 1]):
            leaves[v] += leaves[c]
    start = np.zeros(nodes, np.int64)
    for v in range(nodes):
        at = start[v]
        for c in range(first[v], first[v + 1]):
            start[c] = at
            at += leaves[c]
    return start, leaves


@compiled
def _live_by_breakpoints(first: Ints, y: Floats, w: Floats, total: float, x: Floats) -> None:
    """Set x to 1 on the leaves that are positive at the optimum, to −1 on the others.

    Give a node's total the price −μ each and let t(μ) be the total that its subtree then wants:
    piecewise linear and rising, with one breakpoint a leaf, where that leaf leaves zero. A leaf
    wants max(0, y + μ/2w). A node's children share one price λ, so their lists merge; the
    node's own term then moves a breakpoint to μ = λ + 2w(t − y) and turns the slope s into
    s / (1 + 2ws). At the root the price is 0 (or the one that gives the pinned total): the live
    leaves are those whose breakpoints lie below it.
    """
    nodes = len(first) - 1
    start, leaves = _depth_first(first)
    price, slope = np.empty(leaves[0]), np.empty(leaves[0])
    who = np.empty(leaves[0], np.int64)
    spare_price, spare_slope, spare_who = price.copy(), slope.copy(), who.copy()
    for v in range(nodes - 1, -1, -1):
        low, high = start[v], start[v] + leaves[v]
        a, b = first[v], first[v + 1]
        if a == b:
            price[low] = -2.0 * w[v] * y[v]
            slope[low] = 0.5 / w[v]
            who[low] = v
            continue
        step = 1  # merge neighbours, then pairs of them, and so on: k lists in log k sweeps
        while step < b - a:
            for c in range(a, b - step, 2 * step):
                begin, middle = start[c], start[c + step]
                end = start[c + 2 * step] if c + 2 * step < b else high
                i, j = begin, middle
                for k in range(begin, end):
                    if j == end or (i < middle and price[i] <= price[j]):
                        spare_price[k], spare_slope[k], spare_who[k] = price[i], slope[i], who[i]
                        i += 1
                    else:
                        spare_price[k], spare_slope[k], spare_who[k] = price[j], slope[j], who[j]
                        j += 1
                price[begin:end] = spare_price[begin:end]
                slope[begin:end] = spare_slope[begin:end]
                who[begin:end] = spare_who[begin:end]
            step *= 2
        if v == 0 and not np.isnan(total):
            break
        if w[v] > 0.0:
            wants, rise, before = 0.0, 0.0, price[low]
            for k in range(low, high):
                wants += rise * (price[k] - before)
                before = price[k]
                steeper = rise + slope[k]
                price[k] += 2.0 * w[v] * (wants - y[v])
                slope[k] /= (1.0 + 2.0 * w[v] * rise) * (1.0 + 2.0 * w[v] * steeper)
                rise = steeper
    x[:nodes] = -1.0
    _mark_living(price, slope, who, total, x)


@compiled
def _mark_living(price: Floats, slope: Floats, who: Ints, total: float, x: Floats) -> None:
    """Set x to 1 on the leaves whose breakpoints lie below the root's price."""
    wants, rise = 0.0, 0.0
    for k in range(len(price)):
        if np.isnan(total):
            if price[k] >= 0.0:
                break
        else:
            wants += rise * (price[k] - price[max(k - 1, 0)])
            if wants >= total:
                break
            rise += slope[k]
        x[who[k]] = 1.0


@compiled
def _start(first: Ints, w: Floats, x: Floats, variance: Floats) -> None:
    """Every leaf alive."""
    for v in range(len(first) - 1):
        x[v] = 0.0
        variance[v] = 1.0 / w[v] if first[v] == first[v + 1] else 0.0


def nonnegative_leaves(
    first: Ints, y: Floats, w: Floats, total: float = np.nan, rounds: int = ROUNDS
) -> tuple[Floats, int]:
    """The leaves of the exact minimiser of Σ w (x − y)² with leaves ≥ 0, and the rounds it took.

    w is positive on leaves and may be 0 (not asked) elsewhere. A `total` that is not NaN pins
    the root. More rounds than asked for means that the fallback was used.
    """
    leaves = leaves_of(first)
    found = np.zeros(len(first) - 1)
    who = np.empty(0, np.int64)  # empty: each node is itself
    x, variance, sums, spread = (np.empty(len(y)) for _ in range(4))
    _start(first, w, x, variance)
    here = len(leaves)
    for done in range(1, rounds + 2):
        living, negative = _solve(first, y, w, total, x, variance, sums, spread)
        if negative == 0:
            break
        if negative == living:
            return found[leaves], done
        if done == rounds:
            first, y, w, who = _keep(first, y, w, who, x, variance)
            _start(first, w, x, variance)
            _live_by_breakpoints(first, y, w, total, x)
        elif 2 * (living - negative) < here:
            first, y, w, who = _keep(first, y, w, who, x, variance)
            _start(first, w, x, variance)
            here = living - negative
    ends = leaves_of(first)
    found[who[ends] if len(who) else ends] = np.maximum(x[ends], 0.0)
    return found[leaves], done


@compiled
def optimality_residual(
    first: Ints, y: Floats, w: Floats, at_leaves: Floats, total: float
) -> float:
    """How far the leaves are from optimal: the largest relative breach of the KKT conditions.

    With g the derivative of Σ w (x − y)² by a leaf: g = 0 where the leaf is positive, g ≥ 0
    where it is zero. Each breach is divided by Σ 2w(|x| + |y|) over the leaf's ancestors, the
    size of the terms that cancel in g. Under a pinned total, g is measured from the multiplier
    of the total and the total itself is checked. A negative leaf is a breach of 1.
    """
    nodes = len(first) - 1
    x = node_sums(first, at_leaves)
    g, size = np.zeros(nodes), np.zeros(nodes)
    pinned = not np.isnan(total)
    least, most, least_zero = np.inf, -np.inf, np.inf
    for v in range(nodes):
        if v > 0 or not pinned:
            g[v] += 2.0 * w[v] * (x[v] - y[v])
            size[v] += 2.0 * w[v] * (abs(x[v]) + abs(y[v]))
        for c in range(first[v], first[v + 1]):
            g[c], size[c] = g[v], size[v]
        if first[v] == first[v + 1]:
            if x[v] < 0.0:
                return 1.0
            if x[v] > 0.0:
                least, most = min(least, g[v]), max(most, g[v])
            else:
                least_zero = min(least_zero, g[v])
    multiplier = 0.0
    worst = 0.0
    if pinned:
        multiplier = 0.5 * (least + most) if most >= least else least_zero
        worst = abs(x[0] - total) / max(abs(total), 1e-300)
    for v in range(nodes):
        if first[v] == first[v + 1]:
            breach = g[v] - multiplier
            if x[v] == 0.0:
                breach = min(breach, 0.0)
            if breach != 0.0:
                worst = max(worst, abs(breach) / (size[v] + abs(multiplier)))
    return worst
