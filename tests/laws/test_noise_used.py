"""Law: whatever the question, its size and the way it is asked, the noise is what was declared.

The noise is recorded where it is drawn, with its exact scale. Then: every answer gets noise of its
own, of fresh bits; what is published is truth plus that noise; and by brute force over neighbours
no record moves the answers, over the scales drawn, by more than ε over the rows of a unit. The
price is reached by some record: no noise is wasted.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup.ask import QUESTIONS, AdaptiveQuestion, Question
from trueup.measure import measure_all
from trueup.noise import Noise

from .examples import examples, large, named
from .recorded import Record, recording, worst_price

EPSILON = Fraction(100_003, 99_991)  # no scale of it is a short number
RELATIONS = ("add-remove", "replace")


def counts_for(question: Question) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 5, question.size)


@pytest.mark.parametrize("question", examples(), ids=named)
def test_no_answer_weighs_a_cell_by_more_than_the_heaviest(question: Question) -> None:
    """By which the owner knows, before the charge, that answers fit 64 bits."""
    if isinstance(question, AdaptiveQuestion) and not question.settled:
        assert question.heaviest == 1  # whatever it will ask is a count
        return
    rows = [question.answers(one) for one in np.eye(question.size, dtype=np.int64)]
    assert max(int(np.abs(row).max()) for row in rows) <= question.heaviest


def check(
    found: Record, noisy: np.ndarray, question: Question, counts: np.ndarray, given: tuple[str, int]
) -> None:
    relation, rows = given
    found.check_fresh(question.length)
    assert len(found.noise) == question.length
    assert np.array_equal(noisy - question.answers(counts), found.noise)
    price = worst_price(question, found.scales, relation) * rows
    assert price <= EPSILON
    # What two cells cost in one run of an adaptive tree is less than what others might have.
    assert price == EPSILON or isinstance(question, AdaptiveQuestion)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("question", examples(), ids=named)
def test_every_question_is_noised_for_its_price(question: Question, relation: str) -> None:
    counts = counts_for(question)
    for rows in (1, 3):
        with recording() as found:
            try:
                m = tu.measure(
                    counts, question, EPSILON, relation, unit="person", rows_per_unit=rows
                )
            except tu.InputError as wrong:  # a price past 64 bits, or a tree that was asked already
                refused = str(wrong)
            else:
                refused = ""
        if "was asked already" in refused:
            assert isinstance(question, AdaptiveQuestion)
            assert question.settled
            with pytest.raises(tu.InputError, match="was asked already"):  # before any charge, too
                Noise(question, EPSILON).check_drawable()
            assert not found.draws
            continue
        if refused:
            with pytest.raises(tu.InputError, match="cannot be found"):
                question.price(relation)  # type: ignore[arg-type]
            assert not found.draws
            continue
        check(found, m.noisy, m.question, counts, (relation, rows))
        assert m.noise.each_answer([float(s) for s in m.noise.scales]).tolist() == [
            float(scale) for scale in found.scales
        ]


@pytest.mark.parametrize("question", list(large()), ids=named)
def test_large_questions_are_noised_for_their_price(question: Question) -> None:
    counts = counts_for(question)
    for relation in RELATIONS:
        with recording() as found:
            m = measure_all(counts, question, EPSILON, relation, unit="row", rows_per_unit=2)
        found.check_fresh(question.length)
        assert np.array_equal(m.noisy - question.answers(counts), found.noise)
        assert worst_price(question, found.scales, relation) * 2 == EPSILON


def test_every_registered_question_is_among_the_examples() -> None:
    assert {type(question) for question in examples()} >= set(QUESTIONS)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("ends", [1, 2])
@pytest.mark.parametrize("groups", [1, 2, 150, 500, 3000])
def test_adaptive_counts_are_noised_for_their_price(groups: int, ends: int, relation: str) -> None:
    counts = np.random.default_rng(groups).geometric(0.1, groups) - 1
    question = tu.SortedCounts(groups, ends=ends)
    with recording() as found:
        m = tu.measure(counts, question, EPSILON, relation, unit="person", rows_per_unit=3)
    found.check_fresh(len(m.noisy))
    moved = ends * (2 if relation == "replace" and groups > 1 else 1)
    assert set(found.scales) == {3 * moved / EPSILON} == set(m.noise.scales)
    used = m.question.in_order(m.noisy - m.question.answers(counts))
    assert np.array_equal(used, found.noise[: len(used)])


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kind", ["empty", "few", "dense"])
@pytest.mark.parametrize("size", [1, 2, 5, 40, 365, 4096])
def test_adaptive_trees_are_noised_for_their_price(size: int, kind: str, relation: str) -> None:
    g = np.random.default_rng(size)
    counts = {
        "empty": np.zeros(size, np.int64),
        "few": g.poisson(900, size) * (g.random(size) < 0.1),
        "dense": g.poisson(900, size),
    }[kind]
    with recording() as found:
        m = tu.measure(
            counts,
            tu.TreeCounts(size, adaptive=True),
            EPSILON,
            relation,
            unit="person",
            rows_per_unit=3,
        )
    found.check_fresh(len(m.noisy))
    used = m.noisy - m.question.answers(counts)
    assert np.array_equal(used, found.noise)
    assert m.noise.each_answer([float(s) for s in m.noise.scales]).tolist() == [
        float(scale) for scale in found.scales
    ]
    if size <= 40:
        assert worst_price(m.question, found.scales, relation) * 3 <= EPSILON


def test_two_measurements_share_no_bits() -> None:
    with recording() as found:
        for _ in range(3):
            tu.measure(np.zeros(3000, int), tu.CellCounts(3000), EPSILON)
            tu.measure(np.zeros(3000, int), tu.SortedCounts(3000), EPSILON)
    found.check_fresh(0)
    assert len(found.streams) == 6
