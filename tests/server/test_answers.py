"""Bars, ends and spans against plain loops; many at once against one at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup.server.answers import ranks, spans

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
        assert len(found) <= 100
        assert np.all(np.diff(found) > 0)
