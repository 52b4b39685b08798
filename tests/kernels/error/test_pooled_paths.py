"""What the answers of a tree count for in a range, from the paths to its ends."""

from __future__ import annotations

import numpy as np
import pytest

from trueup._kernels.error.pooled_paths import (
    NOT_REACHED,
    OPEN,
    SPLIT,
    STOPPED,
    WAYS,
    classes_of,
    range_variances,
)

# 12 cells; three nodes of four, of which the second is pooled as run 0; six of two, two of them
# not reached.
BEGINS = np.array([0, 4, 8, 12, 0, 2, 4, 6, 8, 10, 12])
OFFSETS = np.array([0, 4, 11])
RUNS = np.array([SPLIT, 0, SPLIT, -2, SPLIT, SPLIT, -2, -2, SPLIT, SPLIT, -2])
TREE = BEGINS, OFFSETS, RUNS
TOTALS = np.array([7.0])


def by_hand(values: np.ndarray) -> dict[int, list[float]]:
    """What each answer counts for: means of children go up, what is left of them stays."""
    found: dict[int, list[float]] = {0: [], 1: [], 2: []}
    tops = []
    for top in range(3):
        cells = values[4 * top : 4 * top + 4]
        if top == 1:
            tops.append(cells.mean())
            continue
        pairs = cells.reshape(2, 2)
        found[2] += (pairs - pairs.mean(axis=1, keepdims=True)).ravel().tolist()
        found[1] += (pairs.mean(axis=1) - pairs.mean()).tolist()
        tops.append(pairs.mean())
    found[0] = tops
    return found


@pytest.mark.parametrize("start", range(12))
def test_coefficients_are_those_of_counts_that_go_down_the_tree(start: int) -> None:
    assert NOT_REACHED == -2
    for stop in range(start + 1, 13):
        values = np.zeros(12)
        values[start:stop] = 1.0
        ends = np.array([0, start, stop, 12])
        rows, told = classes_of(TREE, ends, np.array([0.0, 1.0, 0.0]), TOTALS)
        for level, expected in by_hand(values).items():
            own = rows[rows[:, 1] == level]
            each = np.repeat(own[:, 0], own[:, 2].astype(int))
            each, other = np.sort(each[each != 0]), np.sort([c for c in expected if c != 0])
            np.testing.assert_allclose(each, other)
        pooled = values[4:8]
        most = max(1 - pooled.mean(), pooled.mean()) if 0 < pooled.mean() < 1 else 0.0
        assert told[OPEN] == pytest.approx(7 * most)
        assert told[STOPPED] == (most > 0)
        assert rows[rows[:, 1] > 2, 0].sum() == pytest.approx(most)
        depth = {end: (end % 4 != 0) + (end % 2 != 0) for end in (start, stop)}
        assert told[WAYS] == (1 + depth[start]) * (1 + depth[stop])


def test_variances_add_up_the_squares() -> None:
    starts, stops = np.array([0, 1, 5, 3, 4]), np.array([12, 2, 6, 3, 9])
    variances = np.array([2.0, 3.0, 5.0])
    found = range_variances(TREE, starts, stops, TOTALS, variances)
    for k, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        values = np.zeros(12)
        values[start:stop] = 1.0
        squares = [np.sum(np.square(each)) for each in by_hand(values).values()]
        assert found[k] == pytest.approx(variances @ squares)


def test_two_nodes_of_one_run_are_no_larger_than_the_run() -> None:
    runs = np.array([0, 0, SPLIT, -2, -2, -2, -2, -2, SPLIT, SPLIT, -2])
    tree = BEGINS, OFFSETS, runs
    rows, told = classes_of(tree, np.array([0, 1, 7, 12]), np.array([0.0, 1.0, 0.0]), TOTALS)
    assert told[OPEN] == pytest.approx(7 * 0.75)
    assert rows[rows[:, 1] > 2, 0].tolist() == [0.75]


def test_two_runs_have_a_noise_each() -> None:
    runs = np.array([0, SPLIT, 1, -2, -2, -2, SPLIT, SPLIT, -2, -2, -2])
    tree = BEGINS, OFFSETS, runs
    totals = np.array([7.0, 10.0])
    rows, told = classes_of(tree, np.array([0, 1, 10, 12]), np.array([0.0, 1.0, 0.0]), totals)
    assert told[OPEN] == pytest.approx(7 * 0.75 + 10 * 0.5)
    assert sorted(rows[rows[:, 1] > 2, 0]) == [0.5, 0.75]
