"""Expected errors of every kind of question, against dense linear algebra."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from trueup.infer import figures_of
from trueup.noise import Noise
from trueup.workload import Workload

from .dense_figures import QUESTIONS, by_brute_force


@pytest.mark.parametrize("law", ["discrete", "continuous"])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
@pytest.mark.parametrize("name", QUESTIONS)
def test_all_figures_equal_dense_linear_algebra(name, epsilon, law):
    question = QUESTIONS[name]
    dense = by_brute_force(question, epsilon, law)
    size, axis = question.size, question.axis
    i, j = np.triu_indices(size + 1, 1)
    figures = figures_of(Noise(question, epsilon, law=law))
    given = [(0, 1), (size // 3, size // 2 + 1), (1, size)]
    lengths = sorted({1, 2, size // 2, size})
    by_length = [np.diag(dense, m).mean() for m in lengths]
    expected = {
        Workload.all_ranges(): dense[i, j].mean(),
        Workload.prefixes(): dense[0, 1:].mean(),
        Workload.cell_counts(): np.diag(dense, 1).mean(),
        Workload.lengths(lengths): np.mean(by_length),
        Workload.mix({"prefixes": 1, "cell counts": 3}): (
            0.25 * dense[0, 1:].mean() + 0.75 * np.diag(dense, 1).mean()
        ),
    }
    if name != "hierarchy":
        expected[Workload.given(given)] = np.mean([dense[a, b] for a, b in given])
    else:
        states = [(0, 3), (3, 4), (4, 6)]
        expected[Workload.level("state")] = np.mean([dense[a, b] for a, b in states])
    for workload, value in expected.items():
        assert workload.mean(figures, axis) == pytest.approx(value, rel=1e-9), workload.words
    assert Workload.all_ranges().worst(figures, axis) == pytest.approx(dense.max(), rel=1e-9)


@pytest.mark.parametrize("name", ["unit", "uneven", "haar of 77"])
def test_replacing_a_row_and_many_rows_a_person_cost_what_they_cost(name):
    question = QUESTIONS[name]
    dense = by_brute_force(question, Fraction(1, 3), "discrete", "replace")
    figures = figures_of(Noise(question, Fraction(1), "replace", 3))
    i, j = np.triu_indices(question.size + 1, 1)
    assert figures.mean_over_ranges() == pytest.approx(dense[i, j].mean(), rel=1e-9)
