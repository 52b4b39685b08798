"""The answers of a release, each stored once: what has a name is never drawn again."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints
from trueup.errors import FileError, InputError
from trueup.files.atomic import sync_folder, write_whole
from trueup.files.dataset import FolderPart

ABOVE = -1
"""The number of the answers above all slabs."""

_PLAN = "plan.json"
_SPARE = 1 << 26  # bytes left free


def _draft(drafts: Path, data: Any) -> Path:
    """The bytes on disk, under a name that nobody reads, in a folder that is never published."""
    draft = drafts / secrets.token_hex(16)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        rest = memoryview(data).cast("B")
        while rest:
            rest = rest[os.write(handle, rest) :]
        os.fsync(handle)
    finally:
        os.close(handle)
    return draft


def stored_once(path: Path, data: Any, drafts: Path) -> bool:
    """Writes a file whose name no file has yet; False if another was first, which then stays.

    The bytes are on disk before they have the name, and a link never takes the name of another:
    of many who draw the same answers, one alone is ever read.
    """
    draft = _draft(drafts, data)
    try:
        os.link(draft, path)
        first = True
    except FileExistsError:
        first = False
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(path.parent)
    return first


@dataclass(frozen=True)
class AnswerStore:
    """The folder in which a release is made, beside the one that it becomes.

    `public` becomes the dataset folder; all else is the owner's, and is deleted in the end: the
    plan; of each slab a keyed hash of its true counts, by which data that changed since a crash are
    found out; and drafts, of which those of a killed process are noise that was never used.
    """

    work: Path
    hashes: dict[int, str] = field(default_factory=dict)
    """Of the answers that were stored here."""

    @staticmethod
    def beside(to: Path) -> AnswerStore:
        """The store of a release that is to become this folder."""
        return AnswerStore(to.with_name(f"{to.name}.partial"))

    @property
    def public(self) -> Path:
        """What becomes the dataset folder."""
        return self.work / "release"

    @property
    def _drafts(self) -> Path:
        return self.work / "drafts"

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """While this lasts no other process makes this release."""
        try:
            handle = os.open(self.work, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            raise FileError(
                f"{self.work} is gone: another process finished it, or gave up."
            ) from None
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InputError(f"Another process is at work in {self.work}.") from None
            yield
        finally:
            os.close(handle)

    # The plan: what is made here, fixed before anything is charged or drawn.

    def plan(self) -> dict[str, Any] | None:
        """What is being made here; None if nothing was begun."""
        try:
            return dict(json.loads((self.work / _PLAN).read_bytes()))
        except FileNotFoundError:
            if self.drawn:
                raise FileError(f"{self.work} has answers but no {_PLAN}: put it back.") from None
            return None
        except (OSError, ValueError, TypeError):
            raise FileError(f"{self.work / _PLAN} cannot be read.") from None

    def begin(self, plan: dict[str, Any]) -> None:
        """Makes the folder, and its plan: as answers are stored, so that what fails fails here.

        Of two processes that begin at the same time one has its plan here; the other is refused.
        """
        own = (self.work / "seen", self._drafts, self.public, self.public / "answers")
        try:
            for folder in (self.work, *own):
                folder.mkdir(mode=0o700, exist_ok=True)
            first = stored_once(self.work / _PLAN, json.dumps(plan).encode(), self._drafts)
            sync_folder(self.work.parent)
        except OSError as wrong:
            raise InputError(f"Cannot make {self.work}: {wrong.strerror}.") from None
        if not first:
            raise InputError(f"Another process is at work in {self.work}.")

    def check_there(self) -> None:
        """Refuses a plan whose answers are gone: they may have been published elsewhere since."""
        if not (self.public / "answers").is_dir():
            raise FileError(
                f"{self.work} has a plan, but its answers are gone, perhaps with a folder that was "
                f"moved. They are not drawn again. Delete {self.work} if it is not needed."
            )

    # Answers.

    @property
    def drawn(self) -> bool:
        """Whether any answer is stored."""
        return any((self.public / "answers").glob("*.int64"))

    def path(self, slab: int) -> Path:
        """Where the answers of a slab are."""
        name = "above" if slab == ABOVE else f"{slab:06d}"
        return self.public / "answers" / f"{name}.int64"

    def has(self, slab: int) -> bool:
        """Whether the answers of a slab are stored."""
        return self.path(slab).exists()

    def put(self, slab: int, answers: Ints) -> bool:
        """Stores the answers of a slab, unless there are some; whether these are the ones kept."""
        data: Any = np.ascontiguousarray(answers)
        first = stored_once(self.path(slab), data, self._drafts)
        if first:
            self.hashes[slab] = hashlib.sha256(data).hexdigest()
        return first

    def answers(self, slab: int, length: int) -> Ints:
        """The stored answers of a slab."""
        found = np.fromfile(self.path(slab), np.int64)
        if len(found) != length:
            raise FileError(f"{self.path(slab)} is damaged: it has not its length.")
        return found

    def part(self, slab: int, cells: tuple[int, int]) -> FolderPart:
        """What a manifest says of the answers of a slab."""
        path = self.path(slab)
        sha256 = self.hashes.get(slab)
        try:
            if sha256 is None:  # stored before a crash
                with open(path, "rb") as file:
                    sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            return FolderPart(f"answers/{path.name}", *cells, path.stat().st_size, sha256)
        except OSError:
            raise not_as_stored(path) from None

    # What is made of answers: made again after a crash, to the bit.

    def write(self, name: str, data: Any) -> FolderPart:
        """Writes a file of the dataset folder: whole, or not at all; no cells are said of it."""
        path = self.public / name
        os.replace(_draft(self._drafts, data), path)
        sync_folder(path.parent)
        return FolderPart(name, 0, 0, len(data), hashlib.sha256(data).hexdigest())

    def keep(self, name: str, numbers: npt.NDArray[Any]) -> None:
        """Keeps a number or two of every block, for other machines."""
        write_whole(self.work / f"{name}.{numbers.dtype.name}", numbers.tobytes())

    def kept(self, name: str, kind: Literal["float64", "int64"] = "float64") -> npt.NDArray[Any]:
        """The numbers that were kept under a name."""
        return np.fromfile(self.work / f"{name}.{kind}", np.dtype(kind))

    # The data, seen again after a crash.

    def seen(self, slab: int, cells: Ints, salt: bytes) -> None:
        """Notes which true counts the answers of a slab are of; refuses others after a crash."""
        path = self.work / "seen" / f"{slab:06d}"
        digest = hashlib.sha256(salt + slab.to_bytes(8, "little", signed=True))
        counted: Any = np.ascontiguousarray(cells)
        digest.update(counted)
        if not self.has(slab):
            write_whole(path, digest.digest())
        elif not path.exists() or path.read_bytes() != digest.digest():
            raise InputError(
                "The data are not those that this release was begun with. Go on with the same "
                f"data; or delete {self.work}, which nobody may have seen, and ask anew."
            )

    # The end.

    def check_room(self, need: int) -> None:
        """Refuses a release for which the disk has no room."""
        there = self.work if self.work.is_dir() else self.work.parent
        stored = sum(f.stat().st_size for f in self.work.rglob("*") if f.is_file())
        free = shutil.disk_usage(there).free
        if need + _SPARE > free + stored:
            raise InputError(
                f"This release needs {_gb(need)} of disk in {self.work.parent}; {_gb(free)} is "
                f"free."
            )

    def finish(self, to: Path, files: set[str]) -> None:
        """Gives the dataset folder, of these files, its name, once all of it is on disk."""
        for each in self.public.rglob("*"):
            if not each.is_dir() and each.relative_to(self.public).as_posix() not in files:
                each.unlink()  # nothing goes along that the manifest does not name
        sync_folder(self.public)
        try:
            os.rename(self.public, to)
        except OSError as wrong:
            raise FileError(f"Cannot make {to}: {wrong.strerror}.") from None
        sync_folder(to.parent)
        self.delete()

    def delete(self) -> None:
        """Deletes what is left of it: the plan last, by which a crash in between is seen."""
        shutil.rmtree(self.public, ignore_errors=True)
        shutil.rmtree(self._drafts, ignore_errors=True)
        shutil.rmtree(self.work / "seen", ignore_errors=True)
        shutil.rmtree(self.work)


def not_as_stored(path: Path) -> FileError:
    """The error that answers which were stored are lost or damaged."""
    return FileError(
        f"{path} is not as it was stored. It is never drawn again: put it back from a copy, or ask "
        f"anew under another key."
    )


def _gb(bytes_: int) -> str:
    return f"{bytes_ / 1e9:,.1f} GB"
