"""A dataset folder as one stream of bytes, a tar file, and a folder from such a stream."""

from __future__ import annotations

import os
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trueup.errors import FileError, InputError
from trueup.files.dataset import MANIFEST, ReleaseFolder, open_dataset

_AT_ONCE = 1 << 20  # bytes of a folder that are in memory
_BLOCK = 512  # of a tar file


def packed(folder: ReleaseFolder, name: str) -> tuple[int, Iterator[bytes]]:
    """The folder as a tar file, in it under this name: its length, and its bytes in pieces."""
    sizes = [(MANIFEST, (folder.folder / MANIFEST).stat().st_size)]
    sizes += [(each.file, each.bytes) for each in folder.files]
    length = sum(_BLOCK + size + -size % _BLOCK for _, size in sizes) + 2 * _BLOCK
    return length, _pieces(folder.folder, name, sizes)


def _pieces(folder: Path, name: str, sizes: list[tuple[str, int]]) -> Iterator[bytes]:
    for file, size in sizes:
        entry = tarfile.TarInfo(f"{name}/{file}")
        entry.size = size
        yield entry.tobuf(tarfile.USTAR_FORMAT)
        with open(folder / file, "rb") as data:
            while piece := data.read(_AT_ONCE):
                yield piece
        yield b"\0" * (-size % _BLOCK)
    yield b"\0" * (2 * _BLOCK)


def unpack(sent: Any, to: Path) -> None:
    """Makes the folder that a stream holds: every byte is checked before it has its name."""
    if to.exists():
        raise InputError(f"{to} is there already. Give the path of a new folder.")
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=f".{to.name}.") as draft:
        with tarfile.open(fileobj=sent, mode="r|") as file:
            file.extractall(draft, filter="data")
        made = list(Path(draft).iterdir())
        if len(made) != 1:
            raise FileError("What was sent is not a dataset folder.")
        open_dataset(made[0]).verify()
        os.rename(made[0], to)
