"""Adaptive trees put together: a mean by fixed weights, whose intervals hold at the worst."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup.ask import AdaptiveTreeCounts
from trueup.infer import axis_model
from trueup.law import NoiseLaw
from trueup.measurement import Measurement
from trueup.paper.noise import measure_for_experiment
from trueup.reconcile.averaged import AveragedErrors

AXIS = tu.Axis.integers("x", 0, 59)
TREE = tu.TreeCounts(AXIS, radices=(4, 4, 4), shares=("2/5", "3/10", "3/10"))
BINARY = tu.TreeCounts(AXIS, branching=2)
ADAPTIVE = AdaptiveTreeCounts(TREE)
OTHER = AdaptiveTreeCounts(tu.TreeCounts(AXIS, radices=(6, 10), shares=("1/2", "1/2")))
G = np.random.default_rng(8)
COUNTS = G.poisson(300, 60) * (G.random(60) < 0.3)


def measured(question: Any, seed: int, epsilon: object = "1/2", counts: Any = COUNTS) -> Any:
    return measure_for_experiment(counts, question, epsilon, seed)


def taken(m: Measurement) -> np.ndarray:
    """What each cell of the fit of a part takes from each of its noisy answers."""
    model = axis_model(m.noise)
    return np.array([model.fit(row) for row in np.eye(len(m.noisy), dtype=np.int64)]).T


PARTS = {
    "one tree twice": [measured(ADAPTIVE, 1), measured(ADAPTIVE, 2)],
    "two trees": [measured(ADAPTIVE, 1), measured(OTHER, 2, "1/4")],
    "with one asked at once": [measured(ADAPTIVE, 1), measured(BINARY, 2)],
    "with hats": [measured(tu.HatCounts(AXIS), 1), measured(ADAPTIVE, 2)],
    "one alone": [measured(OTHER, 3)],
}


@pytest.mark.parametrize("total", [None, 5000.0])
@pytest.mark.parametrize("name", PARTS)
def test_counts_and_variances_are_those_of_the_mean(name: str, total: float | None) -> None:
    parts = PARTS[name]
    known = None if total is None else {"total": COUNTS.sum()}
    release = tu.reconcile(parts, known=known)
    errors = release.errors
    assert isinstance(errors, AveragedErrors)
    assert sum(errors.weights) == pytest.approx(1)
    ordered = sorted(parts, key=lambda m: not isinstance(m.question, AdaptiveTreeCounts))
    cells, variances = np.zeros(60), []
    coefficients = []
    for m, weight in zip(ordered, errors.weights, strict=True):
        matrix = weight * taken(m)
        cells += matrix @ m.noisy
        coefficients.append(matrix)
        variances.append(m.variances)
    matrix, each = np.hstack(coefficients), np.concatenate(variances)
    if total is not None:  # siblings are moved alike, so that they sum to what is known
        first: Any = ordered[0].question
        shares = np.full(60, 1 / 60)  # six siblings, ten cells in each
        if first.tree == TREE:  # four, each with four but the last with three, and four cells each
            shares = np.repeat([1 / 64, 1 / 64, 1 / 64, 1 / 48], [16, 16, 16, 12])
        cells += (COUNTS.sum() - cells.sum()) * shares
        matrix = matrix - np.outer(shares, matrix.sum(0))
    np.testing.assert_allclose(release.counts(), cells, atol=1e-6)
    sums = np.vstack([np.zeros(matrix.shape[1]), np.cumsum(matrix, axis=0)])
    starts, stops = np.array([0, 0, 3, 17, 20, 59]), np.array([60, 16, 41, 18, 22, 60])
    expected = (sums[stops] - sums[starts]) ** 2 @ each
    found = errors.range_variances(starts, stops)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    pair = (((2, 4), 1.0), ((1, 33), -2.0))
    row = sums[4] - sums[2] - 2 * (sums[33] - sums[1])
    assert errors.variance(pair) == pytest.approx(row**2 @ each)
    assert release.range(0, 20).value + release.range(20, 60).value == release.total().value
    if total is not None:
        assert release.total().value == COUNTS.sum()
        assert release.total().interval() == (COUNTS.sum(), COUNTS.sum())


def test_weights_do_not_depend_on_noise() -> None:
    """A tree that pooled everything and one that pooled nothing count as much as each other."""
    full, empty = np.full(60, 10**6), np.zeros(60, np.int64)
    seen = set()
    for counts in (full, empty, COUNTS):
        for seed in range(3):
            parts = [measured(ADAPTIVE, seed, "1/10", counts), measured(BINARY, seed, 1, counts)]
            seen.add(tu.reconcile(parts).errors.weights)
    assert len(seen) == 1


def test_the_dearer_part_counts_for_more() -> None:
    both = tu.reconcile([measured(ADAPTIVE, 1, 1), measured(ADAPTIVE, 2, 2)])
    # Squared errors go as 1/ε², but for whole noise, whose variance is a little less.
    assert both.errors.weights == pytest.approx((1 / 5, 4 / 5), abs=1e-2)
    alike = tu.reconcile([measured(ADAPTIVE, 1), measured(ADAPTIVE, 2), measured(ADAPTIVE, 3)])
    assert alike.errors.weights == pytest.approx([1 / 3] * 3)


def law_of(parts: Any, start: int, stop: int) -> NoiseLaw:
    law = tu.reconcile(parts).errors.noise_law((((start, stop), 1.0),))
    assert isinstance(law, NoiseLaw)
    return law


def test_all_the_way_has_half_of_the_chance_to_fail_however_many_parts() -> None:
    full = np.full(60, 10**6)
    for number in (1, 2, 3):
        parts = [measured(ADAPTIVE, seed, 1, full) for seed in range(number)]
        assert (law_of(parts, 3, 41).among, law_of(parts, 3, 41).left_open) == (2.0, 0.0)
        assert law_of(parts, 16, 48).words == "exact, from the law of the noise"
    mixed = [measured(ADAPTIVE, 1, 1, full), measured(BINARY, 1, 1, full)]
    assert law_of(mixed, 3, 41).among == 2.0


def test_other_ways_share_a_quarter_by_their_products() -> None:
    """Of one tree 10 ways, two ends in one run being one: 1/4 all the way, (1/2)/9 each other."""
    empty = np.zeros(60, np.int64)
    # A range with a spike in it, so that runs bound nothing: paths end above its ends.
    spike = np.where(np.arange(60) == 20, 10**6, 0)
    parts = [measured(ADAPTIVE, seed, "1/10", spike) for seed in range(2)]
    each = [m.noise for m in parts]
    own = [axis_model(noise).errors.noise_law((((3, 41), 1.0),)).among for noise in each]
    assert own == [2 * 9, 2 * 9]
    # All pairs but (all the way, all the way) have 9/16 − 1/16 as products; they share a quarter.
    share = (1 / (2 * 9)) ** 2 / (9 / 16 - 1 / 16) / 4
    assert law_of(parts, 3, 41).among == pytest.approx(1 / share)
    pooled = [measured(ADAPTIVE, seed, "1/10", empty) for seed in range(2)]
    assert law_of(pooled, 5, 30).among == law_of(pooled, 5, 30).unclear == 4.0  # by runs
    assert law_of(pooled, 0, 16).among == 1.0  # a node of the first level


def test_a_path_that_stops_is_none_that_goes_all_the_way_however_few_ways_there_are() -> None:
    """[0, 41) has three ways: its law is one among 4 of one tree, as that of all the way is."""
    spike = np.where(np.arange(60) == 20, 10**6, 0)
    parts = [measured(ADAPTIVE, seed, "1/10", spike) for seed in range(2)]
    alone = [axis_model(m.noise).errors for m in parts]
    own = [errors.by_paths((((0, 41), 1.0),)) for errors in alone]
    assert [(law.among, stopped) for law, stopped in own] == [(4.0, True), (4.0, True)]
    law = law_of(parts, 0, 41)
    assert law.among == law.unclear == pytest.approx(4 * 4 * (9 / 16 - 1 / 16) * 4)


def test_runs_bound_nothing_beside_a_tree_that_has_one_way_only() -> None:
    """[0, 20) is two nodes of the other tree: its own noise has all of its chance to fail."""
    parts = [measured(each, 1, "1/10", np.zeros(60, np.int64)) for each in (ADAPTIVE, OTHER)]
    (first, second), law = (tu.infer(m) for m in parts), law_of(parts, 0, 20)
    own, other = (axis_model(m.noise).errors.noise_law((((0, 20), 1.0),)) for m in parts)
    assert (own.among, other.among) == (2.0, 1.0)
    assert first.errors.by_runs(0, 20) is not None
    assert second.errors.by_runs(0, 20) is not None
    weights = tu.reconcile(parts).errors.weights
    variance = weights[0] ** 2 * own.variance + weights[1] ** 2 * other.variance
    assert law.variance == pytest.approx(variance)


def test_what_the_runs_leave_open_grows_with_the_factor_of_a_range() -> None:
    """Three times a count is as uncertain as three counts alike, with either sign."""
    parts = [measured(ADAPTIVE, seed, "1/10", np.zeros(60, np.int64)) for seed in range(6, 8)]
    errors, opened = tu.reconcile(parts).errors, 0
    for start, stop in ((0, 20), (7, 8), (0, 60), (21, 55)):
        one = errors.noise_law((((start, stop), 1.0),))
        assert isinstance(one, NoiseLaw)
        for factor in (3.0, -2.0):
            other = errors.noise_law((((start, stop), factor),))
            assert isinstance(other, NoiseLaw)
            assert other.left_open == pytest.approx(abs(factor) * one.left_open)
            assert other.variance == pytest.approx(factor**2 * one.variance)
        opened += one.left_open > 0
    assert opened


def test_runs_of_a_mean_leave_open_how_far_the_count_is_from_the_mean_of_their_bounds() -> None:
    """With weights, and known totals that move the count: from each side of the bounds."""
    sides = set()
    for seed in range(6):
        parts = [measured(ADAPTIVE, 10 + seed, "1/10", 0 * COUNTS)]
        parts.append(measured(ADAPTIVE, 30 + seed, "1/5", 0 * COUNTS))
        for known in (None, {"total": 60}, {"total": 0}):
            release = tu.reconcile(parts, known=known)
            errors = release.errors
            for start, stop in ((5, 30), (16, 48), (0, 20), (33, 34)):
                runs = errors._by_runs((((start, stop), 1.0),))
                assert runs is not None
                each = [tu.infer(m).errors.by_runs(start, stop)[:2] for m in parts]
                least, most = np.average(each, axis=0, weights=errors.weights)
                value = release.between(start, stop).value
                off = max(value - least, most - value)
                assert runs.left_open == pytest.approx(off, abs=1e-6)
                sides.add(bool(value - least > most - value))
    assert sides == {True, False}


def spikes(height: int) -> np.ndarray:
    return np.where(np.arange(60) % 8 == 2, height, 0)


THRESHOLD = 5 * 2**0.5 / 0.4 * 2  # of a node of the first level at ε = 1/2, in counts
WORST = {
    "empty": np.zeros(60, np.int64),
    "spikes at the threshold": spikes(round(THRESHOLD / 2)),
    "comb": np.where(np.arange(60) % 2, 9, 0),
    "one cell": np.where(np.arange(60) == 33, round(THRESHOLD) + 5, 0),
}
LEVEL, DRAWS = 0.9, 60


@pytest.mark.parametrize("way", ["twice", "at once beside", "known total"])
@pytest.mark.parametrize("name", WORST)
def test_every_single_interval_holds_at_least_as_often_as_it_says(name: str, way: str) -> None:
    """At data made to be at the thresholds; each range by itself, not the mean over ranges."""
    counts = WORST[name]
    truth = np.concatenate([[0], np.cumsum(counts)])
    ends = np.array([[0, 60], [0, 16], [3, 16], [1, 2], [5, 33], [10, 50], [33, 34], [20, 22]])
    true = truth[ends[:, 1]] - truth[ends[:, 0]]
    held = np.zeros(len(ends))
    second = BINARY if way == "at once beside" else ADAPTIVE
    known = {"total": int(truth[-1])} if way == "known total" else None
    for seed in range(DRAWS):
        parts = [measured(ADAPTIVE, 2 * seed, "1/2", counts)]
        if known is None:
            parts.append(measured(second, 2 * seed + 1, "1/2", counts))
        found = tu.reconcile(parts, known=known)
        low, high = found.intervals(ends[:, 0], ends[:, 1], LEVEL, simultaneous=False)
        held += (low - 1e-6 <= true) & (true <= high + 1e-6)
    # Four standard deviations of a share below the level; the draws are the same in every run.
    least = LEVEL - 4 * (LEVEL * (1 - LEVEL) / DRAWS) ** 0.5
    assert (held / DRAWS).min() >= least


@pytest.mark.parametrize("name", ["one tree twice", "two trees"])
def test_shown_counts_have_the_weights_of_the_unbiased_ones(name: str) -> None:
    parts = PARTS[name]
    found = tu.reconcile(parts, nonnegative=True)
    weights = tu.reconcile(parts).errors.weights
    assert (weights[0] == pytest.approx(weights[1])) == (name == "one tree twice")
    shown = [tu.infer(m, nonnegative=True).counts() for m in parts]
    expected = weights[0] * shown[0] + weights[1] * shown[1]
    np.testing.assert_allclose(found.counts(), expected, atol=1e-3)


def test_shown_counts_are_the_mean_of_what_the_parts_show() -> None:
    parts = PARTS["one tree twice"]
    shown = [tu.infer(m, nonnegative=True).counts() for m in parts]
    found = tu.reconcile(parts, nonnegative=True)
    np.testing.assert_allclose(found.counts(), np.mean(shown, axis=0), atol=1e-3)
    whole = tu.reconcile(parts, nonnegative=True, integers=True)
    assert whole.counts().dtype == np.int64
    assert whole.counts().min() >= 0
    pinned = tu.reconcile(parts, known={"total": 5150}, nonnegative=True, integers=True)
    assert pinned.total().value == 5150
    assert pinned.counts().min() >= 0
    from_releases = tu.reconcile([tu.infer(m, nonnegative=True) for m in parts], nonnegative=True)
    np.testing.assert_allclose(from_releases.counts(), found.counts(), atol=1e-3)
    np.testing.assert_array_equal(from_releases.unbiased.counts(), found.unbiased.counts())
    plain = tu.reconcile([tu.infer(m) for m in parts], nonnegative=True)
    assert plain.counts().min() >= 0
    np.testing.assert_allclose(plain.total().value, plain.unbiased.total().value, rtol=0.05)


@pytest.mark.parametrize("known", [None, {"total": 5000}])
def test_a_saved_one_has_the_same_intervals(known: Any, tmp_path: Path) -> None:
    empty = np.zeros(60, np.int64)
    for parts in (PARTS["one tree twice"], [measured(ADAPTIVE, k, "1/2", empty) for k in (1, 2)]):
        total = known and {"total": int(parts[0].noisy[:4].sum())}
        found = tu.reconcile(parts, known=total, nonnegative=True, integers=True)
        found.save(tmp_path / "both.parquet")
        again = tu.load(tmp_path / "both.parquet")
        assert again.errors.weights == found.errors.weights
        for start, stop in ((0, 60), (5, 30), (17, 18), (3, 41)):
            one, two = found.range(start, stop), again.range(start, stop)
            assert (one.value, one.interval()) == (two.value, two.interval())


def test_what_is_not_of_the_same_data_or_cells_is_refused() -> None:
    first = measured(ADAPTIVE, 1)
    far = measured(ADAPTIVE, 2, "1/2", COUNTS + 1000)
    with pytest.raises(tu.InputError, match="Parts 1 and 2 contradict each other"):
        tu.reconcile([first, far])
    with pytest.raises(tu.InputError, match="contradicts the known total"):
        tu.reconcile([first], known={"total": 10**6})
    with pytest.raises(tu.InputError, match="counted twice"):
        tu.reconcile([first, first])
    place = tu.Axis.hierarchy("place", {"CA": ["Kern", "Napa"], "NV": ["Clark"]})
    counts = np.array([500, 20, 70])
    coarse = AdaptiveTreeCounts(tu.TreeCounts(place, levels=("level 1",)))
    fine = AdaptiveTreeCounts(tu.TreeCounts(place))
    with pytest.raises(tu.InputError, match="finer cells and coarser ones"):
        tu.reconcile([measured(coarse, 1, 1, counts), measured(fine, 1, 1, counts)])


def test_laplace_and_gaussian_noise_go_together() -> None:
    first = tu.measure(COUNTS, ADAPTIVE, epsilon=1)
    second = tu.measure(COUNTS, ADAPTIVE, rho=1)
    both = tu.reconcile([first, second])
    wide = both.range(3, 41)
    assert wide.std_error < tu.infer(first).range(3, 41).std_error
    low, high = wide.interval(0.999999)
    assert low <= COUNTS[3:41].sum() <= high
    assert "an upper bound" in wide.describe()
