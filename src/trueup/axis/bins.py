"""Cells over numbers: whole numbers and equal bins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from trueup._kernels.cells.place import regular
from trueup._kernels.compiled import worth_compiling
from trueup.arrays import Floats, Ints
from trueup.axis.numbers import (
    COMPILED,
    check_size,
    each,
    finite_number,
    off_grid,
    outside,
    real_numbers,
    typed_number,
    whole_number,
)
from trueup.axis.traits import CellTraits
from trueup.errors import InputError

_LARGEST = 1 << 62
_EXACT = 1 << 53  # up to here every whole number is a float


@dataclass(frozen=True)
class IntegerCells:
    """One cell for each whole number from first to last, both included."""

    name: str
    first: int
    last: int
    traits: ClassVar = CellTraits("integers", "integer", scale="number")

    def __post_init__(self) -> None:
        first = whole_number(self.first, f"The first value of axis '{self.name}'")
        last = whole_number(self.last, f"The last value of axis '{self.name}'")
        if last < first:
            raise InputError(f"Axis '{self.name}' ends at {last}, before it begins at {first}.")
        if max(abs(first), abs(last)) > _LARGEST:
            raise InputError(f"Axis '{self.name}' reaches past ±2^62.")
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "last", last)
        check_size(self.size, self.name)

    @property
    def size(self) -> int:
        return self.last - self.first + 1

    def place(self, whole: Ints) -> Ints:
        """The cell of each 64-bit whole number; -1 for what is outside."""
        # In arithmetic modulo 2^64 the difference is a cell's number only for what is inside.
        cells = (whole.view(np.uint64) - np.uint64(self.first % (1 << 64))).view(np.int64)
        return np.where((cells >= 0) & (cells < self.size), cells, -1)

    def boundary(self, value: object) -> int:
        """The number of cells left of an edge given in axis units."""
        number: int | float = finite_number(value, f"A range end on axis '{self.name}'")
        if isinstance(value, (int, np.integer)):
            number = int(value)  # exact past 2^53, where floats are not
        if not self.first <= number <= self.last + 1:
            raise outside(self.name, value, self.first, self.last + 1)
        if number != math.floor(number):
            raise off_grid(self.name, value, math.floor(number), math.ceil(number))
        return int(number) - self.first

    def boundaries(self, values: npt.ArrayLike) -> Ints:
        """As `boundary`, for an array."""
        array = np.asarray(values)
        if array.dtype.kind not in "iuf":
            return each(self.boundary, array)
        low, high = self.first, self.last + 1
        if array.dtype.kind == "f":
            low, high = max(low, -_EXACT), min(high, _EXACT)
        good = not array.size or bool(low <= array.min() and array.max() <= high)  # NaN is not
        if array.dtype.kind == "f":
            good = good and bool((array == np.floor(array)).all())
        if not good:
            return each(self.boundary, array)  # says what is wrong
        return array.astype(np.int64) - self.first

    def edge(self, index: int) -> int:
        """The edge with that many cells left of it."""
        return self.first + index

    def edges_at(self, places: Ints) -> Ints:
        """The edges with that many cells left of them."""
        return self.first + places

    def parse(self, text: str) -> int | float:
        """An end of a range as typed, exact past 2^53 too."""
        return typed_number(text)

    def words(self, start: int, stop: int) -> str:
        """The numbers of the cells start … stop − 1, both ends included."""
        first, last = self.edge(start), self.edge(stop - 1)
        return f"{first}" if stop - start == 1 else f"{first} – {last}"

    def describe(self) -> str:
        """The axis in words."""
        return f"whole numbers from {self.first:,} to {self.last:,}"

    def part(self, start: int, stop: int, bins: int) -> IntegerCells | RegularCells:
        """The cells start … stop − 1, put together as so many equal ones."""
        low, high = self.edge(start), self.edge(stop)
        if bins == stop - start:
            return IntegerCells(self.name, low, high - 1)
        _check_divides(self.name, stop - start, bins)
        return RegularCells(self.name, low, high, bins)

    def columns(self, starts: Ints, stops: Ints) -> dict[str, Any]:
        """The intervals [starts, stops) as columns of a table."""
        return {"low": self.first + starts, "high": self.first + stops}

    def to_json(self) -> dict[str, Any]:
        return {"kind": "integers", "first": self.first, "last": self.last}


@dataclass(frozen=True)
class RegularCells:
    """Equal half-open bins: edge i is low + i·(high − low)/bins, in float64, in that order.

    A value's bin is guessed by arithmetic and settled by comparison with its two edges, so every
    engine that has float64 puts every value into the same bin.
    """

    name: str
    low: float
    high: float
    bins: int
    traits: ClassVar = CellTraits("regular", "number", scale="number", bins=True)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "low", finite_number(self.low, f"The low end of axis '{self.name}'")
        )
        object.__setattr__(
            self, "high", finite_number(self.high, f"The high end of axis '{self.name}'")
        )
        bins = whole_number(self.bins, f"bins of axis '{self.name}'")
        if bins < 1:
            raise InputError(f"Axis '{self.name}' needs at least 1 bin, got {bins}.")
        object.__setattr__(self, "bins", bins)
        check_size(bins, self.name)
        if not self.high > self.low:
            raise InputError(
                f"Axis '{self.name}' runs from {self.low} to {self.high}: the high end must be "
                f"above the low one."
            )
        if not math.isfinite((self.high - self.low) * bins):
            raise InputError(
                f"Axis '{self.name}' runs from {self.low} to {self.high} in {bins:,} bins: its "
                f"edges cannot be computed in floats. Use a narrower axis."
            )
        if (self.high - self.low) / bins < 4 * math.ulp(max(abs(self.low), abs(self.high))):
            raise InputError(
                f"Axis '{self.name}' has {bins:,} bins between {self.low} and {self.high}, too "
                f"narrow for floats to tell apart. Use fewer bins."
            )

    @property
    def size(self) -> int:
        return self.bins

    def edges_at(self, places: Ints) -> Floats:
        """The edges with that many cells left of them."""
        edges = self.low + (places.astype(np.float64) * (self.high - self.low)) / self.bins
        return np.where(places == self.bins, self.high, edges)

    def parse(self, text: str) -> int | float:
        """An end of a range as typed."""
        return typed_number(text)

    def words(self, start: int, stop: int) -> str:
        """The bin from the first cell's low edge to the last one's high edge."""
        return f"{self.edge(start)} – {self.edge(stop)}"

    def describe(self) -> str:
        """The axis in words."""
        return f"numbers from {self.low:,.10g} to {self.high:,.10g} in {self.bins:,} cells"

    def part(self, start: int, stop: int, bins: int) -> RegularCells:
        """The cells start … stop − 1, put together as so many equal ones."""
        _check_divides(self.name, stop - start, bins)
        return RegularCells(self.name, self.edge(start), self.edge(stop), bins)

    def locate(self, values: npt.ArrayLike) -> Ints:
        """The cell of each value; -1 for what is outside or missing."""
        x = real_numbers(values, self.name)
        return self.place(x.reshape(-1)).reshape(x.shape)

    def place(self, x: Floats) -> Ints:
        """The cell of each float64; -1 for what is outside, and for NaN."""
        cells = np.empty(x.size, np.int64)
        if x.size >= COMPILED and worth_compiling(regular, x.size):
            x = np.ascontiguousarray(x).view()
            x.flags.writeable = False  # whatever it was: one form, compiled once
            regular(x, self.low, self.high, self.bins, cells)
            return cells
        with np.errstate(invalid="ignore"):
            inside = (x >= self.low) & (x < self.high)
        x = np.where(inside, x, self.low)
        guess = ((x - self.low) * self.bins / (self.high - self.low)).astype(np.int64)
        np.minimum(guess, self.bins - 1, out=guess)
        guess -= x < self.edges_at(guess)
        guess += x >= self.edges_at(guess + 1)
        return np.where(inside, guess, -1)

    def boundary(self, value: object) -> int:
        """The number of cells left of an edge given in axis units."""
        number = finite_number(value, f"A range end on axis '{self.name}'")
        return int(self.boundaries(np.array([number]))[0])

    def boundaries(self, values: npt.ArrayLike) -> Ints:
        """As `boundary`, for an array; an end within a billionth of a cell of an edge is it."""
        x = real_numbers(values, self.name)
        width = (self.high - self.low) / self.bins
        with np.errstate(invalid="ignore"):
            beyond = ~((x >= self.low - 1e-9 * width) & (x <= self.high + 1e-9 * width))
        if beyond.any():
            raise outside(self.name, float(x[beyond][0]), self.low, self.high)
        index = np.rint((x - self.low) * self.bins / (self.high - self.low)).astype(np.int64)
        index = np.clip(index, 0, self.bins)
        slack = np.maximum(1e-9 * width, 2 * np.spacing(np.maximum(np.abs(x), width)))
        off = np.abs(self.edges_at(index) - x) > slack
        if off.any():
            wrong = float(x[off][0])
            left = int(np.clip(math.floor((wrong - self.low) / width), 0, self.bins - 1))
            raise off_grid(self.name, wrong, self.edge(left), self.edge(left + 1))
        return index

    def edge(self, index: int) -> float:
        """The edge with that many cells left of it."""
        return float(self.edges_at(np.array([index]))[0])

    def columns(self, starts: Ints, stops: Ints) -> dict[str, Any]:
        """The intervals [starts, stops) as columns of a table."""
        return {"low": self.edges_at(starts), "high": self.edges_at(stops)}

    def to_json(self) -> dict[str, Any]:
        return {"kind": "regular", "low": self.low, "high": self.high, "bins": self.bins}


def _check_divides(name: str, size: int, parts: int) -> None:
    """Refuses to put so many cells together as equal parts that do not divide them."""
    if not 1 <= parts <= size or size % parts:
        raise InputError(
            f"The range has {size:,} cells of '{name}', which cannot be put together as "
            f"{parts:,} equal ones. Choose a number that divides {size:,}."
        )
