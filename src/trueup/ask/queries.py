"""Any named counts, overlapping as they like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.ask.question import (
    Block,
    Constraints,
    Ints,
    Neighbours,
    as_axis,
    check_neighbours,
    unit_counts,
)
from trueup.axis import Axis
from trueup.errors import FileError, InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, init=False)
class CountQueries:
    """Any named counts over an axis, overlapping as they like.

    Each query is a list of values of the axis, or a slice(low, high) for a range.

    >>> grade = Axis.categories("grade", ["A", "B", "C", "D", "F"])
    >>> CountQueries(grade, {
    ...     "total": slice(None), "passing": ["A", "B", "C", "D"],
    ...     "A": ["A"], "B": ["B"], "C": ["C"], "D": ["D"], "F": ["F"],
    ... }).sensitivity()
    3
    """

    axis: Axis
    cells: dict[str, tuple[int, ...]]

    def __init__(self, axis: Axis | int, queries: Mapping[str, Iterable[Any] | slice]) -> None:
        axis = as_axis(axis)
        if not isinstance(queries, Mapping) or not queries:
            raise InputError("CountQueries needs a dict of named queries, at least one.")
        cells = {str(name): _cells(axis, name, what) for name, what in queries.items()}
        object.__setattr__(self, "axis", axis)
        object.__setattr__(self, "cells", cells)

    def __hash__(self) -> int:
        return hash((self.axis, tuple(self.cells.items())))

    @property
    def names(self) -> tuple[str, ...]:
        """The queries' names, in order."""
        return tuple(self.cells)

    @property
    def size(self) -> int:
        return self.axis.size

    @property
    def length(self) -> int:
        return len(self.cells)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return ((self.length, Fraction(1)),)

    def sensitivity(self, neighbours: Neighbours = "add-remove") -> int:
        matrix = self.matrix()
        enters = np.asarray(matrix.sum(axis=0)).ravel()
        one = int(enters.max())
        if check_neighbours(neighbours) == "add-remove":
            return one
        # |a − b| of two 0/1 columns is their sizes less twice their overlap; cells that enter the
        # same queries are one column, and a record off the axis is the zero column.
        columns, at = np.unique(matrix.T.toarray(), axis=0, return_index=True)
        sizes = enters[at]
        worst = float(one)
        for column, size in zip(columns, sizes, strict=True):
            worst = max(worst, float((sizes + size - 2 * (columns @ column)).max()))
        return int(worst)

    def price(self, neighbours: Neighbours = "add-remove") -> Fraction:
        return Fraction(self.sensitivity(neighbours))

    def answers(self, counts: npt.ArrayLike) -> Ints:
        counts = unit_counts(counts, self.size)
        return np.array([counts[list(c)].sum() for c in self.cells.values()], np.int64)

    def matrix(self) -> csr_array[Any]:
        from scipy.sparse import csr_array

        cells = list(self.cells.values())
        pointer = np.concatenate([[0], np.cumsum([len(c) for c in cells])])
        column = np.concatenate([np.asarray(c) for c in cells])
        return csr_array((np.ones(len(column)), column, pointer), (self.length, self.size))

    def constraints(self) -> Constraints:
        """A basis, in whole numbers, of the relations that hold whatever the counts."""
        from flint import fmpz_mat
        from scipy.sparse import csr_array

        # Cells that enter the same queries say the same: one of each is enough.
        columns = np.unique(self.matrix().T.toarray(), axis=0).astype(int).tolist()
        basis, rank = fmpz_mat(columns).nullspace()
        rows = np.array([[int(x) for x in row] for row in basis.transpose().tolist()])
        return Constraints(csr_array(rows[:rank].reshape(rank, self.length)), "==")

    def to_json(self) -> dict[str, Any]:
        cells = {name: list(cells) for name, cells in self.cells.items()}
        return {"kind": "queries", "axis": self.axis.to_json(), "cells": cells}

    @staticmethod
    def from_json(spec: dict[str, Any]) -> CountQueries:
        """The question that `to_json` described."""
        question = object.__new__(CountQueries)
        axis = Axis.from_json(spec["axis"])
        cells = {str(name): tuple(int(i) for i in c) for name, c in spec["cells"].items()}
        for name, c in cells.items():
            if not c or min(c) < 0 or max(c) >= axis.size or sorted(set(c)) != list(c):
                raise FileError(f"Query {name!r} counts cells that axis '{axis.name}' lacks.")
        object.__setattr__(question, "axis", axis)
        object.__setattr__(question, "cells", cells)
        return question


def _cells(axis: Axis, name: object, what: Iterable[Any] | slice) -> tuple[int, ...]:
    if isinstance(what, slice):
        if what.step is not None:
            raise InputError(f"Query {name!r} has a step; ranges have none.")
        start, stop = axis.span(what.start, what.stop)
        found = np.arange(start, stop)
    else:
        values = [what] if isinstance(what, str) else list(what)
        array = np.empty(len(values), dtype=object)
        array[:] = values
        found = axis.locate(array)
        if (found < 0).any():
            stranger = values[int(np.argmax(found < 0))]
            raise InputError(
                f"Query {name!r} counts {stranger!r}, which is not on axis '{axis.name}'."
            )
    if not len(found):
        raise InputError(f"Query {name!r} counts nothing.")
    return tuple(sorted({int(cell) for cell in found}))
