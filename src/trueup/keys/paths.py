"""Paths: the keys of a universe as leaves of a tree of prefixes, digit by digit.

Addresses and whole numbers go by bits, so many a level; strings by letters; places by quarters of
the globe's cells. The tree is public and never built: only a key's digits are computed.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from trueup.arrays import Ints
from trueup.axis.numbers import whole_number
from trueup.errors import InputError
from trueup.keys.numbered import IntegerKeys, Ipv4Keys, Ipv6Keys, PlaceKeys
from trueup.keys.strings import PatternKeys, StringKeys, printable, spans
from trueup.keys.universe import Universe

Digits = Ints
_MOST_LEVELS = 64
_LETTERS = 16  # levels of a tree of strings, if nobody says more


@dataclass(frozen=True)
class Paths:
    """The tree of prefixes of a universe: how many children a node has, level by level.

    `step` is how many bits a level takes (of places, of each coordinate); `levels` how deep the
    tree goes, all of it if None.

    >>> paths = Paths(Universe.ipv4(), 8)
    >>> paths.fans, paths.label((10, 1))
    ((256, 256, 256, 256), '10.1.0.0/16')
    """

    universe: Universe
    step: int | None = None
    levels: int | None = None

    def __post_init__(self) -> None:
        whole = len(self._fans)
        if self.levels is not None:
            levels = whole_number(self.levels, "levels")
            if not 1 <= levels <= whole:
                raise InputError(f"This tree has 1 to {whole:,} levels, got {levels:,}.")
            object.__setattr__(self, "levels", levels)
        if len(self.fans) > _MOST_LEVELS:
            raise InputError(
                f"A tree has at most {_MOST_LEVELS} levels, this one {len(self.fans):,}. Take a "
                f"larger step, or fewer levels."
            )

    def _bits(self, default: int, allowed: tuple[int, ...]) -> int:
        step = default if self.step is None else whole_number(self.step, "step")
        if step not in allowed:
            listed = ", ".join(map(str, allowed))
            raise InputError(f"A level of this tree takes {listed} bits, got {step}.")
        return step

    @property
    def _quarters(self) -> int:
        """How many bits of each coordinate a level of places takes: 2, where they come out even."""
        rows: int = getattr(self.universe.space, "rows", 4)
        return self._bits(1 if rows.bit_length() % 2 == 0 else 2, (1, 2))

    @cached_property
    def _fans(self) -> tuple[int, ...]:
        """How many children a node of each level may have, in the whole tree."""
        space = self.universe.space
        match space:
            case IntegerKeys() | Ipv4Keys():
                step = self._bits(4, (1, 2, 4, 8, 16))
                levels = max(-(-(space.size - 1).bit_length() // step), 1)
                top = ((space.size - 1) >> (step * (levels - 1))) + 1
                return (top, *[1 << step] * (levels - 1))
            case Ipv6Keys():
                step = self._bits(8, (4, 8, 16))
                return (1 << step,) * (128 // step)
            case PlaceKeys():
                step, deep = self._quarters, space.rows.bit_length() - 1
                if 1 << deep != space.rows or deep % step:
                    raise InputError(
                        "A tree of places needs cells of 180/2^n degrees, such as 45/1024, n a "
                        "multiple of the step."
                    )
                sides = 1 << (2 * step)
                return (2 * sides, *[sides] * (deep // step - 1))
            case StringKeys():
                if self.step not in (None, 1) or not (space.alphabet or "a").isascii():
                    raise InputError("A tree of strings goes by letters of ASCII or by bytes.")
                return ((len(space.alphabet) if space.alphabet else 256) + 1,) * space.most
            case PatternKeys():
                if self.step not in (None, 1):
                    raise InputError("A tree of codes goes by letters: leave step out.")
                return tuple(len(letters) for letters in space.places)
            case _:
                raise InputError("This universe has no tree of prefixes.")

    @property
    def fans(self) -> tuple[int, ...]:
        """How many children a node of each level may have."""
        most = self.levels
        if most is None and isinstance(self.universe.space, StringKeys):
            most = _LETTERS
        return self._fans[:most]

    @property
    def ends(self) -> bool:
        """Whether a digit of 0 ends a key before the last level, as strings end."""
        return isinstance(self.universe.space, StringKeys)

    def digits(self, keys: Any) -> Digits:
        """The digits of each key, a row a key and a column a level."""
        space, levels = self.universe.space, len(self.fans)
        found = np.zeros((len(keys), levels), np.int64)
        if isinstance(space, PlaceKeys):
            step, deep = self._quarters, space.rows.bit_length() - 1
            south, west = np.divmod(np.asarray(keys, np.int64), 2 * space.rows)
            for level in range(levels):
                shift, wide = deep - step * (level + 1), step + (level == 0)
                across = (west >> shift) & ((1 << wide) - 1)
                found[:, level] = (((south >> shift) & ((1 << step) - 1)) << wide) | across
        elif isinstance(space, (IntegerKeys, Ipv4Keys)):
            first = space.first if isinstance(space, IntegerKeys) else 0
            offset = np.asarray(keys, np.int64).view(np.uint64) - np.uint64(first % (1 << 64))
            step = self._bits(4, (1, 2, 4, 8, 16))
            for level in range(levels):
                right = np.uint64(step * (len(self._fans) - 1 - level))
                found[:, level] = (offset >> right) & np.uint64((1 << step) - 1)
        elif isinstance(space, Ipv6Keys):
            step = self._bits(8, (4, 8, 16))
            ends, data = spans(keys)
            each = data[int(ends[0]) : int(ends[-1])].reshape(len(keys), 16).astype(np.int64)
            for level in range(levels):
                at = step * level // 8
                pair = each[:, at] if step < 16 else (each[:, at] << 8) | each[:, at + 1]
                found[:, level] = (pair >> (4 - 4 * (level % 2))) & 15 if step == 4 else pair
        else:
            self._letters(keys, found)
        return found

    def _letters(self, keys: Any, found: Digits) -> None:
        ends, data = spans(keys)
        begins, lengths = ends[:-1], np.diff(ends)
        for level in range(found.shape[1]):
            there = lengths > level
            codes = np.array(self._codes(level), np.int64)
            found[there, level] = codes[data[begins[there] + level]]

    def _codes(self, level: int) -> list[int]:
        """The digit of each byte at a level."""
        space, codes = self.universe.space, [0] * 256
        if isinstance(space, PatternKeys):
            for code, letter in enumerate(space.places[level]):
                codes[letter] = code
            return codes
        assert isinstance(space, StringKeys)
        letters = bytes(range(256)) if space.alphabet is None else space.alphabet.encode()
        for code, letter in enumerate(letters):
            codes[letter] = code + 1
        return codes

    def label(self, prefix: tuple[int, ...]) -> str:
        """A node in words; the empty prefix is everything."""
        space, depth = self.universe.space, len(prefix)
        if not prefix:
            return "all"
        if isinstance(space, (StringKeys, PatternKeys)):
            return self._spelled(prefix)
        if isinstance(space, PlaceKeys):
            return self._cell(prefix)
        number, left = 0, 1
        for level, fan in enumerate(self._fans):
            number = number * fan + (prefix[level] if level < depth else 0)
            left *= fan if level >= depth else 1
        if isinstance(space, IntegerKeys):
            low, high = space.first + number, min(space.first + number + left - 1, space.last)
            return str(low) if low == high else f"{low}–{high}"
        bits = left.bit_length() - 1
        if isinstance(space, Ipv4Keys):
            return f"{ipaddress.IPv4Address(number)}/{32 - bits}"
        return f"{ipaddress.IPv6Address(number)}/{128 - bits}"

    def _spelled(self, prefix: tuple[int, ...]) -> str:
        letters: list[int] = []
        for level, digit in enumerate(prefix):
            if self.ends and digit == 0:
                return printable(bytes(letters))
            letters.append(self._codes(level).index(digit))
        whole = len(prefix) == len(self._fans)
        return printable(bytes(letters)) + ("" if whole else "…")

    def _cell(self, prefix: tuple[int, ...]) -> str:
        """A rectangle of the globe: its south-west and its north-east corner."""
        space: Any = self.universe.space
        step, south, west, size = self._quarters, 0, 0, space.rows
        for level, digit in enumerate(prefix):
            wide = step + (level == 0)
            south = (south << step) | (digit >> wide)
            west = (west << wide) | (digit & ((1 << wide) - 1))
            size >>= step
        low = south * size * space.degrees - 90, west * size * space.degrees - 180
        high = tuple(end + size * space.degrees for end in low)
        corner = [",".join(f"{float(end):.10g}" for end in ends) for ends in (low, high)]
        return " to ".join(corner)
