"""Cells over numbers: whole numbers, equal bins, given edges."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.errors import InputError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MOST_CELLS = 1 << 32  # more than fits in memory anywhere; a typing error rather than a domain
_LARGEST = 1 << 62
_EXACT = 1 << 53  # up to here every whole number is a float
_BLOCK = 1 << 15  # values located while they are in the cache
_MOST_EDGES = 1 << 16  # looked up rather than computed, from a table that stays in the cache


def real_numbers(values: npt.ArrayLike, name: str) -> Floats:
    """The values as float64, NaN where one is missing or is no number."""
    array = np.asarray(values)
    if array.dtype.kind in "iuf":
        return array.astype(np.float64, copy=False)
    if array.dtype.kind == "O":
        return np.array([_real(value) for value in array.ravel()], np.float64).reshape(array.shape)
    raise InputError(f"Axis '{name}' takes numbers, got an array of type {array.dtype}.")


def _real(value: object) -> float:
    if isinstance(value, (bool, np.bool_, str, bytes)) or value is None:
        return math.nan
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan
    except OverflowError:
        return math.inf


def whole_number(value: object, what: str) -> int:
    """The int that was given, refused if it is anything else."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise InputError(f"{what} must be a whole number, got {value!r}.")
    return int(value)


def finite_number(value: object, what: str) -> float:
    """The finite float that was given, refused if it is anything else."""
    if isinstance(value, (bool, np.bool_, str)):
        raise InputError(f"{what} must be a number, got {value!r}.")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what} must be a number, got {value!r}.") from None
    if not math.isfinite(number):
        raise InputError(f"{what} must be finite, got {value!r}.")
    return number


def each(boundary: Callable[[object], int], values: npt.NDArray[Any]) -> Ints:
    """The boundary of each value, in the shape of the array."""
    given = values.ravel() if values.dtype.kind == "M" else values.ravel().tolist()
    return np.array([boundary(value) for value in given], np.int64).reshape(values.shape)


def check_size(size: int, name: str) -> None:
    """Refuses an axis of no cells or of absurdly many."""
    if size < 1:
        raise InputError(f"Axis '{name}' has no cells.")
    if size > MOST_CELLS:
        raise InputError(
            f"Axis '{name}' has {size:,} cells; at most {MOST_CELLS:,} can be held. Use wider bins."
        )


def off_grid(name: str, given: object, below: object, above: object) -> InputError:
    """The error for a range end that is no edge."""
    after = "the end" if above is None else above
    return InputError(
        f"{given!r} is not an edge of axis '{name}'. The nearest edges are {below} and {after}."
    )


def outside(name: str, given: object, low: object, high: object) -> InputError:
    """The error for a range end beyond the axis."""
    end = "the end" if high is None else high
    return InputError(f"{given!r} is outside axis '{name}', which runs from {low} to {end}.")


@dataclass(frozen=True)
class IntegerCells:
    """One cell for each whole number from first to last, both included."""

    name: str
    first: int
    last: int

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

    def locate(self, values: npt.ArrayLike) -> Ints:
        """The cell of each value; -1 for what is outside, missing or not whole."""
        array = np.asarray(values)
        if array.dtype.kind == "i":
            inside = (array >= self.first) & (array <= self.last)
        elif array.dtype.kind == "u":
            inside = array <= np.uint64(max(self.last, 0))
            inside &= array >= np.uint64(max(self.first, 0))
            inside &= self.last >= 0
        elif array.dtype.kind == "O":
            return np.array([self._cell(value) for value in array.ravel()], np.int64).reshape(
                array.shape
            )
        else:
            array = real_numbers(array, self.name)
            with np.errstate(invalid="ignore"):
                inside = (array >= self.first) & (array <= self.last) & (array == np.floor(array))
        cells = np.full(array.shape, -1, np.int64)
        cells[inside] = array[inside].astype(np.int64) - self.first
        cells[(cells < 0) | (cells >= self.size)] = -1  # a float beside an end larger than 2^53
        return cells

    def _cell(self, value: object) -> int:
        if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
            return int(value) - self.first if self.first <= int(value) <= self.last else -1
        number = _real(value)
        return int(number) - self.first if self._holds(number) else -1

    def _holds(self, number: float) -> bool:
        return self.first <= number <= self.last and number == math.floor(number)

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

    def edges_at(self, indices: Ints) -> Floats:
        """The edges with that many cells left of them."""
        edges = self.low + (indices.astype(np.float64) * (self.high - self.low)) / self.bins
        return np.where(indices == self.bins, self.high, edges)

    @cached_property
    def _edges(self) -> Floats | None:
        """All edges, of an axis that is not too long to keep them."""
        return self.edges_at(np.arange(self.bins + 1)) if self.bins <= _MOST_EDGES else None

    def locate(self, values: npt.ArrayLike) -> Ints:
        """The cell of each value; -1 for what is outside or missing."""
        x = real_numbers(values, self.name)
        cells = np.empty(x.size, np.int64)
        flat = x.reshape(-1)
        for start in range(0, x.size, _BLOCK):
            cells[start : start + _BLOCK] = self._locate(flat[start : start + _BLOCK])
        return cells.reshape(x.shape)

    def _locate(self, x: Floats) -> Ints:
        with np.errstate(invalid="ignore"):
            inside = (x >= self.low) & (x < self.high)
        missed = not inside.all()
        if missed:
            x = np.where(inside, x, self.low)
        guess = ((x - self.low) * self.bins / (self.high - self.low)).astype(np.int64)
        np.minimum(guess, self.bins - 1, out=guess)
        edges = self._edges
        guess -= x < (self.edges_at(guess) if edges is None else edges[guess])
        guess += x >= (self.edges_at(guess + 1) if edges is None else edges[guess + 1])
        if missed:
            guess[~inside] = -1
        return guess

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


