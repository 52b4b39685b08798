"""The exact non-negative solver against nnls and its optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from trueup._kernels.display.nonnegative import (
    ROUNDS,
    leaves_of,
    node_sums,
    nonnegative_leaves,
    optimality_residual,
)

from .irregular_trees import random_tree


def incidence(first):
    """Node by leaf, 1 where the leaf lies under the node."""
    nodes, leaves = len(first) - 1, leaves_of(first)
    under = np.zeros((nodes, len(leaves)))
    under[leaves, np.arange(len(leaves))] = 1
    for v in range(nodes - 1, -1, -1):
        under[v] += under[first[v] : first[v + 1]].sum(axis=0)
    return under


def regular(branching, height):
    nodes = (branching**height - 1) // (branching - 1)
    return np.minimum(1 + branching * np.arange(nodes + 1, dtype=np.int64), nodes)


def permuted(first, rng):
    """The tree with every node's children shuffled, and the old node of each new one."""
    old = [0]
    fans = []
    for v in old:
        children = rng.permutation(np.arange(first[v], first[v + 1]))
        fans.append(len(children))
        old.extend(children.tolist())
    return np.concatenate([[1], 1 + np.cumsum(fans)]).astype(np.int64), np.array(old)


def noisy_tree(rng, **shape):
    first = random_tree(rng, **shape)
    nodes = len(first) - 1
    truth = rng.integers(0, 20, len(leaves_of(first))) * (rng.random() < 0.8)
    y = node_sums(first, truth.astype(float)) + rng.laplace(0, 10 ** rng.uniform(-1, 2), nodes)
    w = 10 ** rng.uniform(-2, 2, nodes)
    inner = np.diff(first) > 0
    w[inner & (rng.random(nodes) < 0.3)] = 0
    return first, y, w


def test_exact_solver_equals_nnls_on_irregular_weighted_trees():
    rng = np.random.default_rng(7)
    for number in range(2_000):
        first, y, w = noisy_tree(rng, even=number % 2 == 0)
        found, _ = nonnegative_leaves(first, y, w)
        root = np.sqrt(w)
        expected, _ = nnls(root[:, None] * incidence(first), root * y, maxiter=1_000)
        assert np.abs(found - expected).max() <= 1e-9 * max(1, np.abs(y).max())


def test_fallback_equals_the_rounds():
    rng = np.random.default_rng(8)
    for number in range(500):
        first, y, w = noisy_tree(rng, even=number % 2 == 0)
        total = np.nan if number % 3 else abs(y[0])
        by_rounds, _ = nonnegative_leaves(first, y, w, total)
        by_breakpoints, _ = nonnegative_leaves(first, y, w, total, rounds=1)
        np.testing.assert_allclose(by_breakpoints, by_rounds, atol=1e-9 * np.abs(y).max())


def test_pinned_total_is_the_limit_of_a_heavy_root():
    rng = np.random.default_rng(9)
    for _ in range(200):
        first, y, w = noisy_tree(rng)
        total = abs(y[0])
        found, _ = nonnegative_leaves(first, y, w, total)
        assert found.sum() == pytest.approx(total, rel=1e-12)
        assert found.min() >= 0
        assert optimality_residual(first, y, w, found, total) <= 1e-12
        y[0], w[0] = total, 1e9 * w[w > 0].max()
        heavy, _ = nnls(np.sqrt(w)[:, None] * incidence(first), np.sqrt(w) * y, maxiter=1_000)
        np.testing.assert_allclose(found, heavy, atol=1e-5 * np.abs(y).max())


def test_a_total_of_zero_empties_every_leaf():
    first = regular(3, 4)
    rng = np.random.default_rng(3)
    y = rng.normal(size=len(first) - 1)
    found, _ = nonnegative_leaves(first, y, np.ones(len(y)), 0.0)
    assert not found.any()


