"""Stages that a cluster runs: done twice, or by two at a time, they give what the first gave."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
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


def opened(
    tmp_path: Path, monkeypatch: Any, question: Any = QUESTION, slab: int = 60_000
) -> FolderJob:
    monkeypatch.setattr(job, "SLAB", slab)
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


CODES = np.unique((1e6 + 9e6 * np.random.default_rng(2).random(300_000) ** 2).astype(int))
NATION = tu.Axis.codes("block", CODES[:200_000], {"state": 1, "county": 3, "tract": 6, "block": 7})
NESTED = tu.TreeCounts(NATION)  # nodes of all sizes
TRACTS = tu.TreeCounts(NATION, levels=("state", "county", "tract"))  # several cells in each


@pytest.mark.parametrize("question", [QUESTION, NESTED, TRACTS])
def test_the_tasks_that_draw_count_every_row_in_its_slab(
    question: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """Rows get the slab of their cell, and each slab's totals are those of one process."""
    work = opened(tmp_path, monkeypatch, question)
    slabs = work.slabs
    assert slabs.number > 2
    rng = np.random.default_rng(1)
    ends = [cell for slab in range(slabs.number) for cell in slabs.counted(slab)]
    cells = np.concatenate([rng.integers(0, 200_000, 5_000), np.minimum(ends, 199_999)])
    rows = rng.integers(1, 9, len(cells))
    starts = [slabs.counted(slab)[0] for slab in range(slabs.number)]
    batches = [pa.RecordBatch.from_pydict({"cell": cells, "rows": rows})]
    (made,) = spark._with_slabs(starts, iter(batches))
    table = pa.Table.from_batches([made])
    counts = np.bincount(cells, rows, 200_000).astype(np.int64)
    own = spark.SparkStages(work, None)._own
    for slab in range(slabs.number):
        given = table.filter(pa.compute.equal(table["slab"], slab))
        start, stop = slabs.counted(slab)
        inside = given["cell"].to_numpy()
        assert ((inside >= start) & (inside < stop)).all()
        (found,) = spark._drawn(own, given).to_pylist()
        expected = slabs.totals(slab, counts[start:stop])
        assert found["totals"] == expected.tobytes()
        assert work.answers(slab).shape == (slabs.length(slab),)


@pytest.mark.parametrize("question", [QUESTION, tu.HatCounts(200_000), NESTED, TRACTS])
@pytest.mark.parametrize("slab", [60_000, 20_000])
def test_stages_of_slabs_make_what_one_process_makes(
    question: Any, slab: int, tmp_path: Path, monkeypatch: Any
) -> None:
    """Every stage for every slab, beside the passes of `FolderJob` over the same answers."""
    work = opened(tmp_path, monkeypatch, question, slab)  # also of less than a block of sums
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
    release = work.finish(answered, stages._written)
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["parts"]
    total = release.unbiased.total()
    assert abs(total.value - counts.sum()) < 8 * total.std_error


def test_noise_is_that_of_its_level_and_of_each_slab_its_own(
    tmp_path: Path, monkeypatch: Any
) -> None:
    """Nobody is counted, so that answers are noise; ε is shared out unevenly."""
    shares = ("1/20", "15/20", "4/20")
    question = tu.TreeCounts(200_000, radices=(20, 100, 100), shares=shares)
    work = opened(tmp_path, monkeypatch, question)
    own = spark.SparkStages(work, None)._own
    slabs: Any = work.slabs
    by_level = dict[int, list[Any]]()
    for slab in range(slabs.number):
        spark._drawn(own, rows(slab, []))
        answers, taken = work.answers(slab), 0
        for span in slabs._spans(slab):
            for run in span.stretch.runs:
                noise = answers[taken : taken + run.end - run.begin]
                by_level.setdefault(run.level, []).append(noise)
                taken += len(noise)
        assert taken == len(answers)
    scales = dict(zip(question.asked, (20.0, 20 / 15, 5.0), strict=True))
    for level, each in by_level.items():
        found, b = np.concatenate(each), scales[level]
        ratio = np.exp(-1 / b)
        variance = 2 * ratio / (1 - ratio) ** 2  # of the discrete Laplace law
        if len(found) > 1_000:
            assert 0.8 < found.var() / variance < 1.25
    cells = [noise for each in by_level.values() for noise in each if len(noise) >= 1_000]
    for number, one in enumerate(cells):
        for other in cells[:number]:
            length = min(len(one), len(other))
            assert abs(np.corrcoef(one[:length], other[:length])[0, 1]) < 0.2


def test_when_all_answers_are_stored_the_rows_are_not_looked_at(
    tmp_path: Path, monkeypatch: Any
) -> None:
    work = opened(tmp_path, monkeypatch)
    answered = work.draw(lambda a, b: np.ones(b - a, np.int64), 1)
    stages = spark.SparkStages(work, None)
    every = range(work.slabs.number)
    hashes = {slab: work.store.part(slab, (0, 1)).sha256 for slab in every}
    monkeypatch.setattr(spark.SparkStages, "_hashes", lambda _: hashes)
    assert stages.draw(None) == answered


def test_two_drivers_do_not_draw_one_release(tmp_path: Path, monkeypatch: Any) -> None:
    work = opened(tmp_path, monkeypatch)
    with work.store.alone(), pytest.raises(tu.InputError, match="Another process"):
        spark.SparkStages(work, None).draw(None)
