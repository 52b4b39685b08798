from __future__ import annotations

import numpy as np

from trueup.intervaltree.variance import TreeVariance


def test_every_range_equals_dense_linear_algebra(tree):
    dense = tree.range_variances()
    i, j = np.triu_indices(tree.size + 1)
    for shape in (tree.shape, tree.irregular):
        found = TreeVariance(shape, tree.weights).range_variances(i, j)
        np.testing.assert_allclose(found, dense[i, j], rtol=1e-9, atol=1e-12)


def test_ranges_of_a_huge_tree_cost_only_its_height():
    from trueup.intervaltree import IntervalTree

    tree = TreeVariance(IntervalTree.regular(1 << 40, (2,) * 40), [0.5] * 41)
    found = tree.range_variances([0, 5, 0], [1, 1 << 39, 1 << 40])
    assert (found > 0).all()
    # A tree that tall: a cell's variance has converged to the fixed point of the recursion.
    small = TreeVariance(IntervalTree.regular(1 << 20, (2,) * 20), [0.5] * 21)
    np.testing.assert_allclose(found[0], small.range_variances(0, 1), rtol=1e-6)
