"""Axes that several columns tell: a hierarchy of labels, one column for each of its levels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.arrays import Ints
from trueup.axis import Axis
from trueup.errors import InputError, SourceError
from trueup.owner.columns import Columns, Wanted
from trueup.owner.placing import combined

_MOST_CODES = 1 << 62


@dataclass(frozen=True, eq=False)
class Group:
    """The columns that together tell the cell of one axis, each over an axis of its own.

    Of several columns, `codes` are the paths of the hierarchy as numbers in the grid of the
    columns' axes, rising, and `cells` the cell of each; a row on another path is in no cell.
    """

    axes: tuple[Axis, ...]
    size: int
    codes: Ints | None = None
    cells: Ints | None = None

    def cell(self, cells: Sequence[Ints]) -> Ints:
        """The cell of each row, from those of its columns; -1 if it is in none."""
        if self.codes is None or self.cells is None:
            return cells[0]
        code = combined(cells, [axis.size for axis in self.axes], None)
        at = np.minimum(np.searchsorted(self.codes, code), len(self.codes) - 1)
        return np.where(self.codes[at] == code, self.cells[at], -1)


@dataclass(frozen=True, eq=False)
class ReadColumns:
    """What is read for the axes of a question: columns, the axis of each, and how they group."""

    values: tuple[Wanted, ...]
    axes: tuple[Axis, ...]
    groups: tuple[Group, ...]


def counted(columns: Columns, axes: Sequence[Axis]) -> ReadColumns:
    """The columns to be read for these axes, refused by the schema alone if one is not there.

    An axis goes by the column of its name. A hierarchy whose name is no column goes by the columns
    that are named as its levels; where a source has no schema, as lines of JSON have none, the
    columns are those that the owner declared.
    """
    groups = [_group(columns, axis) for axis in axes]
    read = tuple(axis for group in groups for axis in group.axes)
    values = tuple(columns.counted(axis, f"value{place or ''}") for place, axis in enumerate(read))
    return ReadColumns(values, read, tuple(groups))


def _group(columns: Columns, axis: Axis) -> Group:
    paths, levels = axis.paths, axis.path_levels
    known = columns.declared or {} if columns.schema is None else columns.schema
    if not paths or len(levels) < 2 or axis.name in known:
        return Group((axis,), axis.size)
    missing = [level for level in levels if level not in known]
    if len(missing) == len(levels):
        return Group((axis,), axis.size)  # refused where its one column is looked for
    if missing:
        raise SourceError(
            f"The source has no column {axis.name!r}, and of the levels of that axis it lacks "
            f"{', '.join(map(repr, missing))}. Name a column for each level, or one of paths."
        )
    if min(map(len, paths)) < len(levels):
        raise InputError(
            f"Some labels of axis '{axis.name}' end above the level {levels[-1]!r}: its columns "
            f"cannot tell them. Give one column of paths, such as 'CA/Kern'."
        )
    sides = [list(dict.fromkeys(path[depth] for path in paths)) for depth in range(len(levels))]
    if math.prod(map(len, sides)) > _MOST_CODES:
        raise InputError(f"The levels of axis '{axis.name}' have too many labels to combine.")
    each = tuple(
        Axis.categories(level, labels) for level, labels in zip(levels, sides, strict=True)
    )
    places = [{label: i for i, label in enumerate(labels)} for labels in sides]
    cells = [
        np.array([place[path[depth]] for path in paths], np.int64)
        for depth, place in enumerate(places)
    ]
    codes = combined(cells, [axis.size for axis in each], None)
    order = np.argsort(codes)
    return Group(each, axis.size, codes[order], order.astype(np.int64))
