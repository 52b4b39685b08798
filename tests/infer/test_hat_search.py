"""The search for hats, and those of their figures that are no closed form."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup.ask.question import as_axis
from trueup.infer import figures_of
from trueup.infer.hat_search import best_hats, hat_error
from trueup.noise import Noise

from .dense_figures import by_brute_force


@pytest.mark.parametrize("question", [tu.HatCounts(601), tu.HatCounts(500, (5, 35, 105))], ids=str)
def test_spread_out_ranges_stand_for_all_of_a_length(question):
    dense = by_brute_force(question, Fraction(1), "discrete")
    figures = figures_of(Noise(question, Fraction(1)))
    lengths = np.arange(1, 65)  # too many for all ranges of each
    wanted = [np.diag(dense, m).mean() for m in lengths]
    found = figures.mean_by_length(lengths)
    np.testing.assert_allclose(found, wanted, rtol=0.06)
    assert found.mean() == pytest.approx(np.mean(wanted), rel=0.003)
    few = figures.mean_by_length([1, 50, question.size])
    np.testing.assert_allclose(few, [np.diag(dense, m).mean() for m in (1, 50, question.size)])
    assert dense.max() * 0.99 <= figures.worst_range() <= dense.max() * (1 + 1e-9)


@pytest.mark.parametrize("workload", ["prefixes", "log-uniform lengths"])
def test_hats_searched_for_a_workload_beat_the_usual_ones(workload):
    axis, chosen = as_axis(2000), tu.plan(20, 1, workload).workload
    error = hat_error(axis, chosen)
    found = best_hats(axis, chosen)
    assert error(found) < error(tu.HatCounts(axis))
    assert sum(found.shares) == 1


@pytest.mark.parametrize(
    ("size", "workload"),
    [
        (20, tu.Workload.prefixes()),
        (4096, tu.Workload.cell_counts()),
        (4096, tu.Workload.lengths([3])),
        (1 << 20, tu.Workload.lengths([40])),
    ],
)
def test_hats_are_left_out_where_they_do_not_pay_or_take_long(size, workload):
    assert best_hats(as_axis(size), workload) is None
    names = [strategy.name for strategy in tu.plan(size, 1, workload).strategies]
    assert "hats" not in names


def test_labels_have_no_hats():
    many = tu.Axis.categories("name", [f"n{i}" for i in range(60)])
    assert best_hats(many, tu.Workload.all_ranges()) is None
    assert isinstance(tu.plan(many, 1).best, tu.TreeCounts)
