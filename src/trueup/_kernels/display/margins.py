"""Whole tables whose margins are near wanted ones: single records moved along one axis at a time.

A table that is rounded down a hierarchy keeps the sums of its hierarchy; those of other margins are
off by the roundings of all cells, most of which are nearly empty. F, the sum over all margins of
the squared distance to the wanted ones, is then made smaller step by step. To move a record along
an axis adds 1 to a cell and takes 1 off another in each margin that has the axis: with R the
distances, F grows by Σ 2 (R there − R here) + 2. Nothing is left to chance: the same table and
margins give the same moves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trueup.arrays import Floats, Ints

_LOOKED_AT = 1 << 14  # cells whose moves are looked at in one round
_MOVED = 512  # of these the best are tried in turn
_ROUNDS = 400


def farthest(table: Ints, wanted: Floats, margins: Sequence[tuple[int, ...]]) -> float:
    """The largest distance of a count of a margin from the wanted one."""
    off = table - wanted
    others = ([axis for axis in range(table.ndim) if axis not in margin] for margin in margins)
    return max(float(np.abs(off.sum(axis=tuple(each))).max()) for each in others)


class _Distances:
    """How far the margins of a table are from the wanted ones."""

    def __init__(self, table: Ints, wanted: Floats, margins: Sequence[tuple[int, ...]]) -> None:
        self.by_axis: list[list[tuple[tuple[int, ...], Floats]]] = [[] for _ in table.shape]
        for margin in margins:
            others = tuple(axis for axis in range(table.ndim) if axis not in margin)
            far = table.sum(axis=others) - wanted.sum(axis=others)
            for axis in margin:  # views of one array, the axis last
                rest = tuple(each for each in margin if each != axis)
                self.by_axis[axis].append((rest, np.moveaxis(far, margin.index(axis), -1)))

    def along(self, axis: int, cells: Sequence[Ints]) -> Floats:
        """The sum of the distances of all margins with an axis, for each cell of that axis."""
        found = np.zeros((len(cells[axis]), 1))
        for rest, far in self.by_axis[axis]:
            found = found + far[tuple(cells[each] for each in rest)]
        return found

    def move(self, axis: int, cell: Sequence[int], to: int) -> bool:
        """Moves a record if that makes the distances smaller; whether it does."""
        own = [(far[tuple(cell[each] for each in rest)]) for rest, far in self.by_axis[axis]]
        grows = sum(2.0 * (line[to] - line[cell[axis]]) + 2.0 for line in own)
        if to == cell[axis] or grows >= 0:
            return False
        for line in own:
            line[to] += 1.0
            line[cell[axis]] -= 1.0
        return True


def nearer_margins(table: Ints, wanted: Floats, margins: Sequence[tuple[int, ...]]) -> Ints:
    """The table with records moved until no round of moves brings its margins nearer.

    `margins` are sets of axes in order. No count becomes negative, and the total stays.
    """
    found = table.copy()
    distances = _Distances(found, wanted, margins)
    axes = [axis for axis, some in enumerate(distances.by_axis) if some and table.shape[axis] > 1]
    idle = 0
    for turn in range(_ROUNDS if axes else 0):
        full = np.flatnonzero(found)
        if not len(full):
            break
        parts = -(-len(full) // _LOOKED_AT)
        at = full[turn % parts :: parts]
        cells = np.unravel_index(at, found.shape)
        gains, targets = np.zeros((len(axes), len(at))), np.zeros((len(axes), len(at)), np.int64)
        for number, axis in enumerate(axes):
            along = distances.along(axis, cells)
            targets[number] = along.argmin(axis=1)
            rows = np.arange(len(at))
            gains[number] = along[rows, targets[number]] - along[rows, cells[axis]]
            gains[number] += len(distances.by_axis[axis])
        moved = 0
        for each in np.argsort(gains, axis=None, kind="stable")[:_MOVED].tolist():
            number, place = divmod(each, len(at))
            if gains[number, place] >= 0:
                break
            cell = [int(one[place]) for one in cells]
            to = int(targets[number, place])
            if found[tuple(cell)] > 0 and distances.move(axes[number], cell, to):
                found[tuple(cell)] -= 1
                cell[axes[number]] = to
                found[tuple(cell)] += 1
                moved += 1
        idle = 0 if moved else idle + 1
        if idle >= parts:
            break
    return found
