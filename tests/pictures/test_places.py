"""Where bars stand: on multiples of a power of two, so that zooming splits and never moves them."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueup as tu
from trueup.pictures.places import bar_edges, drawn, moments, stretches, words
from trueup.server.answers import Answering


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


def heights(release: tu.Release) -> list[float]:
    """The heights of the bars of a release's picture for notebooks, from the left."""
    drawn = ET.fromstring(release._repr_html_())
    bars = [
        bar.attrib for bar in drawn.iter("{http://www.w3.org/2000/svg}rect") if "x" in bar.attrib
    ]
    return [float(bar["height"]) for bar in bars]


@pytest.mark.parametrize(
    ("axis", "bars"),
    [
        (tu.Axis.integers("cell", 0, 99), 50),  # 100 cells in 64 bars would be a comb
        (tu.Axis.dates("day", "2023-01-01", "2023-12-31"), 46),  # eight a bar, the last has five
        (tu.Axis.regular("x", 0, 1, 3000), 47),
    ],
    ids=["100 cells", "365 days", "3,000 bins"],
)
def test_even_data_make_even_bars(axis: tu.Axis, bars: int) -> None:
    """Without noise to speak of: every bar is as high as every other, the last one too."""
    release = tu.infer(tu.measure(np.full(axis.size, 700), tu.CellCounts(axis), 50))
    found = heights(release)
    assert len(found) == bars
    assert max(found) - min(found) <= 0.01 * max(found)
    chart = np.array(release.plot().data[0].y)
    assert np.ptp(chart) <= 0.01 * chart.max()
    counts = [count for _, count, _ in release.lines(64)]
    assert max(counts[:-1]) - min(counts[:-1]) <= 0.01 * max(counts)


def test_the_page_and_a_zoomed_chart_raise_a_narrower_last_bar_as_well() -> None:
    day = tu.Axis.dates("day", "2023-01-01", "2023-12-31")
    release = tu.infer(tu.measure(np.full(365, 700), tu.CellCounts(day), 50))
    view = Answering(release, "unbiased").view(0, 365, 200, 0.95)
    assert view["height"] == "count per 2 cells"
    assert view["counts"][-1] < 0.6 * view["counts"][0]
    raised = np.array(view["counts"]) * view["times"]
    assert np.ptp(raised) <= 0.01 * raised.max()
    assert release.plot().layout.yaxis.title.text == "count per 2 cells"


def test_uneven_bins_are_drawn_as_densities() -> None:
    edges = [0, 10, 20, 40, 80, 160]
    axis = tu.Axis.edges("income", edges)
    counts = 100 * np.diff(edges)
    release = tu.infer(tu.measure(counts, tu.CellCounts(axis), 50))
    found = heights(release)
    assert max(found) - min(found) <= 0.02 * max(found)
    figure = release.plot()
    assert figure.layout.yaxis.title.text == "count per 10 of income"
    assert np.allclose(figure.data[0].y, 1000, rtol=0.01)
    # What is read on hovering is the count itself.
    assert [row[1] for row in figure.data[0].customdata] == [
        f"{c:,.0f}" for c in release.counts().tolist()
    ]
    even = tu.Axis.edges("x", [0, 5, 10])
    assert stretches(even, np.arange(3)).label == "count"
