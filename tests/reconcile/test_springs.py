"""Intervals that do not nest: resistances between edges are the variances of least squares."""

from __future__ import annotations

import numpy as np
import pytest

import trueup as tu
from trueup.paper.noise import measure_for_experiment as measured
from trueup.reconcile.springs import SpringErrors


@pytest.mark.parametrize("known", [None, {"total": 800}])
def test_variances_and_laws_are_those_of_the_dense_estimator(known: dict[str, int] | None) -> None:
    counts = np.arange(28) * 2
    counts[0] = 800 - counts.sum()
    questions = [tu.TreeCounts(28, branching=k, root=False) for k in (3, 4)]
    parts = [measured(counts, each, 1, seed) for seed, each in enumerate(questions)]
    release = tu.reconcile(parts, known=known)
    errors = release.errors
    assert isinstance(errors, SpringErrors)
    rows = np.vstack([each.matrix().toarray() for each in questions])
    weights = 1 / np.concatenate([m.variances for m in parts])
    free = np.eye(28) if known is None else np.linalg.svd(np.ones((1, 28)))[2][1:].T
    covariance = free @ np.linalg.inv(free.T @ (rows.T * weights) @ rows @ free) @ free.T
    for start, stop in ((0, 28), (0, 5), (3, 17), (11, 12)):
        inside = (np.arange(28) >= start) & (np.arange(28) < stop)
        expected = inside @ covariance @ inside
        combination = (((start, stop), 1.0),)
        assert errors.variance(combination) == pytest.approx(expected, abs=1e-8)
        assert errors.range_variances([start], [stop])[0] == pytest.approx(expected, abs=1e-8)
        assert errors.noise_law(combination).variance == pytest.approx(expected, abs=1e-8)
