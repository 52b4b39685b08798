"""A plan at a ρ says how far each strategy is from the best that any linear question can be."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup.plan.least import least_error


@pytest.mark.parametrize("workload", ["all ranges", "prefixes"])
def test_windows_are_the_best_and_the_bound_is_beside_everything(workload):
    found = tu.plan(365, rho="1/8", workload=workload, rows_per_unit=3)
    best_for = "prefixes" if workload == "prefixes" else "ranges"
    assert found.best == tu.WindowCounts(365, best_for)
    least = found.least_possible
    assert least == pytest.approx(36 * least_error(365, found.workload, Fraction(1, 2), 1))
    assert least < found["windows"].continuous < 1.006 * least
    assert all(s.continuous > least for s in found.strategies)
    *lines, last = found.table().split("\n")
    assert "of the best possible" in lines[0]
    assert "| **windows** |" in found.table()
    assert last.startswith("| the best possible |  | ≥ ")
    assert len({line.count("|") for line in found.table().split("\n")}) == 1
    assert "the best possible" in found._repr_html_()


def test_the_errors_are_those_of_gaussian_noise():
    found = tu.plan(64, rho="1/2")
    rows = tu.WindowCounts(64).matrix().toarray()
    i = range(64)
    covariance = np.linalg.inv(rows.T @ rows)
    total = sum(covariance[a : b + 1, a : b + 1].sum() for a in i for b in i if a <= b)
    price = (rows**2).sum(axis=0).max()
    assert found["windows"].continuous == pytest.approx(total / (64 * 65 / 2) * price)


def test_hats_of_many_strides_are_better_than_of_few_at_a_rho():
    found = tu.plan(4096, rho="1/2")
    many = found["hats, strides of 4"]
    assert many.question.strides == (4, 16, 64, 256, 1024)
    assert found["windows"].mean < many.mean < found["Haar wavelet"].mean < found["hats"].mean
    assert all(s.name != "hats, strides of 4" for s in tu.plan(12, rho=1).strategies)


def test_where_no_bound_is_known_none_is_told():
    assert tu.plan(64, epsilon=1).least_possible is None
    assert tu.plan(64, rho=1, workload="cell counts").least_possible is None
    assert tu.plan([8, 8], rho=1).least_possible is None
    for plan in (tu.plan(64, epsilon=1), tu.plan(64, rho=1, workload="cell counts")):
        assert "possible" not in plan.table()
    with pytest.raises(tu.InputError):
        tu.plan(64, epsilon=1)["windows"]
    labels = tu.Axis.categories("town", ["a", "b", "c"])
    assert all(s.name != "windows" for s in tu.plan(labels, rho=1).strategies)
