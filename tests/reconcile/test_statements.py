"""Constraints in every way of stating them; those that follow, and those that contradict."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import trueup as tu
from trueup.reconcile.statements import independent, statements

from .dense_agreement import GRADES, STUDENT, as_rows


def test_every_way_of_stating_constraints_says_the_same():
    names = list(STUDENT)
    matrix, right = as_rows(GRADES, names)
    expected = tu.reconcile(STUDENT, GRADES).counts()
    for stated in (
        "total = passing + F; passing = A + B + C + D",
        "passing + F == total\nA+B+C+D - passing = 0",
        {"total": ["passing", "F"], "passing": ["A", "B", "C", "D"]},
        [{"total": 1, "passing": -1, "F": -1}, "2 * passing = 2*A + 2*B + 2 * C + 2 * D"],
        sparse.csr_array(matrix),
        (matrix, right),
        [*GRADES, "total = A + B + C + D + F"],
    ):
        np.testing.assert_allclose(tu.reconcile(STUDENT, stated).counts(), expected, atol=1e-9)


def test_contradictions_are_named():
    with pytest.raises(tu.InputError, match=r"'total = 90'.*'total = 95'.*0 = ") as caught:
        tu.reconcile(STUDENT, [*GRADES, "total = 90", "total = 95"])
    assert "passing" not in str(caught.value)
    stated = [*GRADES, "passing = 1", "A = 1", "B = 1", "C = 0", "D = 0"]
    with pytest.raises(tu.InputError, match=r"A \+ B \+ C \+ D.*passing = 1.*A = 1.*B = 1"):
        tu.reconcile(STUDENT, stated)
    with pytest.raises(tu.InputError, match="non-negative"):
        tu.reconcile({"a": (1, 1.0), "b": (2, 1.0)}, "a + b = 5", known={"b": 6}, nonnegative=True)


def test_names_with_spaces_and_signs_are_quoted():
    estimates = {"North East": (5, 1.0), "co-op": (2, 1.0), "rest": (2, 1.0)}
    agreed = tu.reconcile(estimates, "'North East' = \"co-op\" + rest")
    assert agreed["North East"].value == agreed["co-op"].value + agreed["rest"].value


def test_what_is_left_is_as_many_as_the_rank_and_says_the_same():
    rng = np.random.default_rng(1)
    fewer = 0
    for _ in range(100):
        size, number = int(rng.integers(2, 7)), int(rng.integers(1, 8))
        names = [f"x{i}" for i in range(size)]
        rows = rng.integers(-2, 3, (number, size))
        rows[rng.random(number) < 0.3] = rows[0] * 2
        rows = rows[rows.any(axis=1)]
        right = rows @ rng.integers(-9, 10, size)
        kept = independent(statements((rows, right), None, names)) if len(rows) else []
        matrix = np.array([[float(row.coefficients.get(n, 0)) for n in names] for row in kept])
        rank = np.linalg.matrix_rank(rows) if len(rows) else 0
        assert len(kept) == rank
        fewer += rank < len(rows)
        if not rank:
            continue
        both = np.column_stack([matrix, [float(row.constant) for row in kept]])
        given = np.column_stack([rows, right])
        assert np.linalg.matrix_rank(both) == np.linalg.matrix_rank(np.vstack([both, given]))
        assert len({row.pivot for row in kept}) == rank
        assert all(row.coefficients[row.pivot] for row in kept)
    assert fewer > 20


def test_text_means_what_it_says_to_the_last_digit():
    names = ["a", "b c", "d"]
    (found,) = statements("0.1 * a - 'b c' + 0.25*d = 2 + d", None, names)
    assert found.coefficients == {"a": Fraction(1, 10), "b c": -1, "d": Fraction(-3, 4)}
    assert found.constant == 2
