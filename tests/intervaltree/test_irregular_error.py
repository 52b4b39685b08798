from __future__ import annotations

import numpy as np
import pytest

from trueup.intervaltree import IntervalTree, irregular_error
from trueup.intervaltree.variance import TreeVariance


def test_means_equal_dense_linear_algebra(tree):
    dense = tree.range_variances()
    known = TreeVariance(tree.irregular, tree.weights)
    i, j = np.triu_indices(tree.size + 1, 1)
    assert irregular_error.mean_over_ranges(known) == pytest.approx(dense[i, j].mean(), rel=1e-9)
    assert irregular_error.mean_over_prefixes(known) == pytest.approx(dense[0, 1:].mean(), rel=1e-9)
    lengths = sorted({1, (tree.size + 1) // 2, tree.size})
    expected = [np.diag(dense, m).mean() for m in lengths]
    np.testing.assert_allclose(irregular_error.mean_by_length(known, lengths), expected, rtol=1e-9)
    assert irregular_error.worst_range(known) == pytest.approx(dense.max(), rel=1e-9)


def test_climbing_finds_the_worst_range_of_a_large_tree():
    from trueup.intervaltree.worst_range import worst_range

    shape = IntervalTree.regular(2000, (20, 10, 10))
    weights = (0.0, 0.1, 0.2, 0.3)
    cuts = tuple(np.arange(0, 2000, width) for width in shape.widths)
    climbed = irregular_error.worst_range(TreeVariance(IntervalTree(2000, cuts=cuts), weights))
    assert climbed == pytest.approx(worst_range(TreeVariance(shape, weights)), rel=1e-6)
