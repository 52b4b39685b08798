"""Hierarchies and hats in a folder are those in memory: bits, errors, counts made to be shown."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import trueup as tu
from trueup._kernels.tree import blocks
from trueup._kernels.tree.fused import Run
from trueup.ask import Question
from trueup.errors import InputError
from trueup.facts import Facts
from trueup.infer.hat_errors import HatErrors
from trueup.scale import FolderJob, checked_question, hats, job, nested, open_job, slabbed
from trueup.scale.hats import HatRun, HatSlabs
from trueup.scale.nested import NestedSlabs
from trueup.scale.slabbed import asked_levels

Ints = npt.NDArray[np.int64]


class Given:
    """Noisy answers that are there already, written over the true ones: for tests alone."""

    def __init__(self, noise: Any, noisy: Ints) -> None:
        self.noisy, self.seen = np.asarray(noisy), np.zeros(len(noisy), np.int64)
        self.starts = np.concatenate([[0], np.cumsum(noise.lengths)])
        self.asked = list(getattr(noise.question, "asked", range(len(noise.lengths))))

    def __call__(self, values: Ints, runs: Sequence[Run], span: int) -> None:
        for run in runs:
            if isinstance(run, HatRun) and run.numbers is not None:
                places = run.numbers
                kinds = np.searchsorted(self.starts, places, side="right") - 1
                assert (kinds == run.level).all(), "every answer has the noise of its own kind"
            else:
                first = self.starts[self.asked.index(run.level)] + run.first
                places = np.arange(first, first + run.end - run.begin)
            self.seen[places] += 1
            values[run.begin : run.end] = self.noisy[places]


class Untouched:
    """No noise at all, to see that answers are true before their noise: for tests alone."""

    def __init__(self, noise: Any, counts: Ints) -> None:
        self.given = Given(noise, noise.question.answers(counts))

    def __call__(self, values: Ints, runs: Sequence[Run], span: int) -> None:
        before = values.copy()
        self.given(values, runs, span)
        assert np.array_equal(values, before), "each answer is the true one before its noise"


def uneven(size: int, seed: int) -> tu.Axis:
    """Codes of three levels whose nodes have from one to hundreds of cells."""
    rng = np.random.default_rng(seed)
    state = np.sort(rng.choice(rng.integers(100, 999, 9), size, p=[0.6, *[0.05] * 8]))
    county = np.sort(rng.integers(0, 60, size) ** 2 // 40) % 90 + 10
    codes = np.unique(state * 100 + county)
    full = np.unique(rng.choice(codes, size) * 10_000 + rng.integers(0, 10_000, size))
    return tu.Axis.codes("block", full.tolist(), {"state": 3, "county": 5, "block": 9})


NATION = uneven(9_000, 1)
DAYS = tu.Axis.dates("day", "1901-01-01", "1999-12-31")
QUESTIONS: list[tuple[Question, dict[str, object], int]] = [
    (tu.TreeCounts(NATION), {"epsilon": 1}, 700),
    (tu.TreeCounts(NATION, shares=("1/10", "1/5", 0, "7/10")), {"rho": "1/10"}, 3_000),
    (tu.TreeCounts(NATION, levels=("state", "county")), {"epsilon": "1/2"}, 12),
    (tu.TreeCounts(NATION, levels=("block",)), {"epsilon": 1}, 1 << 22),
    (tu.TreeCounts(DAYS, levels=("year", "month", "day")), {"epsilon": 1}, 9_000),
    (tu.HatCounts(9_001), {"epsilon": 1}, 700),
    (tu.HatCounts(1_501), {"epsilon": 1}, 60),
    (tu.HatCounts(40_000, strides=(16, 64, 1024), ends=True), {"rho": "1/4"}, 4_000),
    (tu.HatCounts(40_000, strides=(9, 90, 900, 9_000)), {"epsilon": 3}, 3_000),
    (tu.HatCounts(5_000, strides=(50,)), {"epsilon": 1}, 1_000),
    (tu.HatCounts(900, strides=(7, 42)), {"epsilon": 1}, 1 << 22),
]


@pytest.mark.parametrize(("question", "cost", "slab"), QUESTIONS)
def test_a_folder_holds_the_bits_of_the_release_in_memory(
    question: Question,
    cost: dict[str, object],
    slab: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(blocks, "SPAN", 1 << 9)
    monkeypatch.setattr(hats, "_TOGETHER", 500)
    monkeypatch.setattr(nested, "_TOGETHER", 500)
    monkeypatch.setattr(job, "SLAB", slab)
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 30, question.size) * (rng.random(question.size) < 0.3)
    measured = tu.measure(counts, question, **cost)  # type: ignore[arg-type]
    given = Given(measured.facts.noise, measured.noisy)
    exact: Any = open_job(tmp_path / "true", Facts.of(question, **cost))  # type: ignore[arg-type]
    exact.draw(lambda a, b: counts[a:b], 1, Untouched(measured.facts.noise, counts))
    work: Any = open_job(tmp_path / "out", Facts.of(question, **cost), shown=True)  # type: ignore[arg-type]
    assert work.slabs.number > 2 or slab == 1 << 22
    shown = work.finish(work.draw(lambda a, b: counts[a:b], 1, given))
    assert (given.seen == 1).all(), "every answer is noised once"
    expected = tu.infer(measured, nonnegative=True, integers=True)
    assert np.array_equal(shown.prefix[:], expected.prefix)
    assert shown.facts.inferred == expected.facts.inferred
    assert shown.quantile([0.1, 0.5, 1.0]) == expected.quantile([0.1, 0.5, 1.0])
    found, expected = shown.unbiased, tu.infer(measured)
    assert found.prefix[:].tobytes() == expected.prefix.tobytes()
    size = found.axes[0].size
    ends = np.array([0, 7, size // 2]), np.array([1, 20, size])
    variances = [each.errors.range_variances(*ends) for each in (found, expected)]
    assert (variances[0] == variances[1]).all()
    assert str(found.total()) == str(expected.total())


@pytest.mark.parametrize("question", [tu.TreeCounts(NATION), tu.HatCounts(9_001)])
def test_noise_has_the_size_of_the_question_and_the_relation(
    question: Question, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root-mean-square of the errors of 60 disjoint ranges of each of three releases."""
    monkeypatch.setattr(job, "SLAB", 1_000)
    counts = np.arange(question.size) % 5
    for number, terms in enumerate(({}, {"neighbours": "replace"}, {"rows_per_unit": 3})):
        facts: Any = Facts.of(question, 1, **terms)
        work: Any = open_job(tmp_path / str(number), facts)
        found = work.finish(work.draw(lambda a, b: counts[a:b], 1))
        assert found.facts.noise == facts.noise
        low = np.linspace(0, question.size - 9, 400).astype(np.int64)
        true = np.concatenate([[0], np.cumsum(counts)])
        error = found.prefix[low + 1] - found.prefix[low] - (true[low + 1] - true[low])
        scaled = error / np.sqrt(found.errors.range_variances(low, low + 1))
        assert 0.75 < float(np.sqrt(np.mean(scaled**2))) < 1.3


