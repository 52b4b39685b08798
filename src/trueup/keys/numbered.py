"""Universes whose keys are numbers: whole numbers, IPv4 and IPv6 addresses, cells of the globe."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from trueup.arrays import Bools
from trueup.axis.bins import RegularCells
from trueup.axis.numbers import whole_number
from trueup.axis.written import dotted
from trueup.epsilon import positive
from trueup.errors import InputError, shown
from trueup.keys.listed import as_arrow
from trueup.keys.space import Key, KeySpace, NumberedKeys, Placed

_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_MAPPED = 0xFFFF << 32  # IPv4 addresses among those of IPv6
_LONGEST = 45  # characters of an IPv6 address
_FINEST = 10**9  # cells around the globe: some four centimetres each


@dataclass(frozen=True)
class IntegerKeys(KeySpace):
    """Every whole number from first to last, both included; at most those of 64 bits."""

    first: int = _LEAST
    last: int = _MOST
    kind: ClassVar[str] = "integers"
    reads: ClassVar[tuple[str, ...]] = ("integer",)
    whole: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("first", "last"):
            found = whole_number(getattr(self, name), f"The {name} key")
            if not _LEAST <= found <= _MOST:
                raise InputError(f"Keys are whole numbers of 64 bits, got {found}.")
            object.__setattr__(self, name, found)
        if self.last < self.first:
            raise InputError(f"The keys end at {self.last}, before they begin at {self.first}.")

    @property
    def words(self) -> str:
        if (self.first, self.last) == (_LEAST, _MOST):
            return "whole numbers of 64 bits"
        return f"whole numbers from {self.first:,} to {self.last:,}"

    @property
    def size(self) -> int:
        return self.last - self.first + 1

    def place(self, values: Any, known: Bools) -> Placed:
        """The keys of whole numbers, and which have one."""
        numbers = np.asarray(values, np.int64)
        return numbers, known & (numbers >= self.first) & (numbers <= self.last)

    def rank(self, key: Key) -> int:
        return int(key) - self.first

    def unrank(self, number: int) -> Key:
        return number + self.first

    def label(self, key: Key) -> str:
        return str(key)

    def labels(self, keys: Any) -> Any:
        import pyarrow as pa

        return as_arrow(keys.column).cast(pa.string())

    def read(self, text: str) -> Key | None:
        try:
            number = int(text)
        except ValueError:
            return None
        return number if self.first <= number <= self.last and str(number) == text else None

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "first": self.first, "last": self.last}


@dataclass(frozen=True)
class Ipv4Keys(NumberedKeys):
    """Every IPv4 address, read from dotted text or from its number."""

    kind: ClassVar[str] = "ipv4"
    words: ClassVar[str] = "IPv4 addresses"
    reads: ClassVar[tuple[str, ...]] = ("address",)
    size: ClassVar[int] = 1 << 32

    def place(self, values: Any, known: Bools) -> Placed:
        """The keys of addresses that are numbers already."""
        numbers = np.asarray(values, np.int64)
        return numbers, known & (numbers >= 0) & (numbers < self.size)

    def label(self, key: Key) -> str:
        return str(ipaddress.IPv4Address(int(key)))

    def read(self, text: str) -> Key | None:
        return dotted(text.encode("utf-8", "surrogatepass"))

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind}


@dataclass(frozen=True)
class Ipv6Keys(KeySpace):
    """Every IPv6 address, in any spelling: its 16 bytes are the key.

    A dotted IPv4 address is the address ::ffff:a.b.c.d. A zone, as in fe80::1%eth0, makes it none.
    """

    kind: ClassVar[str] = "ipv6"
    words: ClassVar[str] = "IPv6 addresses"
    reads: ClassVar[tuple[str, ...]] = ("text",)
    whole: ClassVar[bool] = False
    size: ClassVar[int] = 1 << 128
    longest: ClassVar[int] = _LONGEST

    def place(self, values: Any, known: Bools) -> Placed:
        """The keys of texts; equal texts are read once."""
        import pyarrow as pa

        coded = values.dictionary_encode()
        read = [None if text is None else _packed(text) for text in coded.dictionary.to_pylist()]
        there = np.array([key is not None for key in read] + [False], np.bool_)
        keys = pa.array([key or b"" for key in read] + [b""], pa.large_binary())
        places = coded.indices.fill_null(len(read))
        return keys.take(places), known & there[places.to_numpy(zero_copy_only=False)]

    def rank(self, key: Key) -> int:
        return int.from_bytes(key, "big")  # type: ignore[arg-type]

    def unrank(self, number: int) -> Key:
        return number.to_bytes(16, "big")

    def label(self, key: Key) -> str:
        """A key in words: the shortest spelling."""
        found = ipaddress.IPv6Address(key)
        four = found.ipv4_mapped
        return str(found) if four is None else f"::ffff:{four}"

    def read(self, text: str) -> Key | None:
        return _packed(text.encode("utf-8", "surrogatepass"))

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind}


def _packed(text: bytes) -> bytes | None:
    """The 16 bytes of an address; None for what is none."""
    if len(text) > _LONGEST or not text.isascii() or b"\0" in text:
        return None
    four = dotted(text)
    if four is not None:
        return (_MAPPED | four).to_bytes(16, "big")
    try:
        return socket.inet_pton(socket.AF_INET6, text.decode("ascii"))
    except OSError:
        return None


@dataclass(frozen=True)
class PlaceKeys(NumberedKeys):
    """Cells of the globe, so many degrees high and wide: latitude first, then longitude.

    Cells are half open, [south, north) and [west, east); the pole at 90 is in none.
    """

    degrees: Any
    kind: ClassVar[str] = "places"
    reads: ClassVar[tuple[str, ...]] = ("number", "number")

    def __post_init__(self) -> None:
        degrees = positive(self.degrees, "degrees")
        if (180 / degrees).denominator != 1:
            raise InputError(
                f"The height of a cell must divide 180 degrees, got {shown(self.degrees)}. "
                f'Try 1, "1/10" or "1/100".'
            )
        if 360 / degrees > _FINEST:
            raise InputError(f"A cell must be at least 360/10^9 degrees, got {degrees}.")
        object.__setattr__(self, "degrees", degrees)

    @property
    def words(self) -> str:
        return f"places on the globe, in cells of {self.degrees} degrees"

    @property
    def rows(self) -> int:
        """How many cells lie between the poles."""
        return int(180 / self.degrees)

    @property
    def size(self) -> int:
        return 2 * self.rows * self.rows

    @cached_property
    def _bins(self) -> tuple[RegularCells, RegularCells]:
        return (
            RegularCells("latitude", -90, 90, self.rows),
            RegularCells("longitude", -180, 180, 2 * self.rows),
        )

    def place(self, latitude: Any, longitude: Any, known: Bools) -> Placed:
        """The keys of places, and which have one."""
        south, west = (
            bins.locate(values)
            for bins, values in zip(self._bins, (latitude, longitude), strict=True)
        )
        return south * (2 * self.rows) + west, known & (south >= 0) & (west >= 0)

    def corner(self, key: Key) -> tuple[Any, Any]:
        """The south-west corner of a cell, exactly."""
        south, west = divmod(int(key), 2 * self.rows)
        return south * self.degrees - 90, west * self.degrees - 180

    def label(self, key: Key) -> str:
        """A key in words: its south-west corner."""
        return ",".join(f"{float(end):.10g}" for end in self.corner(key))

    def read(self, text: str) -> Key | None:
        try:
            south, west = (float(end) for end in text.split(","))
        except ValueError:
            return None
        half = float(self.degrees) / 2
        key, known = self.place(np.array([south + half]), np.array([west + half]), np.ones(1, bool))
        found = int(key[0])
        return found if known[0] and self.label(found) == text else None

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "degrees": str(self.degrees)}
