"""Parts of the same data are put together; parts of different data are refused."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import trueup as tu
from trueup.reconcile.contradiction import BY_CHANCE, most_by_chance
from trueup.release.wording import written

COUNTS = np.arange(32) * 20


@pytest.mark.parametrize("kind", ["measurements", "releases"])
def test_two_years_are_refused_with_how_far_they_are_apart(kind):
    question = tu.TreeCounts(32)
    years = [tu.measure(counts, question, epsilon=1) for counts in (COUNTS, COUNTS * 3 // 2)]
    parts = [tu.infer(m) for m in years] if kind == "releases" else years
    with pytest.raises(tu.InputError) as refused:
        tu.reconcile(parts)
    said = str(refused.value)
    assert "Parts 1 and 2 contradict each other" in said
    assert "noise explains at most" in said
    assert "one time in a million" in said
    assert "second.total() - first.total()" in said


def test_the_same_total_with_another_shape_is_refused():
    moved = COUNTS.copy()
    moved[3], moved[20] = moved[3] + 400, moved[20] - 400
    parts = [tu.measure(counts, tu.CellCounts(32), epsilon=1) for counts in (COUNTS, moved)]
    with pytest.raises(tu.InputError, match="contradict each other: of cell"):
        tu.reconcile(parts)


def test_parts_of_other_questions_and_coarser_cells_are_compared_too():
    day = tu.Axis.dates("day", "2023-01-01", "2023-12-31")
    fine, coarse = tu.TreeCounts(day), tu.TreeCounts(day, levels=["month"])
    counts = np.full(365, 40)
    tu.reconcile([tu.measure(counts, fine, epsilon=1), tu.measure(counts, coarse, epsilon=1)])
    later = np.where(np.arange(365) >= 334, 70, 40)
    with pytest.raises(tu.InputError, match="contradict each other: of day 2023-"):
        tu.reconcile([tu.measure(counts, fine, epsilon=1), tu.measure(later, coarse, epsilon=1)])


def test_a_known_total_that_the_counts_contradict_is_refused():
    m = tu.measure(COUNTS, tu.TreeCounts(32), epsilon=1)
    n = tu.measure(COUNTS, tu.CellCounts(32), epsilon=1)
    total = int(COUNTS.sum())
    assert tu.reconcile([m, n], known={"total": total}).total().value == total
    with pytest.raises(tu.InputError, match="Part 1 contradicts the known total") as refused:
        tu.reconcile([m, n], known={"total": 2 * total})
    # Two parts and a total are compared in three pairs: all of them err one time in a million.
    most = tu.infer(m).total().noise_law.half_width(1 - BY_CHANCE / 3)
    assert f"noise explains at most {written(most)}, but for one time" in str(refused.value)


def test_parts_of_the_same_data_are_never_refused_in_a_thousand():
    question = tu.CellCounts(4)
    for _ in range(1000):
        parts = [tu.measure([5, 0, 9, 1], question, epsilon="1/3") for _ in range(2)]
        assert tu.reconcile(parts).facts.epsilon == Fraction(2, 3)


def test_named_counts_that_contradict_each_other_are_refused():
    with pytest.raises(tu.InputError, match=r"contradict each other: '\w+' is given as") as said:
        tu.reconcile({"total": (500, 9), "passing": (80, 9), "F": (14, 9)}, "total = passing + F")
    assert "They differ by" in str(said.value)
    first, second = (tu.infer(tu.measure(COUNTS * k, tu.TreeCounts(32), 1)) for k in (1, 2))
    with pytest.raises(tu.InputError, match="contradict each other"):
        tu.reconcile({"a": [first.total(), second.total()]})


@pytest.mark.parametrize("variance", [0.01, 1.0, 200.0])
@pytest.mark.parametrize("chance", [0.05, BY_CHANCE, 1e-12])
def test_the_bound_for_named_counts_is_chernoff_s_least(variance, chance):
    def room(t):
        return float((mpmath.log(2 / chance) - mpmath.log(1 - variance * (mpmath.cosh(t) - 1))) / t)

    limit = float(mpmath.acosh(1 + 1 / variance))
    least = minimize_scalar(room, bounds=(0, limit), method="bounded").fun
    assert least <= most_by_chance(variance, chance) * (1 + 1e-9) <= least * 1.002


@pytest.mark.parametrize("scale", [0.3, 1.0, 10.0])
def test_the_bound_for_named_counts_is_safe_for_whole_laplace_noise(scale):
    rate = 1 / scale
    variance = 2 * math.exp(-rate) / (1 - math.exp(-rate)) ** 2
    for chance in (1e-3, BY_CHANCE, 1e-9):
        most = most_by_chance(variance, chance)
        beyond = 2 * math.exp(-rate * (math.floor(most) + 1)) / (1 + math.exp(-rate))
        assert beyond <= chance
        assert most <= 8 * math.sqrt(variance) * math.log(2 / chance)
