"""What an adaptive quadtree shows: counts that add up, nearer to the truth where it is empty."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trueup as tu
from trueup.infer import model_of, table_model
from trueup.paper.noise import measure_for_experiment

AXES = tu.Axis.integers("x", 0, 63), tu.Axis.integers("y", 0, 63)


def heap() -> np.ndarray:
    counts = np.zeros((64, 64), np.int64)
    counts[20:30, 40:50] = 60
    return counts


def test_counts_are_shown_whole_and_load_with_the_same_intervals(tmp_path: Path) -> None:
    question = tu.BoxCounts.quadtree(*AXES, adaptive=True)
    m = measure_for_experiment(heap().ravel(), question, "1/2", seed=1)
    release = tu.infer(m, nonnegative=True, integers=True)
    counts = release.counts()
    assert counts.min() >= 0
    assert release.total().value == counts.sum()
    assert abs(int(counts[20:30, 40:50].sum()) - 6000) < 400
    assert np.abs(release.unbiased.counts().sum() - release.total().value) < 200
    release.save(tmp_path / "r.parquet")
    again = tu.load(tmp_path / "r.parquet")
    box, other = (each.unbiased.range((10, 25), (3, 47)) for each in (release, again))
    assert box.interval(0.95) == other.interval(0.95)
    low, high = box.interval(0.95)
    assert low < heap()[10:25, 3:47].sum() < high


def test_a_sparse_grid_has_half_the_error_of_a_quadtree_asked_at_once() -> None:
    counts = heap()
    wrong = {}
    for adaptive in (False, True):
        question = tu.BoxCounts.quadtree(*AXES, adaptive=adaptive)
        errors = []
        for seed in range(12):
            m = measure_for_experiment(counts.ravel(), question, "1/10", seed)
            shown = tu.infer(m, nonnegative=True, integers=True).counts() - counts
            sums = shown.cumsum(0).cumsum(1)
            errors.append(np.mean(sums[::7, ::5].astype(float) ** 2))
        wrong[adaptive] = np.mean(errors)
    assert wrong[True] < 0.6 * wrong[False]


def test_the_fit_is_unbiased_where_everything_is_asked_and_top_down_is_not_negative() -> None:
    counts = np.full((16, 16), 10**6)
    m = measure_for_experiment(counts.ravel(), tu.BoxCounts.quadtree(16, 16, adaptive=True), 1, 1)
    model = table_model(m.noise)
    np.testing.assert_allclose(model.fit(m.question.answers(counts.ravel())), counts)
    assert tu.infer(m, nonnegative=True, method="top-down").counts().min() >= 0
    with pytest.raises(tu.InputError, match="large-first or top-down"):
        tu.infer(m, nonnegative=True, method="exact")
    np.testing.assert_allclose(model.fit_nonnegative(m.noisy).sum(), 256e6, rtol=1e-3)


def test_a_plan_for_non_negative_counts_offers_it() -> None:
    asked = tu.plan(list(AXES), 1, nonnegative=True)["adaptive quadtree"].question
    assert asked == tu.BoxCounts.quadtree(*AXES, adaptive=True)
    assert model_of(tu.measure(heap().ravel(), asked, 1).noise).asks is tu.AdaptiveBoxCounts
