"""A folder that is sent as a stream arrives byte for byte, or not at all."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest

import trueup as tu
from trueup.files import packed as packing
from trueup.files.dataset import open_dataset
from trueup.files.packed import packed, unpack


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    place = tmp_path_factory.mktemp("packed") / "out"
    tu.publish(np.full(3_000, 5), tu.TreeCounts(3_000), 1, nonnegative=False, to=place)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(packing, "_AT_ONCE", 1_000)
        length, pieces = packed(open_dataset(place), "named")
        data = b"".join(pieces)
    assert len(data) == length
    return place, data


def test_a_folder_arrives_byte_for_byte(stream: tuple[Path, bytes], tmp_path: Path) -> None:
    place, data = stream
    unpack(io.BytesIO(data), tmp_path / "copy")
    files = {each.relative_to(place): each.read_bytes() for each in place.rglob("*.*")}
    copied = tmp_path / "copy"
    assert {each.relative_to(copied): each.read_bytes() for each in copied.rglob("*.*")} == files
    assert [each.name for each in tmp_path.iterdir()] == ["copy"]
    with pytest.raises(tu.InputError, match="is there already"):
        unpack(io.BytesIO(data), tmp_path / "copy")


def test_a_stream_that_is_cut_or_changed_leaves_nothing(
    stream: tuple[Path, bytes], tmp_path: Path
) -> None:
    _, data = stream
    with pytest.raises((tarfile.TarError, tu.FileError)):
        unpack(io.BytesIO(data[: len(data) // 2]), tmp_path / "copy")
    at = data.index(b"PAR1") + 2_000
    with pytest.raises(tu.FileError, match="damaged"):
        unpack(io.BytesIO(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]), tmp_path / "copy")
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as file:
        for name in ("a/x", "b/x"):
            file.addfile(tarfile.TarInfo(name))
    with pytest.raises(tu.FileError, match="not a dataset folder"):
        unpack(io.BytesIO(out.getvalue()), tmp_path / "copy")
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as file:
        file.addfile(tarfile.TarInfo("../../escaped"))
    with pytest.raises((tarfile.TarError, tu.FileError)):
        unpack(io.BytesIO(out.getvalue()), tmp_path / "copy")
    assert list(tmp_path.iterdir()) == []


def test_a_stream_writes_nothing_and_points_nowhere_outside_of_its_folder(
    stream: tuple[Path, bytes], tmp_path: Path
) -> None:
    """A link to a file of the reader's would be sent on with the folder."""
    place, _ = stream
    secret = tmp_path / "secret"
    secret.write_bytes((place / "blocks.float64").read_bytes())
    for name, kind, target in (
        ("named/../../escaped", tarfile.REGTYPE, ""),
        ("named/blocks.float64", tarfile.SYMTYPE, str(secret)),
        ("named/blocks.float64", tarfile.SYMTYPE, "../../secret"),
        ("named/blocks.float64", tarfile.LNKTYPE, str(secret)),
    ):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as file:
            for each in sorted(place.rglob("*.*")):
                if each.name != "blocks.float64":
                    file.add(each, f"named/{each.relative_to(place)}")
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, target
            file.addfile(entry)
        with pytest.raises((tarfile.TarError, tu.FileError)):
            unpack(io.BytesIO(out.getvalue()), tmp_path / "copy")
        assert [each.name for each in tmp_path.iterdir()] == ["secret"]
