"""Hats, strategies and wavelets together with others, against dense least squares."""

from __future__ import annotations

import numpy as np
import pytest

import trueup as tu
from trueup.paper.noise import measure_for_experiment as measured
from trueup.reconcile import stacked

LINE = tu.Axis.integers("line", 0, 59)


TOGETHER = {
    "hats and a tree": [tu.HatCounts(LINE), tu.TreeCounts(LINE)],
    "hats twice": [tu.HatCounts(LINE, [4, 20]), tu.HatCounts(LINE, [4, 20])],
    "a strategy and cells": [
        tu.WeightedCounts(LINE, np.vstack([np.eye(60, dtype=int), np.ones((1, 60), int)])),
        tu.CellCounts(LINE),
    ],
    "a wavelet and hats": [tu.WaveletCounts(LINE), tu.HatCounts(LINE)],
}


@pytest.mark.parametrize("released", [False, True])
@pytest.mark.parametrize("name", TOGETHER)
def test_hats_with_anything_equal_dense_least_squares(name, released, tmp_path):
    counts = np.random.default_rng(3).poisson(30, 60)
    parts = [
        measured(counts, question, epsilon, seed=seed)
        for seed, (question, epsilon) in enumerate(zip(TOGETHER[name], ("1", "1/2"), strict=True))
    ]
    rows = np.vstack([part.question.matrix().toarray() for part in parts])
    weights = np.concatenate([1 / part.variances for part in parts])
    noisy = np.concatenate([part.noisy for part in parts])
    covariance = np.linalg.inv(rows.T @ (weights[:, None] * rows))
    wanted = covariance @ (rows.T @ (weights * noisy))
    given = [tu.infer(part) if released else part for part in parts]
    release = tu.reconcile(given)
    np.testing.assert_allclose(release.counts(), wanted, atol=1e-7)
    inside = (np.arange(60) >= 7) & (np.arange(60) < 31)
    assert release.range(7, 31).std_error == pytest.approx((inside @ covariance @ inside) ** 0.5)
    assert release.range(7, 31).std_error < tu.infer(parts[0]).range(7, 31).std_error
    assert release.range(0, 7).value + release.range(7, 60).value == release.total().value
    release.save(tmp_path / "both.parquet")
    again = tu.load(tmp_path / "both.parquet")
    assert (again.counts() == release.counts()).all()
    assert again.range(7, 31).std_error == pytest.approx(release.range(7, 31).std_error)
    shown = tu.reconcile(given, nonnegative=True, integers=True)
    assert shown.counts().min() >= 0


def test_hats_are_combined_up_to_a_number_of_cells_and_that_many(monkeypatch):
    parts = [tu.measure(np.ones(60, int), tu.HatCounts(LINE), epsilon=1) for _ in range(2)]
    monkeypatch.setattr(stacked, "MOST_CELLS", 60)
    assert tu.reconcile(parts).axis.size == 60
    monkeypatch.setattr(stacked, "MOST_CELLS", 59)
    with pytest.raises(tu.InputError, match="up to 59 cells"):
        tu.reconcile(parts)


def test_hats_that_cannot_be_combined_are_refused():
    m = tu.measure(np.ones(60, int), tu.HatCounts(LINE), epsilon=1)
    with pytest.raises(tu.InputError, match="not with hats"):
        tu.reconcile([m], known={"total": 60})
    large = tu.measure(np.ones(5000, int), tu.HatCounts(5000), epsilon=1)
    with pytest.raises(tu.InputError, match="up to 4,096 cells"):
        tu.reconcile([large])
    other = tu.measure(np.ones(61, int), tu.HatCounts(61), epsilon=1)
    with pytest.raises(tu.InputError, match="different axes"):
        tu.reconcile([m, other])
