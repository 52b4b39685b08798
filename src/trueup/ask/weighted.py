"""The matrix mechanism: any question given as a matrix of rational weights."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from trueup.arrays import Bools, Ints
from trueup.ask.moves import furthest, furthest_in_sum
from trueup.ask.question import AxisQuestion, Block, Weights, as_axis, cell_counts
from trueup.axis import Axis
from trueup.axis.numbers import whole_number
from trueup.epsilon import exact
from trueup.errors import FileError, InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_MOST = 1 << 62
_LARGEST = 1 << 40
_MOST_TOLD_APART = 4_096
_UNIT = re.compile(r"[0-9]{1,200}(?:/[0-9]{1,200})?")  # of a file: of longer ones nothing comes


@dataclass(frozen=True, init=False, eq=False, repr=False)
class WeightedCounts(AxisQuestion):
    """Any weighted sums of the cells' counts: one row of the matrix an answer.

    The weights are rational: whole numbers, Fractions, text such as "1/3", or floats that are
    decimals of at most 15 digits. The larger a row's weights, the larger its part of ε: with
    equal noise on every row, an answer counts for as much as its weights say. A row is asked in
    the smallest unit that makes its weights whole (`units`), with whole noise in that unit.

    Every cell must be determined by the rows, as it is where each cell has a row of its own.

    >>> rows = [[1, 0, 0], [0, 1, 0], [0, 0, 1], ["1/2", "1/2", 0], [0, "1/2", "1/2"]]
    >>> question = WeightedCounts(3, rows)
    >>> question.price(), question.answers([5, 7, 9]).tolist()
    (Fraction(2, 1), [5, 7, 9, 12, 16])
    """

    axis: Axis
    weights: csr_array[Any]  # whole numbers, without a common divisor in any row
    units: tuple[Fraction, ...]  # what a row's whole numbers are multiples of
    kinds = ("strategy",)

    def __init__(self, axis: Axis | int, matrix: Any) -> None:
        axis = as_axis(axis)
        pointer, cells, whole, units = _as_rows(matrix, axis.size)
        self._put(axis, pointer, cells, whole, units)

    def _put(
        self, axis: Axis, pointer: Ints, cells: Ints, whole: Ints, units: Sequence[Fraction]
    ) -> None:
        from scipy.sparse import csr_array

        empty = np.flatnonzero(np.diff(pointer) == 0)
        if len(empty) or not len(units):
            row = f"Row {empty[0]}" if len(empty) else "The matrix"
            raise InputError(f"{row} has no weights other than 0: it would ask nothing.")
        divisors = np.gcd.reduceat(np.abs(whole), pointer[:-1])
        whole = whole // np.repeat(divisors, np.diff(pointer))
        put = object.__setattr__
        put(self, "axis", axis)
        put(self, "weights", csr_array((whole, cells, pointer), (len(units), axis.size)))
        put(self, "units", tuple(u * int(d) for u, d in zip(units, divisors, strict=True)))
        self._check_cells()

    def _check_cells(self) -> None:
        entered = np.bincount(self.weights.indices, minlength=self.size)
        if not entered.all():
            raise InputError(
                f"Cell {int(np.argmin(entered))} enters no row: nothing would be known of it. "
                f"Add a row that counts it, or leave it off the axis."
            )
        if self._alone.all():
            return
        if self.size > _MOST_TOLD_APART:
            raise InputError(
                f"Over more than {_MOST_TOLD_APART:,} cells each cell needs a row of its own; "
                f"cell {int(np.argmin(self._alone))} has none."
            )
        rows = self.matrix().toarray()
        rank = int(np.linalg.matrix_rank(rows / np.linalg.norm(rows, axis=1)[:, None]))
        if rank < self.size:
            raise InputError(
                f"The rows tell apart only {rank} of {self.size} cells. Add a row for each cell, "
                f"or ask NamedCounts, which publishes the queries alone."
            )

    @cached_property
    def _alone(self) -> Bools:
        """Which cells have a row of their own."""
        single = np.flatnonzero(np.diff(self.weights.indptr) == 1)
        alone = np.zeros(self.size, bool)
        alone[self.weights.indices[self.weights.indptr[single]]] = True
        return alone

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WeightedCounts) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    @cached_property
    def _parts(self) -> tuple[Any, ...]:
        w = self.weights
        return self.axis, self.units, w.indptr.tobytes(), w.indices.tobytes(), w.data.tobytes()

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        return tuple((len(list(run)), unit) for unit, run in groupby(self.units))

    @property
    def heaviest(self) -> int:
        """No cell weighs more in an answer."""
        return _largest(self.weights.data)

    def moved(self, weights: Weights, power: int, replacing: bool) -> Fraction:
        from scipy.sparse import csr_array

        common = math.lcm(*(weight.denominator for weight in weights))
        scaled = [int(weight * common) for weight in weights]
        largest = max(scaled) * self.heaviest**power
        fits = largest * int(np.bincount(self.weights.indices).max()) < _MOST // 2
        kind = np.int64 if fits else object
        each = np.repeat(np.array(scaled, kind), self.block_lengths)
        indices, pointer = self.weights.indices, self.weights.indptr
        values = self.weights.data.astype(kind) ** power * np.repeat(each, np.diff(pointer))
        norms = np.zeros(self.size, kind)
        np.add.at(norms, indices, np.abs(values))
        one = Fraction(int(norms.max()), common)
        if not replacing or self.size == 1:
            return one
        if power == 1:
            if not fits:
                raise InputError(
                    "The weights have no common denominator that fits 64 bits, so the price of "
                    "replacing a record cannot be found. Round them, or protect add-remove."
                )
            apart = furthest_in_sum(csr_array((values, indices, pointer), self.weights.shape))
            return max(one, Fraction(apart, common))
        if self.size > _MOST_TOLD_APART and (self.weights.data > 0).all():
            return 2 * one  # at most: no weight is negative
        divisor = math.gcd(*scaled)
        apart = furthest(self.weights, (each // divisor).tolist())
        return max(one, Fraction(apart * divisor, common))

    def answers(self, counts: npt.ArrayLike) -> Ints:
        counts = cell_counts(counts, self.size)
        return np.asarray(self.weights @ counts, np.int64)

    def labels(self) -> dict[str, Any]:
        steps = np.array([float(unit) for unit in self.units])
        return {"row": np.arange(self.length), "step": steps}

    def matrix(self) -> csr_array[Any]:
        from scipy.sparse import csr_array

        w = self.weights
        return csr_array((w.data.astype(np.float64), w.indices, w.indptr), w.shape)

    def to_json(self) -> dict[str, Any]:
        w = self.weights
        return {
            "kind": "strategy",
            "axis": self.axis.to_json(),
            "lengths": np.diff(w.indptr).tolist(),
            "cells": w.indices.tolist(),
            "weights": w.data.tolist(),
            "units": [[length, str(unit)] for length, unit in self.blocks],
        }

    @classmethod
    def from_json(cls, spec: dict[str, Any]) -> WeightedCounts:
        """The question that `to_json` described; checked as if typed."""
        axis = Axis.from_json(spec["axis"])
        lengths, whole, cells = (_numbers(spec[name]) for name in ("lengths", "weights", "cells"))
        units = _units(spec["units"], len(lengths))
        pointer = np.concatenate([[0], np.cumsum(lengths)])
        fits = len(units) == len(lengths) and len(whole) == len(cells) == pointer[-1]
        if not fits or not whole.all() or min(units) <= 0 or _largest(whole) >= _LARGEST:
            raise FileError("The strategy's rows do not fit together.")
        if lengths.min() < 0 or cells.min() < 0 or cells.max() >= axis.size:
            raise FileError("The strategy counts cells that its axis lacks.")
        question = object.__new__(WeightedCounts)
        question._put(axis, pointer, cells, whole, units)
        if not question.weights.has_canonical_format:
            raise FileError("The strategy's rows name a cell twice, or out of order.")
        return question


def _largest(whole: npt.NDArray[Any]) -> int:
    """The largest distance from 0, as a whole number: -2^63 has none in 64 bits."""
    return max(int(whole.max(initial=0)), -int(whole.min(initial=0)))


def _numbers(listed: Any) -> Ints:
    """Whole numbers from a file."""
    numbers = np.array(listed)
    if numbers.ndim != 1 or numbers.dtype != np.int64:
        raise FileError("The strategy's rows are not in whole numbers.")
    return numbers


def _units(runs: Any, rows: int) -> list[Fraction]:
    """The unit of each row, from a file that gives them in runs."""
    units: list[Fraction] = []
    for length, unit in runs:
        if not isinstance(unit, str) or not _UNIT.fullmatch(unit):
            raise FileError("The strategy has a unit that is no number.")
        if not 1 <= whole_number(length, "A length") <= rows - len(units):
            raise FileError("The strategy's rows do not fit together.")
        units += [Fraction(unit)] * length
    return units


def _as_rows(matrix: Any, size: int) -> tuple[Ints, Ints, Ints, list[Fraction]]:
    """The rows as whole numbers, each times a unit: where rows begin, cells, numbers, units."""
    from scipy.sparse import csr_array, issparse

    if issparse(matrix):
        sparse = csr_array(cast(Any, matrix), copy=True)  # the caller's stays as it is
        sparse.sum_duplicates()
        shape, data = sparse.shape, sparse.data
        pointer, cells = sparse.indptr.astype(np.int64), sparse.indices.astype(np.int64)
    else:
        try:
            dense = np.asarray(matrix, None if isinstance(matrix, np.ndarray) else object)
        except ValueError:
            raise InputError("The rows of the matrix must have one weight a cell.") from None
        shape, data = dense.shape, dense.ravel()
        if dense.ndim != 2:
            raise InputError(f"The matrix must have rows and columns, got {dense.ndim} dimensions.")
        pointer = np.arange(shape[0] + 1) * shape[1]
        cells = np.tile(np.arange(shape[1]), shape[0])
    if shape[1] != size:
        raise InputError(f"The matrix has {shape[1]:,} columns; there are {size:,} cells.")
    if data.dtype.kind in "iu":
        some = data != 0
        if _largest(data) < _LARGEST:
            pointer = np.concatenate([[0], np.cumsum(some)])[pointer].astype(np.int64)
            return pointer, cells[some], data[some].astype(np.int64), [Fraction(1)] * shape[0]
    exactly = [exact(weight, "A weight") for weight in data.tolist()] if data.size else []
    some = np.array([weight != 0 for weight in exactly], bool)
    kept = [weight for weight in exactly if weight]
    pointer = np.concatenate([[0], np.cumsum(some)])[pointer].astype(np.int64)
    units, whole = [], np.zeros(len(kept), np.int64)
    for row, (a, b) in enumerate(pairwise(pointer.tolist())):
        common = math.lcm(*(weight.denominator for weight in kept[a:b]))
        numbers = [int(weight * common) for weight in kept[a:b]]
        divisor = math.gcd(*numbers) or 1
        if any(abs(number) >= _LARGEST * divisor for number in numbers):
            raise InputError(
                f"Row {row} has no small unit: its weights are whole numbers of up to "
                f"{max(map(abs, numbers)) // divisor:,} times 1/{common:,}. Round its weights."
            )
        whole[a:b] = [number // divisor for number in numbers]
        units.append(Fraction(divisor, common))
    return pointer, cells[some], whole, units
