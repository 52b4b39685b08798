"""Charts: well-formed, self-contained, and to scale."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import pytest

from trueup.paper.chart import Bars, Line, Panel, stairs, svg, tick_label


def points(picture: str) -> list[tuple[float, float]]:
    """The corners of the last path drawn."""
    path = re.findall(r'<path d="M([^"HVh]*)" fill="none"', picture)[-1]
    return [tuple(map(float, pair.split(","))) for pair in path.split("L")]


def test_a_picture_is_well_formed_and_fetches_nothing() -> None:
    panel = Panel("a < b & c", "x", "y", (Line("H̃", [1, 2], [3, 4], marker="diamond"),))
    picture = svg("title", [[panel, panel]], "note")
    root = ElementTree.fromstring(picture)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not re.search(r"href|<script|<image|url\(|@import", picture)


def test_equal_factors_are_equal_lengths_on_a_logarithmic_axis() -> None:
    line = Line("", [1, 10, 100], [5, 50, 500])
    corners = points(svg("", [[Panel("", "", "", (line,), log_x=True, log_y=True)]]))
    for axis in (0, 1):
        first, second = (corners[i + 1][axis] - corners[i][axis] for i in (0, 1))
        assert math.isclose(first, second, abs_tol=0.2)


def test_larger_values_are_drawn_higher() -> None:
    corners = points(svg("", [[Panel("", "", "", (Line("", [0, 1, 2], [1, 5, 3]),))]]))
    assert corners[0][1] > corners[2][1] > corners[1][1]


def test_what_a_logarithm_cannot_show_is_left_out() -> None:
    line = Line("", [1, 2, 3], [1.0, 0.0, 10.0])
    assert len(points(svg("", [[Panel("", "", "", (line,), log_y=True)]]))) == 2


def test_bars_stand_on_the_axis() -> None:
    panel = Panel("", "", "", bars=(Bars("b", [1.0, 4.0]),), groups=("g", "h"), y_from_zero=True)
    root = ElementTree.fromstring(svg("", [[panel]]))
    bars = [r for r in root.iter("{http://www.w3.org/2000/svg}rect") if r.get("x")][1:]
    feet = {round(float(bar.get("y", 0)) + float(bar.get("height", 0))) for bar in bars}
    heights = [float(bar.get("height", 0)) for bar in bars]
    assert len(feet) == 1
    assert heights[1] / heights[0] == pytest.approx(4, rel=0.02)


def test_stairs_have_a_tread_for_each_value() -> None:
    assert stairs([1, 2], [5, 7]) == ([0.5, 1.5, 1.5, 2.5], [5, 5, 7, 7])


def test_tick_labels() -> None:
    values = (0, 0.5, 100, 1_000, 1e4, 2e6, 1e-4)
    assert [tick_label(v) for v in values] == ["0", "0.5", "100", "1,000", "10⁴", "2·10⁶", "10⁻⁴"]
