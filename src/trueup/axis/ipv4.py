"""Cells over IPv4 addresses: the prefixes of one length inside a network."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints
from trueup.axis.numbers import check_size, each, off_grid, outside, whole_number
from trueup.axis.traits import CellTraits
from trueup.errors import InputError, shown


def address(value: object, what: str) -> int:
    """The 32-bit number of an address given as text or number."""
    try:
        if isinstance(value, (str, ipaddress.IPv4Address)):
            return int(ipaddress.IPv4Address(value))
        if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
            return int(ipaddress.IPv4Address(int(value)))
    except ValueError:
        pass
    raise InputError(f'{what} must be an IPv4 address such as "10.0.0.1", got {shown(value)}.')


def _dotted(numbers: Ints) -> list[str]:
    bytes_ = [str(byte) for byte in range(256)]
    return [
        f"{bytes_[a >> 24]}.{bytes_[(a >> 16) & 255]}.{bytes_[(a >> 8) & 255]}.{bytes_[a & 255]}"
        for a in numbers.tolist()
    ]


@dataclass(frozen=True)
class Ipv4Cells:
    """One cell for each prefix of `length` bits inside `network`."""

    name: str
    network: str = "0.0.0.0/0"
    length: int = 16
    traits: ClassVar = CellTraits("ipv4", "address")

    def __post_init__(self) -> None:
        try:
            if isinstance(self.network, bool) or self.network is None:
                raise ValueError
            network = ipaddress.IPv4Network(self.network)
        except (ValueError, TypeError):
            raise InputError(
                f"The network of axis '{self.name}' must be a prefix such as \"10.0.0.0/8\", "
                f"got {shown(self.network)}."
            ) from None
        length = whole_number(self.length, f"The prefix length of axis '{self.name}'")
        if not network.prefixlen <= length <= 32:
            raise InputError(
                f"The prefix length of axis '{self.name}' must lie between "
                f"{network.prefixlen} and 32, got {length}."
            )
        object.__setattr__(self, "network", str(network))
        object.__setattr__(self, "length", length)
        check_size(self.size, self.name)

    @cached_property
    def _network(self) -> ipaddress.IPv4Network:
        return ipaddress.IPv4Network(self.network)

    @property
    def base(self) -> int:
        """The number of the network's first address."""
        return int(self._network.network_address)

    @property
    def shift(self) -> int:
        """How many low bits of an address a cell ignores."""
        return 32 - self.length

    @property
    def size(self) -> int:
        return 1 << (self.length - self._network.prefixlen)

    def place(self, found: Ints) -> Ints:
        """The cell of each 32-bit number of an address; -1 for what is outside."""
        cells = (found - self.base) >> self.shift
        return np.where((found >= self.base) & (cells < self.size), cells, -1)

    def boundary(self, value: object) -> int:
        """The number of cells left of an address that begins a cell (or ends the network)."""
        end = self.base + (self.size << self.shift)
        if not isinstance(value, str) and value == end:
            return self.size
        number = address(value, f"A range end on axis '{self.name}'")
        if not self.base <= number <= end:
            raise outside(self.name, value, self.edge(0), self.edge(self.size))
        index, rest = divmod(number - self.base, 1 << self.shift)
        if rest:
            raise off_grid(self.name, value, self.edge(index), self.edge(index + 1))
        return index

    def boundaries(self, values: npt.ArrayLike) -> Ints:
        """As `boundary`, for an array."""
        array = np.asarray(values)
        if array.dtype.kind not in "iu":
            return each(self.boundary, array)
        end = self.base + (self.size << self.shift)
        good = (array >= self.base) & (array <= end)
        if not good.all():
            return each(self.boundary, array)  # says what is wrong
        index, rest = np.divmod(array.astype(np.int64) - self.base, 1 << self.shift)
        return each(self.boundary, array) if rest.any() else index

    def edge(self, index: int) -> str | None:
        """The address with that many cells left of it; None past the last of all addresses."""
        number = self.base + (index << self.shift)
        return str(ipaddress.IPv4Address(number)) if number < 1 << 32 else None

    def names(self, text: str) -> bool:
        """Whether a text, as typed, is a prefix."""
        return "/" in text

    def parse(self, text: str) -> str:
        """An address or a prefix as typed."""
        return text

    def words(self, start: int, stop: int) -> str:
        """The prefix; where the cells are none together, the first and the last address."""
        first = self.base + (start << self.shift)
        size = (stop - start) << self.shift
        if size & (size - 1) == 0 and first % size == 0:
            return f"{ipaddress.IPv4Address(first)}/{33 - size.bit_length()}"
        return f"{ipaddress.IPv4Address(first)} – {ipaddress.IPv4Address(first + size - 1)}"

    def describe(self) -> str:
        """The axis in words."""
        return f"{self.size:,} prefixes /{self.length} of {self.network}"

    def level_labels(self, level: str, starts: Ints, stops: Ints) -> list[str]:
        """What the prefixes of a level are called."""
        return [f"{first}{level}" for first in _dotted(self.base + (starts << self.shift))]

    def node(self, *path: object) -> tuple[int, int]:
        """The cells [start, stop) of a prefix such as "10.1.0.0/16"."""
        given = path[-1] if path else None
        try:
            prefix = ipaddress.IPv4Network(given)
        except (ValueError, TypeError):
            raise InputError(
                f"A node of axis '{self.name}' is a prefix such as \"10.1.0.0/16\", "
                f"got {shown(given)}."
            ) from None
        if not prefix.subnet_of(self._network):
            raise InputError(f"{prefix} is outside axis '{self.name}', which is {self.network}.")
        if prefix.prefixlen > self.length:
            raise InputError(
                f"{prefix} is finer than the cells of axis '{self.name}', which are /{self.length}."
            )
        start = (int(prefix.network_address) - self.base) >> self.shift
        return start, start + (1 << (self.length - prefix.prefixlen))

    def levels(self) -> Mapping[str, Ints]:
        """The first cell of every prefix, for each length from the network's own to the cells'."""
        return PrefixLevels(self)

    def level_sizes(self) -> dict[str, int]:
        """How many prefixes there are of each length: none of them is written down for it."""
        lengths = range(self._network.prefixlen + 1, self.length + 1)
        return {f"/{length}": self.size >> (self.length - length) for length in lengths}

    def prefixes_inside(self, level: str, start: int, stop: int) -> range:
        """The first cells of the prefixes of one length that lie inside some cells."""
        width = 1 << (self.length - int(level.removeprefix("/")))
        return range(-(-start // width) * width, stop // width * width, width)

    def coarsen(self, level: str) -> Ipv4Cells:
        """The same network in shorter prefixes."""
        return Ipv4Cells(self.name, self.network, int(level.removeprefix("/")))

    def columns(self, starts: Ints, stops: Ints) -> dict[str, Any]:
        """The intervals [starts, stops) as columns of a table."""
        last = self.base + (stops << self.shift) - 1
        first = self.base + (starts << self.shift)
        return {"first_address": _dotted(first), "last_address": _dotted(last)}

    def to_json(self) -> dict[str, Any]:
        return {"kind": "ipv4", "network": self.network, "length": self.length}


class PrefixLevels(Mapping[str, Ints]):
    """The prefixes of an axis by their length, made when they are asked for: there may be 2^32."""

    def __init__(self, cells: Ipv4Cells) -> None:
        self._cells = cells
        self._sizes = cells.level_sizes()

    def __getitem__(self, level: str) -> Ints:
        return np.arange(0, self._cells.size, self._cells.size // self._sizes[level])

    def __contains__(self, level: object) -> bool:
        return level in self._sizes

    def __iter__(self) -> Iterator[str]:
        return iter(self._sizes)

    def __len__(self) -> int:
        return len(self._sizes)
