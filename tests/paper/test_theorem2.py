"""The error of S̄ against the paper's bound and a sharper one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from trueup.paper import theorem2
from trueup.paper.draws import Setting

SETTING = Setting(quick=True)


@pytest.mark.parametrize("law", ["continuous", "discrete"])
def test_one_run_has_exactly_the_sharp_error(law: str) -> None:
    """By scipy's isotonic regression: E‖fit‖² = v · H(n), for either noise."""
    generator = np.random.default_rng(2)
    n, draws = 64, 4_000
    if law == "continuous":
        noise, variance = generator.laplace(0, 1, (draws, n)), 2.0
    else:
        p = np.exp(-1.0)
        noise = generator.geometric(1 - p, (draws, n)) - generator.geometric(1 - p, (draws, n))
        variance = 2 * p / (1 - p) ** 2
    squared = np.array([(isotonic_regression(one).x ** 2).sum() for one in noise.astype(float)])
    expected = theorem2.sharp_bound(np.array([n]), variance)
    assert abs(squared.mean() - expected) < 5 * squared.std() / np.sqrt(draws)


def test_sharp_bound_holds_when_runs_lie_close_together() -> None:
    generator = np.random.default_rng(3)
    truth = np.repeat([0.0, 1.0, 2.0, 3.0], [10, 1, 40, 5])
    fits = [
        ((isotonic_regression(truth + generator.laplace(0, 1, 56)).x - truth) ** 2).sum()
        for _ in range(2_000)
    ]
    bound = theorem2.sharp_bound(np.array([10, 1, 40, 5]), 2.0)
    assert np.mean(fits) < bound


def test_papers_bound_with_our_constants_is_above_the_sharp_one() -> None:
    lengths = np.unique(np.geomspace(1, 10**6, 300).astype(np.int64))
    for length in lengths:
        one = np.array([length])
        assert theorem2.sharp_bound(one, 2.0) <= theorem2.papers_bound(one)


def test_sequences_have_d_distinct_values() -> None:
    for n, d in ((16, 1), (16, 4), (100, 7), (64, 64)):
        assert len(theorem2.run_lengths(n, d)) == d
        assert theorem2.run_lengths(n, d).sum() == n


def test_claims_hold() -> None:
    claims = theorem2.run(SETTING).claims
    assert len(claims) == 6
    assert all(claim.held for claim in claims)
