"""Bars, ends and spans against plain loops; many at once against one at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup.law import UPPER_BOUND
from trueup.paper.noise import measure_for_experiment
from trueup.server.answers import OF_UNBIASED, Answering, ranks, spans

AXES = [
    tu.Axis.regular("x", -3, 61, 256),
    tu.Axis.integers("x", 5, 260),
    tu.Axis.edges("x", [0, 1, 2.5, 7, 100, 1e6]),
    tu.Axis.dates("x", "2013-01-01", "2013-03-31"),
    tu.Axis.categories("x", ["a", "b", 3, "3x"]),
]


@pytest.mark.parametrize("axis", AXES[:3], ids=["regular", "integers", "edges"])
def test_many_spans_are_those_one_by_one(axis: tu.Axis) -> None:
    generator = np.random.default_rng(0)
    cells = np.sort(generator.integers(0, axis.size + 1, (50, 2)), axis=1)
    ranges: list[Any] = [[axis.cells.edge(a), axis.cells.edge(b)] for a, b in cells.tolist()]
    np.testing.assert_array_equal(np.array(spans(axis, ranges)).T, cells)
    ranges[3] = [None, None]
    cells[3] = 0, axis.size
    np.testing.assert_array_equal(np.array(spans(axis, ranges)).T, cells)


def test_ranks_go_from_the_first_to_the_last() -> None:
    for size in (1, 2, 10, 12_345):
        found = ranks(size, 100)
        assert (found[0], found[-1]) == (1, size)
        assert len(found) == size if size <= 100 else len(found) <= 100  # all of a few
        assert np.all(np.diff(found) > 0)


def test_whole_counts_are_served_with_the_intervals_that_they_have_in_python() -> None:
    counts = np.zeros(64, np.int64)
    counts[5:9] = 7
    made = tu.measure(counts, tu.TreeCounts(64), epsilon=1)
    release = tu.infer(made, nonnegative=True, integers=True)
    asked = Answering(release, "whole")
    starts = np.arange(64)
    for told in asked.many(starts, starts + 1, 0.9):
        exact = release.range(*told["range"])
        assert (told["low"], told["high"]) == exact.interval(0.9)
        assert told["low"] >= 0
        assert told["kind"] == OF_UNBIASED
    view = asked.view(0, 64, 100, 0.95)
    assert all(
        0 <= low == round(low) <= count <= high == round(high)
        for low, count, high in zip(view["low"], view["counts"], view["high"], strict=True)
    )
    less = asked.difference((5, 6), (0, 1), 0.95)
    assert less["low"] <= less["count"] <= less["high"]


def test_an_upper_bound_is_not_called_exact() -> None:
    counts = np.zeros(4096, np.int64)
    counts[2000] = 60
    asked = measure_for_experiment(counts, tu.TreeCounts(4096, adaptive=True), 0.1, seed=1)
    release = tu.infer(asked)
    told = Answering(release, "unbiased")
    starts = np.array([2000, 10])
    for one in (*told.many(starts, starts + 1, 0.95), told.difference((2000, 2001), (0, 1), 0.95)):
        assert one["kind"] == UPPER_BOUND
        assert one["kind"] in release.range(*np.ravel(one["range"])[:2]).describe()
