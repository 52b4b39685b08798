"""The families of a tree level by level, as numpy needs them: those of one size side by side.

Kernels that walk a tree node by node have a stand-in here and there that takes a level at a time.
Sums go from the first child to the last, as the kernels add, so that no bit differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from trueup.arrays import Floats, Ints

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True)
class Families:
    """Nodes of one level that have equally many children: a node a row, a child a column."""

    parents: slice | Ints
    children: slice | Ints
    width: int

    def read(self, values: NDArray[T]) -> NDArray[T]:
        """The values of the children, a row a family."""
        return values[self.children].reshape(-1, self.width)

    def write(self, values: NDArray[np.generic], rows: NDArray[np.generic]) -> None:
        """Puts a row a family back where it was read."""
        values[self.children] = rows.reshape(-1)


def levels_of(first: Ints) -> Iterator[list[Families]]:
    """The families of every level that has some, from the roots down; before the first child of
    the first node lie the roots."""
    begin, end = 0, int(first[0])
    while begin < end:
        widths = np.diff(first[begin : end + 1])
        found = [_alike(first, begin, widths, width) for width in np.unique(widths) if width]
        if found:
            yield found
        begin, end = int(first[begin]), int(first[end])


def _alike(first: Ints, begin: int, widths: Ints, width: int) -> Families:
    places = np.flatnonzero(widths == width)
    parents, number = begin + places, len(places)
    low, high = int(first[parents[0]]), int(first[parents[-1] + 1])
    if places[-1] - places[0] + 1 == number and high - low == number * width:
        return Families(slice(parents[0], parents[-1] + 1), slice(low, high), int(width))
    children = first[parents][:, None] + np.arange(width)
    return Families(parents, children.reshape(-1), int(width))


def added(rows: Floats, start: Floats | None = None) -> Floats:
    """The sum of each row, added from the first to the last number, after `start` if given."""
    if start is not None:
        rows = np.concatenate([start[:, None], rows], axis=1)
    return np.asarray(np.cumsum(rows, axis=1)[:, -1] + 0.0)  # no minus zero
