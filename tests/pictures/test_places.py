"""Where bars stand: on multiples of a power of two, so that zooming splits and never moves them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueup as tu
from trueup.pictures.places import bar_edges, drawn, moments, words


@given(st.integers(1, 10**6), st.data())
def test_bars_cover_what_is_shown_and_stand_on_multiples(size: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, size - 1))
    stop = data.draw(st.integers(start + 1, size))
    most = data.draw(st.integers(1, 700))
    edges = bar_edges(size, most, start, stop)
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


def test_bars_never_cross_a_coarser_bars_edge() -> None:
    coarse, fine = bar_edges(4096, most=10), bar_edges(4096, most=300)
    assert set(coarse.tolist()) <= set(fine.tolist())
    assert len(coarse) <= 11


@pytest.mark.parametrize(
    ("size", "edges"), [(1, [0, 1]), (64, list(range(65))), (100, [*range(0, 100, 2), 100])]
)
def test_boxes_are_a_power_of_two_cells_wide(size: int, edges: list[int]) -> None:
    assert bar_edges(size, 64).tolist() == edges


def test_moments_are_drawn_where_they_are() -> None:
    day = tu.Axis.dates("day", "2013-01-01", "2013-01-05")
    edges = np.array([0, 2, 5])
    found = moments(day, drawn(day, edges))
    assert found.astype("datetime64[D]").astype(str).tolist() == [
        "2013-01-01",
        "2013-01-03",
        "2013-01-06",
    ]
    age = tu.Axis.integers("age", 10, 99)
    assert moments(age, drawn(age, edges)).tolist() == [10, 12, 15]
    assert words(age, edges) == ["10 – 11", "12 – 14"]
