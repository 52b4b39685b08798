"""Plans of grids, against dense linear algebra over every box."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import trueup as tu
from trueup.plan import Plan

SIZES = [(36, 5), (9, 8), (4, 6, 3)]


def every_box(sizes):
    """A row for each box: which cells are inside, the last axis running fastest."""
    sides = []
    for size in sizes:
        starts, stops = np.triu_indices(size + 1, 1)
        cells = np.arange(size)
        sides.append((cells >= starts[:, None]) & (cells < stops[:, None]))
    rows = np.ones((1, 1))
    for side in sides:
        rows = np.einsum("ac,bd->abcd", rows, side).reshape(
            len(rows) * len(side), rows.shape[1] * side.shape[1]
        )
    return rows


def by_brute_force(question, epsilon, law, neighbours="add-remove"):
    measurement = tu.Measurement(
        question,
        np.zeros(question.length, int),
        epsilon,
        neighbours,
        private=law == "discrete",
        law=law,
    )
    # Weights 1/scale², as grids are inferred; the variance is that of the noise as it is.
    rows, scales = question.matrix().toarray(), measurement.scales
    weights = 1 / scales**2
    if isinstance(question, tu.BoxCounts):
        weights = 1 / measurement.variances
    solved = np.linalg.solve(rows.T @ (weights[:, None] * rows), rows.T * weights)
    each = every_box(question.sizes) @ solved
    return float((each**2 @ measurement.variances).mean())


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_errors_of_every_strategy_equal_dense_linear_algebra(sizes, neighbours):
    found = tu.plan(list(sizes), "1/2", neighbours=neighbours, nonnegative=True)
    assert isinstance(found, Plan)
    for strategy in found.strategies:
        for law, value, near in (
            ("continuous", strategy.continuous, 1e-9),
            ("discrete", strategy.mean, 0.01),  # whole noise: as of some boxes
        ):
            asked = getattr(strategy.question, "boxes", strategy.question)  # where nothing is small
            wanted = by_brute_force(asked, Fraction(1, 2), law, neighbours)
            assert value == pytest.approx(wanted, rel=near), (strategy.name, law)


def test_known_figures_of_256_by_256_and_1024_by_1024():
    small, large = tu.plan([256, 256], 1), tu.plan([1024, 1024], 1)
    assert round(small["cells alone"].continuous) == 14_792
    assert round(small["binary trees"].continuous) == 35_054
    assert small["best trees"].continuous <= 3_116
    assert small.best_strategy.name == large.best_strategy.name == "hats"
    assert small.best_strategy.continuous <= 2_250
    assert large.best_strategy.continuous <= 8_200
    assert small.best_strategy.mean < small.best_strategy.continuous


def test_flat_is_best_where_axes_are_short():
    found = tu.plan([20, 12, 7], 1)
    assert found.best_strategy.name == "cells alone"
    assert "**cells alone**" in str(found)
    assert tu.plan([20, 12, 7], 1).best == tu.GridCounts(*(tu.CellCounts(a) for a in found.axes))


def test_each_axis_gets_what_is_best_for_it():
    sex, age = tu.Axis.categories("sex", ["f", "m"]), tu.Axis.integers("age", 0, 999)
    place = tu.Axis.hierarchy("place", {f"s{i}": [f"c{i}{j}" for j in range(9)] for i in range(7)})
    found = tu.plan((sex, age, place), 1)
    kinds = [type(factor) for factor in found.best.factors]
    assert kinds[:2] == [tu.CellCounts, tu.HatCounts]
    assert found.best_strategy.mean <= min(s.mean for s in found.strategies) * (1 + 1e-9)
    release = tu.infer(tu.measure(np.ones((2, 1000, 63), int), found.best, epsilon=1))
    assert release.counts().shape == (2, 1000, 63)


def test_workloads_are_one_for_all_or_one_an_axis():
    both = tu.plan([100, 40], 1, "prefixes")
    each = tu.plan([100, 40], 1, ["prefixes", "prefixes"])
    assert [s.mean for s in both.strategies] == [s.mean for s in each.strategies]
    cells = tu.plan([100, 40], 1, ["cell counts", "cell counts"])
    assert cells.best_strategy.name == "cells alone"
    assert cells.best_strategy.continuous == pytest.approx(2)


def test_counts_that_are_shown_are_asked_in_boxes_in_boxes():
    found = tu.plan([64, 256], 1, nonnegative=True)
    assert found.best == tu.BoxCounts.quadtree(*found.axes, branching=4)
    assert found[-1] is found.best_strategy
    other = tu.plan([64, 101], 1, nonnegative=True).best  # 101 has no equal parts
    assert isinstance(other, tu.GridCounts)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"axis": [100]}, "two axes or more"),
        ({"axis": [100, 0]}, "at least 1 cell"),
        ({"axis": [1 << 20, 1 << 20]}, "GiB"),
        ({"axis": [1 << 32, 1 << 32]}, "64 bits"),
        ({"workload": ["prefixes"]}, "2 axes, but 1 workloads"),
        ({"workload": "all"}, "A workload is one of"),
        ({"epsilon": 0}, "positive"),
    ],
)
def test_plans_that_make_no_sense_are_refused(given, said):
    asked = {"axis": [30, 20], "epsilon": 1, **given}
    with pytest.raises(tu.InputError, match=said):
        tu.plan(asked.pop("axis"), **asked)


def test_unknown_strategies_are_refused():
    with pytest.raises(tu.InputError, match="cells alone"):
        tu.plan([10, 10])["best of all"]


def test_the_page_shows_what_the_code_prints():
    page = (Path(__file__).parents[2] / "docs" / "grids.md").read_text(encoding="utf-8")
    assert tu.plan([256, 256], epsilon=1).table() in page


def test_every_box_is_every_box():
    rows = every_box((3, 2))
    boxes = list(product(range(6), range(3)))
    assert rows.shape == (len(boxes), 6)
    assert rows.sum() == 10 * 4  # Σ lengths on each axis
