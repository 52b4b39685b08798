"""Law: counts shown to people are non-negative, whole, near what they come from, and add up."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import nnls

import trueup as tu
from trueup.ask import Question
from trueup.infer import model_of
from trueup.infer.display import METHODS, _box_variances
from trueup.paper.noise import measure_for_experiment

SIZES = [1, 5, 64, 200]  # no node has, or some node has, more children than are settled at once


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", SIZES)
def test_whole_cells_are_non_negative_and_every_node_is_within_one(size: int, method: str) -> None:
    counts = np.random.default_rng(size).poisson(0.4, size)
    for seed in range(6):
        for question in (tu.CellCounts(size), tu.TreeCounts(size, branching=3)):
            measured = measure_for_experiment(counts, question, "1/2", seed=seed)
            shown = tu.infer(measured, nonnegative=True, integers=True, method=method)
            real = tu.infer(measured, nonnegative=True, integers=False, method=method)
            assert shown.counts().dtype == np.int64
            assert shown.counts().min() >= 0
            assert real.counts().min() >= 0
            assert np.abs(shown.counts() - real.counts()).max() < 1
            tree = question.shape
            for level in range(tree.height):
                starts, stops = tree.starts(level), tree.stops(level)
                moved = shown.ranges(starts, stops) - real.ranges(starts, stops)
                assert np.abs(moved).max() < 1 + 1e-9
            assert abs(shown.total().value - real.total().value) <= 0.5 + 1e-9


def weighed(
    question: Question, noisy: np.ndarray, cells: np.ndarray, noise: tu.Measurement
) -> float:
    residual = question.matrix() @ cells - noisy
    return float((residual**2 / noise.variances).sum())


def test_margins_without_negative_counts_are_the_nearest_such() -> None:
    """Against scipy's nnls on the whole table."""
    question = tu.BoxCounts.marginals(
        4, 5, marginals=[("axis 0",), ("axis 1",), ()], shares=["1/2", "1/3", "1/6"]
    )
    counts = np.zeros(20, int)
    counts[[3, 17]] = 4, 2
    for seed in range(8):
        measured = measure_for_experiment(counts, question, "1/3", seed=seed)
        shown = tu.infer(measured, nonnegative=True, integers=False)
        root = 1 / np.sqrt(measured.variances)
        best, _ = nnls(question.matrix().toarray() * root[:, None], measured.noisy * root)
        least = weighed(question, measured.noisy, best, measured)
        model = model_of(measured.noise)
        found = model.fit_nonnegative(measured.noisy).ravel()
        assert found.min() >= 0
        assert weighed(question, measured.noisy, found, measured) <= least * (1 + 1e-3) + 1e-3
        for name, axis in (("axis 0", 1), ("axis 1", 0)):
            margin = shown.margin(name).counts()
            assert margin.min() >= 0
            assert np.allclose(margin, found.reshape(4, 5).sum(axis=axis), atol=1e-6)


@pytest.mark.parametrize("axes", [(16, 16), (8, 32), (5, 3, 4)])
def test_a_box_of_each_level_has_the_variance_of_its_cells(axes: tuple[int, ...]) -> None:
    """Of cells asked alone a box's variance is that of its cells, added up: known by counting."""
    named = [tu.Axis.integers(f"axis {k}", 0, size - 1) for k, size in enumerate(axes)]
    question = tu.GridCounts(*(tu.CellCounts(axis) for axis in named))
    measured = tu.measure(np.zeros(question.size, int), question, Fraction(1))
    model = model_of(measured.noise)
    found = _box_variances(model.trees, model.errors)
    height = max(tree.height for tree in model.trees)
    assert len(found) == height
    assert found[0] == pytest.approx(question.size * measured.variances[0])
    assert found[-1] == pytest.approx(measured.variances[0])
    assert (np.diff(found) < 0).all() or height == 1
