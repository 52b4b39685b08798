"""What can have been asked of a tree whose small neighbours are pooled, and what cannot."""

from __future__ import annotations

import numpy as np
import pytest

import trueup as tu
from trueup.ask import AdaptiveTreeCounts, question_from_json
from trueup.ask.pooled import NO_RUNS, Pooled
from trueup.errors import FileError, InputError


def runs(*levels: list[tuple[int, int]]) -> Pooled:
    found = [tuple(np.array(ends, np.int64) for ends in zip(*level, strict=True)) if level
             else NO_RUNS for level in levels]  # fmt: skip
    return Pooled(tuple(found), tuple(np.zeros(len(level), np.int64) for level in levels))


TREE = tu.TreeCounts(24, radices=(4, 3, 2), shares=("1/2", "1/4", "1/4"))


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
    ],
)
def test_runs_that_cannot_have_been_asked_are_refused(wrong: Pooled) -> None:
    with pytest.raises(InputError):
        AdaptiveTreeCounts(TREE, wrong)


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
        question_from_json({"kind": "adaptive tree", "tree": TREE.to_json(), "pooled": pooled})
