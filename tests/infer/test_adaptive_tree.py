"""Adaptive trees: what is inferred adds up, and its intervals hold at the worst, not on average."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import trueup as tu
from trueup.ask import AdaptiveTreeCounts
from trueup.infer import axis_model
from trueup.infer.adaptive_errors import PathErrors
from trueup.paper.noise import measure_for_experiment

from .pooled_trees import TREES, fit_matrix, measured


@pytest.mark.parametrize("name", TREES)
def test_the_fit_is_linear_and_right_where_there_is_no_noise(name: str) -> None:
    m = measured(TREES[name], 1)
    fit, question = fit_matrix(m), m.question
    np.testing.assert_allclose(fit @ m.noisy, axis_model(m.noise).fit(m.noisy), atol=1e-6)
    g = np.random.default_rng(3)
    counts = g.integers(0, 50, question.size)
    exact = fit @ question.answers(counts)
    cells = TREES[name].cells_of(counts)
    # Whatever is not cut inside a pooled node is counted right.
    assert isinstance(question, AdaptiveTreeCounts)
    for level in range(question.shape.height):
        for start, stop in zip(*question.reached.spans(level), strict=True):
            assert exact[start:stop].sum() == pytest.approx(cells[start:stop].sum(), abs=1e-6)


@pytest.mark.parametrize("name", TREES)
def test_shown_counts_are_whole_not_negative_and_add_up(name: str) -> None:
    m = measured(TREES[name], 2)
    shown = tu.infer(m, nonnegative=True, integers=True)
    counts = shown.counts()
    assert counts.dtype == np.int64
    assert counts.min() >= 0
    half = len(counts) // 2
    parts = shown.between(0, half).value + shown.between(half, len(counts)).value
    assert parts == shown.total().value == counts.sum()
    assert shown.unbiased.total().value == pytest.approx(axis_model(m.noise).fit(m.noisy).sum())
    other = tu.infer(m, nonnegative=True, method="top-down")
    assert other.counts().min() >= 0


def test_what_is_shown_is_nearer_to_sparse_counts_than_the_tree_asked_at_once() -> None:
    counts = np.zeros(4096, np.int64)
    counts[[7, 900, 901, 3000]] = [4000, 300, 500, 2500]
    truth = np.concatenate([[0], np.cumsum(counts)])
    plain = tu.plan(4096, "1/10", nonnegative=True)["for non-negative counts"].question
    wrong = []
    for question in (AdaptiveTreeCounts(4096), plain):
        found = [
            tu.infer(measure_for_experiment(counts, question, "1/10", seed), nonnegative=True)
            for seed in range(25)
        ]
        wrong.append(np.mean([np.mean((each.prefix - truth) ** 2) for each in found]))
    assert wrong[0] < 0.6 * wrong[1]


def test_saved_and_loaded_it_says_the_same(tmp_path: Path) -> None:
    m = measured(TREES["three levels"], 5)
    release = tu.infer(m, nonnegative=True, integers=True)
    for name, thing in (
        ("m.parquet", m),
        ("m.json", m),
        ("r.parquet", release),
        ("r.json", release),
    ):
        thing.save(tmp_path / name)
    assert tu.load(tmp_path / "m.parquet") == m == tu.load(tmp_path / "m.json")
    for name in ("r.parquet", "r.json"):
        again = tu.load(tmp_path / name)
        assert isinstance(again.errors, PathErrors)
        for ends in ((0, 60), (3, 7), (10, 41), (33, 34)):
            own = release.between(*ends)
            assert again.between(*ends).interval(0.9) == own.interval(0.9)
            assert again.between(*ends).describe() == own.describe()


def test_the_words_say_which_kind_of_interval_it_is() -> None:
    m = measured(TREES["three levels"], 5)
    said = tu.infer(m).between(3, 7).describe()
    assert "an upper bound: what was asked depended on the noise" in said
    release = tu.infer(m)
    ratio = release.between(3, 7) / release.total()
    assert "an upper bound" in ratio.describe()


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_both_relations_and_rows_of_a_unit_scale_the_noise(relation: str) -> None:
    question = AdaptiveTreeCounts(TREES["three levels"])
    m = tu.measure(
        np.arange(60),
        question,
        "1/2",
        relation,
        unit="person",
        rows_per_unit=3,  # type: ignore[arg-type]
    )
    times = 6 if relation == "replace" else 3
    expected = [times / (weight * Fraction(1, 2)) for _, weight in m.question.blocks]
    assert list(m.noise.scales) == expected


def test_it_is_not_put_into_grids() -> None:
    m = measured(TREES["three levels"], 5)
    with pytest.raises(tu.InputError, match="no adaptive trees"):
        _ = axis_model(m.noise).line


QUADTREE = tu.BoxCounts.quadtree(4, 4, adaptive=True)
TREE = AdaptiveTreeCounts(tu.TreeCounts(16, branching=16, root=False))


@pytest.mark.parametrize("question", [TREE, QUADTREE])
def test_cells_that_are_not_clear_keep_what_james_and_stein_say(
    question: tu.AdaptiveTreeCounts | tu.AdaptiveBoxCounts,
) -> None:
    """Cells above 0 and below 4 σ move by half of what noise explains to their mean, or to the line
    that numpy fits where its slope, squared, is above two variances of that slope's noise."""
    found = 0
    at = np.arange(16) - 7.5
    for seed in range(60):
        m = measure_for_experiment(np.full(16, 3), question, 1, seed=seed)
        (variance,) = m.noise.variances
        noisy = m.noisy.astype(np.float64)
        if noisy.min() < 0 or noisy.max() >= 4 * variance**0.5:
            continue
        found += 1
        slope = np.polyfit(at, noisy, 1)[0]
        slope *= max(0.0, 1 - 2 * variance / (slope**2 * (at**2).sum())) if slope else 0.0
        line = noisy.mean() + slope * at
        kept = max(0.0, 1 - 0.5 * variance / (((noisy - line) ** 2).sum() / 15))
        shown = tu.infer(m, nonnegative=True).counts().ravel()
        expected = np.sort(line + kept * (noisy - line))
        np.testing.assert_allclose(np.sort(shown), expected, atol=1e-9)
    assert found > 5
