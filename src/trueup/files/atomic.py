"""Files that are either whole on disk or not there at all."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

_SYNC_DISK = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)  # of Linux


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable: a rename is only safe once its folder is synced."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_disks(folders: Iterable[Path]) -> None:
    """Make all that was written on the disks of some folders durable.

    `os.sync` waits for every other disk of the machine too, and tells of no write that failed.
    """
    for folder in {os.stat(each).st_dev: each for each in folders}.values():
        if _SYNC_DISK is None:
            os.sync()
            continue
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if _SYNC_DISK(handle):
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number))
        finally:
            os.close(handle)


def write_many(files: Mapping[Path, bytes], mode: int = 0o600) -> None:
    """Write many files, each of them whole or not at all, with one sync for all.

    A name is given only to bytes that are on disk. A power cut may take back names that were just
    given, never leave one with half a file.
    """
    drafts = {path: path.with_name(f".{path.name}.{os.urandom(8).hex()}") for path in files}
    try:
        for path, data in files.items():
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            with open(os.open(drafts[path], flags, mode), "wb") as file:
                file.write(data)
        sync_disks({path.parent for path in files})
        for path, draft in drafts.items():
            os.replace(draft, path)
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)


def write_whole(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a file so that a crash at any instant leaves the old one or the new one, never a part.

    The bytes are synced under a name of their own, then renamed, then the folder is synced. When
    this returns, the file outlives a power cut; when it raises, the old file is untouched. The
    file's mode is cut by the process's umask, as any new file's is.
    """
    draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(handle, rest) :]
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
