"""Releases of one axis combined: as good as one inference, by dense linear algebra."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup.paper.noise import measure_for_experiment as measured

AXIS = tu.Axis.integers("age", 0, 99)


PAIRS = [
    (tu.TreeCounts(AXIS, branching=2), tu.TreeCounts(AXIS, branching=2)),
    (tu.TreeCounts(AXIS, branching=2), tu.TreeCounts(AXIS, branching=16, root=False)),
    (tu.TreeCounts(AXIS, branching=3), tu.TreeCounts(AXIS, branching=16)),
    (tu.CellCounts(AXIS), tu.CellCounts(AXIS)),
    (tu.CellCounts(AXIS), tu.TreeCounts(AXIS, radices=(7, 15), shares=("0.2", "0.3", "0.5"))),
]


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_two_releases_of_one_axis_are_as_good_as_one_inference(pair, tmp_path):
    counts = np.arange(100)
    first = measured(counts, pair[0], 1, seed=1)
    second = measured(counts, pair[1], "0.5", seed=2)
    matrix = np.vstack([q.matrix().toarray() for q in pair])
    weights = 1 / np.concatenate([first.variances, second.variances])
    noisy = np.concatenate([first.noisy, second.noisy])
    gram = np.linalg.inv(matrix.T @ (weights[:, None] * matrix))
    expected = gram @ (matrix.T @ (weights * noisy))
    shown = tu.infer(second, nonnegative=True, integers=True)
    for parts in ([first, second], [tu.infer(first), shown]):
        agreed = tu.reconcile(parts)
        np.testing.assert_allclose(agreed.counts(), expected, atol=1e-7)
        for low, high in ((0, 100), (3, 4), (10, 57), (99, 100)):
            query = np.zeros(100)
            query[low:high] = 1
            answer = agreed.range(low, high if high < 100 else None)
            assert answer.std_error == pytest.approx(np.sqrt(query @ gram @ query), rel=1e-8)
        cut = agreed.range(0, 30) - agreed.range(50, 80)
        query = np.zeros(100)
        query[:30], query[50:80] = 1, -1
        assert cut.std_error == pytest.approx(np.sqrt(query @ gram @ query), rel=1e-7)
        assert agreed.range(0, 41).value + agreed.range(41, None).value == agreed.total().value
        assert agreed.facts.epsilon == Fraction("3/2")
        assert not agreed.facts.private
        agreed.save(tmp_path / "both.parquet")
        again = tu.load(tmp_path / "both.parquet")
        assert np.array_equal(again.counts(), agreed.counts())
        assert again.range(3, 9).std_error == pytest.approx(agreed.range(3, 9).std_error)
    whole = tu.reconcile([first, second], nonnegative=True, integers=True)
    assert whole.counts().min() >= 0
    assert whole.counts().dtype == np.int64
    assert np.array_equal(whole.unbiased.counts(), tu.reconcile([first, second]).counts())


@pytest.mark.parametrize(("both", "root"), [(False, False), (False, True), (True, True)])
def test_a_known_total_pins_an_axis(both, root):
    counts = np.arange(100)
    one = measured(counts, tu.TreeCounts(AXIS, branching=4), 1, seed=3)
    other = measured(counts, tu.TreeCounts(AXIS, branching=10, root=root), 1, seed=4)
    parts = [one, other] if both else [other]
    agreed = tu.reconcile(parts, known={"total": 4950})
    assert agreed.total().value == 4950
    assert agreed.total().std_error == pytest.approx(0, abs=1e-6)
    matrix = np.vstack([m.question.matrix().toarray() for m in parts])
    variances = np.concatenate([m.variances for m in parts])
    noisy = np.concatenate([m.noisy for m in parts])
    free = np.linalg.inv(matrix.T @ (matrix / variances[:, None]))
    unpinned = free @ (matrix.T @ (noisy / variances))
    toward = free.sum(axis=1) / free.sum()
    expected = unpinned + toward * (4950 - unpinned.sum())
    covariance = free - np.outer(toward, free.sum(axis=0))
    np.testing.assert_allclose(agreed.counts(), expected, atol=1e-8)
    half = agreed.range(0, 50).std_error
    assert half == pytest.approx(np.sqrt(covariance[:50, :50].sum()), rel=1e-8)


def test_coarse_and_fine_releases_of_one_hierarchy_combine():
    place = tu.Axis.hierarchy("place", {"CA": ["Kern", "Napa", "Yolo"], "NV": ["Clark", "Nye"]})
    coarse = measured([5, 6, 7, 8, 9], tu.TreeCounts(place, levels=["level 1"]), 1, seed=1)
    fine = measured([5, 6, 7, 8, 9], tu.CellCounts(place), 1, seed=2)
    agreed = tu.reconcile([coarse, fine])
    matrix = np.vstack([coarse.question.matrix().toarray(), np.eye(5)])
    noisy = np.concatenate([coarse.noisy, fine.noisy])
    weights = 1 / np.concatenate([coarse.variances, fine.variances])
    gram = np.linalg.inv(matrix.T @ (weights[:, None] * matrix))
    np.testing.assert_allclose(agreed.counts(), gram @ (matrix.T @ (weights * noisy)), atol=1e-9)
    assert agreed.node("CA").std_error == pytest.approx(np.sqrt(gram[:3, :3].sum()))
