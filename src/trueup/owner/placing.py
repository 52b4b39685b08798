"""Placing: the cell of every row, by the axis's own function of a plain value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from trueup._kernels.cells.place import fold
from trueup._kernels.compiled import worth_compiling
from trueup.arrays import Bools, Ints
from trueup.axis import Axis
from trueup.axis.labels import by_text
from trueup.axis.numbers import COMPILED
from trueup.owner.columns import Wanted
from trueup.owner.lazily import pa, pc
from trueup.owner.plain import Plain, known_bits

Placer = Callable[[Plain], Ints]
SPARE = 8  # places behind the counts, into which the kernel throws what is no cell


def placer(axis: Axis, wanted: Wanted) -> Placer:
    """The function from a column in its plain form to cells; -1 for what is in none."""
    if axis.traits.labelled:
        return _labels(axis.labels, wanted)
    if axis.traits.values == "integer":
        return lambda column: np.where(column.known, axis.place(column.values), -1)
    return lambda column: axis.place(column.values)  # the unknown lies outside


def _labels(by_label: Mapping[Any, int], wanted: Wanted) -> Placer:
    """Labels are looked up as the bytes or whole numbers that they are."""
    text = wanted.kind == "text"
    fits = by_text(by_label, wanted.storage == "raw") if text else whole_labels(by_label)
    at = np.array([*fits.values(), -1], np.int64)
    known = pa.array(list(fits), pa.large_binary() if text else pa.int64())

    def place(column: Plain) -> Ints:
        values = column.values if text else pa.array(column.values, mask=~column.known)
        found = pc.index_in(values, value_set=known)
        places = np.frombuffer(found.buffers()[1], np.int32, len(found), 4 * found.offset)
        return at[np.where(known_bits(found), places, len(fits))]

    return place


def whole_labels(by_label: Mapping[Any, int]) -> Mapping[Any, int]:
    """The labels that a column of whole numbers can hold, and their cells."""
    return {
        label: cell
        for label, cell in by_label.items()
        if isinstance(label, int) and -(1 << 63) <= label < 1 << 63
    }


def combined(cells: Sequence[Ints], sizes: Sequence[int], keep: Bools | None) -> Ints:
    """The cell of each row in the grid of all axes, the last running fastest; -1 if in none."""
    whole = cells[0]
    for more, size in zip(cells[1:], sizes[1:], strict=True):
        whole = np.where((whole < 0) | (more < 0), -1, whole * size + more)
    return whole if keep is None else np.where(keep, whole, -1)


def inside(cells: Ints, first: int, stop: int) -> Ints:
    """The cells numbered from the first of a window; -1 for those outside it."""
    return np.where((cells >= first) & (cells < stop), cells - first, -1)


class CellTally:
    """How many rows are in each cell, so far."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._counts = np.zeros(size + SPARE, np.int64)

    def add(self, cells: Ints) -> None:
        """Counts more rows; a number that is no cell is dropped."""
        if len(cells) >= COMPILED and worth_compiling(fold, len(cells)):
            fold(cells, self._counts, self._size)
        else:
            np.add.at(self._counts, cells[(cells >= 0) & (cells < self._size)], 1)

    @property
    def cells(self) -> Ints:
        """The count of each cell."""
        return self._counts[: self._size]
