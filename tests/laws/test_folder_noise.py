"""Law: a release in a folder has, in every slab and line, fresh noise of its own for its price.

The noise is recorded where it is drawn. Of counts that are all 0 the stored answers are the noise.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup._kernels.tree import blocks
from trueup.ask import Question
from trueup.facts import Facts
from trueup.scale import hats, job, nested, open_job

from .recorded import recording

EPSILON = Fraction(100_003, 99_991)
DAYS = tu.Axis.dates("day", "1961-01-01", "1979-12-31")
KIND = tu.Axis.categories("kind", ["a", "b", "c"])
QUESTIONS: dict[str, Question] = {
    "tree": tu.TreeCounts(9_001, radices=(9, 40, 30), shares=("1/2", 0, "1/3", "1/6")),
    "tree of one scale": tu.TreeCounts(9_001, branching=8),
    "cells": tu.CellCounts(9_001),
    "hierarchy": tu.TreeCounts(DAYS, levels=("year", "month", "day")),
    "some of a hierarchy": tu.TreeCounts(
        DAYS, levels=("year", "month", "day"), shares=("2/3", 0, "1/3")
    ),
    "hats": tu.HatCounts(9_001, strides=(10, 100, 1_000)),
    "lines": tu.GridCounts(
        tu.CellCounts(KIND),
        tu.TreeCounts(3_000, radices=(6, 20, 25), shares=("1/2", 0, "1/3", "1/6")),
    ),
}


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_every_answer_in_a_folder_has_fresh_noise_of_its_scale(
    name: str, relation: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "SPAN", 512)
    monkeypatch.setattr(job, "SLAB", 1_024)
    for room in (hats, nested):
        monkeypatch.setattr(room, "_TOGETHER", 300)
        monkeypatch.setattr(room, "in_threads", _in_three_threads(room.in_threads))
    question = QUESTIONS[name]
    facts = Facts.of(question, EPSILON, relation, "person", 3)
    work: Any = open_job(tmp_path / "out", facts)
    with recording() as found:
        work.draw(lambda a, b: np.zeros(b - a, np.int64), 3_000)
    found.check_fresh(question.length)
    asked = Counter[Fraction]()
    for scale, length in zip(facts.noise.scales, facts.noise.lengths, strict=True):
        asked[scale] += length
    assert Counter(found.scales) == asked
    stored = sorted((tmp_path / "out.partial").rglob("*.int64"))
    assert len(stored) > 2
    answers = np.concatenate([np.fromfile(each, np.int64) for each in stored])
    assert sorted(answers.tolist()) == sorted(found.noise.tolist())
    for scale in asked:  # and not all of it in a few of them
        drawn = np.concatenate([draw.noise for draw in found.draws if draw.scale == scale])
        assert len(drawn) < 99 or len(np.unique(drawn)) > 4


def _in_three_threads(real: Any) -> Any:
    def run(work: Any, number: int, threads: int) -> None:
        real(work, number, 3)

    return run
