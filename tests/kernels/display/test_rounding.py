"""Whole numbers that add up, against brute force over all roundings."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup._kernels.display.nonnegative import leaves_of, node_sums
from trueup._kernels.display.rounding import whole_numbers


def random_tree(rng, most=4, height=4):
    fans, level = [], 1
    for _ in range(rng.integers(1, height + 1)):
        fans.append(rng.integers(1, most + 1, level))
        level = int(fans[-1].sum())
    fans.append(np.zeros(level, np.int64))
    return np.concatenate([[1], 1 + np.cumsum(np.concatenate(fans))]).astype(np.int64)


def flat(k):
    return np.concatenate([[1], np.full(k + 1, k + 1)]).astype(np.int64)


def assert_adds_up(first, whole):
    for v in np.flatnonzero(np.diff(first)):
        assert whole[v] == whole[first[v] : first[v + 1]].sum()


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_every_node_is_within_one_and_children_sum_to_parent(seed, nonnegative):
    rng = np.random.default_rng(seed)
    first = random_tree(rng, most=rng.choice([3, 100]), height=3)
    leaves = rng.normal(0 if not nonnegative else 2, 3, len(leaves_of(first)))
    if nonnegative:
        leaves = np.maximum(leaves, 0)
    values = node_sums(first, leaves)
    for total in (np.floor(values[0]), np.ceil(values[0])):
        whole = whole_numbers(first, values, int(total), nonnegative)
        assert whole.dtype == np.int64
        assert whole[0] == total
        assert_adds_up(first, whole)
        assert (np.abs(whole - values) < 1 + 1e-9).all()
        if nonnegative:
            assert whole.min() >= 0


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_consistent_whole_numbers_are_left_alone(seed):
    rng = np.random.default_rng(seed)
    first = random_tree(rng)
    values = node_sums(first, rng.integers(-9, 10**12, len(leaves_of(first))).astype(float))
    blurred = values * (1 + 1e-14 * rng.normal(size=len(values)))
    for given_values in (values, blurred):
        whole = whole_numbers(first, given_values, int(values[0]), False)
        assert np.array_equal(whole, values)
        assert np.array_equal(whole_numbers(first, whole.astype(float), whole[0], False), whole)


def test_one_family_is_rounded_to_the_nearest_whole_family():
    rng = np.random.default_rng(5)
    for _ in range(200):
        k = rng.integers(1, 6)
        children = rng.exponential(1.5, k)
        total = round(children.sum())
        values = np.concatenate([[children.sum()], children])
        whole = whole_numbers(flat(k), values, total, True)[1:]
        best = min(
            ((np.array(tried) - children) ** 2).sum()
            for tried in itertools.product(range(total + 1), repeat=k)
            if sum(tried) == total
        )
        assert ((whole - children) ** 2).sum() <= best + 1e-9


def test_ties_go_to_the_earlier_child():
    values = np.array([2.0, 0.5, 0.5, 0.5, 0.5])
    assert whole_numbers(flat(4), values, 2, True).tolist() == [2, 1, 1, 0, 0]
    many = np.concatenate([[50.0], np.full(100, 0.5)])
    assert whole_numbers(flat(100), many, 50, True)[1:].tolist() == [1] * 50 + [0] * 50


def test_a_total_far_off_is_still_met_without_negative_counts():
    rng = np.random.default_rng(6)
    for total in (0, 1, 7, 10**6):
        for _ in range(50):
            first = random_tree(rng)
            values = node_sums(first, rng.exponential(5, len(leaves_of(first))))
            whole = whole_numbers(first, values, total, True)
            assert whole[0] == total
            assert whole.min() >= 0
            assert_adds_up(first, whole)


def test_moving_subtrees_moves_their_whole_numbers():
    rng = np.random.default_rng(7)
    for _ in range(100):
        first = random_tree(rng)
        values = node_sums(first, rng.exponential(3, len(leaves_of(first))))
        old, fans = [0], []
        for v in old:
            children = rng.permutation(np.arange(first[v], first[v + 1]))
            fans.append(len(children))
            old.extend(children.tolist())
        shuffled = np.concatenate([[1], 1 + np.cumsum(fans)]).astype(np.int64)
        total = round(values[0])
        whole = whole_numbers(first, values, total, True)
        assert np.array_equal(whole_numbers(shuffled, values[old], total, True), whole[old])
