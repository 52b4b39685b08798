"""Estimates under equations by the textbook formula, and the students of the paper."""

from __future__ import annotations

import numpy as np
import pytest

import trueup as tu
from trueup.reconcile.statements import statements

STUDENT = {
    "total": (100, 9.0),
    "passing": (78, 4.0),
    "A": (20, 2.0),
    "B": (31, 1.0),
    "C": (18, 2.0),
    "D": (12, 5.0),
    "F": (17, 3.0),
}


GRADES = ["total = passing + F", "passing = A + B + C + D"]


def dense(values, variances, matrix, right):
    """Estimates and covariance by the textbook formula."""
    spread = np.diag(variances)
    gain = spread @ matrix.T @ np.linalg.inv(matrix @ spread @ matrix.T)
    return values - gain @ (matrix @ values - right), spread - gain @ matrix @ spread


def as_rows(constraints, names):
    found = statements(constraints, None, names)
    matrix = np.zeros((len(found), len(names)))
    for i, statement in enumerate(found):
        for name, c in statement.coefficients.items():
            matrix[i, names.index(name)] = float(c)
    return matrix, np.array([float(s.constant) for s in found])


def check_against_dense(estimates, constraints):
    names = list(estimates)
    values = np.array([estimates[name][0] for name in names], float)
    variances = np.array([estimates[name][1] for name in names], float)
    matrix, right = as_rows(constraints, names)
    expected, covariance = dense(values, variances, matrix, right)
    agreed = tu.reconcile(estimates, constraints)
    np.testing.assert_allclose(agreed.counts(), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(agreed.errors.covariance, covariance, rtol=1e-7, atol=1e-9)
    first, last = names[0], names[-1]
    both = agreed[first] - agreed[last]
    variance = covariance[0, 0] + covariance[-1, -1] - 2 * covariance[0, -1]
    assert both.std_error == pytest.approx(np.sqrt(max(variance, 0)), abs=1e-6)
    return agreed
