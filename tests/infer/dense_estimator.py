"""Fitted cells, variances and noise laws of a question, checked against dense linear algebra."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from trueup import Measurement, infer
from trueup.infer import errors_of
from trueup.noise import Noise, noise_variance
from trueup.paper.noise import measure_for_experiment

EPSILON = Fraction(7, 5)


def dense(question, law):
    """The pseudo-inverse of the question, its weights being 1/variance, and the variances."""
    matrix = question.matrix().toarray()
    scales = Measurement(question, np.zeros(question.length, np.int64), EPSILON).noise.scales
    each = [noise_variance(scale, law) for scale in scales]
    variances = np.repeat(each, [length for length, _ in question.blocks])
    weighed = matrix / variances[:, None]
    return np.linalg.solve(matrix.T @ weighed, weighed.T), variances, scales


def check_cells(question, law):
    """Inferred cells are those of dense least squares."""
    counts = np.random.default_rng(3).integers(0, 1000, question.size)
    measurement = measure_for_experiment(counts, question, EPSILON, seed=5, law=law)
    inverse, _, _ = dense(question, law)
    wanted = inverse @ measurement.noisy
    found = infer(measurement).counts()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9 * max(1, np.abs(wanted).sum()))


def check_variances(question, law):
    """Variances of ranges are those of the dense estimator."""
    inverse, variances, _ = dense(question, law)
    errors = errors_of(Noise(question, EPSILON, law=law))
    starts, stops = np.triu_indices(question.size + 1)
    prefix = np.vstack([np.zeros(question.length), np.cumsum(inverse, axis=0)])
    wanted = ((prefix[stops] - prefix[starts]) ** 2 * variances).sum(axis=1)
    found = errors.range_variances(starts, stops)
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-9 * wanted.max())
    some = np.random.default_rng(1).integers(0, len(starts), 9)
    for i in some:
        combination = (((int(starts[i]), int(stops[i])), -2.0),)
        assert errors.variance(combination) == pytest.approx(4 * wanted[i], rel=1e-8, abs=1e-9)


def check_noise_law(question):
    """The law of a combination has the coefficients of the dense estimator."""
    inverse, variances, _ = dense(question, "discrete")
    errors = errors_of(Noise(question, EPSILON))
    middle = question.size // 2
    combination = (((0, middle + 1), 1.0), ((middle, question.size), -0.5))
    values = np.zeros(question.size)
    values[: middle + 1] += 1
    values[middle:] -= 0.5
    wanted = values @ inverse
    law = errors.noise_law(combination)
    assert law.variance == pytest.approx(float(wanted**2 @ variances), rel=1e-8)
    assert errors.variance(combination) == pytest.approx(law.variance, rel=1e-8)
    # Put into classes a percent wide, the number, sum of squares and fourth powers stay.
    assert law.counts.sum() == np.count_nonzero(np.abs(wanted) > 1e-12)
    fourth = (law.counts * law.coefficients**4).sum()
    assert fourth == pytest.approx((wanted**4).sum(), rel=1e-3)
