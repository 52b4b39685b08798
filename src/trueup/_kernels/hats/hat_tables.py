"""The tables of leaves and hats: what least squares and variances need, whatever the answers.

Strides k₁ | k₂ | … cut the cells into intervals, fine ones inside coarse ones. The hat of stride
k around a knot jk weighs the cells beside it 2k − 1, 2k − 3, … 3, 1; on an interval it is one of
two straight lines, falling from the left knot or rising to the right one, and the lines of a
coarse interval are made of the lines of the fine ones inside. So an interval of level m is known
to the rest by 2m numbers alone: for every level up to m the part of the hat around its left end,
and of that around its right end, that lies inside it. This is its *state*. Intervals are put
together from left to right, the hats around each joint being conditioned on as they are completed
(a Kalman filter along the chain, one chain inside the other). Covariances do not depend on the
answers, and all intervals of a level have the same, except the first and the last, where noise may
differ and cells be cut short: they are computed once for each of these three kinds, and for each
position inside. Plain numpy: a plan that compares many sets of hats waits for no compiler.

Weights are scaled by 1/2k, so that they add up to 1 at every cell; variances are in units of an
inner leaf's. A hat not asked has variance NOT_ASKED. A state: left parts, finest first, then right.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints

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


def kind_of(interval: int, count: int) -> int:
    """Whether an interval is the last of its level, the first, or neither."""
    if interval == count - 1:
        return LAST
    return FIRST if interval == 0 else INNER


def slot_of(tables: HatTables, m: int, child: int) -> int:
    """Where the tables of the joint left of a child of level m are."""
    ratio = int(tables.ratios[m - 1])
    slot = int(tables.joints[m - 1]) + child % ratio
    if m == len(tables.strides):
        return slot
    return slot + ratio * kind_of(child // ratio, int(tables.counts[m]))


@lru_cache(maxsize=4096)
def begins(m: int, ratio: int) -> Floats:
    """`begin` as a matrix: a chain's state from its first child's."""
    unit = np.eye(2 * m)
    turned = np.zeros((2 * m + 2, 2 * m))
    turned[:m], turned[m + 1 : 2 * m + 1] = unit[:m], unit[m:]
    turned[m] = unit[m - 1] + (ratio - 1) / ratio * unit[2 * m - 1]
    turned[2 * m + 1] = unit[2 * m - 1] / ratio
    return turned


@lru_cache(maxsize=4096)
def extends(m: int, position: int, ratio: int) -> tuple[Floats, Floats]:
    """`extend` as two matrices: of the chain's state before, and of the child's."""
    d, unit = 2 * m + 2, np.eye(2 * m)
    of_chain, of_child = np.zeros((d, d)), np.zeros((d, 2 * m))
    for part in (*range(m + 1), 2 * m + 1):
        of_chain[part, part] = 1.0
    of_child[m + 1 : 2 * m + 1] = unit[m:]
    falling, rising = (ratio - position) / ratio, position / ratio
    of_child[m] = falling * unit[m - 1] + (falling - 1 / ratio) * unit[2 * m - 1]
    of_child[2 * m + 1] = rising * unit[m - 1] + (rising + 1 / ratio) * unit[2 * m - 1]
    return of_chain, of_child


def _join(
    chain: Floats, child: Floats, m: int, position: int, ratio: int, variances: Floats
) -> tuple[Floats, Floats, Floats]:
    """The chain's covariance with one more child, gain and inverse of the hats between."""
    of_chain, of_child = extends(m, position, ratio)
    with_chain, with_child = of_chain @ chain, of_child @ child
    # A hat at the joint is the chain's right part plus the child's left part.
    right, left = slice(m + 1, 2 * m + 1), slice(m)
    moved = with_chain[:, right] + with_child[:, left]
    innovations = chain[right, right] + child[left, left] + np.diag(variances)
    inverse: Floats = np.linalg.inv(innovations).astype(np.float64, copy=False)
    gain = moved @ inverse
    after = with_chain @ of_chain.T + with_child @ of_child.T - gain @ moved.T
    return after, gain, inverse


