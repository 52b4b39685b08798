"""Four numbers of every block of cells on the disk: which blocks a quantile can depend on.

The manifest has them of every part as a whole, so that a search begins there. Those of a part's own
blocks are read when the search comes to that part, and checked to be what was written.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from trueup.arrays import Floats, Ints
from trueup.errors import FileError

EACH = 32  # bytes of a block


@dataclass(frozen=True)
class PartBlocks:
    """What the manifest says of the blocks of a part."""

    sums: tuple[float, ...]
    """The four numbers of all its cells, as `parts.block_sums` makes them of a block's."""
    sha256: str
    """Of its blocks' own numbers, in the file of all blocks."""

    @staticmethod
    def of(blocks: Floats, lengths: Ints) -> PartBlocks:
        """Those of a part whose blocks have these numbers and so many cells."""
        data: Any = np.ascontiguousarray(blocks)
        return PartBlocks(_together(data, lengths), hashlib.sha256(data).hexdigest())

    @staticmethod
    def from_json(said: Any) -> PartBlocks:
        """What stood in a manifest; ValueError if it cannot be that."""
        sums, sha256 = tuple(said["sums"]), said["sha256"]
        if len(sums) != 4 or not isinstance(sha256, str) or len(said) != 2:
            raise ValueError(said)
        if not all(type(number) is float and math.isfinite(number) for number in sums):
            raise ValueError(sums)
        return PartBlocks(sums, sha256)


def block_lengths(cells: int, block: int) -> Ints:
    """The cells of each block of a part."""
    return np.diff(np.append(np.arange(0, cells, block), cells))


def _together(blocks: Floats, lengths: Ints) -> tuple[float, ...]:
    """The four numbers of some blocks taken as one."""
    before, above, least, most = blocks.T
    first = float(before[0])
    exceeding = math.fsum((above + lengths * (before - first)).tolist())
    return first, exceeding, float(least.min()), float(most.max())


@dataclass(frozen=True, eq=False)
class Blocks:
    """Four numbers of each of some blocks, one after the other; its first cell, its length.

    They are about the prefix sums start + 1 … start + length, the counts up to each of its cells.
    """

    starts: Ints
    lengths: Ints
    before: Floats
    above: Floats
    least: Floats
    most: Floats


@dataclass(frozen=True, eq=False)
class StoredBlocks:
    """Those of a dataset folder: of its parts, and of the blocks of each."""

    file: Path
    stops: Ints
    """Where each part ends; the first begins at 0."""
    said: Sequence[PartBlocks]
    block: int
    _read: dict[int, Blocks] = field(default_factory=dict)

    @cached_property
    def _starts(self) -> Ints:
        return np.concatenate([[0], self.stops[:-1]])

    @cached_property
    def _places(self) -> Ints:
        """The number of the first block of each part."""
        return np.concatenate([[0], np.cumsum(-(-(self.stops - self._starts) // self.block))])

    @cached_property
    def parts(self) -> Blocks:
        """Every part, taken as one block."""
        columns = np.array([each.sums for each in self.said]).T
        return Blocks(self._starts, self.stops - self._starts, *columns)

    def inside(self, part: int) -> Blocks:
        """The blocks of a part, checked to be what was written."""
        if part not in self._read:
            self._read[part] = self._of(part)
        return self._read[part]

    def _of(self, part: int) -> Blocks:
        first, stop = self._places[part : part + 2].tolist()
        try:
            with open(self.file, "rb", buffering=0) as file:
                file.seek(EACH * first)
                data = file.read(EACH * (stop - first))
        except OSError:
            data = b""
        said, start = self.said[part], int(self._starts[part])
        lengths = block_lengths(int(self.stops[part]) - start, self.block)
        same = hashlib.sha256(data).hexdigest() == said.sha256 and len(data) == EACH * len(lengths)
        found = np.frombuffer(data, np.float64).reshape(-1, 4) if same else np.empty((0, 4))
        if not same or _together(found, lengths) != said.sums:
            raise FileError(f"{self.file.name} in {self.file.parent} is damaged.")
        starts = start + self.block * np.arange(len(lengths))
        return Blocks(starts, lengths, *np.ascontiguousarray(found.T))
