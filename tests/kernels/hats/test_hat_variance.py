from __future__ import annotations

import numpy as np
import pytest

from trueup._kernels.hats.hat_tables import hat_tables
from trueup._kernels.hats.hat_variance import every_cell, mean_variances, range_variances

from .hats_written_out import random_hats


@pytest.mark.parametrize("seed", range(60))
def test_every_range_equals_dense_linear_algebra(seed):
    hats = random_hats(seed, most=100)
    i, j = np.triu_indices(hats.size + 1)
    found = range_variances(hats.tables(), i, j)
    np.testing.assert_allclose(found, hats.range_variances()[i, j], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_means_equal_the_mean_of_every_range(seed):
    hats = random_hats(100 + seed, most=100)
    i, j = np.triu_indices(hats.size + 1, 1)
    each = hats.range_variances()
    ranges, prefixes = mean_variances(hats.tables())
    assert ranges == pytest.approx(each[i, j].mean(), rel=1e-10)
    assert prefixes == pytest.approx(each[0, 1:].mean(), rel=1e-10)


def test_means_of_many_cells_equal_the_mean_of_sampled_ranges():
    tables = hat_tables(1 << 20, (16, 288, 5_184, 93_312), [1.0] * 4)
    ends = np.sort(np.random.default_rng(3).integers(0, (1 << 20) + 1, (4_000, 2)), axis=1)
    ends = ends[ends[:, 0] < ends[:, 1]]
    each = range_variances(tables, ends[:, 0], ends[:, 1])
    wrong = each.std() / np.sqrt(len(each))
    assert abs(each.mean() - mean_variances(tables)[0]) < 6 * wrong


def test_empty_ranges_have_no_error():
    assert range_variances(hat_tables(9, [3], [1.0]), [4, 9, 5], [4, 9, 2]).tolist() == [0, 0, 0]


@pytest.mark.parametrize("seed", range(40))
def test_every_cell_equals_dense_linear_algebra(seed):
    hats = random_hats(200 + seed, most=100)
    wanted = np.diag(hats.covariance())
    np.testing.assert_allclose(every_cell(hats.tables()), wanted, rtol=1e-9, atol=1e-12)


def test_every_cell_of_many_is_the_range_of_one_cell():
    tables = hat_tables(300_001, (16, 288, 5_184), [1.0, 2.0, 3.0])
    cells = np.random.default_rng(2).integers(0, 300_001, 200)
    found = every_cell(tables)[cells]
    np.testing.assert_allclose(found, range_variances(tables, cells, cells + 1), rtol=1e-9)
