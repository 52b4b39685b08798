"""Laws of least squares on any tree, for each way to fit: dense weighted least squares."""

from __future__ import annotations

import numpy as np
import pytest

from trueup.intervaltree import IntervalTree


def membership(shape):
    """One row a node, breadth first; 1 where the node holds the cell."""
    cells = np.arange(shape.size)
    rows = [
        (cells >= a) & (cells < b)
        for level in range(shape.height)
        for a, b in zip(shape.starts(level), shape.stops(level), strict=True)
    ]
    return np.array(rows, float)


def dense(matrix, noisy, weights):
    root = np.sqrt(weights)
    leaves, *_ = np.linalg.lstsq(matrix * root[:, None], noisy * root, rcond=None)
    return matrix @ leaves


def shapes(rng):
    for radices in ((2, 2, 2, 2), (3, 3, 3), (16, 2), (2, 7), (20,), (2,) * 6):
        reach = int(np.prod(radices))
        for size in {1, 2, reach // 2 + 1, reach - 1, reach}:
            yield IntervalTree.regular(size, radices)
    for size in (1, 5, 40):
        for height in (2, 3, 6):
            cuts, levels = {0}, []
            for _ in range(height - 2):
                cuts |= set(rng.choice(size, rng.integers(0, size + 1), replace=False).tolist())
                levels.append(np.array(sorted(cuts)))
            yield IntervalTree.irregular(size, [*levels, np.arange(size)])


def test_the_fit_is_dense_weighted_least_squares(fit):
    rng = np.random.default_rng(1)
    for shape in shapes(rng):
        matrix = membership(shape)
        noisy = rng.normal(100, 50, len(matrix))
        for spread in (0, 1, 4):
            weights = 10 ** rng.uniform(-spread, spread, len(matrix))
            expected = dense(matrix, noisy, weights)
            off = np.abs(fit(shape.first, noisy, weights) - expected).max()
            assert off <= 1e-9 * np.abs(np.cumsum(expected[-shape.size :])).max()


def test_nodes_that_were_not_asked_do_not_count(fit):
    rng = np.random.default_rng(2)
    for shape in shapes(rng):
        matrix = membership(shape)
        noisy = rng.normal(100, 50, len(matrix))
        weights = 10 ** rng.uniform(-1, 1, len(matrix))
        weights[: -shape.size][rng.random(len(matrix) - shape.size) < 0.5] = 0
        expected = dense(matrix, noisy, weights)
        found = fit(shape.first, noisy, weights)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).sum())
        unasked = np.where(weights == 0, np.nan, noisy)
        again = fit(shape.first, np.nan_to_num(unasked, nan=-1e6), weights)
        np.testing.assert_allclose(again, found, rtol=0, atol=1e-6)


def test_children_sum_to_parent(fit):
    rng = np.random.default_rng(3)
    for shape in shapes(rng):
        noisy = rng.normal(0, 1e6, shape.level_starts[-1])
        found = fit(shape.first, noisy, 10 ** rng.uniform(-2, 2, len(noisy)))
        np.testing.assert_allclose(found, membership(shape) @ found[-shape.size :], atol=1e-6)


def test_consistent_counts_stay_as_they_are(fit):
    rng = np.random.default_rng(4)
    for shape in shapes(rng):
        truth = membership(shape) @ rng.integers(0, 1000, shape.size)
        found = fit(shape.first, truth, np.ones(len(truth)))
        np.testing.assert_allclose(found, truth, rtol=1e-12, atol=1e-9)


def test_the_paper_s_recurrence_is_the_case_of_equal_weights(fit):
    # §4.1: z[v] = ((k^l − k^(l−1)) h̃[v] + (k^(l−1) − 1) Σ z[u]) / (k^l − 1), then from the root
    # h̄[v] = z[v] + (h̄[u] − Σ z[w]) / k, with l the height of v (leaves 1) and u its parent.
    rng = np.random.default_rng(5)
    for k, height in ((2, 5), (3, 4), (5, 3)):
        shape = IntervalTree.regular(k ** (height - 1), (k,) * (height - 1))
        noisy = rng.normal(10, 30, shape.level_starts[-1])
        z = noisy.copy()
        for level in reversed(range(height - 1)):
            tall = height - level
            for v in range(shape.level_starts[level], shape.level_starts[level + 1]):
                below = z[shape.first[v] : shape.first[v + 1]].sum()
                own = (k**tall - k ** (tall - 1)) / (k**tall - 1)
                z[v] = own * noisy[v] + (k ** (tall - 1) - 1) / (k**tall - 1) * below
        inferred = z.copy()
        for v in range(shape.level_starts[-2]):
            children = slice(shape.first[v], shape.first[v + 1])
            inferred[children] = z[children] + (inferred[v] - z[children].sum()) / k
        found = fit(shape.first, noisy, np.full(len(noisy), 7.0))
        np.testing.assert_allclose(found, inferred, rtol=0, atol=1e-10)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_weights_of_any_size_are_only_relative(scale, fit):
    rng = np.random.default_rng(6)
    shape = IntervalTree.regular(27, (3, 3, 3))
    noisy, weights = rng.normal(0, 9, 40), rng.uniform(1, 2, 40)
    np.testing.assert_allclose(
        fit(shape.first, noisy, weights * scale), fit(shape.first, noisy, weights), atol=1e-10
    )
