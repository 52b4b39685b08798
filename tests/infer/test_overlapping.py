"""Models of windows that overlap: their lines are fitted as dense least squares fits them."""

from __future__ import annotations

import numpy as np
import pytest

import trueup as tu
from trueup.infer import axis_model

QUESTIONS = {
    "hats": tu.HatCounts(50),
    "windows": tu.WindowCounts(50),
    "past": tu.PastCounts(50, first=9),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_lines_and_cells_are_dense_least_squares(name: str) -> None:
    question = QUESTIONS[name]
    measured = tu.measure(np.zeros(50, np.int64), question, 1)
    model, weights = axis_model(measured.noise), 1 / measured.variances
    rows = question.matrix().toarray()
    solved = np.linalg.solve(rows.T @ (weights[:, None] * rows), rows.T * weights)
    noisy = np.random.default_rng(3).integers(-99, 99, (4, len(rows)))
    expected = noisy @ solved.T
    np.testing.assert_allclose(model.line.fit_lines(noisy.astype(float)), expected, atol=1e-6)
    np.testing.assert_allclose(model.fit(noisy[1]), expected[1], atol=1e-6)
    assert model.methods == ("top-down",)
    assert max(model.tree.length(level + 1) / model.tree.length(level) for level in range(2)) <= 5
