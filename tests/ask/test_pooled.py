"""What can have been asked of a tree whose small neighbours are pooled, and what cannot."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup.ask import AdaptiveTreeCounts, question_from_json
from trueup.ask.pooled import NO_RUNS, Pooled, Rule
from trueup.errors import FileError, InputError
from trueup.paper.noise import measure_for_experiment


def runs(*levels: list[tuple[int, int]]) -> Pooled:
    found = [tuple(np.array(ends, np.int64) for ends in zip(*level, strict=True)) if level
             else NO_RUNS for level in levels]  # fmt: skip
    return Pooled(tuple(found), tuple(np.zeros(len(level), np.int64) for level in levels))


TREE = tu.TreeCounts(24, radices=(4, 3, 2), shares=("1/2", "1/4", "1/4"))


def _spec(pooled: object) -> dict[str, object]:
    rule = [5.0, 4.5]
    return {"kind": "adaptive tree", "tree": TREE.to_json(), "pooled": pooled, "rule": rule}


def test_runs_that_can_have_been_asked_are_taken() -> None:
    found = AdaptiveTreeCounts(TREE, runs([], [(0, 2)], [(6, 8), (9, 12)], []))
    assert [length for length, _ in found.blocks] == [4, 1, 6, 2, 2]
    assert [str(weight) for _, weight in found.blocks] == ["1/2", "1/2", "1/4", "1/4", "1/4"]


@pytest.mark.parametrize(
    "wrong",
    [
        runs([], [(0, 2)], [(4, 6)], []),  # under a run
        runs([], [], [(2, 4)], []),  # of two families
        runs([], [(0, 2), (1, 3)], [], []),  # the same node twice
        runs([], [(2, 4), (0, 1)], [], []),  # in another order
        runs([], [(2, 5)], [], []),  # past the end
        runs([], [(-1, 2)], [], []),
        runs([], [(2, 2)], [], []),  # of nothing
        runs([(0, 1)], [], [], []),  # the root
        runs([], [], [], [(0, 2)]),  # cells: nothing is left for them
        runs([], [], []),  # of another tree
        Pooled(runs([], [(0, 2)], [], []).runs, (np.zeros(0, np.int64),) * 4),  # no total
    ],
)
def test_runs_that_cannot_have_been_asked_are_refused(wrong: Pooled) -> None:
    with pytest.raises(InputError):
        AdaptiveTreeCounts(TREE, wrong)


def test_a_root_is_never_pooled_though_it_is_asked() -> None:
    asked = tu.TreeCounts(24, radices=(4, 3, 2), shares=("1/4", "1/4", "1/4", "1/4"))
    AdaptiveTreeCounts(asked, runs([], [(0, 4)], [], []))
    with pytest.raises(InputError, match="On level 0 nothing can have been pooled"):
        AdaptiveTreeCounts(asked, runs([(0, 1)], [], [], []))


@pytest.mark.parametrize(
    "pooled",
    [
        [[[0], [2], [1]]] * 4,
        [[[], [], []], [[0], [2], []], [[], [], []], [[], [], []]],
        [[[], [], []], [[0.5], [2], [1]], [[], [], []], [[], [], []]],
        [[[], [], []], [["0"], [2], [1]], [[], [], []], [[], [], []]],
        {"below": 3},
        7,
    ],
)
def test_records_that_make_no_sense_are_refused(pooled: object) -> None:
    with pytest.raises(FileError):
        question_from_json(_spec(pooled))


def forged(m: tu.Measurement, **changed: object) -> tu.Measurement:
    """The measurement with other answers, or with other runs in its question."""
    spec = json.loads(json.dumps(m.question.to_json())) | changed
    return tu.Measurement(question_from_json(spec), changed.get("noisy", m.noisy), m.epsilon)


@pytest.fixture(scope="module")
def sparse() -> tu.Measurement:
    counts = np.zeros(24, np.int64)
    counts[13:17] = 900
    return measure_for_experiment(counts, AdaptiveTreeCounts(TREE), "1/2", seed=1)


def test_totals_are_those_among_the_answers(sparse: tu.Measurement) -> None:
    pooled = sparse.question.to_json()["pooled"]
    assert forged(sparse, pooled=pooled).question == sparse.question
    pooled[1][2][0] += 1
    with pytest.raises(InputError, match="totals of runs differ"):
        forged(sparse, pooled=pooled)


def test_answers_after_which_other_runs_would_have_been_asked_are_refused(
    sparse: tu.Measurement,
) -> None:
    small = int(np.flatnonzero(sparse.question.labels()["level"] == 1)[0])
    noisy = sparse.noisy.copy()
    noisy[small] += 10_000
    with pytest.raises(InputError, match="pooled into other runs"):
        forged(sparse, noisy=noisy)
    with pytest.raises(InputError, match="pooled into other runs"):
        forged(sparse, rule=[1e-9, 4.5])


RULES = {
    "runs": Rule(5.0, 4.5),
    "families": Rule(5.0, 4.5, by_family=True),
    "uneven": Rule(5.0, 99.0, by_family=True, uneven=0.5, still=0.0),
}


@pytest.mark.parametrize("name", RULES)
def test_a_file_is_checked_by_the_rule_that_stands_in_it(name: str) -> None:
    """Files written before families were looked at have two numbers, and their runs by themselves;
    those written before differences were, three.

    Two runs of 12, each below 4.5 σ √m, both together above it.
    """
    counts = np.zeros(24, np.int64)
    counts[[0, 6, 12]] = 12, 300, 12
    rule, unit = RULES[name], Fraction(1)
    question, noisy = AdaptiveTreeCounts(TREE).measure_by(
        counts, unit, lambda length, *_: np.zeros(length, np.int64), rule
    )
    spec = json.loads(json.dumps(question.to_json()))
    written = {"runs": [5.0, 4.5], "families": [5.0, 4.5, True]}
    assert spec["rule"] == written.get(name, [5.0, 99.0, True, 0.5, 0.0])
    assert len(spec["pooled"][1][0]) == (2 if name == "runs" else 0)
    m = tu.Measurement(question_from_json(spec), noisy, 1)
    assert m.question == question
    other = [5.0, 4.5, True] if name == "runs" else [5.0, 4.5]
    with pytest.raises(InputError, match="pooled into other runs"):
        forged(m, rule=other)


WRONG = [
    [5],
    [5, 4, 3],
    [5, 4, False],
    [5, 4, True, True],
    [5, 4, True, 0.0, 2.0],
    [5, 4, True, 4.0, 5.0],
    [5, 4, True, 4.0, -1.0],
    [5, 4, False, 4.0, 2.0],
    [0, 4.5],
    [5, float("inf")],
    ["x", 1],
    5,
]


@pytest.mark.parametrize("rule", WRONG)
def test_a_rule_that_makes_no_sense_is_refused(sparse: tu.Measurement, rule: object) -> None:
    with pytest.raises(FileError):
        forged(sparse, rule=rule)


def test_whatever_a_forger_writes_is_refused_or_counts_every_cell_for_one(
    sparse: tu.Measurement,
) -> None:
    """Transcripts changed at random: shares of the answers that count a cell always sum to 1."""
    g = np.random.default_rng(7)
    taken = 0
    for _ in range(300):
        spec = json.loads(json.dumps(sparse.question.to_json()))
        for _ in range(g.integers(1, 4)):
            level = spec["pooled"][g.integers(1, 4)]
            if level[0] and g.random() < 0.7:
                which, move = g.integers(0, 2), int(g.integers(-2, 3))
                level[which][g.integers(len(level[which]))] += move
            else:
                at = int(g.integers(0, len(level[0]) + 1))
                level[0].insert(at, int(g.integers(0, 12)))
                level[1].insert(at, int(g.integers(1, 4)))
                level[2].insert(at, 0)
        try:
            found = question_from_json(spec)
        except FileError:
            continue
        taken += 1
        weights = np.array([w for length, w in found.blocks for _ in range(length)], object)
        assert set(found.matrix().toarray().astype(int).T @ weights) == {Fraction(1)}
    assert 10 < taken < 290
