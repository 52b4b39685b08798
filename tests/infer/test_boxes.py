"""Lattices of boxes and margins of a table against dense linear algebra."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup.paper.noise import measure_for_experiment


def axis(name, size):
    return tu.Axis.integers(name, 0, size - 1)


EPSILON = Fraction(3, 2)


def tables():
    age, sex, town = axis("age", 5), axis("sex", 2), axis("town", 3)
    yield tu.BoxCounts.marginals(age, sex, marginals=[("age",), ("sex",)])
    yield tu.BoxCounts.marginals(
        age,
        sex,
        town,
        marginals=[("age",), ("sex", "age"), ("town", "sex")],
        shares=[0.2, 0.5, 0.3],
    )
    yield tu.BoxCounts.marginals(age, sex, town, marginals=[("age", "town"), ()])


@pytest.mark.parametrize("question", list(tables()), ids=lambda q: str(q.marginal_names))
def test_margins_equal_dense_least_squares_and_agree_exactly(question, tmp_path):
    counts = np.random.default_rng(2).integers(0, 100, question.sizes)
    measurement = measure_for_experiment(counts, question, EPSILON, seed=5)
    release = tu.infer(measurement)
    assert release.asked == question.marginal_names
    weights = 1 / measurement.variances
    matrix = question.matrix().toarray()
    inverse = np.linalg.pinv(matrix * np.sqrt(weights)[:, None]) * np.sqrt(weights)
    cells = inverse @ measurement.noisy
    for names in question.marginal_names:
        if not names:
            continue
        margin = release.margin(*names)
        kept = [axis.name in names for axis in question.axes]
        others = tuple(n for n, keep in enumerate(kept) if not keep)
        wanted = cells.reshape(question.sizes).sum(axis=others)
        np.testing.assert_allclose(margin.counts(), wanted, atol=1e-8 * np.abs(cells).sum())
        summed = np.eye(question.size).reshape(question.size, *question.sizes)
        rows = summed.sum(axis=tuple(n + 1 for n in others)).reshape(question.size, -1).T
        wanted = np.sqrt((rows @ inverse) ** 2 @ measurement.variances)
        np.testing.assert_allclose(np.ravel(margin.std_errors()), wanted, rtol=1e-8)
        for name in names:
            assert (release.margin(name).counts() == _summed(margin, name)).all()
        assert margin.total().value == release.total().value
    release.save(tmp_path / "margins.parquet")
    again = tu.load(tmp_path / "margins.parquet")
    assert again.total().value == release.total().value
    assert repr(again) == repr(release)
    shown = tu.infer(measurement, nonnegative=True, integers=True)
    first = question.marginal_names[0]
    assert (shown.margin(*first).counts() >= 0).all()
    assert shown.margin(*first).counts().dtype == np.int64
    assert np.abs(shown.margin(*first).counts() - release.margin(*first).counts()).max() < 40


def _summed(margin, name):
    return margin.margin(name).counts()


def test_a_margin_that_was_not_asked_is_refused():
    question = next(tables())
    release = tu.infer(tu.measure(np.ones(question.sizes, int), question, epsilon=1))
    with pytest.raises(tu.InputError, match="Asked: age; sex"):
        release.margin("age", "sex")
    assert release.margin("age").axis.name == "age"


def test_asking_the_margins_too_makes_them_better_and_cells_worse():
    age, sex = axis("age", 50), axis("sex", 2)
    flat = tu.BoxCounts.marginals(age, sex, marginals=[("age", "sex")])
    both = tu.BoxCounts.marginals(age, sex, marginals=[("age", "sex"), ("sex",)])
    a, b = (tu.infer(tu.measure(np.ones((50, 2), int), q, epsilon=1)) for q in (flat, both))
    assert b.margin("sex").std_errors()[0] < 0.5 * a.margin("sex").std_errors()[0]
    assert b.std_errors()[0, 0] > a.std_errors()[0, 0]
