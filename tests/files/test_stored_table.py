"""The sums of a stored table are those of the same table in memory."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup.facts import Facts
from trueup.files.dataset import FolderPart, WrittenPart, open_dataset, write_manifest
from trueup.files.parts import UNBIASED, block_sums, number_places, part_bytes
from trueup.files.stored_table import StoredTable


def stored(table: np.ndarray, place: Path, whole: bool) -> StoredTable:
    upto = np.cumsum(table.ravel())
    beside = (upto + 0.5, 0.0) if whole else None
    data = part_bytes(0, upto, 0, beside)
    (place / "part").write_bytes(data)
    kept = block_sums(upto, 0.0)
    sums = kept.tobytes()
    (place / "blocks").write_bytes(sums)
    part = FolderPart("part", 0, table.size, len(data), "", number_places(data))
    blocks = [FolderPart("blocks", 0, 0, len(sums), "")]
    if whole:  # the unbiased counts stand beside those made to be shown
        part = replace(part, unbiased=number_places(data, UNBIASED))
        blocks *= 2
    wrote = WrittenPart(part, kept, kept if whole else None)
    write_manifest(place, Facts.of(tu.CellCounts(table.size), 1), [wrote], [], *blocks)
    return StoredTable(open_dataset(place).prefix(), table.shape)


@pytest.mark.parametrize("whole", [True, False])
def test_every_number_is_the_sum_of_lines_and_cells(whole: bool, tmp_path: Path) -> None:
    table = np.random.default_rng(1).integers(-9, 9, (3, 5))
    if not whole:
        table = table / 4
    wanted = np.zeros((4, 6), table.dtype)
    wanted[1:, 1:] = table.cumsum(0).cumsum(1)
    found: Any = stored(table, tmp_path, whole)
    assert (found.shape, found.ndim, found.dtype) == ((4, 6), 2, wanted.dtype)
    lines, cells = np.indices((4, 6))
    assert found[lines, cells].tolist() == wanted.tolist()
    assert np.asarray(found).tolist() == wanted.tolist()
    assert found[2, 3] == wanted[2, 3]
    for first, stop in itertools.combinations_with_replacement(range(4), 2):
        assert found.between(first, stop, 0).tolist() == (wanted[stop] - wanted[first]).tolist()
    for first, stop in itertools.combinations_with_replacement(range(6), 2):
        own = wanted[:, stop] - wanted[:, first]
        assert found.between(first, stop, 1).tolist() == own.tolist()


@pytest.mark.parametrize("at", [(4, 0), (0, 6), (-1, 0), 3, (1, 2, 3)])
def test_what_is_not_there_is_refused(at: Any, tmp_path: Path) -> None:
    found = stored(np.ones((3, 5), np.int64), tmp_path, True)
    with pytest.raises(IndexError):
        found[at]