@pytest.mark.parametrize(("branching", "height"), [(2, 19), (16, 5), (7, 7)])
def test_kkt_holds_on_large_trees(branching, height):
    first = regular(branching, height)
    rng = np.random.default_rng(branching)
    truth = np.floor(np.exp(rng.normal(0, 2, branching ** (height - 1))))
    truth *= rng.random(len(truth)) < 0.3
    y = node_sums(first, truth) + rng.laplace(0, 10 * height, len(first) - 1)
    w = rng.uniform(0.1, 10, len(y))
    found, rounds = nonnegative_leaves(first, y, w)
    assert rounds <= ROUNDS
    assert optimality_residual(first, y, w, found, np.nan) <= 1e-8


def test_certificate_rejects_what_is_not_optimal():
    first = regular(2, 6)
    rng = np.random.default_rng(4)
    y, w = rng.normal(0, 5, len(first) - 1), np.ones(len(first) - 1)
    found, _ = nonnegative_leaves(first, y, w)
    assert optimality_residual(first, y, w, found, np.nan) <= 1e-14
    for leaf in range(len(found)):
        for move in (1e-3, -1e-3):
            moved = found.copy()
            moved[leaf] += move
            assert optimality_residual(first, y, w, moved, np.nan) > 1e-6
    clipped = np.maximum(y[leaves_of(first)], 0)
    assert optimality_residual(first, y, w, clipped, np.nan) > 1e-2


@pytest.mark.parametrize("ratio", [3.0, 8.0, 100.0])
def test_geometric_inputs_end_by_the_fallback(ratio):
    """Each round drops a leaf or two only, so the rounds alone would be about n of them."""
    leaves = int(250 / np.log10(ratio))
    first = np.concatenate([[1], np.full(leaves + 1, leaves + 1)]).astype(np.int64)
    y = np.concatenate([[1.0], -(ratio ** np.arange(leaves))])
    w = np.ones(len(y))
    w[0] = 1e6
    for total in (np.nan, 1.0):
        _, needed = nonnegative_leaves(first, y, w, total, rounds=10_000)
        found, rounds = nonnegative_leaves(first, y, w, total)
        assert rounds == ROUNDS + 1 < needed
        assert optimality_residual(first, y, w, found, total) <= 1e-8


def test_geometric_inputs_on_a_large_tree_end_by_the_fallback():
    height = 16
    first = regular(2, height)
    n = 2 ** (height - 1)
    y = np.zeros(len(first) - 1)
    y[0] = 1.0
    y[leaves_of(first)] = -(1.02 ** np.arange(n).clip(max=30_000))
    w = np.full(len(y), 1e-3)
    w[0] = 1e9
    found, rounds = nonnegative_leaves(first, y, w)
    assert rounds == ROUNDS + 1
    assert optimality_residual(first, y, w, found, np.nan) <= 1e-8


def test_exact_solver_is_idempotent():
    rng = np.random.default_rng(11)
    for _ in range(100):
        first, y, w = noisy_tree(rng)
        found, _ = nonnegative_leaves(first, y, w)
        again, _ = nonnegative_leaves(first, node_sums(first, found), w)
        np.testing.assert_allclose(again, found, atol=1e-12 * max(1, np.abs(y).max()))


def test_permuting_subtrees_permutes_the_answer():
    rng = np.random.default_rng(12)
    for _ in range(200):
        first, y, w = noisy_tree(rng)
        shuffled, old = permuted(first, rng)
        whole = node_sums(first, nonnegative_leaves(first, y, w)[0])
        moved = node_sums(shuffled, nonnegative_leaves(shuffled, y[old], w[old])[0])
        np.testing.assert_allclose(moved, whole[old], atol=1e-11 * max(1, np.abs(y).max()))


def test_arrays_given_are_left_alone_even_if_frozen():
    rng = np.random.default_rng(13)
    first, y, w = noisy_tree(rng)
    kept = first.copy(), y.copy(), w.copy()
    for array in (first, y, w):
        array.setflags(write=False)
    nonnegative_leaves(first, y, w)
    for array, copy in zip((first, y, w), kept, strict=True):
        assert np.array_equal(array, copy)
