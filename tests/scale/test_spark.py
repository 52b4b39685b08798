"""Stages that a cluster runs: done twice, or by two at a time, they give what the first gave."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import trueup as tu
from trueup.facts import Facts
from trueup.scale import FolderJob, job, spark
from trueup.scale.slabbed import shown_words

QUESTION = tu.TreeCounts(200_000, radices=(20, 10_000))


def rows(slab: int, cells: list[int]) -> pa.Table:
    """What a task gets: cells and how many rows are in them, and one line for the slab itself."""
    given = {
        "cell": [-1, *cells],
        "rows": [0, *([2] * len(cells))],
        "slab": [slab] * (len(cells) + 1),
    }
    return pa.table({name: pa.array(each, pa.int64()) for name, each in given.items()})


def opened(tmp_path: Path, monkeypatch: Any, question: Any = QUESTION) -> FolderJob:
    monkeypatch.setattr(job, "SLAB", 60_000)
    spark._job.cache_clear()
    facts = Facts.of(question, 1)
    shown = facts if question is QUESTION else facts.made(shown_words(question))
    return FolderJob.open(tmp_path / "out", shown)


def test_a_task_that_is_run_again_gives_the_answers_of_the_first(
    tmp_path: Path, monkeypatch: Any
) -> None:
    work = opened(tmp_path, monkeypatch)
    own = spark.SparkStages(work, None)._own
    start, stop = work.slabs.cells(1)
    given = rows(1, [start, start + 7, start + 7, stop - 1])
    found: list[dict[str, Any]] = []
    racing = [
        threading.Thread(target=lambda: found.extend(spark._drawn(own, given).to_pylist()))
        for _ in range(4)
    ]
    for thread in racing:
        thread.start()
    for thread in racing:
        thread.join()
    found += spark._drawn(own, given).to_pylist()
    assert len(found) == 5
    assert all(each == found[0] for each in found)
    assert np.frombuffer(found[0]["totals"], np.int64).sum() == 8
    part = work.store.part(1, (start, stop))
    assert part.sha256 == found[0]["sha256"]
    errors = work.answers(1)
    assert 2 < errors.std() < 6  # Laplace noise of scale 3, nearly all true counts being 0
    assert not any((work.store.work / "drafts").iterdir())


@pytest.mark.parametrize("question", [QUESTION, tu.HatCounts(200_000)])
def test_stages_of_slabs_make_what_one_process_makes(
    question: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """Every stage for every slab, beside the passes of `FolderJob` over the same answers."""
    work = opened(tmp_path, monkeypatch, question)
    assert work.spreads
    counts = np.arange(200_000) % 5
    answered = work.draw(lambda a, b: counts[a:b], 1)

    def each(self: Any, stage: str, given: Any, kinds: Any) -> Any:
        found = []
        for slab, row in enumerate(given):
            batch = pa.RecordBatch.from_pylist([{"slab": slab, **row}])
            ((made,),) = [one.to_pylist() for one in spark._staged(self._own, stage, [batch])]  # type: ignore[arg-type]
            found.append({name: made[name] for name in kinds})
        return found

    monkeypatch.setattr(spark.SparkStages, "_each", each)
    stages = spark.SparkStages(work, None)
    spread = stages._written()
    assert stages._hashes()[0] == work.store.part(0, (0, 1)).sha256
    alone = list(work._written())
    assert [each.part.to_json() | {"file": ""} for each in spread] == [
        each.part.to_json() | {"file": ""} for each in alone
    ]
    assert [each.blocks.tobytes() for each in spread] == [each.blocks.tobytes() for each in alone]
    release = work.finish(answered, lambda: spread)
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["parts"]
    total = release.unbiased.total()
    assert abs(total.value - counts.sum()) < 8 * total.std_error


def test_two_drivers_do_not_draw_one_release(tmp_path: Path, monkeypatch: Any) -> None:
    work = opened(tmp_path, monkeypatch)
    with work.store.alone(), pytest.raises(tu.InputError, match="Another process"):
        spark.SparkStages(work, None).draw(None)
