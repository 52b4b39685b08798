"""Law: a release in one pass is that of measure and infer, with the same noise; its noise is fresh.

The noise of every level is replaced by a number of the level's own, so that no two levels agree and
every weight matters; what comes out is compared with least squares on the same noisy answers. Sizes
lie on both sides of a span of leaves, with and without a last block that is cut short.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup import publishing
from trueup._kernels.noise import laplace
from trueup._kernels.tree import blocks
from trueup.ask import Question
from trueup.facts import Facts
from trueup.onepass import release_in_one_pass

from .recorded import recording, worst_price

EPSILON = Fraction(100_003, 99_991)
SPAN = blocks.SPAN


def tree(size: int, *radices: int) -> Question:
    parts = [Fraction(k + 2) for k in range(len(radices) + 1)]
    return tu.TreeCounts(size, radices=radices, shares=[part / sum(parts) for part in parts])


QUESTIONS = [
    tu.CellCounts(7),
    tree(7, 2, 2, 2),
    tree(SPAN - 1, 4, 128, 128),
    tree(SPAN, 4, 128, 128),
    tree(2 * SPAN + 5, 9, 128, 128),
    tree(3 * SPAN, 3, 256, 256),
    tu.CellCounts(2 * SPAN + 1),
    tu.TreeCounts(3 * SPAN + 9, branching=64),  # levels of one scale are noised together
    tu.TreeCounts(5, branching=2),
    tu.TreeCounts(2 * SPAN + 77, radices=(2, 17, 64, 64), shares=("1/2", 0, "1/4", 0, "1/4")),
]


def named(question: Question) -> str:
    return f"{type(question).__name__}{question.size}"


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("question", QUESTIONS, ids=named)
def test_one_pass_is_measure_then_infer(
    question: Question, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = np.random.default_rng(1).integers(0, 9, question.size)
    facts = Facts.of(question, EPSILON)
    of_scale = {scale: 3 + 7 * number for number, scale in enumerate(facts.noise.scales)}

    def fixed(values: np.ndarray, law: Any, bits: object) -> None:
        values += of_scale[law.scale]

    monkeypatch.setattr(laplace, "sample_into", fixed)
    noisy = question.answers(counts) + np.repeat(
        [of_scale[scale] for scale in facts.noise.scales], facts.noise.lengths
    )
    expected = tu.infer(tu.Measurement(question, noisy, EPSILON)).prefix
    found = release_in_one_pass(counts, facts, threads).prefix
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-5)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("question", QUESTIONS, ids=named)
def test_one_pass_draws_fresh_noise_for_its_price(
    question: Question, threads: int, relation: Any
) -> None:
    counts = np.random.default_rng(1).integers(0, 9, question.size)
    facts = Facts.of(question, EPSILON, relation, unit="person", rows_per_unit=3)
    with recording() as found:
        release_in_one_pass(counts, facts, threads)
    found.check_fresh(question.length)
    drawn = dict.fromkeys(facts.noise.scales, 0)
    for draw in found.draws:
        drawn[draw.scale] += len(draw.noise)
    asked = dict.fromkeys(facts.noise.scales, 0)
    for scale, length in zip(facts.noise.scales, facts.noise.lengths, strict=True):
        asked[scale] += length
    assert drawn == asked  # noise of its own for every answer
    scales = [
        scale
        for scale, length in zip(facts.noise.scales, facts.noise.lengths, strict=True)
        for _ in range(length)
    ]
    assert worst_price(question, scales, relation) * 3 == EPSILON


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_publish_noises_alike_below_and_above_one_pass(
    relation: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The size from which on a release is made in one pass is moved under the question's."""
    question = tree(300, 20, 15)
    counts = np.ones(300, int)
    seen = []
    for large in (301, 300):
        monkeypatch.setattr(publishing, "LARGE", large)
        with recording() as found:
            release = tu.publish(
                counts, question, EPSILON, relation, unit="person", rows_per_unit=2
            )
        found.check_fresh(question.length)
        assert len(found.noise) == question.length
        assert (
            release.facts.noise.scales
            == Facts.of(question, EPSILON, relation, "person", 2).noise.scales
        )
        seen.append((sorted(found.scales), release.facts.rows_per_unit))
    assert seen[0] == seen[1]
    assert (
        worst_price(
            question,
            [
                s
                for s, n in zip(
                    release.facts.noise.scales, release.facts.noise.lengths, strict=True
                )
                for _ in range(n)
            ],
            relation,
        )
        * 2
        == EPSILON
    )
