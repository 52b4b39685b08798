"""The cells of declared axes as keys: most of them may be empty, and none is listed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from trueup.arrays import Ints
from trueup.axis import Axis
from trueup.axis.labels import by_text, repeated
from trueup.errors import InputError, TrueupError, shown
from trueup.keys.space import Key, NumberedKeys, Placed

_MOST = 1 << 62  # cells of all axes together
BETWEEN = " × "
_TO = " – "
_BELOW, _MORE, _UNBOUND = "below ", " and more", "all"


@dataclass(frozen=True)
class CellKeys(NumberedKeys):
    """Every cell of an axis, or of the grid of several, the last axis running fastest.

    A value is in the cell that the axis puts it in. A key is the number of a cell.
    """

    axes: tuple[Axis, ...]
    kind: ClassVar[str] = "cells"

    def __post_init__(self) -> None:
        if not self.axes or not all(isinstance(axis, Axis) for axis in self.axes):
            raise InputError(f"Cells are those of one axis or of several, got {shown(self.axes)}.")
        twice = repeated(self.columns)
        if twice is not None:
            raise InputError(f"Two axes have the name {twice!r}.")
        if self.size > _MOST:
            raise InputError(f"A universe has at most 2^62 cells, these axes have {self.size:,}.")
        for axis in self.axes:
            self._check_words(axis)

    def _check_words(self, axis: Axis) -> None:
        """Refuses labels that words, or a column of one kind, cannot tell apart."""
        if len({type(label) for label in _names(axis)}) > 1:
            raise InputError(
                f"Some labels of axis '{axis.name}' are text and some whole numbers: declare one "
                f"kind."
            )
        words = self._named[axis.name]
        if axis.traits.labelled and len(words) < axis.size:
            raise InputError(f"Two labels of axis '{axis.name}' are written alike.")
        if len(self.axes) > 1 and any(BETWEEN in word for word in words):
            raise InputError(f"A label of axis '{axis.name}' has {BETWEEN!r} in it.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that say a cell, unless others are named."""
        return tuple(axis.name for axis in self.axes)

    @property
    def reads(self) -> tuple[str, ...]:
        """The kinds of plain columns that say a cell, one an axis."""
        return tuple(self._kind(axis) for axis in self.axes)

    @staticmethod
    def _kind(axis: Axis) -> str:
        if axis.traits.values != "label":
            return axis.traits.values
        return "text" if all(isinstance(label, str) for label in _names(axis)) else "integer"

    @cached_property
    def size(self) -> int:
        """How many cells there are."""
        return math.prod(axis.size for axis in self.axes)

    @cached_property
    def longest(self) -> int:
        """The most bytes of a label; 0 where there is none of text."""
        texts = (each for axis in self.axes for each in _names(axis) if isinstance(each, str))
        return max((len(each.encode()) for each in texts), default=0)

    @property
    def words(self) -> str:
        """The axes in words."""
        return f"cells of {'; '.join(f'{axis.name}: {axis.describe()}' for axis in self.axes)}"

    @cached_property
    def _named(self) -> dict[str, dict[str, int]]:
        """Of each axis of labels the cells by their words."""
        return {
            axis.name: {axis.words(cell, cell + 1): cell for cell in range(axis.size)}
            if axis.traits.labelled
            else {}
            for axis in self.axes
        }

    @cached_property
    def _looked_up(self) -> dict[str, tuple[Any, Ints]]:
        """Of each axis of labels all that names a cell in a column, and the cells; last, -1."""
        import pyarrow as pa

        found = {}
        for axis in (axis for axis in self.axes if axis.traits.labelled):
            names: dict[Any, int]
            if self._kind(axis) == "text":
                names, kind = dict(by_text(_names(axis), False)), pa.large_binary()
            else:
                fit = (each for each in _names(axis).items() if -(1 << 63) <= each[0] < 1 << 63)
                names, kind = dict(fit), pa.int64()
            cells = np.array([*names.values(), -1], np.int64)
            found[axis.name] = pa.array(list(names), kind), cells
        return found

    def place(self, *values: Any) -> Placed:
        """The cells of rows, and which rows have one."""
        *columns, known = values
        whole: Ints = np.zeros(len(known), np.int64)
        for axis, column in zip(self.axes, columns, strict=True):
            cells = self._cells(axis, column)
            known = known & (cells >= 0)
            whole = whole * axis.size + np.maximum(cells, 0)
        return whole, known

    def _cells(self, axis: Axis, column: Any) -> Ints:
        """The cell of each plain value; -1 for what is in none."""
        if not axis.traits.labelled:
            return axis.place(column)
        import pyarrow as pa
        import pyarrow.compute as pc

        names, cells = self._looked_up[axis.name]
        values = pa.array(column) if isinstance(column, np.ndarray) else column
        places = pc.index_in(values.cast(names.type), value_set=names).fill_null(len(names))
        return cells[places.to_numpy(zero_copy_only=False)]

    def label(self, key: Key) -> str:
        """A cell in the words of its axes; of bins, both ends."""
        found, rest = list[str](), int(key)
        for axis in reversed(self.axes):
            rest, cell = divmod(rest, axis.size)
            found.insert(0, _words(axis, cell))
        return BETWEEN.join(found)

    def read(self, text: str) -> Key | None:
        """The cell that `label` words so; None if it is none."""
        words, key = text.split(BETWEEN) if len(self.axes) > 1 else [text], 0
        if len(words) != len(self.axes):
            return None
        for axis, word in zip(self.axes, words, strict=True):
            cell = self._read(axis, word)
            if cell is None:
                return None
            key = key * axis.size + cell
        return key

    def _read(self, axis: Axis, word: str) -> int | None:
        if axis.traits.labelled:
            return self._named[axis.name].get(word)
        first = word.partition(_TO)[0].removesuffix(_MORE)
        if axis.traits.values == "address":
            first = first.partition("/")[0]
        try:
            low = None if first == _UNBOUND or first.startswith(_BELOW) else axis.parse(first)
            cell = axis.span(low, None)[0]
        except TrueupError:
            return None
        return cell if cell < axis.size and _words(axis, cell) == word else None

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "axes": [axis.to_json() for axis in self.axes]}


def _names(axis: Axis) -> dict[Any, int]:
    """The cells by the labels that one column may hold; a path of several columns is none."""
    return {name: at for name, at in axis.labels.items() if isinstance(name, (str, int))}


def _words(axis: Axis, cell: int) -> str:
    """A cell in words that no other cell of its axis has."""
    if axis.traits.coded:
        return str(axis.edge(cell))
    if not axis.traits.bins:
        return axis.words(cell, cell + 1)
    low, high = axis.interval(cell)
    if high is None:
        return _UNBOUND if low is None else f"{low}{_MORE}"
    return f"{_BELOW}{high}" if low is None else f"{low}{_TO}{high}"
