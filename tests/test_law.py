"""Errors and intervals: dense linear algebra for variances, seeded draws for coverage."""

from __future__ import annotations

import importlib.util
import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest, norm

import trueup as tu
from trueup import law
from trueup.law import NoiseLaw, NormalLaw, RangeErrors, added, steps, times
from trueup.noise import noise_variance
from trueup.paper.noise import measure_for_experiment

DRAWS = 20_000

QUESTIONS = {
    "paper": tu.TreeCounts(64, branching=2),
    "wide": tu.TreeCounts(256, branching=16, root=False),
    "uneven": tu.TreeCounts(100, radices=(5, 4, 6), shares=("0.1", "0.3", "0.2", "0.4")),
    "hierarchy": tu.TreeCounts(
        tu.Axis.hierarchy("place", {"a": ["b", "c", "d"], "e": ["f"], "g": ["h", "i"]})
    ),
}


def measured(question, epsilon, noisy=None):
    noisy = np.zeros(question.length, np.int64) if noisy is None else noisy
    return tu.Measurement(question, noisy, epsilon=epsilon)


def estimator(measurement):
    """The matrix that takes noisy answers to least-squares cells."""
    rows = measurement.question.matrix().toarray()
    weights = (1 / measurement.variances)[:, None]
    return np.linalg.solve(rows.T @ (weights * rows), (weights * rows).T)


def noise(measurement, draws, seed):
    generator = np.random.default_rng(seed)
    success = -np.expm1(-1 / measurement.scales)
    shape = (draws, len(success))
    return generator.geometric(success, shape) - generator.geometric(success, shape)


