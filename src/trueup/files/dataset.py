"""A dataset folder: a release in Parquet parts that any tool opens, and one manifest.

Every part holds some cells, in order: `cell`, its number; `count`; and `upto`, the count of all
cells up to it and with it. Where these are made to be shown, `unbiased` and `unbiased_upto` are the
unbiased ones. Numbers are stored plain, and the manifest says where they begin, so
that one of them is found by its place: a range is the difference of two numbers, read from two
pages of the disk. Of every block of cells four numbers stand in a file of their own, and those of a
part as a whole in the manifest: they say which blocks a quantile can depend on.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.errors import FileError, InputError
from trueup.facts import Facts
from trueup.files import parts as layout
from trueup.files.atomic import write_whole
from trueup.files.stored_blocks import EACH, PartBlocks, StoredBlocks, block_lengths

FORMAT = 2
KIND = "release folder"
MANIFEST = "manifest.json"
BLOCKS = "blocks.float64"
UNBIASED_BLOCKS = "unbiased-blocks.float64"
_CHECKSUM = b',"digest":"'
_LARGEST = 1 << 62  # bytes and cells: sums of these fit 64 bits
_NAME = re.compile(r"(answers/)?[a-z0-9][a-z0-9.-]*")


@dataclass(frozen=True)
class FolderPart:
    """A file of a dataset folder: which cells it has, and what its bytes are."""

    file: str
    first: int
    stop: int
    bytes: int
    sha256: str
    begins: tuple[int, ...] = ()
    """Of counts: the byte at which the numbers of `upto` begin, for each row group."""
    unbiased: tuple[int, ...] = ()
    """Likewise of `unbiased_upto`, beside counts made to be shown."""
    blocks: PartBlocks | None = None
    """Of counts: what is kept of all of them together."""
    unbiased_blocks: PartBlocks | None = None
    """Likewise of the unbiased ones, beside counts made to be shown."""

    def to_json(self) -> dict[str, Any]:
        """The part as plain values."""
        return {name: value for name, value in asdict(self).items() if value not in ((), None)}

    @staticmethod
    def from_json(said: Mapping[str, Any]) -> FolderPart:
        """The part that `to_json` described; ValueError if it cannot be one.

        Its file lies in the folder: a name that leads out of it is refused.
        """
        more: dict[str, Any] = {
            name: tuple(said[name]) for name in ("begins", "unbiased") if name in said
        }
        more |= {
            name: PartBlocks.from_json(said[name])
            for name in ("blocks", "unbiased_blocks")
            if name in said
        }
        part = FolderPart(**{**said, **more})
        numbers = (part.first, part.stop, part.bytes, *part.begins, *part.unbiased)
        if set(map(type, numbers)) != {int} or min(numbers) < 0 or max(numbers) >= _LARGEST:
            raise ValueError(numbers)
        if not (isinstance(part.file, str) and isinstance(part.sha256, str)):
            raise ValueError(part)
        if _NAME.fullmatch(part.file) is None or part.first > part.stop:
            raise ValueError(part.file)
        return part


@dataclass(frozen=True)
class WrittenPart:
    """A part that was written, and what is kept of each of its blocks."""

    part: FolderPart
    blocks: Floats
    unbiased: Floats | None = None
    """Likewise of the unbiased counts beside those made to be shown."""

    @property
    def said(self) -> FolderPart:
        """What the manifest says of it."""
        lengths = block_lengths(self.part.stop - self.part.first, layout.BLOCK)
        own = None if self.unbiased is None else PartBlocks.of(self.unbiased, lengths)
        return replace(self.part, blocks=PartBlocks.of(self.blocks, lengths), unbiased_blocks=own)


def write_manifest(
    folder: Path,
    facts: Facts,
    parts: Sequence[WrittenPart],
    answers: Sequence[FolderPart],
    blocks: FolderPart,
    unbiased: FolderPart | None = None,
) -> None:
    """Writes the manifest, which says what the folder holds; it comes last.

    `unbiased` are the blocks of the unbiased counts beside those made to be shown.
    """
    said = {
        "format": FORMAT,
        "kind": KIND,
        "about": facts.to_json(),
        "rows": layout.ROWS,
        "block": layout.BLOCK,
        "parts": [part.said.to_json() for part in parts],
        "answers": [part.to_json() for part in answers],
        "blocks": blocks.to_json(),
    }
    if unbiased is not None:
        said["unbiased_blocks"] = unbiased.to_json()
    write_whole(folder / MANIFEST, manifest_bytes(said), 0o666)


def manifest_bytes(said: Mapping[str, Any]) -> bytes:
    """A manifest as it is written: its checksum comes last, and is of all bytes before it."""
    text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    begun = text.replace('{"file"', '\n{"file"').removesuffix("}").encode()
    return begun + _CHECKSUM + hashlib.sha256(begun).hexdigest().encode() + b'"}'


def _is_whole(data: bytes) -> bool:
    """Whether the bytes of a manifest match their checksum."""
    begun, found, digest = data.rpartition(_CHECKSUM)
    return bool(found) and digest == hashlib.sha256(begun).hexdigest().encode() + b'"}'


@dataclass(frozen=True, eq=False)
class ReleaseFolder:
    """A dataset folder that was opened: its facts, and its files."""

    folder: Path
    facts: Facts
    parts: tuple[FolderPart, ...]
    answers: tuple[FolderPart, ...]
    blocks: FolderPart
    rows: int
    """Cells of a row group; the last of a part may have fewer."""
    block: int
    """Cells of a block, likewise."""
    unbiased_blocks: FolderPart | None = None
    """Where counts are made to be shown: what is kept of the unbiased ones."""

    @property
    def size(self) -> int:
        """How many cells it has."""
        return self.parts[-1].stop

    @property
    def files(self) -> tuple[FolderPart, ...]:
        """Every file but the manifest."""
        more = () if self.unbiased_blocks is None else (self.unbiased_blocks,)
        return (*self.parts, *self.answers, self.blocks, *more)

    @property
    def bytes(self) -> int:
        """How many bytes its files have."""
        return sum(part.bytes for part in self.files)

    def prefix(self) -> StoredPrefix:
        """The prefix sums of its counts, read where they are asked for."""
        return StoredPrefix(self)

    def unbiased_prefix(self) -> StoredPrefix | None:
        """Those of the unbiased counts, where its counts are made to be shown."""
        return None if self.unbiased_blocks is None else StoredPrefix(self, unbiased=True)

    def verify(self) -> None:
        """Reads every byte, and refuses a folder of which one is not as it was written."""
        for part in self.files:
            with open(self.folder / part.file, "rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != part.sha256:
                    raise FileError(f"{part.file} in {self.folder} is damaged.")


def open_dataset(folder: str | Path) -> ReleaseFolder:
    """The dataset in a folder: its manifest checked, and that its files have their sizes.

    No count is read; `ReleaseFolder.verify` reads them all.
    """
    place = Path(folder)
    try:
        data = (place / MANIFEST).read_bytes()
        said = json.loads(data)
        if not isinstance(said, dict) or said.get("kind") != KIND:
            raise FileError(f"{place} is not a dataset folder of trueup.")
        if not isinstance(said["format"], int) or said["format"] > FORMAT:
            raise FileError(
                f"{place} has format {said['format']}; this version reads up to {FORMAT}. "
                f"Install a newer trueup."
            )
        if said["format"] < FORMAT:
            raise FileError(
                f"{place} has format {said['format']}, which no released trueup wrote. "
                f"This version reads format {FORMAT} alone."
            )
        if not _is_whole(data):
            raise FileError(f"The manifest of {place} is damaged: it does not match its checksum.")
        parts, answers = (
            tuple(FolderPart.from_json(one) for one in said[name]) for name in ("parts", "answers")
        )
        blocks, rows, block = FolderPart.from_json(said["blocks"]), said["rows"], said["block"]
        if not all(type(number) is int and 0 < number < _LARGEST for number in (rows, block)):
            raise ValueError((rows, block))
        own = said.get("unbiased_blocks")
        unbiased = None if own is None else FolderPart.from_json(own)
        facts = Facts.from_json(said["about"])
        found = ReleaseFolder(place, facts, parts, answers, blocks, rows, block, unbiased)
    except FileError:
        raise
    except FileNotFoundError:
        raise FileError(f"{place} has no {MANIFEST}: it is not a dataset folder.") from None
    except (OSError, ValueError, TypeError, AttributeError, LookupError, RecursionError):
        raise FileError(f"The manifest of {place} cannot be read.") from None
    _check_files(found)
    return found


def _check_files(found: ReleaseFolder) -> None:
    """Refuses a folder in which a file is missing, or has not its length."""
    place, parts = found.folder, found.parts
    for part in found.files:
        try:
            there = os.stat(f"{place}/{part.file}").st_size
        except OSError:
            raise FileError(f"{part.file} is missing in {place}.") from None
        if there != part.bytes:
            raise FileError(f"{part.file} in {place} is damaged: it has not its length.")
    follow = pairwise(parts)
    empty = any(part.first == part.stop for part in parts)
    if not parts or empty or parts[0].first != 0 or any(a.stop != b.first for a, b in follow):
        raise FileError(f"The parts of {place} do not follow each other.")
    sizes = [part.stop - part.first for part in parts]
    blocks = sum(-(-size // found.block) for size in sizes)
    groups = [-(-size // found.rows) for size in sizes]
    said = [[len(part.begins) for part in parts]]
    files = [found.blocks]
    if found.unbiased_blocks is not None:
        said.append([len(part.unbiased) for part in parts])
        files.append(found.unbiased_blocks)
    lengths = any(file.bytes != EACH * blocks for file in files)
    kept = [part.blocks for part in parts]
    if found.unbiased_blocks is not None:
        kept += [part.unbiased_blocks for part in parts]
    if lengths or None in kept or any(each != groups for each in said) or _past_the_end(found):
        raise FileError(f"The manifest of {place} does not say where its numbers are.")


def _past_the_end(found: ReleaseFolder) -> bool:
    """Whether numbers of a row group would lie behind the last byte of its file."""
    for begins in ([part.begins for part in found.parts], [part.unbiased for part in found.parts]):
        groups = [len(each) for each in begins]
        first = np.repeat([part.first for part in found.parts], groups)
        stop = np.repeat([part.stop for part in found.parts], groups)
        bytes_ = np.repeat([part.bytes for part in found.parts], groups)
        number = np.arange(len(first)) - np.repeat(np.cumsum([0, *groups[:-1]]), groups)
        rows = np.minimum(found.rows, stop - first - number * found.rows)
        places = np.fromiter(chain.from_iterable(begins), np.int64, len(first))
        if (rows > (bytes_ - places) // 8).any():
            return True
    return False


class StoredPrefix:
    """The prefix sums of a dataset folder, as an array whose numbers stay on the disk.

    It gives single numbers, arrays of them and slices. What needs all of them at once reads all.
    Counts made to be shown are whole; with `unbiased`, those beside them.
    """

    def __init__(self, dataset: ReleaseFolder, unbiased: bool = False) -> None:
        self._dataset, self._unbiased = dataset, unbiased
        self._open: dict[int, tuple[Any, Ints]] = {}
        whole = dataset.unbiased_blocks is not None and not unbiased
        self.dtype: np.dtype[Any] = np.dtype(np.int64 if whole else np.float64)

    ndim = 1

    @property
    def shape(self) -> tuple[int]:
        """One more than there are cells."""
        return (self._dataset.size + 1,)

    @property
    def size(self) -> int:
        """One more than there are cells."""
        return self._dataset.size + 1

    @cached_property
    def _stops(self) -> Ints:
        return np.array([part.stop for part in self._dataset.parts], np.int64)

    @cached_property
    def blocks(self) -> StoredBlocks:
        """What is kept of every block of cells."""
        found, own = self._dataset, self._dataset.blocks
        said = [part.blocks for part in found.parts]
        if self._unbiased and found.unbiased_blocks is not None:
            own = found.unbiased_blocks
            said = [part.unbiased_blocks for part in found.parts]
        each = [one for one in said if one is not None]
        return StoredBlocks(found.folder / own.file, self._stops, each, found.block)

    def __len__(self) -> int:
        return self.size

    def setflags(self, write: bool = False) -> None:
        """Nothing: what is on the disk is only read."""

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, (int, np.integer)):
            return self._at(np.array([self._inside(int(key))], np.int64))[0]
        if isinstance(key, slice):
            start, stop, step = key.indices(self.size)
            if step == 1:
                return self._run(start, max(start, stop))
            return self._at(np.arange(start, stop, step, dtype=np.int64))
        places = np.asarray(key)
        if places.dtype.kind not in "iu":
            places = np.flatnonzero(places)
        flat = places.astype(np.int64).ravel()
        if len(flat):
            self._inside(int(flat.min())), self._inside(int(flat.max()))
        return self._at(np.where(flat < 0, flat + self.size, flat)).reshape(places.shape)

    def _inside(self, place: int) -> int:
        if not -self.size <= place < self.size:
            raise IndexError(f"There are {self.size:,} prefix sums; number {place:,} is not one.")
        return place % self.size

    def _begins(self, part: FolderPart) -> tuple[int, ...]:
        return part.unbiased if self._unbiased else part.begins

    def _at(self, places: Ints) -> npt.NDArray[Any]:
        found = np.zeros(len(places), self.dtype)
        cells = places - 1  # the first prefix sum is 0, and no cell's
        which = np.searchsorted(self._stops, cells, side="right")
        for number in np.unique(which[cells >= 0]).tolist():
            own = (which == number) & (cells >= 0)
            bytes_, begins = self._mapped(number)
            first = self._dataset.parts[number].first
            group, row = np.divmod(cells[own] - first, self._dataset.rows)
            at = begins[group] + 8 * row
            # Numbers lie where the page's header ends, which need not be a multiple of 8.
            found[own] = bytes_[at[:, None] + np.arange(8)].view(self.dtype).ravel()
        return found

    def _mapped(self, number: int) -> tuple[Any, Ints]:
        """The bytes of a part, and where the numbers of each of its row groups begin."""
        if number not in self._open:
            part = self._dataset.parts[number]
            begins = self._begins(part)
            with self._file(part) as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            mapped.madvise(mmap.MADV_RANDOM)  # a number is one page; what lies after it is not read
            self._open[number] = np.frombuffer(mapped, np.uint8), np.array(begins, np.int64)
        return self._open[number]

    def _file(self, part: FolderPart) -> Any:
        path = self._dataset.folder / part.file
        try:
            return open(path, "rb")
        except OSError:
            raise FileError(f"{part.file} is missing in {path.parent}.") from None

    def _run(self, start: int, stop: int) -> npt.NDArray[Any]:
        """The prefix sums start … stop − 1, which lie one after the other."""
        found = np.zeros(stop - start, self.dtype)
        for first, last, part, at in self._runs(max(start - 1, 0), stop - 1):
            with self._file(part) as file:
                own = np.fromfile(file, self.dtype, last - first, offset=at)
            found[first + 1 - start : last + 1 - start] = own
        return found

    def _runs(self, start: int, stop: int) -> Iterator[tuple[int, int, FolderPart, int]]:
        """The cells start … stop − 1 by row groups: first, stop, part, byte of the first."""
        while start < stop:
            part = self._dataset.parts[int(np.searchsorted(self._stops, start, side="right"))]
            group, row = divmod(start - part.first, self._dataset.rows)
            last = min(stop, part.stop, part.first + (group + 1) * self._dataset.rows)
            yield start, last, part, self._begins(part)[group] + 8 * row
            start = last

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        found = self[:]
        return found if dtype is None else found.astype(dtype)

    def astype(self, dtype: Any) -> Any:
        """All of them, in memory."""
        return self.__array__(dtype)

    def __sub__(self, other: Any) -> Any:
        return self.__array__() - other


def check_new_folder(to: object) -> Path:
    """The path of a folder that is to be made, refused if something is there already."""
    if not isinstance(to, (str, os.PathLike)):
        raise InputError(f"to= is the path of a folder, got {type(to).__name__}.")
    place = Path(to).absolute()
    if not place.name:
        raise InputError("to= is the path of a folder that is made, such as to='fares/'.")
    if not place.parent.is_dir():
        raise InputError(f"There is no folder {place.parent}, in which {place.name} would be made.")
    return place
