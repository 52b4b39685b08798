"""Bands of pictures reach as far as exact intervals do, and hardly further."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup.paper.noise import measure_for_experiment
from trueup.release.intervals import quantile_cells, reaches, share_band

QUESTIONS = {
    "cells alone": tu.CellCounts(64),
    "the paper's tree": tu.TreeCounts(64, branching=2),
    "best tree, ragged": tu.TreeCounts(77),
    "hats": tu.HatCounts(64),
}


def release_of(question: Any, epsilon: str = "1/4", seed: int = 1) -> tu.Release:
    counts = np.random.default_rng(0).poisson(30, question.size)
    return tu.infer(measure_for_experiment(counts, question, epsilon, seed=seed))


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("width", [1, 8])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
def test_reaches_are_those_of_exact_intervals(name: str, width: int, level: float) -> None:
    release = release_of(QUESTIONS[name])
    edges = np.append(np.arange(0, release.axis.size, width), release.axis.size)
    found = reaches(release.errors, edges[:-1], edges[1:], level)
    low, high = release.intervals(edges[:-1], edges[1:], level, simultaneous=False)
    exact = (high - low) / 2
    assert (found >= 0.99 * exact).all()
    assert (found <= 1.12 * exact).all()


@pytest.mark.parametrize("width", [1, 4, 16])
def test_two_of_many_like_ranges_tell_how_far_all_reach(width: int) -> None:
    release = release_of(tu.HatCounts(4096))
    edges = np.arange(1024, 1024 + 100 * width + 1, width)
    few, many = (reaches(release.errors, edges[:-1], edges[1:], 0.95, k) for k in (2, 30))
    assert few == pytest.approx(many, rel=0.005)


@pytest.mark.parametrize("name", ["the paper's tree", "best tree, ragged", "cells alone"])
def test_many_intervals_at_once_are_those_of_one_by_one(name: str) -> None:
    release = release_of(QUESTIONS[name])
    cuts = np.random.default_rng(1).integers(0, release.axis.size + 1, (2, 1100))
    starts, stops = np.sort(cuts, axis=0)
    low, high = release.intervals(starts, stops, 0.95, simultaneous=False)
    for i in (0, 7, 500, 999, 1000, 1099):
        one = release.between(int(starts[i]), int(stops[i])).interval(0.95)
        assert (low[i], high[i]) == pytest.approx(one, rel=1e-4, abs=1e-6)


def test_no_noise_reaches_nowhere() -> None:
    release = release_of(tu.CellCounts(4))
    nothing = np.zeros(3, np.int64)
    assert reaches(release.errors, nothing, nothing, 0.95).tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_band_of_shares_holds_each_share_as_often_as_claimed(name: str) -> None:
    question = QUESTIONS[name]
    counts = np.random.default_rng(0).poisson(30, question.size)
    edges = np.arange(0, question.size + 1, 4)
    truth = np.concatenate([[0], np.cumsum(counts)])[edges] / counts.sum()
    held = np.zeros(len(edges))
    for seed in range(200):
        release = release_of(question, seed=seed)
        low, high = share_band(release.errors, release.prefix, edges, release.cdf()[edges], 0.95)
        assert (np.diff(low) >= 0).all()
        assert (np.diff(high) >= 0).all()
        held += (low - 1e-12 <= truth) & (truth <= high + 1e-12)
    # 200 draws at 95 %: fewer than 177 would come about once in 10,000 times.
    assert held.min() >= 177


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_a_band_of_shares_reaches_as_far_as_the_excess_at_each_edge(
    name: str, level: float
) -> None:
    """By the law of count[0, edge) − share · total, edge by edge; hardly further."""
    release = release_of(QUESTIONS[name])
    size, total = QUESTIONS[name].size, float(release.prefix[-1])
    edges = np.arange(0, size + 1, 4)
    shares = np.clip(np.maximum.accumulate(release.prefix[edges]) / total, 0, 1)
    laws = [
        release.errors.noise_law((((0, edge), 1 - share), ((edge, size), -share)))
        for edge, share in zip(edges.tolist(), shares.tolist(), strict=True)
    ]
    reach = np.array([law.half_width(level) for law in laws]) / total
    low, high = share_band(release.errors, release.prefix, edges, shares, level)
    least = np.clip(np.maximum.accumulate(shares - reach), 0, 1)
    most = np.clip(np.minimum.accumulate((shares + reach)[::-1])[::-1], 0, 1)
    np.testing.assert_allclose(low, least, atol=0.1 * reach.max())
    np.testing.assert_allclose(high, most, atol=0.1 * reach.max())


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999999999])
def test_quantiles_in_bounded_time_are_those_of_all_laws(level, monkeypatch):
    size = 3000
    axis = tu.Axis.integers("x", 0, size - 1)
    counts = np.random.default_rng(3).poisson(2, size)
    release = tu.infer(measure_for_experiment(counts, tu.TreeCounts(axis), "1/20", seed=1))
    looked = []
    law = type(release.errors).noise_law
    monkeypatch.setattr(
        type(release.errors), "noise_law", lambda *given: looked.append(1) or law(*given)
    )
    for share in (0.1, 0.5, 0.97):
        looked.clear()
        low, high = release.quantile_interval(share, level, few=8)
        assert len(looked) <= 16
        least, most = release.quantile_interval(share, level)
        # The widest of a few laws, in standard errors, stands for all of them.
        assert low <= least + 1
        assert high >= most - 1
        assert high - low <= 1.25 * (most - least) + 40


@pytest.mark.parametrize("where", ["everywhere", "first", "last", "two ends", "nowhere"])
@pytest.mark.parametrize("level", [0.8])
def test_quantiles_of_adaptive_counts_are_what_no_cut_rules_out(where: str, level: float) -> None:
    """Cut after cut from either side, until one is not ruled out: by the law of its own excess."""
    size = 32
    counts = np.zeros(size, np.int64)
    counts[{"everywhere": slice(None), "first": 0, "last": -1}.get(where, [0, -1])] = 400
    counts *= where != "nowhere"
    question = tu.TreeCounts(size, radices=(4, 4, 2), root=False, adaptive=True)
    narrow = 0
    for seed, share in itertools.product(range(2), (0.02, 0.5, 0.98)):
        release = tu.infer(measure_for_experiment(counts, question, "1/4", seed)).unbiased
        errors, prefix = release.errors, release.prefix
        assert not errors.alike

        def reach(cut: int, share: float = share, errors: Any = errors) -> float:
            excess = (((0, cut), 1 - share), ((cut, size), -share))
            return errors.noise_law(excess).half_width(level)

        wide = [reach(cut) for cut in range(size + 1)]
        # And totals far below 0, where the noise rules out every cut on one side.
        first, last = (np.where(np.arange(size + 1) >= cut, -1e9, 0.0) for cut in (1, size))
        for counted in (prefix, first, last):
            excess = counted - share * counted[-1]
            ends = [cut for cut in range(1, size + 1) if excess[cut] >= -wide[cut]]
            starts = [cut for cut in range(size) if excess[cut] <= wide[cut]]
            low = ends[0] - 1 if ends else 0
            high = starts[-1] if starts else size - 1
            told = quantile_cells(errors, counted, share, level)
            assert told == (min(low, high), max(low, high))
            narrow += counted is prefix and told[1] - told[0] < size - 1
    assert narrow or where == "nowhere"


def test_a_quantile_found_in_stages_is_as_narrow_as_its_cells_allow() -> None:
    """A few looks find the cell that all looks find, at each stage's part of the chance to fail."""
    size, level = 1024, 0.95
    counts = np.zeros(size, np.int64)
    counts[100:140] = 500
    question = tu.TreeCounts(size, adaptive=True)
    release = tu.infer(measure_for_experiment(counts, question, 1, seed=1)).unbiased
    errors, prefix = release.errors, release.prefix
    for share in (0.05, 0.5, 0.95):
        stages = quantile_cells(errors, prefix, share, level, few=32)
        # As if all cuts were looked at one by one, with half the chance: there are two stages.
        at_once = quantile_cells(errors, prefix, share, 1 - (1 - level) / 2, few=size)
        assert stages == at_once
        assert stages[1] - stages[0] < size // 32
