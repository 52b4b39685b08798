"""Sorted counts against scipy's isotonic regression, the paper's examples, and raw counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

import trueup as tu
from trueup.paper.noise import measure_for_experiment

from .dense_answers import noisy


@pytest.mark.parametrize(
    ("given", "nearest"),
    [
        ([9, 10, 14], [9, 10, 14]),
        ([9, 14, 10], [9, 12, 12]),
        ([14, 9, 10, 15], [11, 11, 11, 15]),
    ],
)
def test_the_three_isotonic_examples(given, nearest):
    m = tu.Measurement(tu.SortedCounts(len(given), adaptive=False), given, epsilon="1/2")
    assert tu.infer(m).counts().tolist() == nearest
    if given == [14, 9, 10, 15]:
        assert ((np.array(given) - nearest) ** 2).sum() == 14


def test_sorted_counts_are_scipy_s_isotonic_regression():
    rng = np.random.default_rng(5)
    for size in (1, 2, 3, 10, 1000):
        m = tu.Measurement(tu.SortedCounts(size, adaptive=False), noisy(rng, size), epsilon=1)
        expected = isotonic_regression(m.noisy).x
        np.testing.assert_allclose(tu.infer(m).counts(), expected, rtol=0, atol=1e-8)


def mean_square(counts, epsilon, runs, estimate):
    rng = np.random.default_rng(6)
    question = tu.SortedCounts(len(counts), adaptive=False)
    truth = np.sort(counts)
    each = [measure_for_experiment(counts, question, epsilon, seed=rng) for _ in range(runs)]
    return np.mean([((estimate(m) - truth) ** 2).sum() for m in each])


def test_sorted_counts_gain_where_counts_repeat_and_never_lose():
    def plain(m):
        return m.noisy

    def inferred(m):
        return tu.infer(m).counts()

    repeated = np.repeat([0, 5, 30, 400], 1024)
    assert mean_square(repeated, 1, 20, inferred) < mean_square(repeated, 1, 20, plain) / 50
    different = np.arange(1000) * 1000
    assert mean_square(different, 1, 5, inferred) == mean_square(different, 1, 5, plain)
    some = np.random.default_rng(1).integers(0, 50, 500)
    assert mean_square(some, "1/10", 10, inferred) < mean_square(some, "1/10", 10, plain) / 5
