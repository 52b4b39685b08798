from __future__ import annotations

import numpy as np

from trueup._kernels.error.tree_error import mean_over_ranges
from trueup.intervaltree import IntervalTree
from trueup.intervaltree.length_error import mean_by_length
from trueup.intervaltree.variance import TreeVariance


def test_every_length_equals_dense_linear_algebra(tree):
    dense = tree.range_variances()
    expected = [np.diag(dense, m).mean() for m in range(1, tree.size + 1)]
    lengths = np.arange(1, tree.size + 1)
    found = mean_by_length(TreeVariance(tree.shape, tree.weights), lengths)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_lengths_together_are_all_ranges():
    size, widths, weights = 5000, (9216, 512, 32, 4, 1), (0.1, 0.0, 0.3, 0.2, 0.7)
    lengths = np.arange(1, size + 1)
    places = size - lengths + 1
    by_length = mean_by_length(TreeVariance(IntervalTree(size, widths=widths), weights), lengths)
    together = (by_length * places).sum() / places.sum()
    np.testing.assert_allclose(together, mean_over_ranges(size, widths, weights), rtol=1e-10)
