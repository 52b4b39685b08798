"""A dataset folder: one number is read by its place, and damage is seen."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest

import trueup as tu
from trueup.facts import Facts
from trueup.files import parts
from trueup.files.dataset import (
    BLOCKS,
    FolderPart,
    StoredPrefix,
    WrittenPart,
    manifest_bytes,
    open_dataset,
    write_manifest,
)
from trueup.files.parts import block_sums, number_places, part_bytes


def made(folder: Path, sizes: list[int]) -> StoredPrefix:
    """A folder with parts of these sizes, its counts 0.5, 1.5, …"""
    upto = np.cumsum(np.arange(sum(sizes)) + 0.5)
    made_parts, sums, first = [], list[Any](), 0
    for number, size in enumerate(sizes):
        own, before = upto[first : first + size], float(upto[first - 1]) if first else 0.0
        data = bytes(part_bytes(first, own, before))
        sums.append(block_sums(own, before))
        name = f"part-{number}.parquet"
        (folder / name).write_bytes(data)
        sha256 = hashlib.sha256(data).hexdigest()
        made_parts.append(
            FolderPart(name, first, first + size, len(data), sha256, number_places(data))
        )
        first += size
    blocks = np.concatenate(sums).tobytes()
    (folder / BLOCKS).write_bytes(blocks)
    about = FolderPart(BLOCKS, 0, 0, len(blocks), hashlib.sha256(blocks).hexdigest())
    wrote = [WrittenPart(*each) for each in zip(made_parts, sums, strict=True)]
    write_manifest(folder, Facts.of(tu.CellCounts(sum(sizes)), 1), wrote, [], about)
    return open_dataset(folder).prefix()


def test_a_stored_prefix_is_indexed_as_an_array(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "ROWS", 64)
    stored = made(tmp_path, [300, 64, 1, 77])
    plain = np.concatenate([[0.0], np.cumsum(np.arange(442) + 0.5)])
    assert stored.shape == plain.shape
    assert len(stored) == stored.size == 443
    rng = np.random.default_rng(1)
    for key in (0, -1, 5, 300, 301, 442, slice(None), slice(7, 400, 3), slice(-5, None)):
        assert np.array_equal(stored[key], plain[key])
    for places in (rng.integers(-443, 443, 50), rng.integers(0, 443, (4, 5)), plain > 80):
        assert np.array_equal(stored[places], plain[places])
    for outside in (443, -444, [0, 443]):
        with pytest.raises(IndexError):
            stored[outside]
    assert np.array_equal(np.asarray(stored), plain)
    assert np.asarray(stored).dtype == np.float64
    rounded = np.asarray(stored, np.int64), stored.astype(np.int64)
    for each in rounded:
        assert each.dtype == np.int64
        assert np.array_equal(each, plain.astype(np.int64))
    assert np.array_equal(stored - 1.0, plain - 1.0)


def test_row_groups_know_their_cells_and_other_tools_read_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "ROWS", 64)
    made(tmp_path, [300, 100])
    about = pq.read_metadata(tmp_path / "part-1.parquet")
    known = [about.row_group(k).column(0).statistics for k in range(about.num_row_groups)]
    assert [(each.min, each.max) for each in known] == [(300, 363), (364, 399)]
    (found,) = duckdb.sql(
        f"select sum(count), max(upto), count(*) from '{tmp_path}/*.parquet' where cell < 310"
    ).fetchall()
    assert found == (310**2 / 2, 310**2 / 2, 310)


def test_a_damaged_folder_is_refused(tmp_path: Path) -> None:
    made(tmp_path, [300, 100])
    manifest = tmp_path / "manifest.json"
    text = manifest.read_text()
    open_dataset(tmp_path).verify()
    for wrong in (
        text.replace('"epsilon":"1"', '"epsilon":"2"'),
        text.replace('"format":2', '"format":3'),
        text.replace('"format":2', '"format":1'),
        text.replace("release folder", "other"),
        text[:-5],
        "[]",
    ):
        assert wrong != text
        manifest.write_text(wrong)
        with pytest.raises(tu.FileError):
            open_dataset(tmp_path)
    said = json.loads(text)
    said["parts"] = said["parts"][1:]
    del said["digest"]
    manifest.write_bytes(manifest_bytes(said))
    with pytest.raises(tu.FileError, match="follow"):
        open_dataset(tmp_path)
    for wrong in ({"rows": 7}, {"block": 3}):
        said = {**json.loads(text), **wrong}
        del said["digest"]
        manifest.write_bytes(manifest_bytes(said))
        with pytest.raises(tu.FileError, match="where its numbers are"):
            open_dataset(tmp_path)
    manifest.write_text(text)
    part = tmp_path / "part-1.parquet"
    data = part.read_bytes()
    part.write_bytes(bytes([data[0] ^ 1]) + data[1:])
    with pytest.raises(tu.FileError, match="damaged"):
        open_dataset(tmp_path).verify()
    part.write_bytes(data[:-1] + b"X")
    with pytest.raises(tu.FileError, match="damaged"):
        open_dataset(tmp_path).verify()
    part.write_bytes(data[:-1])
    with pytest.raises(tu.FileError, match="length"):
        open_dataset(tmp_path)
    part.unlink()
    with pytest.raises(tu.FileError, match="missing"):
        open_dataset(tmp_path)
    with pytest.raises(tu.FileError, match="not a dataset folder"):
        tu.load(tmp_path.parent)


@pytest.mark.parametrize(("part", "group"), [(0, 0), (0, 4), (1, 1), (2, 0), (2, 2), (3, 1)])
def test_numbers_are_said_to_lie_in_their_file_to_the_last_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int, group: int
) -> None:
    """Of each row group: where its numbers can begin at most, and one byte after that."""
    monkeypatch.setattr(parts, "ROWS", 64)
    stored = made(tmp_path, [300, 66, 150, 77])
    said = json.loads((tmp_path / "manifest.json").read_text())
    del said["digest"]
    own = said["parts"][part]
    rows = min(64, own["stop"] - own["first"] - 64 * group)
    own["begins"][group] = own["bytes"] - 8 * rows
    (tmp_path / "manifest.json").write_bytes(manifest_bytes(said))
    assert len(open_dataset(tmp_path).prefix()[:]) == len(stored)
    own["begins"][group] += 1
    (tmp_path / "manifest.json").write_bytes(manifest_bytes(said))
    with pytest.raises(tu.FileError, match="where its numbers are"):
        open_dataset(tmp_path)


PART = {"file": "part-0.parquet", "first": 3, "stop": 5, "bytes": 9, "sha256": "a", "begins": [4]}


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("file", "part-12.parquet", ["../part-0.parquet", "", 3, None]),
        ("sha256", "b", [3, None, ["b"]]),
        ("first", 0, [-1, 6, True, 3.0, "3", None]),
        ("stop", 2**62 - 1, [2, 2**62, True, 5.0]),
        ("bytes", 2**62 - 1, [-1, 2**62, False]),
        ("begins", [0, 2**62 - 1], [[-1], [2**62], [4, 5.0], [True]]),
        ("unbiased", [0, 2**62 - 1], [[-1], [2**62], [4, 5.0]]),
    ],
)
def test_a_part_says_places_that_an_array_can_have(name: str, right: Any, wrong: list[Any]) -> None:
    part = FolderPart.from_json({**PART, name: right})
    assert json.loads(json.dumps(part.to_json())) == {**PART, name: right}
    for each in wrong:
        with pytest.raises((ValueError, TypeError)):
            FolderPart.from_json({**PART, name: each})


@pytest.mark.parametrize("blocks", ["blocks", "unbiased_blocks"])
def test_either_file_of_blocks_has_the_length_that_its_cells_need(
    tmp_path: Path, blocks: str
) -> None:
    folder = tmp_path / "made"
    tu.publish(np.arange(50), tu.TreeCounts(50), 1, to=folder)
    said = json.loads((folder / "manifest.json").read_text())
    del said["digest"]
    file = folder / said[blocks]["file"]
    file.write_bytes(file.read_bytes() + bytes(32))
    said[blocks]["bytes"] += 32
    (folder / "manifest.json").write_bytes(manifest_bytes(said))
    with pytest.raises(tu.FileError, match="where its numbers are"):
        open_dataset(folder)
