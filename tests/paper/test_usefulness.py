"""Appendix E: the worst range of H̃, and its rival."""

from __future__ import annotations

import numpy as np
import pytest

from trueup.ask import TreeCounts
from trueup.paper import usefulness
from trueup.paper.baselines import fewest_nodes
from trueup.paper.draws import Setting


@pytest.mark.parametrize("n", [1, 2, 4, 32])
def test_worst_range_is_that_of_all_ranges_one_by_one(n: int) -> None:
    question = TreeCounts(n, branching=2)
    starts, stops = np.triu_indices(n + 1, 1)
    for seed in range(20):
        noise = np.random.default_rng(seed).laplace(0, 1, question.length)
        brute = np.abs(fewest_nodes(question.shape, noise, starts, stops)).max()
        assert usefulness.worst_range(noise) == pytest.approx(brute)


def test_bound_is_the_papers_formula() -> None:
    expected = 16 * 11**1.5 * np.log(2 * 1_024**2 / 0.05)
    assert usefulness.tree_bound(11, 1_024, 1.0, 0.05) == pytest.approx(expected)


def test_records_have_the_total_asked_for() -> None:
    for total in (10_000, 10**7):
        counts = usefulness.records(total)
        assert counts.sum() == total
        assert counts.min() >= 0


def test_equi_depth_without_noise_is_within_its_depth() -> None:
    counts = usefulness.records(10**6)
    answer = usefulness.equi_depth(counts, 1e12, 0.01, np.random.default_rng(1))
    prefix = np.concatenate([[0], np.cumsum(counts)])
    assert np.abs(answer - prefix).max() <= 0.01 * 10**6 / 2 + counts.max()


def test_best_epsilon_needs_just_the_records_there_are() -> None:
    epsilon = usefulness.best_epsilon(10**6)
    needed = usefulness.equi_depth_records(1_024, 1.0, 0.05, epsilon)
    assert needed == pytest.approx(10**6, rel=1e-6)


def test_claims_hold() -> None:
    claims = usefulness.run(Setting(quick=True)).claims
    assert len(claims) == 4
    assert all(claim.held for claim in claims)
