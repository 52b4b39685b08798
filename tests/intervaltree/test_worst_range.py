from __future__ import annotations

import numpy as np
import pytest

from trueup.intervaltree import IntervalTree
from trueup.intervaltree.variance import TreeVariance
from trueup.intervaltree.worst_range import worst_range


def test_worst_equals_the_largest_of_all_ranges(tree):
    worst = worst_range(TreeVariance(tree.shape, tree.weights))
    assert worst == pytest.approx(tree.range_variances().max(), rel=1e-9)


@pytest.mark.parametrize("radices", [(16, 16, 16), (2,) * 12, (7, 24, 25)])
def test_no_sampled_range_is_worse(radices):
    tree = TreeVariance(IntervalTree.regular(4000, radices), [0.5] * (len(radices) + 1))
    ends = np.random.default_rng(1).integers(0, 4001, (2, 100_000))
    sampled = tree.range_variances(ends.min(axis=0), ends.max(axis=0)).max()
    assert sampled <= worst_range(tree) * (1 + 1e-12)
