from __future__ import annotations

import numpy as np
import pytest

from trueup._kernels.error.fewest_nodes import FewestNodes


def by_walking(tree, variances) -> np.ndarray:
    """Entry [i, j]: the variances of the nodes that answer [i, j), from the root down."""

    def cost(level: int, start: int, stop: int, i: int, j: int) -> float:
        if j <= start or i >= stop:
            return 0.0
        parts = []
        if level + 1 < len(tree.widths):
            narrow = tree.widths[level + 1]
            children = [(c, min(c + narrow, stop)) for c in range(start, stop, narrow)]
            parts = [(level + 1, *child, i, j) for child in children]
        if i <= start and stop <= j and np.isfinite(variances[level]):
            own = variances[level]
            return min(own, cost(*parts[0])) if len(parts) == 1 else own
        return sum(cost(*part) for part in parts)

    n = tree.size
    return np.array([[cost(0, 0, n, i, j) for j in range(n + 1)] for i in range(n + 1)])


def test_all_figures_equal_a_walk_down_the_tree(small_tree):
    tree = small_tree
    variances = [1 / w if w else np.inf for w in tree.weights]
    expected = by_walking(tree, variances)
    found = FewestNodes(tree.size, tree.widths, variances)
    i, j = np.triu_indices(tree.size + 1, 1)
    np.testing.assert_allclose(found.range_variances(i, j), expected[i, j], rtol=1e-9, atol=1e-12)
    assert found.mean_over_ranges() == pytest.approx(expected[i, j].mean(), rel=1e-9)
    assert found.mean_over_prefixes() == pytest.approx(expected[0, 1:].mean(), rel=1e-9)
    assert found.worst_range() == pytest.approx(expected.max(), rel=1e-9)
    lengths = np.arange(1, tree.size + 1)
    by_length = [np.diag(expected, m).mean() for m in lengths]
    np.testing.assert_allclose(found.mean_by_length(lengths), by_length, rtol=1e-9)


def test_the_papers_tree_without_inference_has_its_known_error():
    widths = [1 << i for i in range(12, -1, -1)]
    found = FewestNodes(4096, widths, [2 * 13**2] * 13)
    assert found.mean_over_ranges() == pytest.approx(3381, abs=0.5)
