"""Strategies of many cells: solved as they are, and no part of a plan."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from trueup import Axis, HatCounts, Measurement, WeightedCounts, infer, plan
from trueup.infer import errors_of
from trueup.noise import Noise, noise_variance
from trueup.paper.noise import measure_for_experiment


def test_a_sparse_strategy_of_many_cells_is_solved_without_a_dense_matrix():
    size = 6_000
    from scipy.sparse import eye_array, vstack

    hats = HatCounts(size, [10, 100], ends=True)
    question = WeightedCounts(size, vstack([eye_array(size), hats.matrix()[size:]]).astype(int))
    measurement = measure_for_experiment(np.arange(size), question, 1, seed=2)
    release = infer(measurement)
    weights = np.repeat(
        [1 / noise_variance(s) for s in measurement.noise.scales],
        [length for length, _ in question.blocks],
    )
    residual = question.matrix() @ release.counts() - measurement.noisy
    slope = question.matrix().T @ (weights * residual)
    assert np.abs(slope).max() < 1e-6 * np.abs(weights * measurement.noisy).max()
    # The same weights as hats with shares in that ratio have.
    price = 1 + 20 + 200
    shares = [Fraction(1, price), Fraction(20, price), Fraction(200, price)]
    as_hats = errors_of(Noise(HatCounts(size, [10, 100], shares, ends=True), 1))
    found = release.errors.range_variances([0, 17, 5_000], [1, 4_000, size])
    np.testing.assert_allclose(found, as_hats.range_variances([0, 17, 5_000], [1, 4_000, size]))


@pytest.mark.parametrize("size", [2, 7, 30])
def test_rows_of_a_tree_are_inferred_and_shown_as_least_squares_on_them(size):
    rng = np.random.default_rng(size)
    matrix = np.vstack([np.eye(size, dtype=int), np.tril(np.ones((size, size), int))[1:]])
    question = WeightedCounts(size, matrix)
    noisy = question.answers(rng.integers(0, 50, size)) + rng.integers(-3, 4, question.length)
    release = infer(Measurement(question, noisy, 1))
    wanted = np.linalg.lstsq(matrix.astype(float), noisy.astype(float), rcond=None)[0]
    np.testing.assert_allclose(release.counts(), wanted, rtol=0, atol=1e-9 * np.abs(noisy).sum())
    shown = infer(Measurement(question, noisy, 1), nonnegative=True, integers=True)
    assert shown.counts().min() >= 0
    assert abs(shown.counts().sum() - max(wanted.sum(), 0)) <= 1


def test_no_plan_proposes_weights_of_its_own():
    axes = Axis.integers("a", 0, 99), Axis.integers("b", 0, 9)
    for over in (axes[0], list(axes)):
        asked = [strategy.question for strategy in plan(over, 1).strategies]
        assert len(asked) > 2
        assert not any(isinstance(question, WeightedCounts) for question in asked)
