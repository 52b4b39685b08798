from __future__ import annotations

import numpy as np
import pytest

from trueup._kernels.tree.haar import cells_from, coefficients, differences, tree_weights, widths_of
from trueup.intervaltree import IntervalTree
from trueup.intervaltree.variance import TreeVariance

SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 17, 33, 37, 64, 100, 127, 129, 256]


def matrix(size):
    """The wavelet written out, and the block of each row."""
    rows = [differences(cell) for cell in np.eye(size, dtype=np.int64)]
    blocks = np.repeat(np.arange(len(rows[0])), [len(part) for part in rows[0]])
    return np.array([np.concatenate(row) for row in rows]).T, blocks


@pytest.mark.parametrize("size", SIZES)
def test_there_and_back(size):
    counts = np.random.default_rng(size).integers(0, 1000, size)
    levels = differences(counts)
    assert levels[0] == counts.sum()
    assert sum(map(len, levels)) == size
    np.testing.assert_array_equal(cells_from(size, levels), counts)


@pytest.mark.parametrize("size", SIZES)
def test_the_tree_is_as_informative_as_the_wavelet(size):
    generator = np.random.default_rng(size)
    weights = generator.uniform(0.1, 3, len(widths_of(size)))
    rows, blocks = matrix(size)
    covariance = np.linalg.inv(rows.T @ (weights[blocks][:, None] * rows))
    prefix = np.vstack([np.zeros(size), np.tril(np.ones((size, size)))])
    i, j = np.triu_indices(size + 1, 1)
    ranges = prefix[j] - prefix[i]
    expected = np.sum((ranges @ covariance) * ranges, axis=1)
    tree = TreeVariance(IntervalTree(size, widths=widths_of(size)), tree_weights(size, weights))
    np.testing.assert_allclose(tree.range_variances(i, j), expected, rtol=1e-9)


@pytest.mark.parametrize("size", SIZES)
def test_coefficients_are_rows_of_the_inverse(size):
    generator = np.random.default_rng(size)
    rows, blocks = matrix(size)
    inverse = np.linalg.inv(rows)
    for _ in range(5):
        inner = set(generator.integers(0, size + 1, 3).tolist()) - {0, size}
        cuts = [0, *sorted(inner), size]
        values = generator.choice([0.0, 1.0, -0.5], len(cuts) - 1).tolist()
        expected = np.repeat(values, np.diff(cuts)) @ inverse
        found = coefficients(size, cuts, values)
        for block in range(blocks.max() + 1):
            mine = sorted(c for b, c in found if b == block and c)
            theirs = sorted(expected[(blocks == block) & (np.abs(expected) > 1e-12)])
            assert mine == pytest.approx(theirs)
