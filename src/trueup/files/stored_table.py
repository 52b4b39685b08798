"""The prefix sums of a table whose lines lie one after the other in a dataset folder."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueup.arrays import Ints
from trueup.files.dataset import StoredPrefix


class StoredTable:
    """The sums of the first i lines and j cells of each, as an array whose numbers stay on disk.

    Made from the running sums over all cells, line after line. Every number is a sum of differences
    on one binary grid, and exact. Counts made to be shown are whole.
    """

    ndim = 2

    def __init__(self, upto: StoredPrefix, sizes: tuple[int, int]) -> None:
        self._upto = upto
        self._lines, self._size = sizes
        self.dtype = upto.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """One more than there are lines, and cells on each."""
        return self._lines + 1, self._size + 1

    def setflags(self, write: bool = False) -> None:
        """Nothing: what is on the disk is only read."""

    def __getitem__(self, at: Any) -> Any:
        lines, cells = np.broadcast_arrays(*(self._inside(*each) for each in self._sides(at)))
        found = np.zeros(lines.shape, self.dtype)
        for line in range(int(lines.max(initial=0))):
            some = lines > line
            found[some] += self._along(line, cells[some])
        return found[()]

    def _sides(self, at: Any) -> list[tuple[Any, int]]:
        if not isinstance(at, tuple) or len(at) != 2:
            raise IndexError("The sums of a table have two numbers: of lines, and of cells.")
        return [(at[0], self._lines), (at[1], self._size)]

    def _inside(self, at: Any, last: int) -> Ints:
        found = np.asarray(at, np.int64)
        if found.size and not 0 <= found.min() <= found.max() <= last:
            raise IndexError(f"There are sums of 0 to {last:,}.")
        return found

    def _along(self, line: int, cells: Ints) -> Any:
        """The sums of the first cells of one line."""
        return self._upto[line * self._size + cells] - self._upto[line * self._size]

    def between(self, first: int, stop: int, axis: int) -> Any:
        """The sums along one axis, inside [first, stop) of the other, which is `axis`."""
        if axis == 1:
            ends = np.array([first, stop])
            each = [np.diff(self._along(line, ends))[0] for line in range(self._lines)]
            return np.cumsum([0.0, *each]).astype(self.dtype)
        found = np.zeros(self._size + 1)
        for line in range(first, stop):
            found += self._line(line)
        return found.astype(self.dtype)

    def _line(self, line: int) -> Any:
        """All sums of one line."""
        start = line * self._size
        return self._upto[start : start + self._size + 1] - self._upto[start]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        found = np.zeros(self.shape, self.dtype)
        for line in range(self._lines):
            found[line + 1] = found[line] + self._line(line).astype(self.dtype)
        return found if dtype is None else found.astype(dtype)
