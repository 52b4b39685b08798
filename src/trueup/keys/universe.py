"""Universe: all keys that there could be, declared and never listed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from trueup.arrays import Bools
from trueup.axis import Axis
from trueup.errors import InputError, shown
from trueup.keys.cells import CellKeys
from trueup.keys.listed import Keys
from trueup.keys.numbered import IntegerKeys, Ipv4Keys, Ipv6Keys, PlaceKeys
from trueup.keys.space import Key, KeySpace, Placed
from trueup.keys.strings import PatternKeys, StringKeys


@dataclass(frozen=True)
class Universe:
    """All keys that there could be: public, and as large as you like, for nobody lists them.

    >>> codes = Universe.pattern("[A-Z]{2}-[0-9]{4}")
    >>> codes.size, codes.label(codes.unrank(0))
    (6760000, 'AA-0000')
    >>> Universe.ipv6().size == 2**128
    True
    """

    space: KeySpace

    @staticmethod
    def integers(first: int = -(1 << 63), last: int = (1 << 63) - 1) -> Universe:
        """Whole numbers, both ends included; without ends, all of 64 bits."""
        return Universe(IntegerKeys(first, last))

    @staticmethod
    def bytes(most: int) -> Universe:
        """Every string of at most so many bytes, the empty one too."""
        return Universe(StringKeys(most))

    @staticmethod
    def text(alphabet: str, most: int) -> Universe:
        """Every text of at most so many characters of an alphabet, such as "a-z0-9 "."""
        return Universe(StringKeys(most, alphabet))

    @staticmethod
    def pattern(pattern: str) -> Universe:
        """Every code of a pattern, such as "[A-Z]{2}-[0-9]{4}"."""
        return Universe(PatternKeys(pattern))

    @staticmethod
    def ipv4() -> Universe:
        """Every IPv4 address."""
        return Universe(Ipv4Keys())

    @staticmethod
    def ipv6() -> Universe:
        """Every IPv6 address, in any spelling; IPv4 addresses are those of ::ffff:0:0/96."""
        return Universe(Ipv6Keys())

    @staticmethod
    def places(degrees: object) -> Universe:
        """Cells of the globe of so many degrees; its columns are latitude and longitude."""
        return Universe(PlaceKeys(degrees))

    @staticmethod
    def cells(*axes: Axis) -> Universe:
        """The cells of an axis, or of the grid of several; its columns are those of the axes.

        >>> Universe.cells(Axis.integers("age", 0, 99), Axis.regular("fare", 0, 8, bins=16)).size
        1600
        """
        return Universe(CellKeys(axes))

    @staticmethod
    def _of_axes(axes: object) -> Universe:
        """As `cells`, from axes that were written."""
        if not isinstance(axes, list):
            raise InputError(f"The axes of a universe are a list, got {shown(axes)}.")
        return Universe.cells(*(Axis.from_json(axis) for axis in axes))

    @staticmethod
    def typed(text: str) -> Universe:
        """A universe as it is typed: its kind and what it needs, with colons between.

        >>> Universe.typed("text:a-z:8") == Universe.text("a-z", 8)
        True
        """
        kind, _, rest = text.partition(":")
        if kind == "text":
            alphabet, _, most = rest.rpartition(":")
            return Universe.from_json({"kind": kind, "alphabet": alphabet, "most": _typed(most)})
        known = kind in _KINDS and kind != CellKeys.kind
        names = _KINDS[kind][1] if known else ()
        given = rest.split(":", len(names) - 1) if rest and names else [rest] if rest else []
        if not known or len(given) > len(names):
            raise InputError(
                f"A universe is typed as one of {', '.join(_TYPED)}; got {shown(text)}."
            )
        read = [
            value if name in _WORDS else _typed(value)
            for name, value in zip(names, given, strict=False)
        ]
        return Universe.from_json({"kind": kind, **dict(zip(names, read, strict=False))})

    @property
    def size(self) -> int:
        """How many keys there are, exactly."""
        return self.space.size

    @property
    def whole(self) -> bool:
        """Whether keys are whole numbers; else they are bytes."""
        return self.space.whole

    @property
    def reads(self) -> tuple[str, ...]:
        """The kinds of plain columns that say a key."""
        return self.space.reads

    @property
    def longest(self) -> int:
        """The most bytes of a text that is a key; 0 where keys are not read from texts."""
        return self.space.longest

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold the key, where the universe names them; else none."""
        return self.space.columns

    def place(self, *values: Any, known: Bools) -> Placed:
        """The keys of plain columns, and which rows have one: a function of each row alone."""
        return self.space.place(*values, known)

    def rank(self, key: Key) -> int:
        """The number of a key among all, from 0."""
        return self.space.rank(key)

    def unrank(self, number: int) -> Key:
        """The key of this number."""
        return self.space.unrank(number)

    def label(self, key: Key) -> str:
        """A key in words, different for different keys."""
        return self.space.label(key)

    def labels(self, keys: Keys) -> Any:
        """Keys in words, each as `label` words it, as an Arrow array of text."""
        return self.space.labels(keys)

    def read(self, text: object) -> Key | None:
        """The key that a label is; None if it is none of this universe."""
        return self.space.read(text) if isinstance(text, str) else None

    def to_json(self) -> dict[str, Any]:
        """As plain values, for files and settings."""
        return self.space.to_json()

    def __str__(self) -> str:
        return f"{self.space.words} ({many(self.size)} keys)"

    @staticmethod
    def from_json(said: object) -> Universe:
        """The universe that was written, checked."""
        kind = said.get("kind") if isinstance(said, Mapping) else None
        if not isinstance(kind, str) or kind not in _KINDS or not isinstance(said, Mapping):
            kinds = ", ".join(_KINDS)
            raise InputError(f"A universe has a kind, one of {kinds}; got {shown(said)}.")
        made, names = _KINDS[kind]
        given = {name: value for name, value in said.items() if name != "kind"}
        if not set(given) <= set(names):
            wrong = sorted(set(given) - set(names))[0]
            raise InputError(f"A universe of {kind} has no {wrong!r}.")
        try:
            return made(**given)
        except TypeError:
            raise InputError(f"A universe of {kind} needs {' and '.join(names)}.") from None


_KINDS: dict[str, tuple[Callable[..., Universe], tuple[str, ...]]] = {
    "integers": (Universe.integers, ("first", "last")),
    "bytes": (Universe.bytes, ("most",)),
    "text": (Universe.text, ("alphabet", "most")),
    "pattern": (Universe.pattern, ("pattern",)),
    "ipv4": (Universe.ipv4, ()),
    "ipv6": (Universe.ipv6, ()),
    "places": (Universe.places, ("degrees",)),
    "cells": (Universe._of_axes, ("axes",)),
}


_WORDS = ("alphabet", "pattern", "degrees")
_TYPED = (
    "text:a-z0-9:12",
    "bytes:8",
    "pattern:[A-Z]{2}-[0-9]{4}",
    "integers",
    "integers:1:1000",
    "ipv4",
    "ipv6",
    "places:1/100",
)


def _typed(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"A universe needs a whole number where {shown(text)} stands.") from None


def many(size: int) -> str:
    """A number of keys as a person reads it.

    >>> many(6760000), many(1 << 64)
    ('6,760,000', '2^64')
    """
    if size & (size - 1) == 0 and size > 1 << 20:
        return f"2^{size.bit_length() - 1}"
    return f"{size:,}" if size < 10**15 else f"about 2^{size.bit_length() - 1}"
