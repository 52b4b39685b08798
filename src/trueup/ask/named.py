"""Any named counts, overlapping as they like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints
from trueup.ask.moves import furthest_by_products
from trueup.ask.question import Block, Question, Space, Weights, as_axis, cell_counts
from trueup.axis import Axis
from trueup.axis.labels import text
from trueup.axis.numbers import whole_number
from trueup.errors import FileError, InputError, shown

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, init=False, repr=False)
class NamedCounts(Question):
    """Any named counts over an axis, overlapping as they like.

    Each query is a list of values or of named nodes of the axis (a state, a month, a prefix), or
    a range: slice(low, high), or (low, high) where cells are not labels.

    >>> grade = Axis.categories("grade", ["A", "B", "C", "D", "F"])
    >>> NamedCounts(grade, {
    ...     "total": slice(None), "passing": ["A", "B", "C", "D"],
    ...     "A": ["A"], "B": ["B"], "C": ["C"], "D": ["D"], "F": ["F"],
    ... }).sensitivity()
    3
    """

    axis: Axis
    names: tuple[str, ...]
    cells: tuple[tuple[int, ...], ...]
    kinds = ("queries",)

    def __init__(self, axis: Axis | int, queries: Mapping[str, Iterable[Any] | slice]) -> None:
        axis = as_axis(axis)
        if not isinstance(queries, Mapping) or not queries:
            raise InputError("NamedCounts needs a dict of named queries, at least one.")
        names = tuple(text(name, "The name of a query") for name in queries)
        cells = tuple(_cells(axis, name, what) for name, what in queries.items())
        self._set(axis, names, cells)

    def _set(self, axis: Axis, names: tuple[str, ...], cells: tuple[tuple[int, ...], ...]) -> None:
        object.__setattr__(self, "axis", axis)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "cells", cells)

    @property
    def space(self) -> Space:
        return Space("names", (self.axis,), names=self.names)

    @property
    def heaviest(self) -> int:
        return 1

    @property
    def blocks(self) -> tuple[Block, ...]:
        return ((len(self.names), Fraction(1)),)

    @cached_property
    def _starts(self) -> Ints:
        """Where each query's cells begin among all of them; after the last, their number."""
        return np.concatenate([[0], np.cumsum([len(c) for c in self.cells])]).astype(np.int64)

    @cached_property
    def _counted(self) -> Ints:
        """The cells of all queries, one query after the other."""
        return np.concatenate([np.asarray(c, np.int64) for c in self.cells])

    def moved(self, weights: Weights, power: int, replacing: bool) -> Fraction:
        # Answers move by 1 each, whatever the power.
        most = self._furthest_apart if replacing else int(np.bincount(self._counted).max())
        return Fraction(weights[0] * most)

    @cached_property
    def _furthest_apart(self) -> int:
        """The most answers that moving a record from one cell to another, or off, can move."""
        # Columns are of 0 and 1, so that |a − b| is its square; a record off the axis is 0.
        columns = self.distinct()
        most = int(columns.sum(axis=0).max())
        return max(most, furthest_by_products(columns, columns))

    def answers(self, counts: npt.ArrayLike) -> Ints:
        counts = cell_counts(counts, self.size)
        return np.add.reduceat(counts[self._counted], self._starts[:-1])

    def labels(self) -> dict[str, Any]:
        return {"query": list(self.names)}

    def matrix(self) -> csr_array[Any]:
        from scipy.sparse import csr_array

        ones = np.ones(len(self._counted))
        return csr_array((ones, self._counted, self._starts), (self.length, self.size))

    def distinct(self) -> csr_array[Any]:
        """The different columns of the matrix: cells that enter the same queries are one."""
        # Each query splits every class of cells into those it counts and the rest.
        classes, fresh = np.zeros(self.size, np.int64), 1
        for start, stop in zip(self._starts, self._starts[1:], strict=False):
            inside = self._counted[start:stop]
            old, part = np.unique(classes[inside], return_inverse=True)
            classes[inside] = fresh + part
            fresh += len(old)
        _, one_of_each = np.unique(classes, return_index=True)
        return self.matrix()[:, np.sort(one_of_each)]

    def relations(self) -> csr_array[Any]:
        """A basis, in whole numbers, of what holds whatever the counts: rows @ answers == 0."""
        from flint import fmpz_mat
        from scipy.sparse import csr_array

        columns = self.distinct().T.toarray().astype(int).tolist()
        basis, rank = fmpz_mat(columns).nullspace()
        rows = np.array([[int(x) for x in row] for row in basis.transpose().tolist()])
        return csr_array(rows[:rank].reshape(rank, self.length))

    def to_json(self) -> dict[str, Any]:
        queries = [[name, list(cells)] for name, cells in zip(self.names, self.cells, strict=True)]
        return {"kind": "queries", "axis": self.axis.to_json(), "queries": queries}

    @classmethod
    def from_json(cls, spec: dict[str, Any]) -> NamedCounts:
        """The question that `to_json` described; checked as if typed."""
        axis = Axis.from_json(spec["axis"])
        names = tuple(text(name, "The name of a query") for name, _ in spec["queries"])
        cells = tuple(
            tuple(whole_number(c, "A cell") for c in inside) for _, inside in spec["queries"]
        )
        if not names or len(set(names)) < len(names):
            raise FileError("The file's queries need names, each its own.")
        for name, inside in zip(names, cells, strict=True):
            rising = sorted(set(inside)) == list(inside)
            if not inside or min(inside) < 0 or max(inside) >= axis.size or not rising:
                raise FileError(f"Query {name!r} counts cells that axis '{axis.name}' lacks.")
        question = object.__new__(NamedCounts)
        question._set(axis, names, cells)
        return question


def _cells(axis: Axis, name: object, what: Iterable[Any] | slice) -> tuple[int, ...]:
    if isinstance(what, slice):
        if what.step is not None:
            raise InputError(f"Query {name!r} has a step; ranges have none.")
        found = [axis.span(what.start, what.stop)]
    elif isinstance(what, tuple) and not axis.traits.labelled:
        if len(what) != 2:
            raise InputError(
                f"Query {name!r} has a tuple of {len(what)}. A tuple (low, high) is a range; "
                f"single values go in a list."
            )
        found = [axis.span(*what)]
    else:
        if not isinstance(what, Iterable):
            raise InputError(
                f"Query {name!r} needs a list of values or a slice, got {shown(what)}."
            )
        found = [_span(axis, name, value) for value in ([what] if isinstance(what, str) else what)]
    cells = {cell for start, stop in found for cell in range(start, stop)}
    if not cells:
        raise InputError(f"Query {name!r} counts nothing.")
    return tuple(sorted(cells))


def _span(axis: Axis, name: object, value: object) -> tuple[int, int]:
    """The cells of a named node of the axis, or the one cell of a value."""
    if axis.has_nodes:
        try:
            return axis.node(*(value if isinstance(value, tuple) else (value,)))
        except InputError:
            pass
    (cell,) = axis.locate(np.fromiter([value], dtype=object, count=1)).tolist()
    if cell < 0:
        raise InputError(f"Query {name!r} counts {value!r}, which is not on axis '{axis.name}'.")
    return cell, cell + 1
