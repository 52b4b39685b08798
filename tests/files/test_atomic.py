"""A file is whole or not there."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from trueup.files import atomic
from trueup.files.atomic import write_whole


def test_the_new_bytes_replace_the_old_and_nobody_else_may_read_them(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write_whole(file, b"old")
    write_whole(file, b"new" * 1000)
    assert file.read_bytes() == b"new" * 1000
    assert file.stat().st_mode & 0o077 == 0
    assert os.listdir(tmp_path) == ["file"]


def test_a_write_that_fails_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.mkdir()
    (folder / "kept").touch()  # a folder that is not empty cannot be replaced by a file
    with pytest.raises(OSError, match="file"):
        write_whole(folder, b"new")
    assert os.listdir(tmp_path) == ["file"]
    assert (folder / "kept").exists()


def test_many_files_are_written_whole_or_keep_what_they_were(tmp_path: Path) -> None:
    from trueup.files.atomic import write_many

    files = {tmp_path / f"{n}": bytes([n]) * n for n in range(5)}
    write_many(files, 0o640)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == files
    assert (tmp_path / "1").stat().st_mode & 0o777 == 0o640 & ~_umask()
    with pytest.raises(OSError, match="No such file"):
        write_many({tmp_path / "1": b"new", tmp_path / "none" / "x": b""})
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == files
    write_many({})


def _umask() -> int:
    import os

    found = os.umask(0)
    os.umask(found)
    return found


@pytest.mark.parametrize("kernel", [True, False])
def test_no_file_has_its_name_before_its_disk_was_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: bool
) -> None:
    """Where the kernel can sync one disk, and where it cannot; one sync for all files."""
    named = []

    def synced(*_: object) -> int:
        named.append([path.name for path in tmp_path.iterdir() if path.name[0] != "."])
        return 0

    monkeypatch.setattr(atomic, "_SYNC_DISK", synced if kernel else None)
    monkeypatch.setattr(os, "sync", synced)
    atomic.write_many({tmp_path / f"{n}": b"new" for n in range(5)})
    assert named == [[]]


def test_a_disk_that_cannot_be_synced_gives_no_file_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic, "_SYNC_DISK", lambda _: -1)
    monkeypatch.setattr(atomic.ctypes, "get_errno", lambda: errno.EIO)
    with pytest.raises(OSError, match="Input/output error"):
        atomic.write_many({tmp_path / "x": b"new"})
    assert not list(tmp_path.iterdir())
