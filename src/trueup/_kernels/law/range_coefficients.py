"""The coefficients of many ranges of a regular tree at once: the walk of `tree_walk`, compiled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trueup._kernels.compiled import PLAIN_LAWS, compiled
from trueup._kernels.law import tree_walk
from trueup._kernels.law.tree_walk import Found, KnownTree, Path, room_for
from trueup.arrays import Floats, Ints

_cut_nodes = compiled(tree_walk.cut_nodes)
_last_nodes = compiled(tree_walk.last_nodes)
_moved_nodes = compiled(tree_walk.moved_nodes)


@compiled
def _walk(
    tree: KnownTree,
    turns: Ints,
    values: Floats,
    number: int,
    first: float,
    path: Path,
    found: Found,
) -> tuple[int, int]:
    """As `tree_walk.walk`."""
    height = len(tree.widths)
    path.number[height - 1] = 0
    for level in range(height - 2, -1, -1):
        _cut_nodes(tree, level, turns, values, number, first, path)
    if path.number[0] == 0:
        return _last_nodes(tree, 0, first, found, 0, 0)
    path.covariance[0] = path.own[0][0]
    parts, alone = 0, 0
    for level in range(height - 1):
        parts, alone, ends, factor = _moved_nodes(tree, level, path, found, parts, alone)
        if ends:
            parts, alone = _last_nodes(tree, level + 1, factor, found, parts, alone)
    return parts, alone


@compiled
def _expand(
    found: Found,
    parts: int,
    alone: int,
    under: Floats,
    number: Floats,
    into: tuple[Floats, Ints, Floats],
) -> int:
    """Writes the classes of what was found into one row; how many, or −1 where it is too short."""
    coefficients, levels, counts = into
    taken, room = 0, len(coefficients)
    for i in range(alone):
        if taken == room:
            return -1
        coefficients[taken], levels[taken] = found.alone[i], found.alone_level[i]
        counts[taken] = 1.0
        taken += 1
    for part in range(parts):
        if found.number[part] <= 0 or found.factor[part] == 0:
            continue
        top = found.level[part]
        for level in range(top, len(under)):
            if taken == room:
                return -1
            coefficients[taken] = under[top, level] * found.factor[part]
            levels[taken] = level
            counts[taken] = number[top, level] * found.number[part]
            taken += 1
    return taken


@compiled(most=PLAIN_LAWS, work=0)
def _fill_classes(
    starts: Ints,
    stops: Ints,
    tree: KnownTree,
    under: Floats,
    number: Floats,
    room: tuple[Path, Found],
    rows: tuple[Floats, Ints, Floats],
) -> Ints:
    """How many classes each range has, written into its row; −1 where the row is too short."""
    used = np.zeros(len(starts), np.int64)
    turns, values = np.zeros(2, np.int64), np.zeros(2)
    for which in range(len(starts)):
        start, stop = starts[which], stops[which]
        if start >= stop:
            continue
        changes = 0
        if start > 0:
            turns[0], values[0] = start, 1.0
            changes = 1
        if stop < tree.size:
            turns[changes], values[changes] = stop, 0.0
            changes += 1
        first = 0.0 if start > 0 else 1.0
        parts, alone = _walk(tree, turns, values, changes, first, room[0], room[1])
        row = rows[0][which], rows[1][which], rows[2][which]
        used[which] = _expand(room[1], parts, alone, under, number, row)
    return used


def range_classes(
    known: KnownTree, under: Floats, number: Floats, starts: Ints, stops: Ints, room: int
) -> tuple[Floats, Ints, Floats, Ints]:
    """The classes of each range [start, stop) of a regular tree: coefficient, level, number, used.

    `under` and `number` say what a full node of one value passes on to each level. A row that
    needs more than `room` classes says so by −1 used.
    """
    height = len(known.widths)
    shape = len(starts), room
    rows = np.zeros(shape), np.zeros(shape, np.int64), np.zeros(shape)
    tree = KnownTree(
        known.size,
        np.array(known.widths, np.int64),
        np.array(known.lengths, np.int64),
        np.array(known.V, np.float64),
        _pairs(known.below, height),
        _pairs(known.shrink, height),
        np.array(known.weight, np.float64),
        np.array([*known.full_children, 0], np.float64),
    )
    space = room_for(
        height, 2, lambda *shape: np.zeros(shape, np.int64), lambda *shape: np.zeros(shape)
    )
    used = _fill_classes(starts, stops, tree, under, number, space, rows)
    return *rows, used


def cells_alike(widths: Sequence[int], lengths: Sequence[int], cells: Ints) -> tuple[Ints, Ints]:
    """Which cells of a regular tree have one law: of each kind the first, and the kind of each.

    Nodes of a level are alike but for its last, which may be narrower. So a cell is known by the
    levels at which its node is the last one.
    """
    kinds = np.zeros(len(cells), np.int64)
    for width, length in zip(widths, lengths, strict=True):
        kinds = 2 * kinds + (cells // int(width) == int(length) - 1)
    _, first, which = np.unique(kinds, return_index=True, return_inverse=True)
    return which.reshape(-1).astype(np.int64), first.astype(np.int64)


def _pairs(values: list[list[float]], height: int) -> Floats:
    """Two numbers a level; leaves, which have nothing below them, may have none."""
    found = np.ones((height, 2))
    for level, pair in enumerate(values):
        if len(pair) == 2:
            found[level] = pair
    return found
