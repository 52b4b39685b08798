"""Trees that are asked adaptively: what can have been asked, and what it costs."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup.ask import AdaptiveTreeCounts, question_from_json
from trueup.audit import forced
from trueup.errors import InputError
from trueup.paper.noise import measure_for_experiment

PLACE = tu.Axis.hierarchy(
    "place", {"CA": ["Kern", "Napa", "Inyo"], "NV": {"Clark": ["East", "West"]}, "DC": []}
)
QUESTIONS = {
    "default": AdaptiveTreeCounts(4096),
    "few cells": AdaptiveTreeCounts(5),
    "one cell": AdaptiveTreeCounts(1),
    "root asked": AdaptiveTreeCounts(tu.TreeCounts(60, branching=4)),
    "binary": AdaptiveTreeCounts(tu.TreeCounts(64, branching=2, root=False)),
    "a level left out": AdaptiveTreeCounts(
        tu.TreeCounts(50, radices=(3, 4, 5), shares=("1/2", 0, "1/2"))
    ),
    "levels of its own": AdaptiveTreeCounts(PLACE),
    "coarse levels": AdaptiveTreeCounts(
        tu.TreeCounts(tu.Axis.dates("day", "2024-01-01", "2025-06-30"), levels=["year", "month"])
    ),
    "wide": AdaptiveTreeCounts(tu.TreeCounts(1000, radices=(2, 500), shares=("1/3", "2/3"))),
}


def counts_of(question: AdaptiveTreeCounts, kind: str, seed: int = 0) -> np.ndarray:
    g = np.random.default_rng(seed)
    size = question.size
    made = {
        "empty": np.zeros(size),
        "dense": g.poisson(300, size),
        "sparse": g.poisson(2000, size) * (g.random(size) < 0.05),
        "low": g.poisson(2, size),
    }
    return made[kind].astype(np.int64)


def asked(question: AdaptiveTreeCounts, kind: str, seed: int = 0) -> AdaptiveTreeCounts:
    m = measure_for_experiment(counts_of(question, kind, seed), question, "1/2", seed)
    assert isinstance(m.question, AdaptiveTreeCounts)
    return m.question


@pytest.mark.parametrize("kind", ["empty", "dense", "sparse", "low"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_the_shares_of_the_answers_that_count_a_cell_add_up_to_one(name: str, kind: str) -> None:
    for seed in range(5):
        found = asked(QUESTIONS[name], kind, seed)
        weights = [weight for length, weight in found.blocks for _ in range(length)]
        rows = found.matrix().toarray().astype(int)
        sums = [sum(w for w, row in zip(weights, rows, strict=True) if row[c]) for c in
                range(0, found.size, max(found.size // 50, 1))]  # fmt: skip
        assert set(sums) == {Fraction(1)}


@pytest.mark.parametrize("kind", ["empty", "dense", "sparse", "low"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_answers_are_the_matrix_times_the_counts_and_written_down_whole(
    name: str, kind: str
) -> None:
    found = asked(QUESTIONS[name], kind)
    counts = counts_of(found, "sparse", 9)
    np.testing.assert_array_equal(found.matrix() @ counts, found.answers(counts))
    assert len(found.answers(counts)) == found.length == len(found.labels()["level"])
    again = question_from_json(json.loads(json.dumps(found.to_json())))
    assert again == found
    assert hash(again) == hash(found)
    assert again.settled


@pytest.mark.parametrize("kind", ["dense", "sparse", "low"])
@pytest.mark.parametrize("name", [name for name in QUESTIONS if name != "coarse levels"])
def test_the_level_of_an_answer_is_that_of_the_nodes_it_counts(name: str, kind: str) -> None:
    """From the cells alone that it counts: a node of that level of the tree, or several in a run.

    The groups into which a wide family is put are no level of anybody's.
    """
    found = asked(QUESTIONS[name], kind)
    shape, rows, labels = found.tree.shape, found.matrix(), found.labels()
    starts = [[*shape.starts(level).tolist(), shape.size] for level in range(shape.height)]
    number = [{start: place for place, start in enumerate(each)} for each in starts]
    for row, level, run in zip(
        range(rows.shape[0]), labels["level"], labels["pooled"], strict=True
    ):
        cells = rows.indices[rows.indptr[row] : rows.indptr[row + 1]]
        assert {cells[0], cells[-1] + 1} <= number[level].keys()
        nodes = number[level][cells[-1] + 1] - number[level][cells[0]]
        assert nodes >= 1 if run else nodes == 1


def test_what_is_small_is_pooled_and_what_is_dense_is_not() -> None:
    empty, dense = (asked(QUESTIONS["default"], kind) for kind in ("empty", "dense"))
    assert empty.length < 40
    assert dense.length == QUESTIONS["default"].tree.length
    assert empty.pooled is not None
    assert len(empty.pooled.runs[1][0]) >= 1


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_it_costs_what_the_tree_asked_at_once_costs(name: str, relation: str) -> None:
    question = QUESTIONS[name]
    assert question.price(relation) == question.tree.price(relation)  # type: ignore[arg-type]


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("kind", ["empty", "sparse"])
@pytest.mark.parametrize("name", ["few cells", "root asked", "levels of its own", "binary"])
def test_no_pair_of_cells_costs_more_than_the_price(name: str, kind: str, relation: str) -> None:
    """By brute force over all cells, and pairs of them, of what was asked."""
    found = asked(QUESTIONS[name], kind)
    weights = np.array([w for length, w in found.blocks for _ in range(length)], object)
    rows = found.matrix().toarray().astype(int).T
    moves = [row @ weights for row in rows]
    if relation == "replace":
        moves += [abs(a - b) @ weights for a, b in itertools.combinations(rows, 2)]
    assert max(moves) <= found.price(relation)  # type: ignore[arg-type]


def test_tree_counts_take_adaptive() -> None:
    assert tu.TreeCounts(4096, adaptive=True) == AdaptiveTreeCounts(4096)
    tree = tu.TreeCounts(60, branching=4)
    assert tu.TreeCounts(60, branching=4, adaptive=True) == AdaptiveTreeCounts(tree)
    assert tu.TreeCounts(60, branching=4, adaptive=False) == tree
    assert tu.TreeCounts(60, 4, True, adaptive=True) == AdaptiveTreeCounts(tree)
    with pytest.raises(InputError, match="adaptive must be True or False"):
        tu.TreeCounts(60, adaptive="yes")  # type: ignore[arg-type]


def test_not_yet_asked_it_has_no_answers_and_says_so() -> None:
    question = AdaptiveTreeCounts(60)
    assert question.length == 0
    assert not question.settled
    for call in (question.matrix, question.labels, lambda: question.answers(np.zeros(60, int))):
        with pytest.raises(InputError, match="measure it first"):
            call()


def test_every_tiny_input_asked_with_forced_answers_moves_by_no_more_than_the_price() -> None:
    """All histograms of four cells with up to 3 records each, all neighbours, some noises."""
    question = AdaptiveTreeCounts(tu.TreeCounts(4, branching=2, root=False))
    g = np.random.default_rng(4)
    noises = [g.integers(-40, 120, 40), g.integers(-3, 4, 40), g.integers(60, 90, 40)]
    for counts in itertools.product(range(3), repeat=4):
        for place in range(4):
            other = list(counts)
            other[place] += 1
            for noise in noises:
                found = forced(question, counts, other, 3, noise)
                assert found.passed, str(found)
                assert found.move == 1
            swapped = list(other)
            swapped[(place + 1) % 4] -= 1
            if min(swapped) >= 0:
                found = forced(question, counts, swapped, 3, noises[0], "replace")
                assert found.passed, str(found)


@pytest.mark.parametrize("size", [60, 365, 1000, 4096, 50_000, 1 << 19])
def test_shares_are_those_of_the_tree_tilted_and_rounded_by_largest_remainders(size: int) -> None:
    """To whole hundredths, the first level with more, each level with less than the one above."""
    plain, asked = tu.TreeCounts(size), AdaptiveTreeCounts(size).tree
    assert asked.radices == plain.radices
    first = plain.asked[0]
    exact = [float(s) * 0.88**level * (1.19 if level == first else 1)
             for level, s in enumerate(plain.shares)]  # fmt: skip
    exact = [100 * share / sum(exact) for share in exact]
    whole = [int(share) for share in exact]
    last = sorted(range(len(exact)), key=lambda level: whole[level] - exact[level])
    for level in last[: 100 - sum(whole)]:
        whole[level] += 1
    assert [share * 100 for share in asked.shares] == whole
    assert sum(asked.shares) == 1