def _line_covariance(tables: HatTables, kind: int, cells: int) -> Floats:
    """The covariance of the two weighted sums over the first cells of a finest interval."""
    stride = int(tables.strides[0])
    rising = (np.arange(stride) + 0.5) / stride
    lines = np.stack([1 - rising, rising, np.ones(stride)], axis=1)
    variances = tables.cells[kind, :, None]
    tables.lines[kind, 1:] = np.cumsum(variances * lines, axis=0)
    some = lines[:cells, :2]
    return np.asarray(some.T @ (variances[:cells] * some))


def _chain(
    tables: HatTables, m: int, parent: int, children: list[Floats], variances: Sequence[Floats]
) -> Floats:
    """The covariance of a parent's state; fills the tables of its joints."""
    d, ratio, count = 2 * m + 2, int(tables.ratios[m - 1]), int(tables.counts[m - 1])
    finer = [int(tables.strides[m - 1] // stride) for stride in tables.strides[:m]]
    first = parent * ratio
    start = begins(m, ratio)
    chain = start @ children[kind_of(first, count)] @ start.T
    for child in range(first + 1, min(first + ratio, count)):
        slot = slot_of(tables, m, child)
        total = chain[:, m] + chain[:, d - 1]
        tables.whole_c[slot, :d] = total
        tables.whole_q[slot] = total[m] + total[d - 1]
        here = np.array([variances[level][child * finer[level]] for level in range(m)])
        own = children[kind_of(child, count)]
        chain, gain, inverse = _join(chain, own, m, child - first, ratio, here)
        tables.gain[slot, :d, :m], tables.inverse[slot, :m, :m] = gain, inverse
    return chain


def _fill(tables: HatTables, variances: Sequence[Floats]) -> None:
    """Fills the tables, from the variances of the hats of each level."""
    H = len(tables.strides)
    rest = int(tables.size - (tables.counts[0] - 1) * tables.strides[0])
    whole = int(tables.strides[0])
    children = [
        _line_covariance(tables, kind, rest if kind == LAST else whole) for kind in range(3)
    ]
    for m in range(1, H + 1):
        for kind in range(3):
            total = children[kind][:, m - 1] + children[kind][:, 2 * m - 1]
            tables.child_c[m - 1, kind, : 2 * m] = total
            tables.child_q[m - 1, kind] = total[m - 1] + total[2 * m - 1]
        parents = int(-(-tables.counts[m - 1] // tables.ratios[m - 1]))
        made = [np.zeros((2 * m + 2, 2 * m + 2))] * 3
        for kind, parent in enumerate((1, 0, parents - 1)):
            if parent < parents and kind_of(parent, parents) == kind:
                made[kind] = _chain(tables, m, parent, children, variances)
        children = made
    ends = ends_of(H)
    innovations = children[LAST][np.ix_(ends, ends)]
    innovations += np.diag([*(each[0] for each in variances), *(each[-1] for each in variances)])
    tables.root[:] = np.linalg.inv(innovations)


def ends_of(levels: int) -> Ints:
    """Where the parts of the hats on the two ends of the axis are in the state of all of it."""
    both = np.arange(2 * levels)
    return both + both // levels


def hat_tables(
    size: int,
    strides: Sequence[int],
    variances: Sequence[npt.ArrayLike],
    first_cells: npt.ArrayLike | None = None,
    last_cells: npt.ArrayLike | None = None,
) -> HatTables:
    """The tables for hats, scaled to weigh 1 a cell, of these variances, and cells of variance 1.

    For each stride one variance, or one a hat; then those under the first and the last interval
    of each level may differ from the others, which must be equal level by level. So may the
    variances of the cells of the first and of the last finest interval. Time and memory grow
    with the ratios of the strides, not with the number of cells. Plain numpy: a plan that
    compares many sets of hats need not wait for a compiler.
    """
    k = np.array(strides, np.int64)
    H = len(k)
    counts = -(-size // k)
    ratios = np.append(k[1:] // k[:-1], counts[-1:])
    families = np.array([3] * (H - 1) + [1] * min(H, 1), np.int64)
    joints = np.concatenate([[0], np.cumsum(families * ratios)]).astype(np.int64)
    knots = np.concatenate([[0], np.cumsum(counts + 1)]).astype(np.int64)
    each = [
        np.broadcast_to(np.asarray(level, np.float64), (int(count) + 1,))
        for level, count in zip(variances, counts, strict=True)
    ]
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
        _fill(tables, each)
    return tables


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
