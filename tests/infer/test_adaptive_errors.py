"""Intervals of adaptive trees hold at the worst, not on average; variances are those of the fit."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup.ask import AdaptiveTreeCounts
from trueup.infer import errors_of
from trueup.infer.adaptive_errors import PathErrors
from trueup.law import NoiseLaw
from trueup.noise import Noise
from trueup.paper.noise import measure_for_experiment

from .pooled_trees import TREES, fit_matrix, measured


@pytest.mark.parametrize("name", TREES)
def test_variances_are_those_of_what_each_answer_counts_for(name: str) -> None:
    for seed in range(4):
        m = measured(TREES[name], seed)
        fit, errors = fit_matrix(m), errors_of(m.noise)
        size = fit.shape[0]
        starts, stops = np.triu_indices(size + 1, 1)
        some = np.linspace(0, len(starts) - 1, 150).astype(int)
        starts, stops = starts[some], stops[some]
        sums = np.cumsum(np.vstack([np.zeros(fit.shape[1]), fit]), axis=0)
        expected = (sums[stops] - sums[starts]) ** 2 @ m.variances
        np.testing.assert_allclose(errors.range_variances(starts, stops), expected, rtol=1e-6)
        pair = (((2, 4), 1.0), ((1, 3), -2.0))
        mixed = (fit[2:4].sum(0) - 2 * fit[1:3].sum(0)) ** 2 @ m.variances
        assert errors.variance(pair) == pytest.approx(mixed)


def test_where_nothing_is_pooled_the_law_has_no_more_than_its_noise() -> None:
    tree = TREES["three levels"]
    m = measure_for_experiment(np.full(60, 10**6), AdaptiveTreeCounts(tree), 1, 1)
    law = errors_of(m.noise).noise_law((((3, 41), 1.0),))
    assert isinstance(law, NoiseLaw)
    assert (law.among, law.left_open) == (2.0, 0.0)
    between_nodes = errors_of(m.noise).noise_law((((16, 48), 1.0),))
    assert (between_nodes.among, between_nodes.left_open) == (1.0, 0.0)
    assert between_nodes.words == "exact, from the law of the noise"


def test_where_a_path_ends_in_a_run_the_chance_to_fail_is_shared_by_all_ways() -> None:
    """Two cuts, each of which may end on two levels or go all the way: 9 ways, in 1 run or 2."""
    question = AdaptiveTreeCounts(TREES["three levels"])
    m = measure_for_experiment(np.zeros(60, np.int64), question, "1/10", 3)
    errors = errors_of(m.noise)  # without counts: by paths
    law = errors.noise_law((((3, 41), 1.0),))
    assert law.among == 4 * (9 * 2 - 1)
    assert law.left_open >= 0
    one_end = errors.noise_law((((0, 41), 1.0),))
    assert one_end.among == 4 * (3 - 1)
    one_level = errors.noise_law((((0, 20), 1.0),))  # between two nodes of the second level
    assert one_level.among == 4 * (2 - 1)


def test_a_range_inside_one_run_is_bounded_by_the_run() -> None:
    tree = TREES["three levels"]
    m = measure_for_experiment(np.zeros(60, np.int64), AdaptiveTreeCounts(tree), "1/10", 3)
    release = tu.infer(m)
    question = m.question
    assert isinstance(question, AdaptiveTreeCounts)
    assert question.pooled is not None
    ((start,), (stop,)) = question.reached.run_spans(1)
    assert (start, stop) == (0, 60)
    total = float(question.pooled.totals[1][0])
    scale = float(m.noise.unit / question.left(1))
    low, high = release.range(5, 30).interval(0.95)
    # The run's noise is one Laplace: beyond b ln(1/α) with probability α, a quarter of 5 % here.
    reach = scale * np.log(1 / 0.0125)
    assert low <= 0
    assert high == pytest.approx(max(total, 0) + reach, abs=2 + abs(low))
    assert high < 3 * reach


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("law", ["epsilon", "rho"])
def test_runs_bound_ranges_by_their_totals_and_their_own_noise(name: str, law: Any) -> None:
    """Every range, cell by cell: all of it lies in runs, or runs say nothing of it."""
    bounded = 0
    for seed, epsilon in itertools.product(range(3), ("1/2", "1/200", "1/5000")):
        m = measured(TREES[name], seed, epsilon)
        noise = m.noise if law == "epsilon" else Noise(m.question, rho=Fraction(1, 2))
        question, errors = m.question, errors_of(noise)
        assert isinstance(question, AdaptiveTreeCounts)
        assert isinstance(errors, PathErrors)
        size, found = question.shape.size, []
        for level in errors.levels[:-1]:
            scale = noise.scale_of(question.left(level), question.square_left(level))
            spans = zip(*question.reached.run_spans(level), strict=True)
            for (a, b), total in zip(spans, question.pooled.totals[level], strict=True):
                found.append((int(a), int(b), int(total), float(scale)))
        whose = np.full(size, -1)
        for number, (a, b, _, _) in enumerate(found):
            whose[a:b] = number
        prefix = np.cumsum([0.0, *np.random.default_rng(seed).normal(3, 9, size)])
        for start, stop in itertools.combinations(range(0, size + 1, max(1, size // 12)), 2):
            told = errors.by_runs(start, stop)
            touched = np.unique(whose[start:stop])
            if touched[0] < 0:
                assert told is None
                continue
            bounded += 1
            runs = [found[number] for number in touched]
            whole = [start <= a and b <= stop for a, b, _, _ in runs]
            totals = [total for _, _, total, _ in runs]
            least = sum(t for t, inside in zip(totals, whole, strict=True) if inside)
            cut = sum(max(t, 0) for t, inside in zip(totals, whole, strict=True) if not inside)
            assert told is not None
            assert told[:2] == (least, least + cut)
            assert sorted(told[2].scales) == sorted(scale for *_, scale in runs)
            assert (told[2].coefficients == 1).all()
            assert (told[2].counts == 1).all()
            # The interval: a quarter of the chance to fail, and as far as the bounds are off.
            factor, shown = -2.5, prefix[stop] - prefix[start]
            one = errors.given(prefix)._by_runs((((start, stop), factor),))
            assert one is not None
            assert (one.among, one.law) == (4.0, noise.law)
            assert (one.coefficients == abs(factor)).all()
            off = max(shown - least, least + cut - shown, 0)
            assert one.left_open == pytest.approx(abs(factor) * off)
    assert bounded or name == "cells alone"


@pytest.mark.parametrize("name", ["three levels", "a level left out", "wide"])
def test_a_range_has_the_narrower_of_two_bounds_and_two_ranges_have_paths_alone(name: str) -> None:
    """Runs bound one range, and say nothing of another beside it."""
    narrowed = 0
    for seed, epsilon in itertools.product(range(3), ("1/2", "1/200", "1/5000")):
        m = measured(TREES[name], seed, epsilon)
        release, paths = tu.infer(m), errors_of(m.noise)  # without counts: by paths
        both, size = release.errors, release.axis.size
        assert isinstance(both, PathErrors)
        cuts = range(0, size + 1, max(1, size // 7))
        for start, stop in itertools.combinations(cuts, 2):
            one = (((start, stop), 1.0),)
            runs, path = both._by_runs(one), paths.noise_law(one).half_width(0.95)
            told = both.noise_law(one).half_width(0.95)
            run = np.inf if runs is None else runs.half_width(0.95)
            assert told in (path, run)
            assert told <= 1.5 * min(path, run)  # told apart by a rough rule
            narrowed += run < path
            for other in ((0, cuts[1]), (start, cuts[-1])):
                pair = (*one, (other, -1.0))
                wide = paths.noise_law(pair).half_width(0.95)
                assert both.noise_law(pair).half_width(0.95) == wide
    assert narrowed


def spikes(height: int) -> np.ndarray:
    counts = np.zeros(60, np.int64)
    counts[2::8] = height
    return counts


LEVEL, DRAWS = 0.9, 300
THRESHOLD = 5 * 2**0.5 / 0.4 * 2  # of a node of the first level at ε = 1/2, in counts
WORST = {
    "empty": np.zeros(60, np.int64),
    "ones": np.ones(60, np.int64),
    "spikes at the threshold": spikes(round(THRESHOLD / 2)),
    "spikes above it": spikes(round(THRESHOLD / 2) + 6),
    "spikes that are a node": np.where(np.arange(60) % 16 == 5, round(THRESHOLD), 0),
    "comb": np.where(np.arange(60) % 2, 9, 0),
    "ramp": np.arange(60) // 2,
    "one cell": np.where(np.arange(60) == 33, round(THRESHOLD) + 5, 0),
}


@pytest.mark.parametrize("name", WORST)
def test_every_single_interval_holds_at_least_as_often_as_it_says(name: str) -> None:
    """At data made to be at the thresholds; each range by itself, not the mean over ranges."""
    counts = WORST[name]
    truth = np.concatenate([[0], np.cumsum(counts)])
    ends = np.array(
        [[0, 60], [0, 16], [3, 16], [1, 2], [2, 3], [5, 33], [10, 50], [33, 34], [20, 22]]
    )
    true = truth[ends[:, 1]] - truth[ends[:, 0]]
    question = AdaptiveTreeCounts(TREES["three levels"])
    held = np.zeros(len(ends))
    for seed in range(DRAWS):
        found = tu.infer(measure_for_experiment(counts, question, "1/2", seed))
        low, high = found.intervals(ends[:, 0], ends[:, 1], LEVEL, simultaneous=False)
        held += (low <= true) & (true <= high)
    # Four standard deviations of a share below the level: none of 72 such tests fails by chance.
    least = LEVEL - 4 * (LEVEL * (1 - LEVEL) / DRAWS) ** 0.5
    assert (held / DRAWS).min() >= least


@pytest.mark.parametrize("name", ["empty", "spikes at the threshold", "ramp", "one cell"])
def test_quantiles_and_shares_hold_too(name: str) -> None:
    counts = WORST[name] + (1 if name == "empty" else 0)
    prefix = np.cumsum(counts)
    median = int(np.argmax(prefix >= 0.5 * prefix[-1]))
    share = prefix[19] / prefix[-1]
    question = AdaptiveTreeCounts(TREES["three levels"])
    held = np.zeros(2)
    for seed in range(50):
        release = tu.infer(measure_for_experiment(counts, question, "1/2", seed))
        low, high = release.quantile_interval(0.5, LEVEL)
        a, b = release.cdf_interval(20, LEVEL)
        held += [low <= median <= high, a <= share <= b]
    assert held.min() / 50 >= LEVEL - 4 * (LEVEL * (1 - LEVEL) / 50) ** 0.5
