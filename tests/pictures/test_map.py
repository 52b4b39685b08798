from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

import trueup as tu
from trueup.paper.noise import measure_for_experiment
from trueup.pictures.map import MOST_BOXES
from trueup.pictures.places import bar_edges

Opened = Callable[[Path], Page]
AGE = tu.Axis.integers("age", 0, 99)
MONTH = tu.Axis.dates("month", "2013-01", "2013-12", "month")
SEX = tu.Axis.categories("sex", ["f", "m"])
PLACE = tu.Axis.hierarchy("place", {"CA": ["Kern", "Napa"], "NV": ["Clark"]})
GRIDS = {
    "numbers and dates": tu.GridCounts(AGE, MONTH),
    "labels": tu.GridCounts(SEX, PLACE),
    "three axes": tu.GridCounts(SEX, AGE, PLACE),
    "quadtree": tu.BoxCounts.quadtree(
        tu.Axis.integers("x", 0, 255), tu.Axis.regular("y", 0, 1, 64)
    ),
}


def release_of(name: str, **way: Any) -> Any:
    grid = GRIDS[name]
    counts = np.random.default_rng(1).poisson(9, grid.sizes)
    return tu.infer(measure_for_experiment(counts, grid, 1, seed=1), **way)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("numbers and dates", None), ("three axes", None), ("labels", "error"), ("quadtree", "error")],
)
def test_heat_maps_open_without_errors_and_nothing_cut_off(
    name: str, kind: str | None, opened: Opened, tmp_path: Path
) -> None:
    release = release_of(name)
    release.save_plot(tmp_path / "x.html", kind)
    page = opened(tmp_path / "x.html")
    words = page.inner_text("body")
    assert "NOT PRIVATE" in words
    assert "1.96 standard" in words
    assert page.locator(".heatmaplayer image, .hm image").count() == 1
    shown = [min(axis.size, len(bar_edges(axis.size, MOST_BOXES)) - 1) for axis in release.axes[:2]]
    assert page.locator(".bars .point").count() == sum(shown)


def test_boxes_bars_and_their_errors_are_those_of_the_release() -> None:
    release = release_of("numbers and dates")
    heat, *margins = release.plot().data
    box = release.range((6, 8), ("2013-03", "2013-04"))
    _, count, reach = heat.customdata[3][2]
    assert (count, reach) == (f"{box.value:,.0f}", f"{1.96 * box.std_error:,.0f}")
    assert heat.z[3][2] == pytest.approx(max(box.value, 0) ** 0.5)
    errors = release.plot("error").data[0].z
    assert errors[3][2] == pytest.approx(1.96 * box.std_error)
    down, right = margins
    assert down.x[3] == release.margin("age").range(6, 8).value
    assert right.y[2] == release.margin("month").range("2013-03", "2013-04").value
    spread = release.margin("month").range("2013-03", "2013-04").std_error
    assert right.error_y.array[2] == pytest.approx(1.96 * spread)


def test_counts_made_to_be_shown_carry_the_errors_of_the_unbiased_ones() -> None:
    release = release_of("quadtree", nonnegative=True, integers=True)
    figure = release.plot()
    assert "of the unbiased counts" in figure.layout.title.text.replace("</sup><br><sup>", " ")
    bar, own = figure.data[1], release.unbiased.margin("x")
    high = own.range(0, 4).value + 1.96 * own.range(0, 4).std_error
    assert bar.x[0] + bar.error_x.array[0] == pytest.approx(max(high, bar.x[0]))


def test_other_pictures_of_grids_and_all_of_marginals_are_refused() -> None:
    with pytest.raises(tu.InputError, match='"heatmap" or "error"'):
        release_of("labels").plot("cdf")
    margins = tu.BoxCounts.marginals(SEX, PLACE, marginals=[("sex",), ("place",)])
    release = tu.infer(tu.measure(np.ones((2, 3), int), margins, epsilon=1))
    with pytest.raises(tu.InputError, match=r"release\.margin"):
        release.save_plot("x.html")
    assert release.margin("sex").plot().data


@pytest.mark.parametrize("order", [("lat", "lon"), ("pickup_longitude", "pickup_latitude")])
def test_north_is_at_the_top_and_east_to_the_right(order: tuple[str, str]) -> None:
    """All counts lie in the north-east corner."""
    ends = {"lat": (40, 41), "latitude": (40, 41), "lon": (-75, -73), "longitude": (-75, -73)}
    axes = [tu.Axis.regular(name, *ends[name.rpartition("_")[2]], 8) for name in order]
    counts = np.zeros((8, 8), np.int64)
    counts[7, 7] = 1000
    release = tu.infer(tu.measure(counts, tu.GridCounts(*map(tu.CellCounts, axes)), 20))
    drawn = ET.fromstring(release._repr_html_())
    boxes = [each.attrib for each in drawn.iter("{http://www.w3.org/2000/svg}rect") if len(each)]
    dark = min(boxes, key=lambda box: sum(map(int, box["fill"][4:-1].split(","))))
    assert float(dark["y"]) == min(float(box["y"]) for box in boxes)
    assert float(dark["x"]) == max(float(box["x"]) for box in boxes)
    figure = release.plot()
    assert figure.layout.yaxis.autorange is True
    assert "lat" in figure.layout.yaxis.title.text
    assert "lon" in figure.layout.xaxis.title.text
    assert np.unravel_index(np.argmax(figure.data[0].z), (8, 8)) == (7, 7)


def test_labels_run_down_as_in_a_table() -> None:
    assert release_of("labels").plot().layout.yaxis.autorange == "reversed"


def test_boxes_of_fewer_cells_are_shaded_as_if_they_had_as_many() -> None:
    grid = tu.GridCounts(tu.CellCounts(tu.Axis.integers("a", 0, 99)), tu.CellCounts(SEX))
    counts = np.full((100, 2), 300)
    release = tu.infer(tu.measure(counts[:, :], grid, 20))
    assert np.ptp(release.plot().data[0].z) < 0.2
    odd = tu.GridCounts(tu.CellCounts(tu.Axis.integers("a", 0, 128)), tu.CellCounts(SEX))
    release = tu.infer(tu.measure(np.full((129, 2), 300), odd, 20))
    shades = np.array(release.plot().data[0].z)
    assert shades.shape == (33, 2)  # four cells a box, the last has one
    assert np.ptp(shades) < 0.03 * shades.max()
