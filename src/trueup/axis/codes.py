"""Cells over codes whose first digits name the groups: state, county, tract, block."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints
from trueup.axis.labels import text
from trueup.axis.numbers import check_size, each, typed_whole, whole_number
from trueup.axis.traits import CellTraits
from trueup.errors import InputError, shown

MOST_DIGITS = 18  # of a code: more do not fit 64 bits
_SEVEN = 7  # bits of a byte that hold a number; the eighth says that more follow


@dataclass(frozen=True, eq=False)
class CodeCells:
    """One cell for each of some whole numbers of so many digits, in rising order.

    `digits` says how many of the first digits name a node of each level, coarsest first; the last
    level is the cells. Codes are 8 bytes each, so that a nation of millions of blocks is an axis.
    """

    name: str
    codes: Ints
    digits: dict[str, int]
    traits: ClassVar = CellTraits("codes", "integer", nested=True, coded=True)
    width: int = field(init=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "digits", _checked_digits(self.digits, self.name))
        put(self, "width", list(self.digits.values())[-1])
        put(self, "codes", _checked_codes(self.codes, self.name, self.width))
        check_size(self.size, self.name)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, CodeCells)
            and self.name == other.name
            and list(self.digits.items()) == list(other.digits.items())
            and np.array_equal(self.codes, other.codes)
        )

    def __hash__(self) -> int:
        return hash((self.name, tuple(self.digits.items()), self.size, int(self.codes[-1])))

    @property
    def size(self) -> int:
        return len(self.codes)

    def place(self, plain: Ints) -> Ints:
        """The cell of each whole number; -1 for what is no code."""
        at = np.searchsorted(self.codes, plain)
        inside = at < self.size
        return np.where(inside & (self.codes[np.where(inside, at, 0)] == plain), at, -1)

    def written(self, cell: int, digits: int | None = None) -> str:
        """The code of a cell, or its first digits."""
        return f"{int(self.codes[cell]):0{self.width}d}"[:digits]

    def boundary(self, value: object) -> int:
        """The number of cells before a code, or before the nodes of these first digits."""
        return self.node(value)[0]

    def boundaries(self, values: npt.ArrayLike) -> Ints:
        """As `boundary`, for an array."""
        array = np.asarray(values)
        if array.dtype.kind in "iu":
            found = self.place(array.astype(np.int64))
            if (found >= 0).all():
                return found
        return each(self.boundary, np.asarray(values, object))

    def edge(self, index: int) -> str | None:
        """The code with that many cells before it; None past the last."""
        return self.written(index) if index < self.size else None

    def names(self, typed: str) -> bool:
        """Whether a text, as typed, is a code or the first digits of a node."""
        return (
            len(typed) in self.digits.values()
            and typed_whole(typed) is not None
            and typed.isdigit()
            and self._under(typed)[0] < self._under(typed)[1]
        )

    def parse(self, typed: str) -> str:
        """A code, or the first digits of a node, as typed."""
        return typed

    def words(self, start: int, stop: int) -> str:
        """The node that these cells are; where they are none, the first and the last code."""
        for digits in self.digits.values():
            first = self.written(start, digits)
            if self._under(first) == (start, stop):
                return first
        return f"{self.written(start)} – {self.written(stop - 1)}"

    def describe(self) -> str:
        """The axis in words."""
        levels = ", ".join(f"{level} {n}" for level, n in self.digits.items())
        return f"{self.size:,} codes (digits: {levels})"

    def node(self, *path: object) -> tuple[int, int]:
        """The cells [start, stop) of a code, or of the first digits of a node."""
        given = path[-1] if path else None
        if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
            given = f"{int(given):0{self.width}d}"
        if isinstance(given, str) and self.names(given):
            return self._under(given)
        widths = ", ".join(f"{n} for a {level}" for level, n in self.digits.items())
        if isinstance(given, str) and given.isdigit() and len(given) in self.digits.values():
            raise InputError(
                f"{shown(given)} is no code of axis '{self.name}', nor the first digits of one; "
                f"they run from {self.written(0)} to {self.written(self.size - 1)}."
            )
        raise InputError(
            f"A node of axis '{self.name}' is written with its first digits, {widths}; got "
            f"{shown(given)}."
        )

    def _under(self, first: str) -> tuple[int, int]:
        """The cells whose codes begin with these digits."""
        low, step = int(first), 10 ** (self.width - len(first))
        start, stop = np.searchsorted(self.codes, [low * step, (low + 1) * step])
        return int(start), int(stop)

    def levels(self) -> dict[str, Ints]:
        """The first cell of every node, level by level, coarsest first."""
        return dict(self._levels)

    @cached_property
    def _levels(self) -> dict[str, Ints]:
        found = {}
        for level, digits in self.digits.items():
            first = self.codes // 10 ** (self.width - digits)
            starts = np.flatnonzero(np.r_[True, first[1:] != first[:-1]]).astype(np.int64)
            starts.setflags(write=False)
            found[level] = starts
        return found

    def level_labels(self, level: str, starts: Ints, stops: Ints) -> list[str]:
        """What the nodes of a level are called."""
        return [self.written(cell, self.digits[level]) for cell in starts.tolist()]

    def coarsen(self, level: str) -> CodeCells:
        """The codes cut after the digits of a level."""
        kept = list(self.digits)[: list(self.digits).index(level) + 1]
        digits = {name: self.digits[name] for name in kept}
        codes = self.codes[self._levels[level]] // 10 ** (self.width - digits[level])
        return CodeCells(self.name, codes, digits)

    def columns(self, starts: Ints, stops: Ints) -> dict[str, Any]:
        """The first digits of each level that all cells of [starts, stops) share."""
        table: dict[str, Any] = {}
        for level, digits in self.digits.items():
            step = 10 ** (self.width - digits)
            first, last = self.codes[starts] // step, self.codes[stops - 1] // step
            table[level] = [
                f"{a:0{digits}d}" if a == b else None
                for a, b in zip(first.tolist(), last.tolist(), strict=True)
            ]
        return table

    def to_json(self) -> dict[str, Any]:
        return {"kind": "codes", "codes": packed(self.codes), "levels": dict(self.digits)}


def packed(codes: Ints) -> str:
    """Rising numbers as text: their steps in bytes of seven bits, in base 64.

    >>> unpacked(packed(np.array([3, 5, 1000]))).tolist()
    [3, 5, 1000]
    """
    steps = np.diff(codes, prepend=0)
    bytes_ = np.zeros((len(steps), 9), np.uint8)
    used = np.ones(len(steps), np.int64)
    for place in range(9):
        bytes_[:, place] = (steps >> (_SEVEN * place)) & 127
        used[(steps >> (_SEVEN * place)) > 0] = place + 1
    places = np.arange(9)
    bytes_[places < used[:, None] - 1] |= 128
    return base64.b64encode(bytes_[places < used[:, None]].tobytes()).decode()


def unpacked(text: str) -> Ints:
    """The numbers that `packed` wrote."""
    bytes_ = np.frombuffer(base64.b64decode(text, validate=True), np.uint8)
    last = np.flatnonzero(bytes_ < 128)
    if not len(last) or last[-1] != len(bytes_) - 1:
        raise ValueError("the codes are cut short")
    first = np.r_[0, last[:-1] + 1]
    place = np.arange(len(bytes_)) - np.repeat(first, last - first + 1)
    if place.max() > 8:
        raise ValueError("a code has too many digits")
    parts = (bytes_ & 127).astype(np.int64) << (_SEVEN * place)
    return np.cumsum(np.add.reduceat(parts, first))


def _checked_digits(digits: object, name: str) -> dict[str, int]:
    if not isinstance(digits, Mapping) or not digits:
        raise InputError(
            f"The levels of axis '{name}' say how many digits name a node, such as "
            f'{{"state": 2, "county": 5}}; got {shown(digits)}.'
        )
    found = {
        text(level, f"A level of axis '{name}'"): whole_number(n, f"The digits of level {level!r}")
        for level, n in digits.items()
    }
    each_ = [0, *found.values()]
    if any(a >= b for a, b in pairwise(each_)) or each_[-1] > MOST_DIGITS:
        raise InputError(
            f"The levels of axis '{name}' need more and more digits, at most {MOST_DIGITS}; got "
            f"{dict(digits)}."
        )
    return found


def _checked_codes(codes: object, name: str, width: int) -> Ints:
    if isinstance(codes, str):
        codes = unpacked(codes)
    if isinstance(codes, Iterable) and not isinstance(codes, np.ndarray):
        codes = list(codes)
        if all(isinstance(code, str) for code in codes):
            for code in codes:
                if len(code) != width or not (code.isascii() and code.isdigit()):
                    raise InputError(
                        f"A code of axis '{name}' has {width} digits, got {shown(code)}."
                    )
            codes = [int(code) for code in codes]
    array = np.asarray(codes)
    if array.ndim != 1 or array.dtype.kind not in "iu" or not array.size:
        raise InputError(f"Axis '{name}' needs a list of whole numbers, its codes.")
    found = array.astype(np.int64)
    if found.min() < 0 or int(found.max()) >= 10**width:
        raise InputError(f"The codes of axis '{name}' must have {width} digits at most.")
    if not (found[1:] > found[:-1]).all():
        found = np.sort(found)
        twice = np.flatnonzero(found[1:] == found[:-1])
        if len(twice):
            raise InputError(f"Axis '{name}' has the code {int(found[twice[0]])} twice.")
    found.setflags(write=False)
    return found
