from __future__ import annotations

from collections.abc import Callable
from html import escape, unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

import trueup as tu
from trueup.paper.noise import measure_for_experiment
from trueup.pictures.page import Picture
from trueup.pictures.places import bar_edges

Opened = Callable[[Path], Page]


def release_over(axis: tu.Axis, seed: int = 1) -> Any:
    counts = np.random.default_rng(seed).poisson(40, axis.size)
    return tu.infer(measure_for_experiment(counts, tu.TreeCounts(axis), 1, seed=seed))


FARE = tu.Axis.regular("fare", 0, 128, bins=4096)
AXES = {
    "regular": FARE,
    "integers": tu.Axis.integers("age", 0, 99),
    "edges": tu.Axis.edges("income", [0, 1, 10, 100, 1000]),
    "dates": tu.Axis.dates("day", "2013", "2013"),
    "categories": tu.Axis.categories("grade", ["A", "B", "C", "D", "F"]),
    "ipv4": tu.Axis.ipv4("host", "10.0.0.0/8", 16),
    "hierarchy": tu.Axis.hierarchy("place", {"CA": ["Kern", "Napa"], "NV": ["Clark"]}),
}


@pytest.mark.parametrize("name", AXES)
def test_histograms_open_without_errors_and_nothing_cut_off(
    name: str, opened: Opened, tmp_path: Path
) -> None:
    release = release_over(AXES[name])
    release.save_plot(tmp_path / "x.html")
    page = opened(tmp_path / "x.html")
    assert "NOT PRIVATE" in page.inner_text("body")
    assert page.locator(".bars .point").count() == len(bar_edges(release.axis.size)) - 1


def test_cdf_and_degree_sequence_open_without_errors(opened: Opened, tmp_path: Path) -> None:
    release_over(FARE).save_plot(tmp_path / "cdf.html", "cdf")
    counts = np.random.default_rng(2).zipf(1.8, 2000).clip(0, 500)
    sequence = tu.infer(
        measure_for_experiment(counts, tu.SortedCounts(2000, adaptive=False), 1, seed=2)
    )
    sequence.save_plot(tmp_path / "sorted.html")
    sequence.save_plot(tmp_path / "tail.html", "tail")
    for name in ("cdf", "sorted", "tail"):
        assert "ε = 1" in opened(tmp_path / f"{name}.html").inner_text("body")


@pytest.mark.parametrize("nonnegative", [False, True])
def test_named_counts_open_with_the_intervals_of_unbiased_ones(
    nonnegative: bool, opened: Opened, tmp_path: Path
) -> None:
    question = tu.NamedCounts(2, {"both": slice(None), "a": [0], "b": [1]})
    measured = measure_for_experiment(np.array([3, 40]), question, 1, seed=3)
    release = tu.infer(measured, nonnegative=nonnegative)
    figure = release.plot()
    release.save_plot(tmp_path / "x.html")
    assert "95 % intervals" in opened(tmp_path / "x.html").inner_text("body")
    bar = figure.data[0]
    low, high = release["a"].interval(0.95)
    at = list(bar.x).index("a")
    assert bar.y[at] + bar.error_y.array[at] == pytest.approx(max(high, bar.y[at]))
    assert bar.y[at] - bar.error_y.arrayminus[at] == pytest.approx(min(low, bar.y[at]))


@pytest.mark.parametrize("groups", [1, 3, 10, 30, 31, 600])
def test_every_rank_of_a_few_groups_is_drawn_inside_its_band(groups: int) -> None:
    """Between two ranks the line holds the count of the first, and so does the band."""
    counts = np.arange(groups) * 40
    release = tu.infer(measure_for_experiment(counts, tu.SortedCounts(groups), 1, seed=2))
    low, high, line = release.plot().data
    assert list(line.x) == list(range(1, groups + 1))
    assert list(line.y) == [max(count, 0.5) for count in release.counts()[::-1]]
    assert low.line.shape == high.line.shape == line.line.shape == "hv"
    if groups <= 30:
        assert "markers" in line.mode  # no step follows the last rank


@pytest.mark.parametrize("least", [0, 3])
def test_a_logarithmic_axis_says_where_zero_is_drawn(least: int) -> None:
    """Otherwise empty groups look as if they had half a record."""
    question = tu.SortedCounts(3, adaptive=False)
    release = tu.infer(tu.Measurement(question, [least, 5, 9], epsilon=40))
    assert ("0 is drawn at 0.5" in str(release.plot().layout.title.text)) == (least == 0)


def test_the_tail_says_how_many_groups_have_at_least_a_count() -> None:
    counts = np.minimum(np.random.default_rng(2).zipf(1.8, 2000), 5000)
    release = tu.infer(measure_for_experiment(counts, tu.SortedCounts(2000), 1, seed=2))
    low, high, line = release.plot("tail").data
    for k in (1, 2, 5, 100):
        value = release.how_many(at_least=k)
        assert line.y[list(line.x).index(k)] == max(value.value, 0.5)
        ends = [max(end, 0.5) for end in value.interval(0.95)]
        assert [side.y[list(side.x).index(k)] for side in (low, high)] == ends
    with pytest.raises(tu.InputError, match="sorted"):
        release.plot("cdf")


def test_zooming_in_splits_bars_and_keeps_their_sum(opened: Opened, tmp_path: Path) -> None:
    release = release_over(FARE)
    release.save_plot(tmp_path / "x.html")
    page = opened(tmp_path / "x.html")
    drawn = "() => { const d = document.querySelector('.plotly-graph-div')._fullData[0];"
    coarse = page.evaluate(drawn + "return [...d.y]; }")
    page.evaluate(
        "() => Plotly.relayout(document.querySelector('.plotly-graph-div'),"
        "{'xaxis.range[0]': 10, 'xaxis.range[1]': 12})"
    )
    page.wait_for_timeout(300)
    fine = np.array(page.evaluate(drawn + "return [...d.y]; }"))
    assert len(fine) == 4096
    assert len(coarse) <= 200
    np.testing.assert_allclose(fine, release.counts(), atol=1e-5)
    assert fine.sum() == pytest.approx(sum(coarse), abs=1e-3)
    assert "1 cell a bar" in page.inner_text("body")


def test_pictures_are_drawn_offline(tmp_path: Path) -> None:
    release = release_over(AXES["integers"])
    release.save_plot(tmp_path / "x.png")
    release.save_plot(tmp_path / "x.svg")
    assert (tmp_path / "x.png").read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in (tmp_path / "x.svg").read_text()[:200]


def test_unknown_kinds_and_endings_are_refused(tmp_path: Path) -> None:
    release = release_over(AXES["integers"])
    with pytest.raises(tu.InputError, match="histogram"):
        release.plot("pie")
    with pytest.raises(tu.InputError, match=r"\.html"):
        release.save_plot(tmp_path / "x.gif")


@pytest.mark.parametrize("name", ["</title><script>alert(1)</script>", "a<b & c", "<b>x</b>"])
def test_a_name_is_text_in_every_part_of_a_page(name: str) -> None:
    # The name may come from a file that a stranger wrote.
    one = release_over(tu.Axis.categories(name, [name, "other"]))
    two = measure_for_experiment(np.ones((2, 3), int), tu.GridCounts(one.axis, 3), 1, seed=1)
    for release in (one, tu.infer(two)):
        page = Picture(release.plot()).page()
        assert "<script>alert" not in page
        title = page.partition("<title>")[2].partition("</title>")[0]
        assert unescape(title).startswith(name)
        assert release.plot().layout.title.text.startswith(f"<b>{escape(name, quote=False)}")