@pytest.mark.parametrize("name", QUESTIONS)
def test_variances_and_covariances_are_those_of_least_squares(name):
    measurement = measured(QUESTIONS[name], Fraction(1, 2))
    cells = estimator(measurement)
    covariance = cells @ np.diag(measurement.variances) @ cells.T
    release = tu.infer(measurement)
    size = release.axis.size
    cuts = np.random.default_rng(3).integers(0, size + 1, (30, 4))
    for a, b, c, d in np.sort(cuts.reshape(-1, 2)).reshape(-1, 4).tolist():
        one, two = np.zeros(size), np.zeros(size)
        one[a:b], two[c:d] = 1, 1
        first, second = release.between(a, b), release.between(c, d)
        assert first.std_error**2 == pytest.approx(one @ covariance @ one, abs=1e-9)
        between = one @ covariance @ two
        assert first.covariance(second) == pytest.approx(between, rel=1e-8, abs=1e-8)
        difference = (one - two) @ covariance @ (one - two)
        assert (first - second).std_error ** 2 == pytest.approx(difference, rel=1e-8, abs=1e-8)
        np.testing.assert_allclose(
            release.errors.range_variances([a, c], [b, d]),
            [one @ covariance @ one, two @ covariance @ two],
            rtol=1e-9,
            atol=1e-12,
        )


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
@pytest.mark.parametrize("name", ["paper", "wide", "uneven"])
def test_intervals_cover_what_they_claim(name, epsilon):
    measurement = measured(QUESTIONS[name], epsilon)
    cells = estimator(measurement)
    drawn = noise(measurement, DRAWS, seed=len(name))
    release = tu.infer(measurement)
    size = release.axis.size
    for start, stop in ((size // 3, size // 3 + 1), (size // 4, size // 2), (1, size - 1)):
        off = drawn @ cells[start:stop].sum(axis=0)
        for level in (0.95, 0.99, 0.999):
            low, high = release.between(start, stop).interval(level)
            covered = int(((low <= off) & (off <= high)).sum())
            assert binomtest(covered, DRAWS, level, alternative="less").pvalue > 1e-4
            # And hardly more: a width of 1 % is 0.25 % of coverage at the least.
            looser = level + 0.06 * (1 - level)
            assert binomtest(covered, DRAWS, looser, alternative="greater").pvalue > 1e-4


@pytest.mark.parametrize("epsilon", [2, 5, 10])
@pytest.mark.parametrize("cells", [1, 3, 12])
def test_lattice_intervals_cover_at_least_what_they_claim(epsilon, cells):
    measurement = measured(tu.CellCounts(12), epsilon)
    off = noise(measurement, 200_000, seed=cells)[:, :cells].sum(axis=1)
    for level in (0.5, 0.95, 0.999):
        low, high = tu.infer(measurement).between(0, cells).interval(level)
        assert high == int(high)
        assert np.mean((low <= off) & (off <= high)) >= level - 4 * np.sqrt(level / 200_000)


def test_flat_intervals_are_the_least_that_hold():
    # One cell at ε = 1/10: P(|X| ≤ 30) is the first above 95 %.
    interval = tu.infer(measured(tu.CellCounts(5), "0.1")).between(0, 1).interval(0.95)
    p = np.exp(-0.1)
    held = 1 - 2 * p ** (np.arange(200) + 1) / (1 + p)
    assert interval == (-np.argmax(held >= 0.95), np.argmax(held >= 0.95))


def test_simultaneous_intervals_hold_together():
    question = QUESTIONS["uneven"]
    measurement = measured(question, 1)
    drawn = noise(measurement, DRAWS, seed=1) @ estimator(measurement).T
    prefix = np.concatenate([np.zeros((DRAWS, 1)), np.cumsum(drawn, axis=1)], axis=1)
    starts, stops = np.sort(np.random.default_rng(2).integers(0, 101, (2, 40)), axis=0)
    low, high = tu.infer(measurement).intervals(starts, stops, 0.9)
    off = prefix[:, stops] - prefix[:, starts]
    together = ((low <= off) & (off <= high)).all(axis=1).sum()
    assert binomtest(int(together), DRAWS, 0.9, alternative="less").pvalue > 1e-4
    alone_low, alone_high = tu.infer(measurement).intervals(starts, stops, 0.9, simultaneous=False)
    one = tu.infer(measurement).between(int(starts[0]), int(stops[0])).interval(0.9)
    assert (alone_low[0], alone_high[0]) == pytest.approx(one)
    assert (alone_high < high).all()


TRUTH = np.array([0, 40, 3, 0, 0, 90, 20, 1, 0, 60, 0, 0, 5, 300, 2, 9, 0, 0, 30, 44])


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_true_quantile_is_ruled_out_as_seldom_as_claimed(share):
    question = tu.TreeCounts(len(TRUTH), branching=5)
    measurement = measured(question, "0.2")
    drawn = noise(measurement, DRAWS, seed=4) @ estimator(measurement).T + TRUTH
    prefix = np.concatenate([np.zeros((DRAWS, 1)), np.cumsum(drawn, axis=1)], axis=1)
    excess = prefix - share * prefix[:, -1:]
    below = np.cumsum(TRUTH)
    cell = int(np.argmax(below >= share * below[-1]))
    errors, size = tu.infer(measurement).errors, len(TRUTH)
    reach = [
        errors.noise_law((((0, cut), 1 - share), ((cut, size), -share))).half_width(0.9)
        for cut in (cell, cell + 1)
    ]
    kept = (excess[:, cell] <= reach[0]) & (excess[:, cell + 1] >= -reach[1])
    assert binomtest(int(kept.sum()), DRAWS, 0.9, alternative="less").pvalue > 1e-4


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_intervals_of_whole_releases_cover_what_they_claim(epsilon):
    draws, level = 150, 0.9
    question = tu.TreeCounts(len(TRUTH), branching=5)
    below = np.concatenate([[0], np.cumsum(TRUTH)])
    cell = int(np.argmax(below[1:] >= 0.5 * below[-1]))
    starts, stops = np.array([0, 3, 5, 11, 18]), np.array([20, 9, 6, 17, 20])
    held = dict.fromkeys(("quantile", "share", "all at once"), 0)
    for seed in range(draws):
        release = tu.infer(measure_for_experiment(TRUTH, question, epsilon, seed=seed))
        low, high = release.quantile_interval(0.5, level)
        held["quantile"] += low <= cell <= high
        low, high = release.cdf_interval(cell + 1, level)
        held["share"] += low <= below[cell + 1] / below[-1] <= high
        lows, highs = release.intervals(starts, stops, level)
        true = below[stops] - below[starts]
        held["all at once"] += bool(((lows <= true) & (true <= highs)).all())
    for covered in held.values():
        assert binomtest(covered, draws, level, alternative="less").pvalue > 1e-3
    # A share that is not ruled out is so by a test of just that level; the others by safer ones.
    assert binomtest(held["share"], draws, level + 0.01, alternative="greater").pvalue > 1e-3


def test_quantile_and_share_intervals_narrow_with_epsilon():
    counts = np.random.default_rng(0).poisson(200, 200)
    axis = tu.Axis.regular("x", 0, 100, bins=200)
    widths = []
    for epsilon in ("0.01", "0.1", "1"):
        release = tu.infer(
            tu.Measurement(
                tu.TreeCounts(axis, branching=16),
                tu.TreeCounts(axis, branching=16).answers(counts),
                epsilon=epsilon,
            )
        )
        low, high = release.quantile_interval(0.5)
        assert low <= release.quantile(0.5) <= high
        least, most = release.cdf_interval(50)
        assert 0 <= least <= release.cdf()[100] <= most <= 1
        widths.append((high - low, most - least))
    for wide, narrow in itertools.pairwise(widths):
        assert narrow <= wide


def test_named_counts_have_exact_intervals():
    grades = tu.Axis.categories("grade", ["A", "B", "C", "D", "F"])
    named = {"total": slice(None), "passing": ["A", "B", "C", "D"]}
    question = tu.NamedCounts(grades, {**named, **{g: [g] for g in "ABCDF"}})
    measurement = measured(question, 1)
    drawn = noise(measurement, DRAWS, seed=9)
    rows = question.matrix().toarray()
    off = drawn @ (rows @ np.linalg.pinv(rows)).T
    release = tu.infer(measurement)
    for i, name in enumerate(release.names):
        low, high = release[name].interval(0.99)
        covered = int(((low <= off[:, i]) & (off[:, i] <= high)).sum())
        assert binomtest(covered, DRAWS, 0.99).pvalue > 1e-4


def test_the_total_of_sorted_counts_has_an_exact_interval():
    question = tu.SortedCounts(50, adaptive=False)
    measurement = measured(question, "0.5")
    off = noise(measurement, DRAWS, seed=5).sum(axis=1)
    low, high = tu.infer(measurement).total().interval(0.95)
    covered = int(((low <= off) & (off <= high)).sum())
    assert binomtest(covered, DRAWS, 0.95).pvalue > 1e-4


def test_continuous_noise_of_experiments_has_its_own_law():
    question = tu.CellCounts(3)
    measurement = tu.Measurement(
        question, [0.0, 0.0, 0.0], epsilon=1, private=False, law="continuous"
    )
    low, high = tu.infer(measurement).between(0, 1).interval(0.95)
    assert high == pytest.approx(np.log(20), rel=0.01)
    assert high >= np.log(20)
    assert low == -high


def test_scales_too_small_for_floats_leave_no_error():
    release = tu.infer(measured(tu.TreeCounts(8, branching=2), 100_000))
    estimate = release.total()
    assert estimate.std_error == 0
    assert estimate.interval(0.999) == (0, 0)


@pytest.mark.parametrize("scale", [0.05, 0.7, 4, 1e6])
def test_noise_variance_is_that_of_its_law(scale):
    from mpmath import exp, mp

    with mp.workdps(40):
        p = exp(-1 / mp.mpf(scale))
        expected = float(2 * p / (1 - p) ** 2)
    assert noise_variance(scale) == pytest.approx(expected, rel=1e-12)


def test_steps_add_overlapping_ranges():
    assert steps((((0, 4), 1.0), ((2, 6), 1.0)), 6) == ([0, 2, 4, 6], [1.0, 2.0, 1.0])
    assert steps((((3, 3), 1.0),), 6) == ([0, 6], [0.0])


@pytest.mark.parametrize("level", [0, 1, -0.5, 95, True, "0.95"])
def test_levels_outside_zero_and_one_are_refused(level):
    release = tu.infer(measured(tu.CellCounts(4), 1))
    for ask in (
        lambda: release.total().interval(level),
        lambda: release.intervals([0], [2], level),
        lambda: release.cdf_interval(2, level),
        lambda: release.quantile_interval(0.5, level),
    ):
        with pytest.raises(tu.InputError, match="between 0 and 1"):
            ask()


def test_many_intervals_are_compiled_from_a_thousand_on_or_where_they_were_before(monkeypatch):
    asked = []

    class Counted(RangeErrors):
        """One noise, whatever the range."""

        def variance(self, combination):
            return self.noise_law(combination).variance

        def noise_law(self, combination):
            return NoiseLaw(np.ones(1), np.full(1, 3.0), np.ones(1))

        def range_variances(self, starts, stops):
            return np.full(len(np.atleast_1d(starts)), self.noise_law(()).variance)

        def many_half_widths(self, starts, stops, level):
            asked.append(len(starts))
            return np.full(len(starts), self.noise_law(()).half_width(level))

    alone = Counted().noise_law(()).half_width(0.9)
    for compiled, number, parts in (
        (False, 999, []),
        (False, 2_500, [1000, 1000, 500]),
        (True, 7, []),
        (True, 8, [8]),
    ):
        asked.clear()
        monkeypatch.setattr(law, "_ROWS", "sys" if compiled else "no such module")
        starts = np.arange(number)
        found = Counted().half_widths(starts, starts + 1, 0.9)
        assert asked == parts
        np.testing.assert_array_equal(found, np.full(number, alone))


def test_the_module_of_compiled_intervals_is_there():
    assert importlib.util.find_spec(law._ROWS) is not None


GAUSSIAN = {
    **QUESTIONS,
    "cells": tu.CellCounts(12),
    "hats": tu.HatCounts(40, [2, 8]),
    "wavelet": tu.WaveletCounts(24),
    "weighted": tu.WeightedCounts(3, [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, -1, 0], [1, 1, "1/2"]]),
}


@pytest.mark.parametrize("rho", ["3", "1/50"])
@pytest.mark.parametrize("name", GAUSSIAN)
def test_intervals_of_gaussian_noise_hold_as_often_as_they_say(name, rho):
    """Of some ranges, with noise drawn from the law point by point; and their variances."""
    question = GAUSSIAN[name]
    m = tu.Measurement(question, np.zeros(question.length, np.int64), rho=Fraction(rho))
    fit, errors = estimator(m), tu.infer(m).errors
    generator, draws = np.random.default_rng(7), 4_000
    drawn = np.empty((draws, question.length))
    for variance in np.unique(m.scales**2):
        at = np.isclose(m.scales**2, variance)
        points = np.arange(-int(9 * variance**0.5) - 3, int(9 * variance**0.5) + 4)
        weights = np.exp(-(points**2) / (2 * variance))
        drawn[:, at] = generator.choice(points, (draws, at.sum()), p=weights / weights.sum())
    size = len(fit)
    for start, stop in ((0, size), (size // 3, size // 3 + 1), (1, size - 1)):
        row = fit[start:stop].sum(axis=0)
        found = errors.noise_law((((start, stop), 1.0),))
        assert found.variance == pytest.approx(float(row**2 @ m.variances), rel=1e-6)
        for level in (0.8, 0.95):
            width = found.half_width(level)
            inside = int((np.abs(drawn @ row) <= width + 1e-9).sum())
            assert binomtest(inside, draws, level, alternative="less").pvalue > 1e-5
            fewer = int((np.abs(drawn @ row) <= width * 0.985 - 1e-9).sum())
            assert binomtest(fewer, draws, level, alternative="greater").pvalue > 1e-5


def test_the_sum_of_laplace_and_gaussian_errors_has_both():
    one = NoiseLaw(np.ones(1), np.array([2.0]), np.ones(1))
    other = NoiseLaw(np.ones(1), np.array([9.0]), np.ones(1), "gaussian")
    both = law.added([one, law.times(other, 2.0)])
    assert both.variance == pytest.approx(one.variance + 4 * 9)
    assert law.added([both, one]).variance == pytest.approx(2 * one.variance + 4 * 9)
    assert law.times(both, -3.0).half_width(0.9) == pytest.approx(
        3 * both.half_width(0.9), rel=1e-3
    )
    normal = 1.645 * both.variance**0.5
    assert normal * 0.95 < both.half_width(0.9) < normal * 1.1


def test_experiments_with_noise_on_the_real_line_are_normal():
    line = NoiseLaw(np.array([3.0, 4.0]), np.array([4.0, 4.0]), np.ones(2), "normal")
    assert line.variance == pytest.approx(100)
    assert line.half_width(0.95) == pytest.approx(19.6, rel=1e-3)


ONE = NoiseLaw(np.array([1.0, -2.0]), np.array([3.0, 5.0]), np.array([2.0, 1.0]))
LAWS = {
    "discrete": ONE,
    "gaussian": replace(ONE, law="gaussian"),
    "continuous": replace(ONE, law="continuous"),
    "normal": replace(ONE, law="normal"),
    "both": replace(ONE, law="gaussian", beside=replace(ONE, scales=np.array([7.0, 2.0]))),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_each_part_of_a_law_widens_the_interval_by_what_it_is(name: str, level: float) -> None:
    """One among ten at 95 % is one alone at 99.5 %; what is open comes on top."""
    plain, unknown = LAWS[name], replace(ONE, among=4.0)
    for among in (2, 10):
        own = plain.half_width(1 - (1 - level) / among)
        assert replace(plain, among=among).half_width(level) == pytest.approx(own, rel=1e-9)
        assert own > plain.half_width(level)
    open_width = ONE.half_width(1 - (1 - level) / 4)
    whole = replace(plain, widened=0.01, left_open=3.5, open_noise=unknown).half_width(level)
    expected = 1.01 * plain.half_width(level) + 3.5 + open_width
    assert whole == pytest.approx(expected, rel=1e-9)
    both = replace(plain, among=10, open_noise=unknown).half_width(level)
    assert both == pytest.approx(own + open_width, rel=1e-9)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("among", [1.0, 4.0])
def test_a_slip_takes_its_own_part_of_the_chance_to_fail_where_there_is_twice_as_much(
    name: str, among: float
) -> None:
    """Where there is less nothing is taken to be clear, and a slip costs nothing."""
    plain, law = LAWS[name], replace(LAWS[name], among=among, unclear=8.0, slip=0.004)
    for chance, left in ((0.05, 0.046), (0.009, 0.005), (0.008, 0.004)):
        own = plain.half_width(1 - left / among)
        assert law.half_width(1 - chance) == pytest.approx(own, rel=1e-9)
    for chance in (0.0079, 0.002, 1e-9):
        own = plain.half_width(1 - chance / 8)
        assert law.half_width(1 - chance) == pytest.approx(own, rel=1e-6)
    assert law.words.startswith("an upper bound")


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("factor", [-2, 3])
def test_a_multiple_of_an_error_is_off_by_that_multiple(name: str, factor: int) -> None:
    whole = replace(LAWS[name], widened=0.01, left_open=3.5, open_noise=ONE, among=3.0)
    found = times(whole, factor)
    assert found.variance == pytest.approx(factor**2 * whole.variance)
    assert found.half_width(0.9) == pytest.approx(abs(factor) * whole.half_width(0.9), rel=0.011)
    normal = NormalLaw(7.0)
    assert times(normal, factor).half_width(0.9) == (
        pytest.approx(abs(factor) * norm.isf(0.05) * 7**0.5)
    )


@pytest.mark.parametrize(("name", "other"), [*itertools.product(LAWS, LAWS)])
def test_a_sum_of_errors_may_fail_as_each_of_them_may(name: str, other: str) -> None:
    """Variances and what is open add up, and so many ways of the one go with all of the other."""
    one = replace(LAWS[name], among=3.0, slip=0.25, left_open=2.0, widened=0.01, open_noise=ONE)
    one = replace(one, unclear=5.0)
    two = replace(LAWS[other], among=4.0, unclear=7.0, slip=0.5, left_open=5.0)
    two = replace(two, open_noise=replace(ONE, among=6.0))
    found = added([one, two])
    assert isinstance(found, NoiseLaw)
    assert found.variance == pytest.approx(one.variance + two.variance, rel=1e-5)
    assert (found.among, found.slip, found.left_open, found.widened) == (12.0, 0.75, 7.0, 0.01)
    assert found.unclear == 35.0
    assert added([one, replace(LAWS[other], among=4.0)]).unclear == 20.0
    assert found.open_noise is not None
    assert found.open_noise.variance == pytest.approx(2 * ONE.variance)
    assert found.open_noise.among == 6.0
    assert added([one]) is one
    normal = added([one, NormalLaw(2.0)])
    assert normal == NormalLaw(one.variance + 2.0)


@pytest.mark.parametrize("kind", ["discrete", "continuous", "normal"])
def test_many_laws_are_as_wide_together_as_one_by_one(kind):
    """To the last bit, whatever they differ in: what is left open, anything else, or nothing."""
    own = np.array([1.0, 0.5]), np.array([3.0, 5.0]), np.array([1.0, 4.0])
    plain = NoiseLaw(*own, kind)
    changes = [
        {},
        {"left_open": 2.5},
        {"left_open": 0.25},
        {"among": 4.0, "left_open": 2.5},
        {"slip": 0.045, "left_open": 2.125},
        {"slip": 0.2, "unclear": 8.0, "left_open": 0.375},
        {"slip": 0.2, "unclear": 30.0, "left_open": 0.625},
        {"widened": 0.1, "left_open": 2.5},
        {"scales": np.array([3.0, 6.0])},
        {"coefficients": np.array([1.0, 0.25])},
        {"counts": np.array([2.0, 4.0])},
        {"open_noise": plain, "left_open": 2.5},
        {"open_noise": times(plain, 2.0), "left_open": 2.5},
    ]
    other = {"discrete": "gaussian", "continuous": "discrete"}.get(kind, "discrete")
    changes.append({"law": other, "left_open": 0.875})
    laws = [NormalLaw(4.0), *(replace(plain, **change) for change in changes * 2)]
    found = law.half_widths(laws, 0.9).tolist()
    assert found == [each.half_width(0.9) for each in laws]
    assert len(set(found)) == 1 + len(changes)


def test_among_more_ways_than_floats_can_count_a_width_is_finite_and_holds():
    """Beside the chance of one noise, which is known: q^k / (1 + …), in logarithms."""
    scale, ways = 10.0, [1.0, 1e6, 1e12, 1e30, 1e300]
    laws = [NoiseLaw(np.ones(1), np.array([scale]), np.ones(1), among=each) for each in ways]
    widths = [each.half_width(0.95) for each in laws]
    assert widths == sorted(widths)
    for each, width in zip(ways, widths, strict=True):
        beyond = np.log(2) - (np.floor(width) + 1) / scale - np.log1p(np.exp(-1 / scale))
        assert beyond <= np.log(0.05) - np.log(each)
        assert width <= 1.4 * scale * (np.log(each) - np.log(0.05)) + 2 * scale
    many = added([replace(laws[0], among=4.0)] * 2000)  # 4 ** 2000 is no float
    least = replace(many, among=1e300).half_width(0.95)
    assert least < many.half_width(0.95) < 2000 * scale * 4
    still = NoiseLaw(np.ones(1), np.array([0.01]), np.ones(1), among=1e30)
    assert 0 < still.half_width(0.95) < 1  # it moves with a chance of 2 e^-100, which is too little


@pytest.mark.parametrize("kind", ["normal", "gaussian"])
def test_of_gaussian_noise_a_width_holds_among_however_many_ways(kind):
    """By the normal tail, in logarithms; and of noise that hardly moves it has no end."""
    for ways in (1e3, 1e9, 1e15, 1e60, 1e300):
        law = NoiseLaw(np.array([2.0]), np.array([400.0]), np.ones(1), kind, among=ways)
        beyond = (law.half_width(0.95) + 2) / 2 / 20  # the next of its values
        assert np.log(2) + norm.logsf(beyond) <= np.log(0.05) - np.log(ways)
    still = NoiseLaw(np.ones(1), np.array([0.01]), np.ones(1), "gaussian", among=1e30)
    assert still.half_width(0.95) == np.inf  # it moves with a chance of 2 e^-50, which is too much


@pytest.mark.parametrize("kind", ["discrete", "normal", "gaussian"])
def test_a_width_grows_with_the_ways_without_a_jump(kind):
    own = np.ones(3), np.array([40.0, 50.0, 60.0]), np.array([1.0, 2.0, 3.0])
    widths = [NoiseLaw(*own, kind, among=2.0**k).half_width(0.95) for k in range(30, 50)]
    assert all(one <= other * (1 + 1e-9) for one, other in itertools.pairwise(widths))
    assert max(other / one for one, other in itertools.pairwise(widths)) < 1.05
