"""On both sides of 2^32 cells: plans, refusals and places on the disk, without the cells."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup.facts import Facts
from trueup.files.dataset import FolderPart, ReleaseFolder, StoredPrefix
from trueup.infer import errors_of
from trueup.intervaltree.narrow import narrow_levels
from trueup.scale.job import SLAB, FolderJob
from trueup.scale.slabbed import asked_levels, in_slabs

SIZES = [(1 << 32) - 1, (1 << 32) + 5, 1 << 34]


def axis(size: int) -> tu.Axis:
    return tu.Axis.integers("cell", 0, size - 1)


def test_an_axis_has_at_most_2_to_the_34_cells() -> None:
    assert axis(1 << 34).size == 1 << 34
    with pytest.raises(tu.InputError, match="17,179,869,184"):
        axis((1 << 34) + 1)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["tree", "16", "hats"])
def test_slabs_cover_every_cell_once(size: int, kind: str) -> None:
    asked: Any = {
        "tree": lambda: tu.TreeCounts(axis(size)),
        "16": lambda: tu.TreeCounts(axis(size), branching=16),
        "hats": lambda: tu.HatCounts(axis(size)),
    }[kind]()
    slabs, _ = in_slabs(Facts.of(asked, 100).noise, SLAB)
    each = [slabs.cells(k) for k in range(slabs.number)]
    assert each[0][0] == 0
    assert each[-1][1] == size
    assert all(a[1] == b[0] for a, b in pairwise(each))
    assert max(b - a for a, b in each) <= 2 * SLAB
    assert slabs.blocks(slabs.number - 1).stop == slabs.roots < 1 << 22
    for cell in (0, (1 << 32) - 2, size - 1):
        start, stop = each[slabs.slab_of(cell)]
        assert start <= cell < stop
    some = {0, slabs.number // 2, slabs.number - 1}
    full = slabs.length(0) * (slabs.number - 1)
    assert full + slabs.length_above <= asked.length
    assert all(slabs.length(k) >= each[k][1] - each[k][0] for k in some)
    if kind != "hats":
        for level in narrow_levels(asked_levels(Facts.of(asked, 1).noise).tree):
            for cell in (0, (1 << 32) - 2, size - 1):
                node = level.node(cell)
                assert level.starts(node) <= cell
                assert node == level.node(level.starts(node))


@pytest.mark.parametrize("size", SIZES)
def test_a_disk_that_is_too_small_is_told_what_it_takes(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = tu.TreeCounts(axis(size))
    free = [0]

    class Usage:
        def __init__(self, *_: object) -> None:
            self.free = free[0]

    monkeypatch.setattr("shutil.disk_usage", Usage)
    facts = Facts.of(asked, 1)
    with pytest.raises(tu.InputError, match="GB of disk") as refused:
        FolderJob.open(tmp_path / "out", facts)
    need = 8 * asked.length + 17 * size
    assert f"{need / 1e9:,.1f} GB" in str(refused.value)
    assert not list(tmp_path.iterdir())
    free[0] = need + (1 << 26)
    assert FolderJob.open(tmp_path / "out", facts).need == need


@pytest.mark.parametrize("size", SIZES)
def test_errors_of_a_range_need_no_cells(size: int) -> None:
    for asked in (tu.TreeCounts(axis(size)), tu.HatCounts(axis(size))):
        errors: Any = errors_of(Facts.of(asked, 1).noise)
        cell, all_of_it = errors.range_variances([(1 << 32) - 2, 0], [(1 << 32) - 1, size])
        assert 0 < cell < all_of_it


def test_numbers_past_2_to_the_32_are_found_by_their_place(tmp_path: Path) -> None:
    """A sparse file of 2^33 cells: only the pages that hold a number are there."""
    rows, first, stop = 1 << 17, (1 << 32) + 3, (1 << 33) + 11
    groups = range(0, stop - first, rows)
    begins = tuple(40 + 9 * start for start in groups)
    last = begins[-1] + 8 * (stop - first - groups[-1])
    small = tmp_path / "part-000000.parquet"
    small.write_bytes(b"")
    places = {first: 1.5, (1 << 33) - 1: -2.25, 1 << 33: 3.0, stop - 1: 99.75}
    with open(tmp_path / "part-000001.parquet", "wb") as file:
        file.truncate(last)
        for cell, value in places.items():
            group, row = divmod(cell - first, rows)
            file.seek(begins[group] + 8 * row)
            file.write(np.float64(value).tobytes())
    parts = (
        FolderPart(small.name, 0, first, 0, ""),
        FolderPart("part-000001.parquet", first, stop, last, "", begins),
    )
    blocks, facts = FolderPart("blocks.float64", 0, 0, 0, ""), Facts.of(tu.CellCounts(8), 1)
    prefix = StoredPrefix(ReleaseFolder(tmp_path, facts, parts, (), blocks, rows, 1 << 14))
    assert len(prefix) == stop + 1
    for cell, value in places.items():
        assert prefix[cell + 1] == value
        assert prefix[cell + 1 : cell + 2].tolist() == [value]
    assert prefix[np.array([*places]) + 1].tolist() == [*places.values()]
    assert prefix[-1] == 99.75
