"""A release that was begun: what is looked at before it goes on, and who may go on with it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import trueup as tu
from trueup._kernels.tree import blocks
from trueup.facts import Facts
from trueup.scale import FolderJob, job
from trueup.scale.store import AnswerStore

Ints = npt.NDArray[np.int64]
TREE = tu.TreeCounts(9_000, branching=8)


def ones(start: int, stop: int) -> Ints:
    return np.ones(stop - start, np.int64)


def test_nobody_draws_what_another_process_works_on(tmp_path: Path) -> None:
    work = FolderJob.open(tmp_path / "out", Facts.of(TREE, 1))
    with work.store.alone(), pytest.raises(tu.InputError, match="Another process"):
        work.draw(ones, 1)
    assert not work.store.drawn
    work.finish(work.draw(ones, 1))


def test_a_release_whose_place_was_taken_since_does_not_go_on(tmp_path: Path) -> None:
    """What is drawn could not be published: that is found before a charge."""
    facts = Facts.of(TREE, 1)
    FolderJob.open(tmp_path / "out", facts)
    (tmp_path / "out").mkdir()
    FolderJob.open(tmp_path / "out", facts)  # an empty folder is no other release
    (tmp_path / "out" / "other").touch()
    with pytest.raises(tu.InputError, match="there already"):
        FolderJob.open(tmp_path / "out", facts)


def test_a_release_that_goes_on_needs_room_as_when_it_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = Facts.of(TREE, 1)
    FolderJob.open(tmp_path / "out", facts)
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1 << 20}))
    with pytest.raises(tu.InputError, match="GB of disk"):
        FolderJob.open(tmp_path / "out", facts)


def test_what_goes_up_from_a_slab_is_what_was_stored_and_never_a_second_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two who draw at once the first is kept; fitted to the other, both would be published."""
    facts = Facts.of(TREE, 1)
    first, second = (FolderJob.open(tmp_path / "out", facts) for _ in range(2))
    first.draw_slab(0, ones(0, 9_000))
    monkeypatch.setattr(AnswerStore, "has", lambda *_: False)  # looked for before it was stored
    second.draw_slab(0, ones(0, 9_000))
    assert list(first.up) == [0]
    assert not second.up
    assert (first.answers(0) == second.answers(0)).all()


def test_as_many_slabs_are_counted_together_as_fit_a_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "SPAN", 512)
    monkeypatch.setattr(job, "SLAB", 1024)
    work = FolderJob.open(tmp_path / "out", Facts.of(TREE, 1))
    slabs = [work.slabs.counted(slab) for slab in range(work.slabs.number)]
    assert len(slabs) > 5
    for most in (1, 1024, 2047, 2048, 3000, 9_000, 1 << 40):
        found = work.windows(most)
        assert [found[0][0], found[-1][1]] == [0, 9_000]
        for (start, stop), (following, _) in pairwise(found):
            assert stop == following
            assert stop - start <= most or (start, stop) in slabs
            (after,) = (end for begin, end in slabs if begin == stop)
            assert after - start > most  # the next slab would not fit
