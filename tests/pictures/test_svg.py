"""Charts: well-formed, self-contained, and to scale."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from trueup.pictures.svg import Bars, Curve, Panel, apart, between, stairs, svg, tick_label


def points(picture: str) -> list[tuple[float, float]]:
    """The corners of the last path drawn."""
    path = re.findall(r'<path d="M([^"HVh]*)" fill="none"', picture)[-1]
    return [tuple(map(float, pair.split(","))) for pair in path.split("L")]


def test_a_picture_is_well_formed_and_fetches_nothing() -> None:
    panel = Panel("a < b & c", "x", "y", (Curve("H̃", [1, 2], [3, 4], marker="diamond"),))
    picture = svg("title", [[panel, panel]], "note")
    root = ElementTree.fromstring(picture)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not re.search(r"href|<script|<image|url\(|@import", picture)


def test_equal_factors_are_equal_lengths_on_a_logarithmic_axis() -> None:
    line = Curve("", [1, 10, 100], [5, 50, 500])
    corners = points(svg("", [[Panel("", "", "", (line,), log_x=True, log_y=True)]]))
    for axis in (0, 1):
        first, second = (corners[i + 1][axis] - corners[i][axis] for i in (0, 1))
        assert math.isclose(first, second, abs_tol=0.2)


def test_larger_values_are_drawn_higher() -> None:
    corners = points(svg("", [[Panel("", "", "", (Curve("", [0, 1, 2], [1, 5, 3]),))]]))
    assert corners[0][1] > corners[2][1] > corners[1][1]


def test_what_a_logarithm_cannot_show_is_left_out() -> None:
    line = Curve("", [1, 2, 3], [1.0, 0.0, 10.0])
    assert len(points(svg("", [[Panel("", "", "", (line,), log_y=True)]]))) == 2


def test_bars_stand_on_the_axis() -> None:
    panel = Panel(
        "", "", "", bars=(Bars("b", [1.0, 4.0]),), x_ticks=between("gh"), y_from_zero=True
    )
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


@pytest.mark.parametrize("n", [1, 2, 5, 13, 40, 500])
@pytest.mark.parametrize("room", [120.0, 580.0])
def test_labels_of_ticks_never_touch_and_the_last_is_kept(n: int, room: float) -> None:
    given = [(room * i / n, f"{2**i if i < 40 else i:,}") for i in range(n + 1)]
    kept = apart(given, room)
    assert kept[-1] == given[-1]
    half = [3.5 * len(words) for _, words in kept]
    middle = [min(max(at, h), room - h) for (at, _), h in zip(kept, half, strict=True)]
    for left, right in pairwise(range(len(kept))):
        assert middle[left] + half[left] < middle[right] - half[right]
    assert len(kept) == len(given) or n > 2


def test_an_error_mark_reaches_as_far_as_its_error() -> None:
    bars = Bars("b", [1.0, 4.0], errors=[0.5, 2.0])
    picture = svg("", [[Panel("", "", "", bars=(bars,), y_from_zero=True)]])
    marks = re.findall(r'<path d="M[\d.]+,([\d.]+)V([\d.]+)" stroke', picture)
    first, second = (float(low) - float(high) for low, high in marks)
    assert second / first == pytest.approx(4, rel=0.02)
    rects = ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}rect")
    heights = [float(r.get("height", "0")) for r in rects if r.get("x")][1:]
    assert first / heights[0] == pytest.approx(1.0, rel=0.05)


def test_words_are_broken_to_fit() -> None:
    picture = svg(
        "many words " * 30, [[Panel("", "", "", (Curve("", [1, 2], [1, 2]),))]], "x " * 300
    )
    root = ElementTree.fromstring(picture)
    shown = [t for t in root.iter("{http://www.w3.org/2000/svg}text") if t.text]
    width = float(root.get("width", "0"))
    assert max(6.2 * len(t.text or "") for t in shown) < width
    assert max(float(t.get("y", 0)) for t in shown) < float(root.get("height", "0"))
