"""L̃, S̃, S̃r, H̃ by the fewest nodes, and the heuristic that zeroes subtrees."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import trueup as tu
from trueup.paper import baselines
from trueup.paper.noise import measure_for_experiment

SHAPES = [
    tu.TreeCounts(16, 2),
    tu.TreeCounts(27, 3),
    tu.TreeCounts(21, 2),
    tu.TreeCounts(13, 4),
    tu.TreeCounts(1, 2),
    tu.TreeCounts(tu.Axis.hierarchy("p", {"a": ["b", "c"], "d": {"e": ["f", "g"], "h": []}}),
                  levels=["level 1", "level 2", "level 3"]),
]  # fmt: skip
each_shape = pytest.mark.parametrize("question", SHAPES, ids=lambda q: f"{q.size}{q.radices}")


def nodes_of(shape):
    return [
        (int(a), int(b))
        for level in range(shape.height)
        for a, b in zip(shape.starts(level), shape.stops(level), strict=True)
    ]


@each_shape
def test_a_range_is_made_up_of_the_fewest_nodes(question):
    shape = question.shape
    nodes = nodes_of(shape)
    least = {(c, c): 0 for c in range(question.size + 1)}
    for length in range(1, question.size + 1):
        for a in range(question.size - length + 1):
            ends = [stop for start, stop in nodes if start == a and stop <= a + length]
            least[a, a + length] = 1 + min(least[stop, a + length] for stop in ends)
    starts, stops = np.array(sorted(least)).T
    # A weight of 1 a node counts the nodes used; chains of single children count the topmost.
    counted = baselines.fewest_nodes(shape, np.ones(len(nodes)), starts, stops)
    assert counted.tolist() == [least[a, b] for a, b in sorted(least)]
    counts = np.random.default_rng(1).integers(0, 100, question.size)
    true = np.array([counts[a:b].sum() for a, b in nodes], float)
    sums = baselines.fewest_nodes(shape, true, starts, stops)
    assert sums.tolist() == [counts[a:b].sum() for a, b in sorted(least)]


def test_noisy_nodes_answer_a_range_by_adding_their_noisy_answers():
    m = tu.Measurement(tu.TreeCounts(4, 2), [13, 3, 11, 4, 1, 12, 1], epsilon=1)
    nodes = baselines.noisy_nodes(m)
    assert nodes.tolist() == [13, 3, 11, 4, 1, 12, 1]
    answers = baselines.fewest_nodes(m.question.shape, nodes, [0, 0, 1, 1, 2], [4, 2, 4, 3, 2])
    assert answers.tolist() == [13, 3, 1 + 11, 1 + 12, 0]


def test_cell_counts_answer_a_range_by_adding_up():
    m = tu.Measurement(tu.CellCounts(4), [3, 1, 11, 1], epsilon=1)
    for a, b in itertools.combinations(range(5), 2):
        assert baselines.noisy_cells(m, [a], [b]).tolist() == [sum(m.noisy[a:b])]


def test_sorting_and_rounding_gives_rising_whole_numbers():
    m = tu.Measurement(tu.SortedCounts(5, adaptive=False), [3, -2, 7, 0, 1], epsilon=1)
    assert baselines.noisy_sorted(m).tolist() == [3, -2, 7, 0, 1]
    assert baselines.sorted_and_rounded(m).tolist() == [0, 0, 1, 3, 7]
    m = tu.Measurement(
        tu.SortedCounts(3, adaptive=False), [2.6, -0.4, 0.4], 1, private=False, law="continuous"
    )
    assert baselines.sorted_and_rounded(m).tolist() == [0, 0, 3]


@each_shape
def test_a_subtree_whose_count_is_not_positive_is_zero_and_no_other(question):
    rng = np.random.default_rng(2)
    nodes = nodes_of(question.shape)
    for seed in range(20):
        m = measure_for_experiment(rng.integers(0, 4, question.size), question, "1/5", seed)
        release = tu.infer(m)
        inferred = [release.between(a, b).value for a, b in nodes]
        zeroed = baselines.zeroed_nodes(m)
        for (a, b), value, found in zip(nodes, inferred, zeroed, strict=True):
            above = [v for (c, d), v in zip(nodes, inferred, strict=True) if c <= a and b <= d]
            if min(above) > 1e-6:
                assert found == pytest.approx(value, abs=1e-6)
            if min(above) < -1e-6:
                assert found == 0


def test_a_baseline_of_another_question_is_refused():
    tree = tu.Measurement(tu.TreeCounts(4, 2), range(7), 1)
    ordered = tu.Measurement(tu.SortedCounts(4, adaptive=False), range(4), 1)
    rootless = tu.Measurement(tu.TreeCounts(4, 2, root=False), range(6), 1)
    for ask in (
        lambda: baselines.noisy_cells(tree, [0], [1]),
        lambda: baselines.noisy_sorted(tree),
        lambda: baselines.sorted_and_rounded(tree),
        lambda: baselines.noisy_nodes(ordered),
        lambda: baselines.zeroed_nodes(ordered),
        lambda: baselines.noisy_nodes(rootless),
    ):
        with pytest.raises(tu.InputError, match="needs"):
            ask()
