"""A file is whole or not there."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from trueup.files import atomic
from trueup.files.atomic import write_many, write_whole


def test_the_new_bytes_replace_the_old_and_nobody_else_may_read_them(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write_whole(file, b"old")
    write_whole(file, b"new" * 1000)
    assert file.read_bytes() == b"new" * 1000
    assert file.stat().st_mode & 0o777 == 0o600 & ~_umask()
    assert os.listdir(tmp_path) == ["file"]


def test_bytes_are_on_disk_before_they_have_a_name_and_the_name_before_it_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, steps = tmp_path / "file", []
    sync, replace = os.fsync, os.replace

    def syncing(handle: int) -> None:
        synced = Path(os.readlink(f"/proc/self/fd/{handle}"))
        steps.append(("synced", synced.read_bytes() if synced.is_file() else synced))
        sync(handle)

    def naming(draft: Path, path: Path) -> None:
        steps.append(("named", Path(draft).read_bytes()))
        replace(draft, path)

    monkeypatch.setattr(os, "fsync", syncing)
    monkeypatch.setattr(os, "replace", naming)
    write_whole(file, b"new")
    assert steps == [("synced", b"new"), ("named", b"new"), ("synced", tmp_path)]


def test_a_write_cut_short_by_the_system_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, data[:3]))
    write_whole(tmp_path / "file", b"0123456789")
    assert (tmp_path / "file").read_bytes() == b"0123456789"


def test_a_write_that_fails_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.mkdir()
    (folder / "kept").touch()  # a folder that is not empty cannot be replaced by a file
    with pytest.raises(OSError, match="file"):
        write_whole(folder, b"new")
    assert os.listdir(tmp_path) == ["file"]
    assert (folder / "kept").exists()


def test_the_reason_that_a_write_fails_for_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not that the draft, which was never made, cannot be removed."""

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "open", full)
    for write in (write_whole, lambda file, data: write_many({file: data})):
        with pytest.raises(OSError, match="No space left"):
            write(tmp_path / "file", b"new")


def test_what_is_no_folder_is_not_synced_for_one(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for sync in (atomic.sync_folder, lambda file: atomic.sync_disks([file])):
        with pytest.raises(NotADirectoryError):
            sync(tmp_path / "file")


def test_no_handle_is_left_open(tmp_path: Path) -> None:
    write_whole(tmp_path / "file", b"new")
    before = os.listdir("/proc/self/fd")
    write_whole(tmp_path / "file", b"newer")
    write_many({tmp_path / "a": b"a", tmp_path / "b": b"b"})
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_many_files_are_written_whole_or_keep_what_they_were(tmp_path: Path) -> None:
    files = {tmp_path / f"{n}": bytes([n]) * n for n in range(5)}
    write_many(files)
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600 & ~_umask()}
    write_many(files, 0o640)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == files
    assert (tmp_path / "1").stat().st_mode & 0o777 == 0o640 & ~_umask()
    with pytest.raises(OSError, match="No such file"):
        write_many({tmp_path / "1": b"new", tmp_path / "none" / "x": b""})
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == files
    write_many({})


def _umask() -> int:
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
