"""Optimised strategies: their exact error by dense algebra, and that they are worth the search."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.sparse import csr_array

import trueup as tu
from trueup.noise import noise_variance
from trueup.optimize import _error


def dense_error(question, workload, epsilon):
    matrix = question.matrix().toarray()
    each = [noise_variance(question.price() / (weight * epsilon)) for _, weight in question.blocks]
    variances = np.repeat(each, [length for length, _ in question.blocks])
    covariance = np.linalg.inv(matrix.T @ (matrix / variances[:, None]))
    return np.mean([row @ covariance @ row for row in workload])


def all_ranges(size):
    rows = [(i, j) for i in range(size) for j in range(i + 1, size + 1)]
    return np.array([[i <= cell < j for cell in range(size)] for i, j in rows], int)


def test_the_gradient_is_the_slope_of_the_error():
    rng = np.random.default_rng(0)
    gram = (lambda w: w.T @ w)(rng.normal(size=(9, 7)))
    at = rng.uniform(0, 2, 3 * 7)
    error = check_grad(lambda x: _error(x, gram, 3)[0], lambda x: _error(x, gram, 3)[1], at)
    assert error < 1e-4 * np.linalg.norm(_error(at, gram, 3)[1])
    free = at.reshape(3, 7)
    strategy = np.vstack([np.eye(7), free]) / (1 + free.sum(axis=0))
    wanted = np.trace(gram @ np.linalg.inv(strategy.T @ strategy))
    assert _error(at, gram, 3)[0] == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize("epsilon", [1, Fraction(1, 10)])
def test_reported_errors_are_those_of_dense_algebra(epsilon):
    size = 40
    workload = all_ranges(size)
    found = tu.optimize(workload, epsilon=epsilon, steps=60)
    assert found.error == pytest.approx(dense_error(found.strategy, workload, epsilon), rel=1e-9)
    for name, question in (
        ("cell counts", tu.CellCounts(size)),
        ("binary tree", tu.TreeCounts(size, 2)),
        ("hats", tu.HatCounts(size)),
    ):
        wanted = dense_error(question, workload, epsilon)
        assert found.errors[name] == pytest.approx(wanted, rel=1e-9)
    named = tu.optimize("ranges", size, epsilon=epsilon, steps=60)
    assert named.errors["hats"] == pytest.approx(found.errors["hats"], rel=1e-12)


def test_a_strategy_found_beats_the_standard_ones_on_its_workload():
    size = 96
    rng = np.random.default_rng(4)
    starts = rng.integers(0, size - 8, 200)
    short = np.array([[s <= c < s + 8 for c in range(size)] for s in starts], int)
    sparse = csr_array(np.repeat(np.eye(size, dtype=int)[::12], 3, axis=0) + short[:24])
    for workload in (short, sparse, np.tril(np.ones((size, size), int))):
        found = tu.optimize(workload, steps=80)
        others = [error for name, error in found.errors.items() if name != "optimized"]
        assert found.error < 1.001 * min(others)


def test_every_cell_weighs_the_same_and_few_noise_scales_are_needed():
    strategy = tu.optimize("ranges", 64, steps=50).strategy
    weights = np.array([float(unit) for unit in strategy.units])
    columns = np.abs(strategy.matrix().toarray() * weights[:, None]).sum(axis=0)
    assert (columns == 4096).all()
    assert len(set(strategy.units)) < 64


def test_a_strategy_found_can_be_measured_inferred_and_kept(tmp_path):
    strategy = tu.optimize("prefixes", tu.Axis.integers("age", 0, 31), steps=30).strategy
    counts = np.arange(32)
    release = tu.infer(tu.measure(counts, strategy, epsilon=1000))
    np.testing.assert_allclose(release.counts(), counts, atol=0.5)
    release.save(tmp_path / "found.parquet")
    again = tu.load(tmp_path / "found.parquet")
    assert (again.counts() == release.counts()).all()
    assert again.range(3, 9).std_error == pytest.approx(release.range(3, 9).std_error)
    assert str(tu.optimize("prefixes", 32, steps=5)).startswith("expected squared error a query")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("ranges",), "needs an axis or a number of cells"),
        (("squares", 8), 'must be a matrix, "ranges" or "prefixes", got \'squares\''),
        (("ranges", 5_000), "up to 4,096 cells, got 5,000. Ask HatCounts"),
        ((np.zeros((3, 4)),), "asks for nothing"),
        ((np.full((3, 4), np.nan),), "finite"),
        ((np.ones(4),), "a row for each query"),
        (([["a"]],), "a row for each query"),
        ((np.ones((2, 4)), 5), "has 4 columns; the axis has 5 cells"),
    ],
)
def test_a_workload_that_makes_no_sense_is_refused(arguments, told):
    with pytest.raises(tu.InputError) as refusal:
        tu.optimize(*arguments)
    assert told in str(refusal.value)
    with pytest.raises(tu.InputError, match="steps must be a whole number"):
        tu.optimize("ranges", 4, steps=-1)
