from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import trueup as tu


@pytest.mark.parametrize("within", [0.5, 3, 50, 1e5])
@pytest.mark.parametrize("size", [1, 50, 4096])
def test_epsilon_for_is_the_least_that_keeps_within(size, within):
    epsilon = tu.epsilon_for(size, within=within)
    assert tu.error_for(size, epsilon) <= within
    assert tu.error_for(size, epsilon * Fraction(98, 100)) > within * 0.9
    digits = str(epsilon.numerator * 10**12 // epsilon.denominator).strip("0")
    assert len(digits) <= 3


def test_the_reach_is_what_the_release_will_say():
    # The typical range's interval, from a release of the very question.
    size, level = 1024, 0.95
    reach = tu.error_for(size, 1, level)
    found = tu.plan(size, 1)
    release = tu.infer(tu.measure(np.zeros(size, int), found.best, epsilon=1))
    starts, stops, _ = tu.Workload.all_ranges().sample(release.axis, 300)
    variances = release.errors.range_variances(starts, stops)
    typical = np.argsort(np.abs(variances - found.best_strategy.mean))[:5]
    for k in typical.tolist():
        low, high = release.between(int(starts[k]), int(stops[k])).interval(level)
        assert (high - low) / 2 == pytest.approx(reach, rel=0.03)


def test_worst_is_wider_than_typical_and_a_higher_level_wider_still():
    typical = tu.error_for(4096, 1)
    assert tu.error_for(4096, 1, worst=True) > typical
    assert tu.error_for(4096, 1, 0.99) > typical
    assert tu.error_for(4096, 1, neighbours="replace") > typical
    assert tu.error_for(4096, 1, rows_per_unit=2) == pytest.approx(2 * typical, rel=0.02)


def test_single_cells_are_cheaper_than_ranges():
    cells = tu.epsilon_for(4096, within=50, workload="cell counts")
    assert cells < tu.epsilon_for(4096, within=50) / 5


@pytest.mark.parametrize("within", [0, -3, float("nan"), float("inf"), "50", True])
def test_impossible_goals_are_refused(within):
    with pytest.raises(tu.InputError, match="positive number of counts"):
        tu.epsilon_for(100, within=within)


@pytest.mark.parametrize("level", [0, 1, 95])
def test_levels_outside_zero_and_one_are_refused(level):
    with pytest.raises(tu.InputError, match="between 0 and 1"):
        tu.epsilon_for(100, within=5, level=level)
    with pytest.raises(tu.InputError, match="between 0 and 1"):
        tu.error_for(100, 1, level)


@pytest.mark.parametrize("within", [3, 40])
def test_the_rho_found_reaches_what_is_wanted_and_a_percent_less_does_not(within):
    rho = tu.rho_for(100, within=within)
    assert tu.error_for(100, tu.Cost.of(rho=rho)) <= within
    assert tu.error_for(100, tu.Cost.of(rho=rho * Fraction(98, 100))) > within


def test_a_goal_in_rho_is_reached_by_the_plan_for_rho():
    asked = tu.plan(64, rho="1/8").best
    release = tu.infer(tu.measure([0] * 64, asked, rho="1/8"))
    widths = [
        release.range(a, b).interval(0.95) for a in range(0, 60, 7) for b in range(a + 1, 65, 9)
    ]
    typical = np.sqrt(np.mean([((high - low) / 2) ** 2 for low, high in widths]))
    assert tu.error_for(64, tu.Cost.of(rho="1/8")) == pytest.approx(typical, rel=0.1)


def test_twice_the_rows_need_four_times_the_rho():
    one = tu.rho_for(64, within=30)
    assert float(tu.rho_for(64, within=30, rows_per_unit=2) / one) == pytest.approx(4, rel=0.01)
