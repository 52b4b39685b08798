"""Strategies: fitted cells, variances and noise laws against dense linear algebra."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from trueup import WeightedCounts

from .dense_estimator import check_cells, check_noise_law, check_variances


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
