"""Moves keep every margin, and lead to the law of all lists of rows with these margins."""

from __future__ import annotations

import itertools
import math

import numpy as np

from trueup._kernels.rows.moves import free_sets, walked


def test_free_sets_are_the_smallest_in_no_margin() -> None:
    pairs = [frozenset(each) for each in ((0, 1), (1, 2), (0, 2))]
    assert free_sets(3, pairs) == [(0, 1, 2)]
    assert free_sets(3, [frozenset((0, 1)), frozenset((2,))]) == [(0, 2), (1, 2)]


def test_moves_keep_every_margin_and_no_count_is_negative() -> None:
    rng = np.random.default_rng(1)
    for shape in ((2, 3, 4), (5, 1, 2), (3, 3, 2, 2)):
        counts = rng.integers(0, 9, shape)
        axes = range(len(shape))
        pairs = list(itertools.combinations(axes, 2))
        free = free_sets(len(shape), [frozenset(pair) for pair in pairs])
        found = walked(counts, free, 60, rng)
        assert found.min() >= 0
        assert 1 in shape or (found != counts).any()
        for pair in pairs:
            rest = tuple(set(axes) - set(pair))
            assert (found.sum(axis=rest) == counts.sum(axis=rest)).all()


def test_the_walk_has_the_law_of_all_lists_of_rows() -> None:
    # A 2 × 2 × 2 table with given pairs has one degree of freedom: its law is written out.
    start = np.array([[[2, 1], [0, 2]], [[1, 2], [3, 0]]])
    signs = np.array([[[1, -1], [-1, 1]], [[-1, 1], [1, -1]]])
    tables = [start + k * signs for k in range(-9, 10) if (start + k * signs).min() >= 0]
    weights = np.array(
        [1 / math.prod(math.factorial(n) for n in t.ravel().tolist()) for t in tables]
    )
    law = weights / weights.sum()
    # 4,000 such tables at once: an axis that all margins hold.
    draws = 4_000
    found = walked(np.repeat(start[..., None], draws, 3), [(0, 1, 2)], 80, np.random.default_rng(5))
    seen = np.array([(found == each[..., None]).all(axis=(0, 1, 2)).sum() for each in tables])
    assert seen.sum() == draws
    chi = ((seen - draws * law) ** 2 / (draws * law)).sum()
    assert chi < 3 * len(tables) + 12
