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


@pytest.mark.parametrize("known", [None, 563.0])
@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": "1/2"}])
def test_counts_and_many_ranges_at_once_are_those_of_dense_least_squares(
    cost: dict[str, object], known: float | None
) -> None:
    counts, questions = (
        np.full(28, 20),
        [tu.TreeCounts(28, branching=k, root=False) for k in (3, 4)],
    )
    parts = [tu.measure(counts, each, **cost) for each in questions]  # type: ignore[arg-type]
    release = tu.reconcile(parts, known=None if known is None else {"total": known})
    errors = release.errors
    assert isinstance(errors, SpringErrors)
    rows = np.vstack([each.matrix().toarray() for each in questions])
    noisy = np.concatenate([part.noisy for part in parts])
    weights = 1 / np.concatenate([part.variances for part in parts])
    normal, right = (rows.T * weights) @ rows, rows.T @ (weights * noisy)
    if known is not None:  # with a multiplier for the total
        one = np.ones((28, 1))
        normal = np.block([[normal, one], [one.T, np.zeros((1, 1))]])
        right = np.append(right, known)
    inverse = np.linalg.inv(normal)
    expected, covariance = (inverse @ right)[:28], inverse[:28, :28]
    assert np.allclose(release.counts(), expected, rtol=0, atol=1e-6)
    if known is not None:
        assert release.total().value == known
    low, high = np.triu_indices(29, 1)  # 406 ranges: every one
    inside = (np.arange(28) >= low[:, None]) & (np.arange(28) < high[:, None])
    dense = np.einsum("ri,ij,rj->r", inside, covariance, inside)
    assert np.allclose(errors.range_variances(low, high), dense, rtol=1e-8, atol=1e-8)
    law = errors.noise_law((((3, 17), 1.0),))
    assert law.law == ("gaussian" if "rho" in cost else "discrete")