@dataclass(frozen=True)
class EdgeCells:
    """Half-open bins between given edges, the last bin too."""

    name: str
    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        if isinstance(self.edges, str) or not isinstance(self.edges, (Sequence, np.ndarray)):
            raise InputError(f"Axis '{self.name}' needs a list of edges, got {self.edges!r}.")
        edges = tuple(finite_number(e, f"An edge of axis '{self.name}'") for e in self.edges)
        if len(edges) < 2:
            raise InputError(f"Axis '{self.name}' needs at least 2 edges, got {len(edges)}.")
        for left, right in itertools.pairwise(edges):
            if not left < right:
                raise InputError(
                    f"The edges of axis '{self.name}' must rise: {left} is followed by {right}."
                )
        if not math.isfinite(edges[-1] - edges[0]):
            raise InputError(f"Axis '{self.name}' is wider than a float can hold.")
        object.__setattr__(self, "edges", edges)
        check_size(len(edges) - 1, self.name)

    @property
    def size(self) -> int:
        return len(self.edges) - 1

    @cached_property
    def _array(self) -> Floats:
        return np.array(self.edges)

    def locate(self, values: npt.ArrayLike) -> Ints:
        """The cell of each value; -1 for what is outside or missing."""
        x = real_numbers(values, self.name)
        with np.errstate(invalid="ignore"):
            inside = (x >= self.edges[0]) & (x < self.edges[-1])
        cells = np.searchsorted(self._array, np.where(inside, x, self.edges[0]), side="right") - 1
        return np.where(inside, cells, -1).astype(np.int64)

    def boundary(self, value: object) -> int:
        """The number of cells left of an edge given in axis units."""
        number = finite_number(value, f"A range end on axis '{self.name}'")
        return int(self.boundaries(np.array([number]))[0])

    def boundaries(self, values: npt.ArrayLike) -> Ints:
        """As `boundary`, for an array."""
        x = real_numbers(values, self.name)
        with np.errstate(invalid="ignore"):
            beyond = ~((x >= self.edges[0]) & (x <= self.edges[-1]))
        if beyond.any():
            raise outside(self.name, float(x[beyond][0]), self.edges[0], self.edges[-1])
        index = np.searchsorted(self._array, x, side="left")
        off = self._array[index] != x
        if off.any():
            at = int(index[off][0])
            raise off_grid(self.name, float(x[off][0]), self.edges[at - 1], self.edges[at])
        return index.astype(np.int64)

    def edge(self, index: int) -> float:
        """The edge with that many cells left of it."""
        return self.edges[index]

    def columns(self, starts: Ints, stops: Ints) -> dict[str, Any]:
        """The intervals [starts, stops) as columns of a table."""
        return {"low": self._array[starts], "high": self._array[stops]}

    def to_json(self) -> dict[str, Any]:
        return {"kind": "edges", "edges": list(self.edges)}
