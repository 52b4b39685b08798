"""Unions on trees of any shape, against dense least squares."""

from __future__ import annotations

import numpy as np
import pytest

from trueup.intervaltree import IntervalTree
from trueup.intervaltree.unions import TreeUnions


def random_tree(draws: np.random.Generator) -> tuple[IntervalTree, tuple[float, ...]]:
    """A tree of uneven fan-outs; some of its levels, but never the cells, are not asked."""
    size = int(draws.integers(1, 60))
    cuts = [np.arange(size)]
    for _ in range(int(draws.integers(0, 4))):
        kept = np.r_[True, draws.random(len(cuts[0]) - 1) < 0.4]
        cuts.insert(0, cuts[0][kept])
    weights = draws.choice([0.0, 0.3, 1.0, 2.5], size=len(cuts) + 1)
    weights[-1] = draws.choice([0.5, 1.0, 3.0])
    return IntervalTree.irregular(size, cuts), tuple(weights.tolist())


def dense(shape: IntervalTree, weights: tuple[float, ...], values: np.ndarray) -> list[np.ndarray]:
    """The coefficients of every level, from the normal equations."""
    rows, levels = [], []
    for level in range(shape.height):
        for start, stop in zip(shape.starts(level), shape.stops(level), strict=True):
            row = np.zeros(shape.size)
            row[start:stop] = 1
            rows.append(row)
            levels.append(level)
    A, W = np.array(rows), np.array(weights)[levels]
    found = np.linalg.solve(A.T @ (W[:, None] * A), values) @ (A.T * W)
    return [found[np.array(levels) == level] for level in range(shape.height)]


@pytest.mark.parametrize("seed", range(60))
def test_coefficients_and_their_squares_are_those_of_dense_least_squares(seed: int) -> None:
    draws = np.random.default_rng(seed)
    shape, weights = random_tree(draws)
    values = draws.choice([0.0, 1.0] if seed % 2 else [0.0, 1.0, -1.5], size=shape.size)
    first = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
    cuts, steps = np.r_[first, shape.size].tolist(), values[first].tolist()
    wanted = dense(shape, weights, values)
    unions = TreeUnions(shape, weights)
    np.testing.assert_allclose(
        unions.squares(cuts, steps), [(each**2).sum() for each in wanted], atol=1e-12
    )
    for (sizes, often), each in zip(unions.classes(cuts, steps), wanted, strict=True):
        found = np.sort(np.repeat(sizes, often.astype(int)))
        np.testing.assert_allclose(found, np.sort(each), atol=1e-12)


def test_a_variance_looks_at_touched_nodes_and_their_children_alone() -> None:
    size, group = 1 << 16, 1 << 8
    shape = IntervalTree.irregular(size, [np.arange(0, size, group), np.arange(size)])
    unions = TreeUnions(shape, (1.0, 1.0, 1.0))
    families, _ = unions._rise(np.array([0, 5, 6, size]), np.array([0.0, 1.0, 0.0]))
    assert [len(family.nodes) for family in families] == [1, 1]
    assert sum(len(family.children) for family in families) == 2 * group