def test_slabs_and_blocks_follow_each_other() -> None:
    for question, cost, most in QUESTIONS:
        noise = Facts.of(question, **cost).noise  # type: ignore[arg-type]
        slabs: Any
        if isinstance(question, tu.HatCounts):
            slabs = HatSlabs(HatErrors.of(noise), most)
        else:
            slabs = NestedSlabs.of(noise, asked_levels(noise), most)
        each = [slabs.cells(k) for k in range(slabs.number)]
        counted = [slabs.counted(k) for k in range(slabs.number)]
        assert each[0][0] == counted[0][0] == 0
        assert each[-1][1] == slabs.size
        assert counted[-1][1] == question.size
        for own in (each, counted):
            assert all(a[1] == b[0] for a, b in pairwise(own))
        assert [slabs.slab_of(a) for a, _ in each] == list(range(slabs.number))
        assert [slabs.slab_of(b - 1) for _, b in each] == list(range(slabs.number))
        asked = sum(slabs.length(k) for k in range(slabs.number)) + slabs.length_above
        assert asked == question.length


def test_what_cannot_be_fitted_in_slabs_is_refused_before_anything_is_begun(
    tmp_path: Path,
) -> None:
    few = tu.HatCounts(20, strides=())
    with pytest.raises(InputError, match="CellCounts"):
        tu.publish(np.zeros(20, int), few, 1, to=tmp_path / "few")
    many = tu.HatCounts(1 << 22, strides=(2,))
    with pytest.raises(InputError, match="larger strides"):
        FolderJob.open(tmp_path / "many", Facts.of(many, 1))
    wide = tu.HatCounts(1 << 25, strides=(1 << 23,))
    with pytest.raises(InputError, match="smaller ones"):
        FolderJob.open(tmp_path / "wide", Facts.of(wide, 1))
    with pytest.raises(InputError, match="trees and hats"):
        checked_question(tu.TreeCounts(100, adaptive=True), True, None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("question", "room", "words"),
    [
        (tu.TreeCounts(100_003, branching=8), slabbed, "smaller fan-outs"),
        (tu.HatCounts(10_007, strides=(4, 64)), hats, "larger strides"),
    ],
)
def test_as_many_blocks_as_stay_in_memory_are_fitted_and_not_one_more(
    question: Question, room: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "SPAN", 64)
    slabs = slabbed.in_slabs(Facts.of(question, 1).noise, 100)[0]
    monkeypatch.setattr(room, "_MOST_BLOCKS", slabs.roots)
    slabbed.check_slabs(slabs)
    monkeypatch.setattr(room, "_MOST_BLOCKS", slabs.roots - 1)
    with pytest.raises(InputError, match=words):
        slabbed.check_slabs(slabs)
