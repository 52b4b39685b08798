"""Stored answers are found by level and node, whichever slabs they lie in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.scale.test_job import Given

import trueup as tu
from trueup._kernels.tree import blocks
from trueup.ask import Question
from trueup.facts import Facts
from trueup.infer import model_of
from trueup.scale import FolderJob, job, slabbed
from trueup.scale.stored_nodes import StoredNodes


@pytest.mark.parametrize(
    "question",
    [
        tu.TreeCounts(5_003, branching=4),
        tu.CellCounts(4_099),
        tu.TreeCounts(5_000, radices=(3, 200, 10), shares=("1/5", 0, "2/5", "2/5")),
    ],
)
def test_nodes_of_a_level_are_read_from_the_slabs_they_lie_in(
    question: Question, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "SPAN", 64)
    monkeypatch.setattr(job, "SLAB", 700)
    monkeypatch.setattr(slabbed, "SMALLEST", 8)
    facts = Facts.of(question, 1)
    levels = model_of(facts.noise).levels()
    assert levels is not None
    noisy = np.random.default_rng(5).integers(-50, 50, question.length)
    work = FolderJob.open(tmp_path / "out", facts)
    given = Given(question, noisy)
    if work.slabs.tree.radices == levels.radices:  # no level is put in
        given.origin = tuple(range(levels.tree.height))
    work.draw(lambda a, b: np.zeros(b - a, np.int64), 1, given)
    assert work.slabs.number > 3
    nodes = StoredNodes.of(work.store, work.slabs, levels.radices)
    taken = 0
    for level in levels.asked:
        length = levels.tree.length(level)
        own = noisy[taken : taken + length]
        spans = {(0, length), (length // 3, length // 2 + 1), (length - 1, length)}
        for first, stop in spans:
            assert np.array_equal(nodes.read(level, first, stop), own[first:stop])
        taken += length
    assert len(nodes._kept) <= 2, "of all slabs two stay in memory"
