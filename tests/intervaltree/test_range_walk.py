"""Variances of the same ranges under many weights, against the walk of one tree at a time."""

from __future__ import annotations

import numpy as np
import pytest

from trueup.intervaltree import IntervalTree
from trueup.intervaltree.range_walk import RangeWalk
from trueup.intervaltree.variance import TreeVariance


@pytest.mark.parametrize("seed", range(30))
def test_variances_are_those_of_the_tree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    radices = rng.integers(2, 6, int(rng.integers(1, 5))).tolist()
    size = int(rng.integers(1, np.prod(radices) + 1))
    shape = IntervalTree.regular(size, radices)
    ends = np.sort(rng.integers(0, size + 1, (2, 50)), axis=0)
    starts, stops = np.append(ends[:, ends[0] < ends[1]], [[0], [size]], axis=1)
    walk = RangeWalk.of(shape, starts, stops)
    for _ in range(3):
        weights = rng.uniform(0, 2, shape.height) * rng.integers(0, 2, shape.height)
        weights[-1] = 0.3
        exact = TreeVariance(shape, weights.tolist()).range_variances(starts, stops)
        np.testing.assert_allclose(walk.variances(weights.tolist()), exact, rtol=1e-11, atol=1e-12)


def test_a_root_alone_has_its_own_variance() -> None:
    walk = RangeWalk.of(IntervalTree(1, widths=(1,)), np.array([0]), np.array([1]))
    assert walk.variances([4.0]).tolist() == [0.25]
