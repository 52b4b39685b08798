from __future__ import annotations

import numpy as np

from trueup.intervaltree.coefficients import TreeCoefficients
from trueup.intervaltree.variance import TreeVariance


def random_combination(size: int, seed: int) -> tuple[list[int], np.ndarray]:
    generator = np.random.default_rng(seed)
    inner = set(generator.integers(0, size + 1, generator.integers(1, 5)).tolist()) - {0, size}
    cuts = [0, *sorted(inner), size]
    return cuts, generator.choice([0.0, 1.0, 1.0, -1.0, 0.3], len(cuts) - 1)


def test_coefficients_are_those_of_weighted_least_squares(tree):
    rows, levels = tree.rows()
    weights = np.array(tree.weights)[levels]
    covariance = tree.covariance()
    for seed in range(3):
        cuts, values = random_combination(tree.size, seed)
        expected = weights * (rows @ (covariance @ np.repeat(values, np.diff(cuts))))
        for shape in (tree.shape, tree.irregular):
            classes = TreeCoefficients(TreeVariance(shape, tree.weights)).classes(cuts, values)
            for level in range(len(tree.widths)):
                at = classes[1] == level
                found = np.repeat(classes[0][at], classes[2][at].astype(int))
                nodes = expected[levels == level]
                found = np.concatenate([found, np.zeros(len(nodes) - len(found))])
                np.testing.assert_allclose(np.sort(found), np.sort(nodes), rtol=1e-8, atol=1e-12)


def test_squared_coefficients_add_up_to_the_variance(tree):
    known = TreeVariance(tree.shape, tree.weights)
    start, stop = tree.size // 3, max(tree.size // 3 + 1, tree.size - 1)
    cuts = sorted({0, start, stop, tree.size})
    values = [float(start <= cut < stop) for cut in cuts[:-1]]
    coefficients, levels, counts = TreeCoefficients(known).classes(cuts, values)
    variance = (counts * coefficients**2 / np.array(tree.weights)[levels]).sum()
    np.testing.assert_allclose(variance, known.range_variances(start, stop), rtol=1e-9)
