"""The two files of a stream: the owner's secret, and the answers that everybody may read.

The secret is replaced as a whole after every step, and holds that step's answers; then they are
appended to the answers. So a crash at any instant loses nothing that was said and says nothing
that is lost: what the answers lack, the secret has.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from trueup.arrays import Ints
from trueup.errors import FileError, InputError
from trueup.files.atomic import sync_folder, write_whole

_MAGIC = b"trueup stream 1\n"
_HASH = 32
_LONGEST_NAME = 200  # bytes: the names of drafts are longer

Arrays = dict[str, np.ndarray[Any, Any]]


def pack(plain: dict[str, Any], arrays: Arrays) -> bytes:
    """The bytes of a secret, with a hash that tells whether they are whole."""
    line = json.dumps(plain, sort_keys=True).encode()
    packed = io.BytesIO()
    np.savez(packed, about=np.frombuffer(line, np.uint8), **arrays)  # type: ignore[arg-type]
    data = packed.getvalue()
    return _MAGIC + hashlib.sha256(data).digest() + data


def unpack(data: bytes, name: str) -> tuple[dict[str, Any], Arrays]:
    """What was packed; refused if a byte of it was changed."""
    if not data.startswith(_MAGIC):
        raise FileError(f"{name} is not the state of a stream.")
    start = len(_MAGIC) + _HASH
    if hashlib.sha256(data[start:]).digest() != data[len(_MAGIC) : start]:
        raise FileError(f"{name} is damaged: its bytes do not have the hash that it says.")
    with np.load(io.BytesIO(data[start:]), allow_pickle=False) as packed:
        arrays = {key: packed[key] for key in packed.files}
    return json.loads(arrays.pop("about").tobytes()), arrays


class Keeping:
    """The files of one stream, held by one process at a time."""

    def __init__(self, path: Path, record: int) -> None:
        self.path, self.answers_path = path, answers_of(path)
        self._record = record  # numbers of one step
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        try:
            self._handle = os.open(self.answers_path, flags, 0o644)
        except OSError as wrong:
            raise FileError(f"{self.answers_path} cannot be written: {wrong.strerror}.") from None
        if not self._taken():
            os.close(self._handle)
            raise FileError(
                f"Another process has the stream {path} open. A stream takes its steps one by one."
            )

    def _taken(self) -> bool:
        """Whether the file is ours now, and is still the one of this name."""
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return os.path.samestat(os.fstat(self._handle), os.stat(self.answers_path))
        except OSError:
            return False

    def close(self) -> None:
        """Lets go of the files."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def give_up(self) -> None:
        """Lets go of the files of a stream that did not come about, and leaves none behind."""
        if not self.path.exists() and not os.fstat(self._handle).st_size:
            self.answers_path.unlink(missing_ok=True)
        self.close()

    def keep(self, secret: bytes, agreed: Callable[[str], None] | None = None) -> None:
        """Replaces the secret; when this returns, it outlives a power cut.

        `agreed` is told the hash of the new secret while the old one is still in its place.
        """
        if agreed is None:
            write_whole(self.path, secret, 0o600)
            return
        write_whole(next_of(self.path), secret, 0o600)
        agreed(hashlib.sha256(secret).hexdigest())
        os.replace(next_of(self.path), self.path)
        sync_folder(self.path.parent)

    def append(self, answers: Ints, number: int) -> None:
        """Puts the answers of a step in their place, the first being number 0."""
        data = answers.astype("<i8").tobytes()
        rest, place = memoryview(data), number * len(data)
        while rest:
            written = os.pwrite(self._handle, rest, place)
            rest, place = rest[written:], place + written
        os.ftruncate(self._handle, (number + 1) * len(data))
        os.fsync(self._handle)
        if number == 0:
            sync_folder(self.answers_path.parent)

    def mend(self, last: Ints, steps: int) -> None:
        """Makes the answers those of so many steps, of which the last are known.

        Refused if there are more, as then the secret is an older copy, whose noise would be used
        for a second time; or if earlier ones are lost.
        """
        size = 8 * self._record
        have = os.fstat(self._handle).st_size
        if have > steps * size:
            raise FileError(
                f"{self.path} knows of {steps:,} steps, but {self.answers_path.name} has "
                f"answers of {-(-have // size):,}: the state is an older copy. To go on "
                f"from it would use the same noise twice. Restore the newest copy, or open "
                f"a new stream."
            )
        if have < (steps - 1) * size:
            raise FileError(
                f"{self.answers_path} has the answers of {have // size:,} steps, but the stream "
                f"has taken {steps:,}. Restore the file."
            )
        if steps and self.read(steps, steps - 1, short=True) != last.astype("<i8").tobytes():
            self.append(last, steps - 1)

    def read(self, steps: int, first: int = 0, short: bool = False) -> bytes:
        """The answers of the steps from `first` on."""
        size = 8 * self._record
        data = os.pread(self._handle, (steps - first) * size, first * size)
        if not short and len(data) != (steps - first) * size:
            raise FileError(f"{self.answers_path} has become shorter. Restore the file.")
        return data


def settled(path: Path, sha256: str) -> bytes:
    """The secret that has this hash: the one in its place, or the one that was about to be.

    Refused if neither has.
    """
    for place in (path, next_of(path)):
        if place.exists() and hashlib.sha256(data := place.read_bytes()).hexdigest() == sha256:
            if place != path:
                os.replace(place, path)
                sync_folder(path.parent)
            return data
    raise FileError(
        f"The state of the stream {path} is not the one that its ledger knows: it is an older "
        f"copy, or was changed. To go on from it would use the same noise twice. Restore the "
        f"newest copy, or open a new stream."
    )


def next_of(path: Path) -> Path:
    """Where a state lies until the ledger knows it."""
    return path.with_name(path.name + ".next")


def answers_of(path: Path) -> Path:
    """Where the answers of a stream lie: beside its secret."""
    return path.with_name(path.name + ".answers")


def read_secret(path: Path) -> bytes:
    """The bytes of a secret; of the first one, if a crash kept it from its place, where it lies."""
    first = next_of(path)
    try:
        return (first if first.exists() and not path.exists() else path).read_bytes()
    except FileNotFoundError:
        raise FileError(f"There is no stream {path}. Stream.open makes one.") from None
    except OSError as wrong:
        raise FileError(f"The stream {path} cannot be read: {wrong.strerror}.") from None


def check_new(path: Path) -> None:
    """Refuses a place where there is a stream already, or none can be.

    A file for answers that has none is of a stream that a crash kept from being opened.
    """
    if len(os.fsencode(path.name)) > _LONGEST_NAME:
        raise InputError(f"The name of a stream's file has at most {_LONGEST_NAME} bytes.")
    answers = answers_of(path)
    if path.exists() or (answers.exists() and (answers.is_dir() or answers.stat().st_size)):
        raise InputError(f"There is a stream {path} already. Stream.resume goes on with it.")
    if not path.parent.is_dir():
        raise InputError(f"There is no folder {path.parent} for the stream.")
