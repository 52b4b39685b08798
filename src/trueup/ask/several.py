"""What questions over several axes share: their axes, their counts, and labels of their answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints
from trueup.ask.question import Question, as_axis, cell_counts, even_radices
from trueup.axis import Axis
from trueup.errors import InputError, kind
from trueup.intervaltree import IntervalTree

MOST_CELLS = 1 << 28
_MOST = 1 << 62
_LENGTHS = "The columns of the table differ in length."
_ADVICE = " Use wider bins, or fewer axes."


class TableQuestion(Question):
    """A question about the cells of several axes, and so about boxes."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many cells each axis has."""
        return tuple(axis.size for axis in self.space.axes)

    def count(self, table: Any) -> Ints:
        """How many rows of a table fall into each cell: its columns are named as the axes are."""
        return table_counts(self.space.axes, table)

    def labels(self) -> dict[str, Any]:
        return block_labels(self.sizes, self.block_lengths)


def nested_boxes(size: int, axes: int) -> IntervalTree:
    """An axis cut so that a box over so many axes has about 16 boxes in it."""
    return IntervalTree.regular(size, even_radices(size, max(2, round(16 ** (1 / axes)))))


def grid_axis(axis: Axis | int, number: int) -> Axis:
    """The axis itself; for a number, that many cells, named by their place."""
    if isinstance(axis, Axis):
        return axis
    return Axis.integers(f"axis {number}", 0, as_axis(axis).size - 1)


def grid_counts(counts: npt.ArrayLike, sizes: tuple[int, ...]) -> Ints:
    """The counts as an array with one dimension an axis, refused if they do not fit."""
    array = np.asarray(counts)
    if array.ndim != 1 and array.shape != sizes:
        raise InputError(f"The grid has {sizes} cells, but {array.shape} were given.")
    return cell_counts(array.ravel(), math.prod(sizes)).reshape(sizes)


def table_counts(axes: Sequence[Axis], table: Any) -> Ints:
    """How many rows of a table fall into each cell of a grid, one dimension an axis.

    The table has a column named as each axis: a frame of pandas or Polars, an Arrow table, or a
    mapping of names to columns. A hierarchy may have a column for each level instead. A row that
    is outside of one axis is not counted.
    """
    known = _column_names(table)
    cells = [_located(axis, table, known) for axis in axes]
    if len({len(each) for each in cells}) > 1:
        raise InputError(_LENGTHS)
    inside = np.all([each >= 0 for each in cells], axis=0)
    sizes = tuple(axis.size for axis in axes)
    places = np.ravel_multi_index([each[inside] for each in cells], sizes)
    counts = np.bincount(places, minlength=math.prod(sizes)).astype(np.int64, copy=False)
    return counts.reshape(sizes)


def _located(axis: Axis, table: Any, known: Sequence[Any]) -> Ints:
    """The cell of each row on an axis, by its column; of a hierarchy, or by those of its levels."""
    if axis.name in known:
        return axis.locate(table[axis.name]).ravel()
    if axis.paths and all(level in known for level in axis.path_levels):
        cell_of = {path: cell for cell, path in enumerate(axis.paths)}
        columns = []
        for depth, level in enumerate(axis.path_levels):
            labels = list(dict.fromkeys(path[depth] for path in axis.paths if len(path) > depth))
            at = Axis.categories(level, labels).locate(table[level]).tolist()
            columns.append([labels[place] if place >= 0 else None for place in at])
        if len({len(column) for column in columns}) > 1:
            raise InputError(_LENGTHS)
        found = [cell_of.get(path, -1) for path in zip(*columns, strict=True)]
        return np.array(found, np.int64)
    raise InputError(
        f"The table has no column {axis.name!r}. Columns: {', '.join(map(str, known))}."
    )


def _column_names(table: Any) -> list[Any]:
    """The names of a table's columns; refused if it is none whose columns can be read."""
    if hasattr(table, "collect"):
        raise InputError("This table is lazy, and has no rows yet: give table.collect().")
    names = getattr(table, "column_names", getattr(table, "columns", None))
    if isinstance(table, Mapping):
        names = table.keys()
    if names is None or callable(names):
        raise InputError(
            f"count needs a table with a column for each axis, such as a pandas or Polars frame, "
            f"got {kind(table)}."
        )
    return list(names)


def check_grid(axes: list[Axis], answers: int) -> None:
    """Refuses axes of one name, and grids that no memory holds."""
    names = [axis.name for axis in axes]
    if len(set(names)) < len(names):
        raise InputError(f"Each axis of a grid needs a name of its own, got {', '.join(names)}.")
    cells = math.prod(axis.size for axis in axes)
    if cells >= _MOST or answers >= _MOST:
        raise InputError(f"The grid has {cells:,} cells, past what 64 bits can number.{_ADVICE}")
    if answers > MOST_CELLS:
        raise InputError(
            f"The grid has {cells:,} cells and {answers:,} answers: {answers * 8 / 2**30:,.1f} GiB "
            f"for one copy of them, and several are needed.{_ADVICE}"
        )


def block_labels(sizes: Sequence[int], lengths: Sequence[int]) -> dict[str, Any]:
    """The block of each answer over several axes, and its number there."""
    block = np.repeat(np.arange(len(lengths)), lengths)
    number = np.concatenate([np.arange(length) for length in lengths])
    return {f"block of {'×'.join(map(str, sizes))}": block, "number": number}
