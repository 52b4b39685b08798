"""Fitted cells that are read again are those of the release, wherever slabs end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trueup as tu
from trueup.facts import Facts
from trueup.scale import FolderJob, job
from trueup.scale.fitted_cells import FittedCells


def test_cells_are_read_across_slabs_and_two_slabs_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "SLAB", 300)
    counts = np.arange(2_001) % 9
    work = FolderJob.open(tmp_path / "out", Facts.of(tu.HatCounts(2_001, strides=(10, 100)), 1))
    answered = work.draw(lambda a, b: counts[a:b], 1)
    list(work._written())
    cells = FittedCells(work)
    every = cells.read(0, 0, 2_001)
    for first, stop in ((0, 1), (299, 301), (250, 1_400), (2_000, 2_001)):
        assert np.array_equal(cells.read(0, first, stop), every[first:stop])
    assert len(cells._kept) == 2
    found = work.finish(answered)
    assert np.allclose(found.counts(), every, rtol=0, atol=1e-6)
