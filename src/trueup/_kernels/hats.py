"""Least squares for leaves and hats: overlapping triangular windows at several strides.

Strides k₁ | k₂ | … cut the cells into intervals, fine ones inside coarse ones. The hat of stride
k around a knot jk weighs the cells beside it 2k − 1, 2k − 3, … 3, 1; on an interval it is one of
two straight lines, falling from the left knot or rising to the right one, and the lines of a
coarse interval are made of the lines of the fine ones inside. So an interval of level m is known
to the rest by 2m numbers alone: for every level up to m the part of the hat around its left end,
and of that around its right end, that lies inside it. This is its *state*. Intervals are put
together from left to right, the hats around each joint being conditioned on as they are completed
(a Kalman filter along the chain, one chain inside the other); what is learned then flows back as
one multiplier a hat. Covariances do not depend on the answers, and all intervals of a level have
the same, except the first and the last, where noise may differ and cells be cut short: they are
computed once for each of these three kinds, and for each position inside.

Weights are scaled by 1/2k, so that they add up to 1 at every cell; variances are in units of an
inner leaf's. A hat not asked has variance NOT_ASKED. A state: left parts, finest first, then right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from trueup._kernels.compiled import compiled

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


NOT_ASKED = 1e200
INNER, FIRST, LAST = 0, 1, 2


class HatTables(NamedTuple):
    """What least squares and variances need of a set of hats, whatever the answers."""

    size: int
    strides: Ints
    counts: Ints  # intervals of each level
    ratios: Ints  # children of a full parent; on the last level, all
    joints: Ints  # first slot of each level: see `slot_of`
    knots: Ints  # first hat of each level, in an array of all hats, finest first
    cells: Floats  # kind, place in a finest interval: variance of a leaf
    lines: (
        Floats  # kind, place: sums before it of the leaves' variances, times the two lines, and 1
    )
    gain: Floats  # slot, state of the parent, hat: how an innovation moves the state
    inverse: Floats  # slot, hat, hat: inverse covariance of the innovations
    whole_c: Floats  # slot: covariance of the total of the children before with the chain's state
    whole_q: Floats  # slot: its variance
    child_c: Floats  # level, kind: covariance of an interval's total with its state
    child_q: Floats  # level, kind: its variance
    root: Floats  # inverse covariance of the innovations of the hats at the two ends


@compiled
def kind_of(interval: int, count: int) -> int:
    """Whether an interval is the last of its level, the first, or neither."""
    if interval == count - 1:
        return LAST
    return FIRST if interval == 0 else INNER


@compiled
def slot_of(tables: HatTables, m: int, child: int) -> int:
    """Where the tables of the joint left of a child of level m are."""
    ratio = tables.ratios[m - 1]
    slot = tables.joints[m - 1] + child % ratio
    if m == len(tables.strides):
        return slot
    return slot + ratio * kind_of(child // ratio, tables.counts[m])


@compiled
def begin(state: Floats, m: int, ratio: int, chain: Floats) -> None:
    """Sets a chain of children to its first child alone."""
    for level in range(m):
        chain[level] = state[level]
        chain[m + 1 + level] = state[m + level]
    chain[m] = state[m - 1] + (ratio - 1) * state[2 * m - 1] / ratio
    chain[2 * m + 1] = state[2 * m - 1] / ratio


@compiled
def extend(chain: Floats, state: Floats, m: int, position: int, ratio: int) -> None:
    """Puts one more child at the end of a chain, whose right parts become the child's."""
    left, right = state[m - 1], state[2 * m - 1]
    chain[m] += ((ratio - position) * left + (ratio - position - 1) * right) / ratio
    chain[2 * m + 1] += (position * left + (position + 1) * right) / ratio
    for level in range(m):
        chain[m + 1 + level] = state[m + level]


@compiled
def invert(matrix: Floats, n: int) -> None:
    """Turns the first n rows and columns, positive definite, into their inverse, in place."""
    for p in range(n):
        pivot = 1.0 / matrix[p, p]
        for i in range(n):
            if i != p:
                factor = matrix[i, p] * pivot
                for j in range(n):
                    if j != p:
                        matrix[i, j] -= factor * matrix[p, j]
        for i in range(n):
            if i != p:
                matrix[i, p] *= -pivot
                matrix[p, i] *= pivot
        matrix[p, p] = pivot


@compiled
def _turned(matrix: Floats) -> Floats:
    """The transpose, row by row in memory."""
    rows, columns = matrix.shape
    turned = np.empty((columns, rows))
    for row in range(rows):
        for column in range(columns):
            turned[column, row] = matrix[row, column]
    return turned


