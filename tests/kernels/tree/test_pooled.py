"""Runs of small siblings, the tree that comes of them, and cells that share a total."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from trueup._kernels.tree.any_tree import fit
from trueup._kernels.tree.pooled import (
    children_of,
    moved_to_parents,
    small_runs,
    spread_evenly,
    spread_leaves,
    with_runs,
)

NEVER = np.inf  # nothing is that uneven


def plain_runs(noisy: list[int], families: list[int], noise: float, limits: tuple) -> list:
    """The same by lists, sums and variances, family by family."""
    small, crowded, by_family, uneven, still = limits
    found = []
    for begin, end in itertools.pairwise(families):
        groups, group = [], []
        for place in [*range(begin, end), None]:
            if place is not None and noisy[place] < small * noise:
                group.append(place)
                continue
            groups.append(group)
            group = []
        every = [noisy[k] for k in range(begin, end) if noisy[k] < small * noise]
        for members in filter(None, groups):
            tested = every if by_family else [noisy[k] for k in members]
            few = sum(tested) > crowded * noise * len(tested) ** 0.5
            if by_family and sum(tested) > 0 and len(tested) > 1:
                excess = (np.var(tested, ddof=1) / noise**2 - 1) * (len(tested) - 1)
                few |= bool(excess > uneven * (5 * len(tested)) ** 0.5)
            if not few:
                found.append((members[0], members[-1] + 1))
                continue
            below = [k for k in members if noisy[k] < still * noise]
            for k in below:
                if found and found[-1][1] == k and k - 1 in below:
                    found[-1] = (found[-1][0], k + 1)
                else:
                    found.append((k, k + 1))
    return found


def pairs(runs: tuple) -> list:
    return list(zip(*(ends.tolist() for ends in runs), strict=True))


@pytest.mark.parametrize(
    "rule",
    [
        (5.0, 3.0, False, NEVER, 0.0),
        (5.0, 3.0, True, NEVER, 0.0),
        (5.0, 3.0, True, 0.7, 2.0),
        (5.0, 9.0, True, 0.4, 1.0),
        (5.0, 3.0, False, 0.1, 2.0),
    ],
)
@pytest.mark.parametrize("seed", range(40))
def test_runs_are_those_of_the_recipe(seed: int, rule: tuple) -> None:
    g = np.random.default_rng(seed)
    lengths = g.integers(1, 9, g.integers(1, 6))
    families = np.concatenate([[0], np.cumsum(lengths)])
    noisy = g.integers(-12, 30, families[-1])
    found = pairs(small_runs(noisy, families, 3.0, rule))
    assert found == plain_runs(noisy.tolist(), families.tolist(), 3.0, rule)


def test_runs_never_cross_families_and_never_hold_what_is_not_small() -> None:
    noisy = np.array([1, 2, 3, 100, 1, -5, 1, 2])
    families = np.array([0, 3, 6, 8])
    found = pairs(small_runs(noisy, families, 1.0, (50.0, 1000.0, True, NEVER, 0.0)))
    assert found == [(0, 3), (4, 6), (6, 8)]


def test_a_crowded_run_keeps_only_what_is_below_zero() -> None:
    noisy = np.array([9, -1, -2, 9, 9, -3])
    found = pairs(small_runs(noisy, np.array([0, 6]), 1.0, (10.0, 1.0, False, NEVER, 0.0)))
    assert found == [(1, 3), (5, 6)]


def test_runs_of_a_family_are_crowded_together_or_each_by_itself() -> None:
    """Two short runs of 8 and −1 beside a large answer: each by itself is below 6 √2, both together
    are above 6 √4; another family has no say."""
    noisy, families = np.array([8, -1, 50, -1, 8, 0, 0]), np.array([0, 5, 7])
    alone = small_runs(noisy, families, 1.0, (10.0, 6.0, False, NEVER, 0.0))
    assert pairs(alone) == [(0, 2), (3, 5), (5, 7)]
    together = small_runs(noisy, families, 1.0, (10.0, 6.0, True, NEVER, 0.0))
    assert pairs(together) == [(1, 2), (3, 4), (5, 7)]
    at_the_threshold = small_runs(noisy, families, 1.0, (10.0, 7.0, True, NEVER, 0.0))
    assert pairs(at_the_threshold) == [(0, 2), (3, 5), (5, 7)]


def test_a_family_in_which_small_answers_differ_by_more_than_noise_is_split() -> None:
    """Four spikes of 4.5 σ among empty nodes stand out, though they sum to little; two do not, nor
    do even counts that sum to as much. Below zero together nothing is there, however they
    differ."""
    families, rule = np.array([0, 10]), (5.0, 8.0, True, 4.0, 2.0)
    spikes = np.array([0, 0, 45, 0, 0, 0, 0, 45, 0, 19])
    assert pairs(small_runs(spikes, families, 10.0, rule)) == [(0, 10)]
    spikes[4] = spikes[5] = 45
    assert pairs(small_runs(spikes, families, 10.0, rule)) == [(0, 2), (3, 4), (6, 7), (8, 10)]
    assert pairs(small_runs(np.full(10, 16), families, 10.0, rule)) == [(0, 10)]
    below = np.array([-90, -90, 40, 0, 0, 0, 0, 40, 0, 0])
    assert pairs(small_runs(below, families, 10.0, rule)) == [(0, 10)]


def test_what_is_still_small_is_so_at_both_its_sides() -> None:
    families, rule = np.array([0, 4]), (5.0, 1.0, True, NEVER, 2.0)
    assert pairs(small_runs(np.array([19, 40, 20, 40]), families, 10.0, rule)) == [(0, 1)]


def test_a_run_is_a_node_between_its_parent_and_its_members() -> None:
    # A root of four children; the first two are a run, the third is a run of one, the fourth has
    # two leaves.
    first = np.array([1, 5, 5, 5, 5, 7, 7, 7])
    noisy = np.array([0.0, 1.0, 3.0, 8.0, 20.0, 11.0, 12.0])
    levels = np.array([0, 1, 5, 7]), np.array([0.0, 1.0, 2.0])
    runs = np.array([1, 3]), np.array([3, 4]), np.array([6.0, 10.0]), np.array([4.0, 3.0])
    children, values, each, which = with_runs(first, noisy, *levels, *runs)
    assert which.tolist() == [0, -1, 3, 4, 1, 2, 5, 6]
    assert values.tolist() == [0.0, 6.0, 9.5, 20.0, 1.0, 3.0, 11.0, 12.0]
    assert each.tolist() == [0.0, 4.0, 4.0, 1.0, 1.0, 1.0, 2.0, 2.0]
    assert children.tolist() == [1, 4, 6, 6, 8, 8, 8, 8, 8]


@pytest.mark.parametrize("seed", range(10))
def test_least_squares_on_it_is_that_of_all_answers(seed: int) -> None:
    """Against dense normal equations over the leaves, answers of runs as rows of their own."""
    g = np.random.default_rng(seed)
    first = np.array([1, 6, 6, 6, 6, 6, 9, 9, 9, 9])  # five children, the last has three
    noisy, levels = g.normal(20, 5, 9), np.array([0.0, *g.uniform(0.5, 2, 2)])
    level_starts = np.array([0, 1, 6, 9])
    weights = np.repeat(levels, np.diff(level_starts))
    starts, stops = np.array([1, 4]), np.array([4, 5])
    pooled, w = g.normal(20, 5, 2), g.uniform(0.5, 2, 2)
    children, values, each, which = with_runs(
        first, noisy, level_starts, levels, starts, stops, pooled, w
    )
    leaves = [1, 2, 3, 4, 6, 7, 8]
    rows = {0: leaves, 5: [6, 7, 8], **{leaf: [leaf] for leaf in leaves}}
    sets = [rows[v] for v in range(9)] + [[1, 2, 3], [4]]
    matrix = np.array([[leaf in members for leaf in leaves] for members in sets], float)
    scale = np.sqrt(np.concatenate([weights, w]))
    right = scale * np.concatenate([noisy, pooled])
    expected = np.linalg.lstsq(scale[:, None] * matrix, right, rcond=None)[0]
    fitted = dict(zip(which.tolist(), fit(children, values, each), strict=True))
    np.testing.assert_allclose([fitted[leaf] for leaf in leaves], expected)


@pytest.mark.parametrize("seed", range(10))
def test_children_come_in_the_order_of_their_parents(seed: int) -> None:
    g = np.random.default_rng(seed)
    number = g.integers(0, 4, 12)
    first = 5 + np.cumsum(number) - number
    found, families = children_of(first, number)
    split = [range(a, a + n) for a, n in zip(first, number, strict=True) if n]
    assert found.tolist() == [child for family in split for child in family]
    assert np.split(found, families[1:-1])[0].tolist() == list(split[0])
    assert np.diff(families).tolist() == [len(family) for family in split]


def test_families_are_moved_alike_to_the_counts_of_their_parents() -> None:
    noisy = np.array([1, 5, 3, 2, 2])
    found = moved_to_parents(np.array([9.0, 4.0, 7.0]), np.array([0, 3, 3, 5]), noisy)
    assert found.tolist() == [1, 5, 3, 3.5, 3.5]


def test_cells_share_a_total_evenly_and_others_stay() -> None:
    starts, stops = np.array([4, 0]), np.array([6, 3])
    cells = np.full(8, -1.0)
    spread_evenly(starts, stops, np.array([5.0, 6.0]), cells)
    assert cells.tolist() == [2, 2, 2, -1, 2.5, 2.5, -1, -1]


def test_leaves_above_the_last_level_share_their_counts_and_others_are_cells() -> None:
    # A root of two nodes of three cells; the first was pooled, the second has three leaves.
    children, which = np.array([1, 3, 3, 6, 6, 6, 6]), np.array([0, 1, 2, 3, 4, 5])
    bounds, last = (np.array([0, 0, 3]), np.array([6, 3, 6])), np.array([3, 4, 5])
    cells = np.zeros(6)
    spread_leaves(children, which, np.array([9.0, 6.0, 3.0, 0.5, 1.0, 1.5]), bounds, last, cells)
    assert cells.tolist() == [2, 2, 2, 0.5, 1, 1.5]
