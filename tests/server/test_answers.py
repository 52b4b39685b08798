"""Bars, ends and spans against plain loops; many at once against one at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueup as tu
from trueup.server.answers import bars, ranks, spans

AXES = [
    tu.Axis.regular("x", -3, 61, 256),
    tu.Axis.integers("x", 5, 260),
    tu.Axis.edges("x", [0, 1, 2.5, 7, 100, 1e6]),
    tu.Axis.dates("x", "2013-01-01", "2013-03-31"),
    tu.Axis.categories("x", ["a", "b", 3, "3x"]),
]


@given(st.integers(1, 10**6), st.data())
def test_bars_cover_what_is_shown_and_stand_on_multiples(size: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, size - 1))
    stop = data.draw(st.integers(start + 1, size))
    most = data.draw(st.integers(1, 700))
    edges = bars(size, start, stop, most)
    width = int(edges[1] - edges[0])
    assert len(edges) - 1 <= most
    assert edges[0] <= start
    assert stop <= edges[-1] <= size
    assert np.all(np.diff(edges) > 0)
    inner = edges[:-1] if len(edges) > 2 else edges[:1]
    if len(edges) > 2:
        assert width & (width - 1) == 0
        assert np.all(inner % width == 0)
    # Half as wide would be too many.
    assert width == 1 or len(edges) == 2 or -(-stop // (width // 2)) - start // (width // 2) > most


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