@compiled
def _lone(child: Floats, m: int, ratio: int) -> Floats:
    """The covariance of a chain of one child."""
    half = np.empty((2 * m, 2 * m + 2))
    for row in range(2 * m):
        begin(child[row], m, ratio, half[row])
    half = _turned(half)
    chain = np.empty((2 * m + 2, 2 * m + 2))
    for row in range(2 * m + 2):
        begin(half[row], m, ratio, chain[row])
    return chain


@compiled
def _join(
    chain: Floats,
    child: Floats,
    m: int,
    position: int,
    ratio: int,
    variances: Floats,
    gain: Floats,
    inverse: Floats,
) -> Floats:
    """The chain's covariance with one more child; fills gain and inverse of the hats between."""
    d = 2 * m + 2
    nothing = np.zeros(2 * m)
    # The covariance of the chain's state after the child with the chain's and the child's before.
    with_chain, with_child = chain.copy(), np.zeros((2 * m, d))
    for row in range(d):
        extend(with_chain[row], nothing, m, position, ratio)
    for row in range(2 * m):
        extend(with_child[row], child[row], m, position, ratio)
    after, beside = _turned(with_chain), _turned(with_child)
    for row in range(d):
        extend(after[row], beside[row], m, position, ratio)
    # A hat at the joint is the chain's right part plus the child's left part.
    moved = np.empty((d, m))
    for level in range(m):
        for part in range(d):
            moved[part, level] = with_chain[m + 1 + level, part] + with_child[level, part]
        for other in range(m):
            inverse[level, other] = chain[m + 1 + level, m + 1 + other] + child[level, other]
        inverse[level, level] += variances[level]
    invert(inverse, m)
    for part in range(d):
        for level in range(m):
            found = 0.0
            for other in range(m):
                found += moved[part, other] * inverse[other, level]
            gain[part, level] = found
    for a in range(d):
        for b in range(d):
            for level in range(m):
                after[a, b] -= gain[a, level] * moved[b, level]
    return after


@compiled
def _line_covariance(tables: HatTables, kind: int, cells: int) -> Floats:
    """The covariance of the two weighted sums over the first cells of a finest interval."""
    stride = tables.strides[0]
    covariance = np.zeros((2, 2))
    for t in range(stride):
        right = (t + 0.5) / stride
        variance = tables.cells[kind, t]
        line = tables.lines[kind, t]
        after = tables.lines[kind, t + 1]
        after[0] = line[0] + variance * (1.0 - right)
        after[1] = line[1] + variance * right
        after[2] = line[2] + variance
        if t < cells:
            covariance[0, 0] += variance * (1.0 - right) * (1.0 - right)
            covariance[0, 1] += variance * (1.0 - right) * right
            covariance[1, 1] += variance * right * right
    covariance[1, 0] = covariance[0, 1]
    return covariance


