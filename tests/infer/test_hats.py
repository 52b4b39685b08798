"""Hats end to end: releases that add up, hold the truth and survive a file."""

from __future__ import annotations

import numpy as np
import pytest

import trueup as tu
from trueup.infer.hat_search import best_hats
from trueup.infer.hats import HatModel
from trueup.paper.noise import measure_for_experiment

AGE = tu.Axis.integers("age", 0, 999)
COUNTS = np.random.default_rng(11).poisson(20, 1000)


@pytest.fixture(scope="module")
def release():
    return tu.infer(tu.measure(COUNTS, tu.HatCounts(AGE), epsilon=1))


def test_every_split_of_a_range_adds_up_exactly(release):
    rng = np.random.default_rng(1)
    for _ in range(500):
        a, b, c = np.sort(rng.integers(0, 1001, 3)).tolist()
        assert release.range(a, b).value + release.range(b, c).value == release.range(a, c).value
    assert sum(release.counts().tolist()) == release.total().value


def test_the_noise_is_as_large_as_announced():
    # The mean square of 400 independent standardised errors; with real noise.
    question = tu.HatCounts(60, [4, 20])
    errors = []
    for _ in range(400):
        release = tu.infer(tu.measure(COUNTS[:60], question, epsilon=1))
        answer = release.range(7, 48)
        errors.append((answer.value - COUNTS[7:48].sum()) / answer.std_error)
    assert abs(np.mean(np.square(errors)) - 1) < 0.9  # ten standard deviations and more


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_intervals_hold_the_truth_as_often_as_they_say(level):
    question = tu.HatCounts(200, [10, 50])
    rng = np.random.default_rng(8)
    zero = np.zeros(200, np.int64)
    ranges = [(0, 1), (0, 200), (13, 14), (37, 111), (190, 200)]
    release = tu.infer(measure_for_experiment(zero, question, 1, rng))
    reach = [release.range(a, b).noise_law.half_width(level) for a, b in ranges]
    draws = 2_000
    held = np.zeros(len(ranges))
    for _ in range(draws):
        prefix = tu.infer(measure_for_experiment(zero, question, 1, rng)).prefix
        found = np.array([prefix[b] - prefix[a] for a, b in ranges])
        held += np.abs(found) <= np.array(reach) + 1e-9
    spread = (level * (1 - level) / draws) ** 0.5
    assert (held / draws > level - 5 * spread).all()
    assert (held / draws < level + 5 * spread + 0.012).all()


def test_a_difference_knows_what_its_parts_share(release):
    left, right = release.range(100, 300), release.range(200, 400)
    outer = release.range(100, 200) - release.range(300, 400)
    assert (left - right).std_error == pytest.approx(outer.std_error, rel=1e-9)
    assert (left - right).value == pytest.approx(outer.value)
    assert (left - left).std_error == 0


def test_a_hat_release_survives_a_file(release, tmp_path):
    for name in ("ages.parquet", "ages.json"):
        release.save(tmp_path / name)
        again = tu.load(tmp_path / name)
        assert (again.counts() == release.counts()).all()
        assert again.range(18, 65).interval() == release.range(18, 65).interval()
    measurement = tu.measure(COUNTS, tu.HatCounts(AGE), epsilon="1/3")
    measurement.save(tmp_path / "noisy.parquet")
    again = tu.load(tmp_path / "noisy.parquet")
    assert again == measurement
    assert again.columns()["stride"].tolist()[-1] == again.question.strides[-1]
    assert (tu.infer(again).counts() == tu.infer(measurement).counts()).all()


def test_counts_to_be_shown_are_whole_not_negative_and_keep_the_total():
    sparse = np.zeros(1000, np.int64)
    sparse[[3, 500, 501]] = 4_000, 9_000, 50
    measurement = measure_for_experiment(sparse, tu.HatCounts(AGE), 1, seed=4)
    release = tu.infer(measurement, nonnegative=True, integers=True)
    counts = release.counts()
    assert counts.dtype == np.int64
    assert counts.min() == 0
    assert abs(counts.sum() - release.unbiased.total().value) < 1
    assert np.abs(counts - sparse).mean() < np.abs(release.unbiased.counts() - sparse).mean() / 4
    with pytest.raises(tu.InputError, match="HatCounts can be shown top-down"):
        tu.infer(measurement, nonnegative=True, method="exact")


def test_replacing_a_record_costs_twice_the_noise():
    one = tu.measure(COUNTS, tu.HatCounts(AGE), epsilon=1)
    two = tu.measure(COUNTS, tu.HatCounts(AGE), epsilon=1, neighbours="replace")
    assert [2 * scale for scale in one.noise.scales] == list(two.noise.scales)


def test_tiny_and_huge_noise_leave_finite_answers():
    for epsilon in ("1/1000", 200):
        release = tu.infer(tu.measure(COUNTS, tu.HatCounts(AGE), epsilon=epsilon))
        assert np.isfinite(release.counts()).all()
        assert np.isfinite(release.std_errors()).all()
    assert (release.counts() == COUNTS).all()  # so little noise that there is none


def test_hats_are_offered_where_cells_have_neighbours():
    ranges = (tu.Workload.all_ranges(),)
    best, fours = HatModel.candidates((AGE,), ranges, False)
    assert best.ask() == best_hats(AGE, ranges[0])
    assert best.plainly() == tu.HatCounts(AGE)
    at_rho = best.at_rho()
    assert at_rho.ends
    assert (at_rho.strides, at_rho.shares) == (best.ask().strides, best.ask().shares)
    assert fours.gaussian
    assert not best.gaussian
    assert fours.ask() == tu.HatCounts(AGE, [4, 16, 64, 256])
    small = tu.Axis.integers("n", 0, 30)
    assert HatModel.candidates((small,), ranges, False)[1].ask() is None  # of one stride
    two = tu.Axis.integers("n", 0, 31)
    assert HatModel.candidates((two,), ranges, False)[1].ask() == tu.HatCounts(two, [4, 16])
    labels, one = tu.Axis.categories("k", list(range(99))), tu.Axis.integers("n", 5, 5)
    for axes in ((labels,), (one,), (AGE, small)):
        assert HatModel.candidates(axes, ranges, False) == []
