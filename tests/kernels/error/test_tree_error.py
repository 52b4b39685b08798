from __future__ import annotations

import numpy as np
import pytest

from trueup._kernels.error.tree_error import mean_over_prefixes, mean_over_ranges


def test_means_equal_dense_linear_algebra(tree):
    dense = tree.range_variances()
    i, j = np.triu_indices(tree.size + 1, 1)
    means = (
        mean_over_ranges(tree.size, tree.widths, tree.weights),
        mean_over_prefixes(tree.size, tree.widths, tree.weights),
    )
    assert means == pytest.approx((dense[i, j].mean(), dense[0, 1:].mean()), rel=1e-9)


@pytest.mark.parametrize(
    ("size", "radices", "expected"),
    [(1024, (2,) * 10, 477), (4096, (2,) * 12, 778), (65536, (2,) * 16, 1717)],
)
def test_the_papers_tree_has_its_known_error(size, radices, expected):
    widths = np.cumprod([1, *radices])[::-1].tolist()
    height = len(widths)
    found = mean_over_ranges(size, widths, [1 / (2 * height**2)] * height)
    assert found == pytest.approx(expected, abs=0.5)


def test_flat_counts_cost_two_a_cell():
    size = 1 << 24
    assert mean_over_ranges(size, (size, 1), (0, 0.5)) == pytest.approx(2 * (size + 2) / 3)
    assert mean_over_prefixes(size, (size, 1), (0, 0.5)) == pytest.approx(size + 1)