@compiled
def _chain(tables: HatTables, m: int, parent: int, children: Floats, variances: Floats) -> Floats:
    """The covariance of a parent's state; fills the tables of its joints."""
    d, ratio, count = 2 * m + 2, tables.ratios[m - 1], tables.counts[m - 1]
    here = np.empty(m)
    first = parent * ratio
    chain = _lone(children[kind_of(first, count)], m, ratio)
    for child in range(first + 1, min(first + ratio, count)):
        slot = slot_of(tables, m, child)
        total = tables.whole_c[slot]
        for part in range(d):
            total[part] = chain[part, m] + chain[part, d - 1]
        tables.whole_q[slot] = total[m] + total[d - 1]
        for level in range(m):
            hat = child * (tables.strides[m - 1] // tables.strides[level])
            here[level] = variances[tables.knots[level] + hat]
        gain, inverse = tables.gain[slot], tables.inverse[slot]
        own = children[kind_of(child, count)]
        chain = _join(chain, own, m, child - first, ratio, here, gain, inverse)
    return chain


@compiled
def _fill(tables: HatTables, variances: Floats) -> None:
    H = len(tables.strides)
    rest = tables.size - (tables.counts[0] - 1) * tables.strides[0]
    children = np.empty((3, 2, 2))
    for kind in range(3):
        cells = rest if kind == LAST else tables.strides[0]
        children[kind] = _line_covariance(tables, kind, cells)
    for m in range(1, H + 1):
        for kind in range(3):
            total = tables.child_c[m - 1, kind]
            for part in range(2 * m):
                total[part] = children[kind, part, m - 1] + children[kind, part, 2 * m - 1]
            tables.child_q[m - 1, kind] = total[m - 1] + total[2 * m - 1]
        parents = -(-tables.counts[m - 1] // tables.ratios[m - 1])
        made = np.zeros((3, 2 * m + 2, 2 * m + 2))
        for kind, parent in enumerate((1, 0, parents - 1)):
            if kind_of(parent, parents) == kind:
                made[kind] = _chain(tables, m, parent, children, variances)
        children = made
    for a in range(2 * H):
        for b in range(2 * H):
            tables.root[a, b] = children[LAST, a + a // H, b + b // H]
        level = a % H
        end = tables.knots[level] if a < H else tables.knots[level + 1] - 1
        tables.root[a, a] += variances[end]
    invert(tables.root, 2 * H)


def hat_tables(
    size: int,
    strides: Sequence[int],
    variances: npt.ArrayLike,
    first_cells: npt.ArrayLike | None = None,
    last_cells: npt.ArrayLike | None = None,
) -> HatTables:
    """The tables for hats, scaled to weigh 1 a cell, of these variances, and cells of variance 1.

    One variance a stride, or one a hat, finest first; then those under the first and the last
    interval of each level may differ from the others, which must be equal level by level. So may
    the variances of the cells of the first and of the last finest interval. Time and memory grow
    with the ratios of the strides, not with the number of cells.
    """
    k = np.array(strides, np.int64)
    H = len(k)
    counts = -(-size // k)
    ratios = np.append(k[1:] // k[:-1], counts[-1:])
    families = np.array([3] * (H - 1) + [1] * min(H, 1), np.int64)
    joints = np.concatenate([[0], np.cumsum(families * ratios)]).astype(np.int64)
    knots = np.concatenate([[0], np.cumsum(counts + 1)]).astype(np.int64)
    each = np.asarray(variances, np.float64)
    if len(each) == H:
        each = np.repeat(each, counts + 1)
    finest = int(k[0]) if H else 1
    cells = np.ones((3, finest))
    for kind, some in ((FIRST, first_cells), (LAST, last_cells)):
        if some is not None:
            cells[kind, : len(np.asarray(some))] = some
    slots = int(joints[-1])
    tables = HatTables(
        int(size),
        k,
        counts,
        ratios,
        joints,
        knots,
        cells,
        np.zeros((3, finest + 1, 3)),
        np.zeros((slots, 2 * H + 2, H)),
        np.zeros((slots, H, H)),
        np.zeros((slots, 2 * H + 2)),
        np.zeros(slots),
        np.zeros((H, 3, 2 * H)),
        np.zeros((H, 3)),
        np.zeros((2 * H, 2 * H)),
    )
    if H:
        _fill(tables, np.ascontiguousarray(each))
    return tables


@compiled
def _up(tables: HatTables, cells: Floats, hats: Floats, states: Floats, starts: Ints) -> Floats:
    """Leaves in `hats` inverse · innovation of each, gives the state of the whole."""
    k, H = tables.strides[0], len(tables.strides)
    for j in range(tables.counts[0]):
        stop = min(k, tables.size - j * k)
        left, total = 0.0, 0.0
        for t in range(stop):
            value = cells[j * k + t]
            left += value * (2 * k - 2 * t - 1)
            total += value
        states[2 * j] = left / (2 * k)
        states[2 * j + 1] = total - left / (2 * k)
    chain = np.zeros(2 * H + 2)
    innovation = np.zeros(H)
    for m in range(1, H + 1):
        d, ratio, count = 2 * m + 2, tables.ratios[m - 1], tables.counts[m - 1]
        for child in range(count):
            i = child % ratio
            at = starts[m - 1] + 2 * m * child
            state = states[at : at + 2 * m]
            if i == 0:
                begin(state, m, ratio, chain)
            else:
                slot = slot_of(tables, m, child)
                for level in range(m):
                    hat = tables.knots[level] + child * (
                        tables.strides[m - 1] // tables.strides[level]
                    )
                    innovation[level] = hats[hat] - chain[m + 1 + level] - state[level]
                extend(chain, state, m, i, ratio)
                for level in range(m):
                    hat = tables.knots[level] + child * (
                        tables.strides[m - 1] // tables.strides[level]
                    )
                    hats[hat] = 0.0
                    for other in range(m):
                        hats[hat] += tables.inverse[slot, level, other] * innovation[other]
                    for part in range(d):
                        chain[part] += tables.gain[slot, part, level] * innovation[level]
            if m < H and (i == ratio - 1 or child == count - 1):
                parent = starts[m] + d * (child // ratio)
                for part in range(d):
                    states[parent + part] = chain[part]
    return chain


@compiled
def _down(tables: HatTables, hats: Floats, chain: Floats, states: Floats, starts: Ints) -> None:
    """Turns `hats` into the multiplier of each, and the finest states into those of their lines.

    `chain` holds the multipliers of the parts of the whole.
    """
    H = len(tables.strides)
    for m in range(H, 0, -1):
        d, ratio, count = 2 * m + 2, tables.ratios[m - 1], tables.counts[m - 1]
        for child in range(count - 1, -1, -1):
            i = child % ratio
            if m < H and (i == ratio - 1 or child == count - 1):
                parent = starts[m] + d * (child // ratio)
                for part in range(d):
                    chain[part] = states[parent + part]
            at = starts[m - 1] + 2 * m * child
            slot = slot_of(tables, m, child)
            for level in range(m):
                multiplier = chain[level]
                if i > 0:
                    hat = tables.knots[level] + child * (
                        tables.strides[m - 1] // tables.strides[level]
                    )
                    multiplier = hats[hat]
                    for part in range(d):
                        multiplier -= tables.gain[slot, part, level] * chain[part]
                    hats[hat] = multiplier
                states[at + level] = multiplier
            for level in range(m):
                states[at + m + level] = chain[m + 1 + level]
                chain[m + 1 + level] = states[at + level]
            falling, rising = chain[m], chain[d - 1]
            states[at + m - 1] += ((ratio - i) * falling + i * rising) / ratio
            states[at + 2 * m - 1] += ((ratio - i - 1) * falling + (i + 1) * rising) / ratio


@compiled
def solve_into(
    tables: HatTables, cells: Floats, hats: Floats, states: Floats, starts: Ints, fitted: Floats
) -> None:
    """As `solve`: turns the hats into their multipliers in place; `states` is room to work in."""
    k, H = tables.strides[0], len(tables.strides)
    chain = _up(tables, cells, hats, states, starts)
    ends = np.empty(2 * H)
    for level in range(H):
        ends[level] = hats[tables.knots[level]] - chain[level]
        ends[H + level] = hats[tables.knots[level + 1] - 1] - chain[H + 1 + level]
    chain[:] = 0.0
    for a in range(2 * H):
        for b in range(2 * H):
            chain[a + a // H] += tables.root[a, b] * ends[b]
    for level in range(H):
        hats[tables.knots[level]] = chain[level]
        hats[tables.knots[level + 1] - 1] = chain[H + 1 + level]
    _down(tables, hats, chain, states, starts)
    for j in range(tables.counts[0]):
        step = (states[2 * j + 1] - states[2 * j]) / k
        value = states[2 * j] + 0.5 * step
        variances = tables.cells[kind_of(j, tables.counts[0])]
        for t in range(min(k, tables.size - j * k)):
            fitted[j * k + t] = cells[j * k + t] + variances[t] * value
            value += step


def solve(tables: HatTables, cells: npt.ArrayLike, hats: npt.ArrayLike) -> tuple[Floats, Floats]:
    """The least-squares value of every cell, and the multiplier of every hat.

    `hats` are the noisy hats scaled by 1/2k, finest level first. The fitted cells are the noisy
    ones plus, at each, its variance times the multipliers of the hats over it times their weights.
    Linear time.
    """
    cells = np.ascontiguousarray(cells, np.float64)
    multipliers = np.array(hats, np.float64)
    if not len(tables.strides):
        return cells.copy(), multipliers
    starts = state_starts(tables)
    fitted = np.empty_like(cells)
    solve_into(tables, cells, multipliers, np.empty(int(starts[-1])), starts, fitted)
    return fitted, multipliers


def state_starts(tables: HatTables) -> Ints:
    """Where the states of each level begin in one array, and where they end."""
    lengths = 2 * np.arange(1, len(tables.strides) + 1) * tables.counts
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def cell_variances(tables: HatTables) -> Floats:
    """The variance of every leaf."""
    found = np.ones(tables.size)
    if len(tables.strides):
        k = int(tables.strides[0])
        found[:k] = tables.cells[FIRST][: tables.size]
        rest = int(tables.counts[0] - 1) * k
        found[rest:] = tables.cells[LAST][: tables.size - rest]
    return found
