"""Strategies: fitted cells, variances and noise laws against dense linear algebra."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup import WeightedCounts
from trueup.infer import least_squares
from trueup.infer.least_squares import MatrixErrors
from trueup.noise import Noise

from .dense_estimator import EPSILON, check_cells, check_noise_law, check_variances, dense


def strategy(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 40))
    cells = np.diag(rng.integers(1, 5, size)).tolist()
    others = rng.integers(-3, 4, (int(rng.integers(1, 9)), size))
    others[:, 0] = 1  # none is empty
    thirds = [[Fraction(int(w), 3) for w in row] for row in others]
    return WeightedCounts(size, cells + thirds)


def without_cells(seed):
    """A strategy that has no row for single cells: prefixes."""
    size = 5 + seed
    return WeightedCounts(size, np.tril(np.ones((size, size), int)).tolist())


questions = pytest.mark.parametrize(
    "question",
    [*(strategy(seed) for seed in range(12)), *(without_cells(seed) for seed in range(3))],
    ids=lambda q: f"{type(q).__name__}{q.size}",
)


@questions
@pytest.mark.parametrize("law", ["discrete", "continuous"])
def test_inferred_cells_equal_dense_least_squares(question, law):
    check_cells(question, law)


@questions
@pytest.mark.parametrize("law", ["discrete", "continuous"])
def test_variances_equal_those_of_the_dense_estimator(question, law):
    check_variances(question, law)


@questions
def test_noise_laws_have_the_coefficients_of_the_dense_estimator(question):
    check_noise_law(question)


@pytest.mark.parametrize("most", [0, 4_096])
@pytest.mark.parametrize("law", ["discrete", "continuous"])
def test_a_dense_and_a_sparse_factor_have_one_law(most, law, monkeypatch):
    """Below the number of cells up to which the factor is dense, and above it."""
    monkeypatch.setattr(least_squares, "_DENSE", most)
    for question in (strategy(1), without_cells(2)):
        check_cells(question, law)
        check_variances(question, law)
    check_noise_law(strategy(2))


@pytest.mark.parametrize("law", ["discrete", "continuous"])
@pytest.mark.parametrize("seed", [1, 2])
def test_covariances_of_cells_and_of_prefix_sums_are_those_of_the_dense_estimator(seed, law):
    question = strategy(seed)
    inverse, variances, _ = dense(question, law)
    wanted = (inverse * variances) @ inverse.T
    errors = MatrixErrors.of(Noise(question, EPSILON, law=law))
    np.testing.assert_allclose(errors.covariance(), wanted, rtol=1e-9, atol=1e-9 * wanted.max())
    sums = np.tri(question.size + 1, question.size, -1)
    between = sums @ wanted @ sums.T
    np.testing.assert_allclose(errors.prefixes(), between, rtol=1e-9, atol=1e-9 * between.max())


def test_prefix_sums_of_more_cells_than_a_matrix_holds_are_refused(monkeypatch):
    errors = MatrixErrors.of(Noise(without_cells(0), EPSILON))
    monkeypatch.setattr(least_squares, "_DENSE", errors.size)
    assert errors.prefixes().shape == (errors.size + 1, errors.size + 1)
    monkeypatch.setattr(least_squares, "_DENSE", errors.size - 1)
    with pytest.raises(tu.InputError, match="Ask a tree or hats"):
        errors.prefixes()


def test_answers_with_hardly_any_noise_are_fitted_and_not_lost_among_infinite_weights():
    """At an ε of thousands one over a variance is no float; the weights are told by their logs."""
    question = strategy(3)
    counts = np.random.default_rng(3).integers(0, 1000, question.size)
    noisy = question.matrix() @ counts
    found = MatrixErrors.of(Noise(question, Fraction(20_000))).fit(noisy)
    np.testing.assert_allclose(found, counts, atol=1e-6)
