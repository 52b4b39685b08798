"""Named counts that obey equations, against dense algebra, scipy and brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

import trueup as tu

from .dense_agreement import GRADES, STUDENT, as_rows, check_against_dense


def test_student_counts_agree_exactly():
    agreed = check_against_dense(STUDENT, GRADES)
    value = {name: agreed[name].value for name in agreed.names}
    assert value["total"] == value["passing"] + value["F"]
    assert value["passing"] == value["A"] + value["B"] + value["C"] + value["D"]


def test_random_systems_match_dense_algebra():
    rng = np.random.default_rng(1)
    for _ in range(60):
        size, equations = rng.integers(3, 12), rng.integers(1, 3)
        names = [f"x{i}" for i in range(size)]
        rows = rng.integers(-2, 3, (equations, size)).astype(float)
        if np.linalg.matrix_rank(rows) < equations:
            continue
        right = rng.integers(-5, 6, equations)
        truth = rng.normal(0, 100, size)
        truth += np.linalg.pinv(rows) @ (right - rows @ truth)
        variances = 10 ** rng.uniform(-2, 3, size)
        values = truth + rng.laplace(0, np.sqrt(variances / 2))
        estimates = dict(zip(names, zip(values, variances, strict=True), strict=True))
        check_against_dense(estimates, (rows, right))


def test_nonnegative_is_the_nearest_point():
    rng = np.random.default_rng(3)
    for _ in range(15):
        names = list("abcdef")
        estimates = {n: (rng.normal(2, 6), rng.uniform(0.5, 4)) for n in names}
        equations = "a = b + c; d = b + e; f + c = d"
        found = tu.reconcile(estimates, equations, nonnegative=True)
        matrix, right = as_rows(equations, names)
        values = np.array([estimates[n][0] for n in names])
        weights = 1 / np.array([estimates[n][1] for n in names])
        best = minimize(
            lambda x, w=weights, v=values: (w * (x - v) ** 2).sum(),
            np.full(6, 5.0),
            jac=lambda x, w=weights, v=values: 2 * w * (x - v),
            constraints=LinearConstraint(matrix, right, right),
            bounds=[(0, None)] * 6,
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert found.counts().min() >= 0
        np.testing.assert_allclose(matrix @ found.counts(), right, atol=1e-9)
        misfit = (weights * (found.counts() - values) ** 2).sum()
        assert misfit <= best.fun + 1e-6
        np.testing.assert_allclose(found.counts(), best.x, atol=1e-3)
        assert found["a"].unbiased.value == tu.reconcile(estimates, equations)["a"].value


def test_whole_numbers_obey_and_are_nearest():
    rng = np.random.default_rng(4)
    for _ in range(20):
        estimates = {n: (rng.uniform(0, 6), 1.0) for n in "abcd"}
        equations = "a + b = c + d; a = 2 * b"
        real = tu.reconcile(estimates, equations, nonnegative=True).counts()
        found = tu.reconcile(estimates, equations, nonnegative=True, integers=True)
        a, b, c, d = found.counts().tolist()
        assert a + b == c + d
        assert a == 2 * b
        assert min(a, b, c, d) >= 0
        best = min(
            ((np.array([2 * b, b, c, 3 * b - c]) - real) ** 2).sum()
            for b, c in itertools.product(range(12), range(30))
            if 3 * b >= c
        )
        assert ((found.counts() - real) ** 2).sum() <= best + 1e-6


def test_student_counts_become_whole():
    shown = tu.reconcile(STUDENT, GRADES, nonnegative=True, integers=True)
    value = {name: shown[name].value for name in shown.names}
    assert all(isinstance(v, int) for v in value.values())
    assert value["total"] == value["passing"] + value["F"]
    assert value["passing"] == sum(value[g] for g in "ABCD")
    with pytest.raises(tu.InputError, match="unbiased"):
        _ = shown["total"].std_error
    low, high = shown["total"].interval()
    assert low <= value["total"] <= high


def test_known_totals_are_met_exactly():
    for extra in ({}, {"nonnegative": True}, {"nonnegative": True, "integers": True}):
        agreed = tu.reconcile(STUDENT, GRADES, known={"total": 95}, **extra)
        assert agreed["total"].value == 95
        assert agreed["passing"].value + agreed["F"].value == 95
    plain = tu.reconcile(STUDENT, GRADES, known={"total": 95})
    assert plain["total"].std_error == pytest.approx(0, abs=1e-6)
    same = tu.reconcile(STUDENT, [*GRADES, "total = 95"])
    np.testing.assert_allclose(same.counts(), plain.counts())
    inside = tu.reconcile(STUDENT, GRADES, known={"passing": 80, "A": 20.5})
    assert inside["passing"].value == 80
    assert inside["A"].value == 20.5
