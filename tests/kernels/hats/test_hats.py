from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csc_array, diags_array, eye_array, vstack
from scipy.sparse.linalg import spsolve

from trueup._kernels.hats.hat_tables import cell_variances, hat_tables
from trueup._kernels.hats.hats import solve

from .hats_written_out import random_hats


@pytest.mark.parametrize("seed", range(60))
def test_solve_equals_dense_least_squares(seed):
    hats = random_hats(seed, most=200)
    rows = hats.rows()
    generator = np.random.default_rng(seed)
    cells, noisy = generator.normal(0, 100, hats.size), generator.normal(0, 100, len(rows))
    weight, own = 1 / np.sqrt(hats.noise), 1 / np.sqrt(hats.cells)
    whole = np.vstack([np.diag(own), weight[:, None] * rows])
    wanted, *_ = np.linalg.lstsq(whole, np.concatenate([own * cells, weight * noisy]), rcond=None)
    found, multipliers = solve(hats.tables(), cells, noisy)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())
    np.testing.assert_allclose(cells + hats.cells * (rows.T @ multipliers), wanted, atol=1e-8)
    assert (cell_variances(hats.tables()) == hats.cells).all()


def test_solve_equals_sparse_least_squares_on_many_cells():
    size, strides, variances = 30_011, (16, 288, 5_184), (2.0, 5.0, 11.0)
    middle = np.arange(size)
    parts, weights = [eye_array(size)], [np.ones(size)]
    for k, variance in zip(strides, variances, strict=True):
        left, rising = middle // k, (middle % k + 0.5) / k
        data = np.concatenate([1 - rising, rising])
        knots = np.concatenate([left, left + 1])
        part = csc_array((data, (knots, np.tile(middle, 2))), (-(-size // k) + 1, size))
        parts.append(part)
        weights.append(np.full(part.shape[0], 1 / variance))
    matrix, weight = csc_array(vstack(parts)), np.concatenate(weights)
    noisy = np.random.default_rng(1).normal(0, 1000, matrix.shape[0])
    # The dual system is sparse where the primal is dense.
    rows = matrix[size:]
    dual = csc_array(diags_array(1 / weight[size:]) + rows @ rows.T)
    multipliers = spsolve(dual, noisy[size:] - rows @ noisy[:size])
    found, _ = solve(hat_tables(size, strides, variances), noisy[:size], noisy[size:])
    np.testing.assert_allclose(found, noisy[:size] + rows.T @ multipliers, atol=1e-8)


def test_consistent_answers_stay_as_they_are():
    hats = random_hats(7, most=150)
    cells = np.random.default_rng(7).integers(0, 1000, hats.size).astype(float)
    found, multipliers = solve(hats.tables(), cells, hats.rows() @ cells)
    np.testing.assert_allclose(found, cells, atol=1e-9)
    np.testing.assert_allclose(multipliers, 0, atol=1e-9)


def test_without_hats_the_cells_stay_as_they_are():
    found, multipliers = solve(hat_tables(3, [], []), [1.0, 2.0, 3.0], [])
    assert found.tolist() == [1, 2, 3]
    assert not len(multipliers)
