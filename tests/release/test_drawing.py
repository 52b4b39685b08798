"""Pictures for notebooks: well formed, safe, and stamped where they must be."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import trueup as tu
from trueup.paper.noise import measure_for_experiment
from trueup.pictures.places import row_edges

SVG = "{http://www.w3.org/2000/svg}"
NAME = '<script>alert("x")</script>'
QUESTIONS = [
    tu.CellCounts(tu.Axis.categories(NAME, [NAME, "b", "&"])),
    tu.TreeCounts(tu.Axis.integers(NAME, 0, 999)),
    tu.TreeCounts(tu.Axis.ipv4("host", "0.0.0.0/0", 4), 2),
    tu.TreeCounts(tu.Axis.dates("day", "2012", "2012")),
    tu.SortedCounts(200, by=NAME, adaptive=False),
    tu.SortedCounts(1, adaptive=False),
    tu.NamedCounts(5, {NAME: [0, 1], "b": [1, 2]}),
]
each_question = pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: type(q).__name__)


def experiment(question):
    rng = np.random.default_rng(1)
    return measure_for_experiment(rng.integers(0, 100, question.size), question, 1, seed=2)


@each_question
def test_the_picture_is_well_formed_and_runs_nothing(question):
    shown = tu.infer(experiment(question))._repr_html_()
    tree = ET.fromstring(shown)
    assert "<script" not in shown
    drawn = {"svg", "title", "g", "rect", "path", "text"}
    assert {node.tag.removeprefix(SVG) for node in tree.iter()} <= drawn
    assert not [key for node in tree.iter() for key in node.attrib if key.startswith("on")]
    bars = [bar for bar in tree.iter(f"{SVG}rect") if "x" in bar.attrib]
    assert 1 <= len(bars) <= 200
    assert all(float(bar.attrib["height"]) >= 0 for bar in bars)
    assert "None" not in shown


@each_question
def test_an_experiment_is_stamped_in_every_showing(question):
    release = tu.infer(experiment(question))
    assert "NOT PRIVATE" in repr(release)
    assert "NOT PRIVATE" in release._repr_html_()
    private = tu.infer(tu.Measurement(question, np.zeros(question.length, int), 1))
    assert "NOT PRIVATE" not in repr(private)
    assert "NOT PRIVATE" not in private._repr_html_()


@each_question
def test_the_picture_says_what_was_paid_and_whom_it_protects(question):
    m = tu.Measurement(question, np.zeros(question.length, int), "1/7", unit="taxi <ride>")
    shown = tu.infer(m)._repr_html_()
    assert "ε = 1/7" in shown
    assert "taxi &lt;ride&gt;" in shown


def test_negative_and_empty_counts_can_be_drawn():
    for counts in ([-5, -3], [0, 0], [-(2**40), 2**40]):
        m = tu.Measurement(tu.CellCounts(2), counts, 1)
        page = ET.fromstring(tu.infer(m)._repr_html_())
        drawn = [part.attrib for part in page.iter() if part.tag.endswith("rect")]
        assert drawn
        for part in drawn:
            assert float(part.get("height", "0").rstrip("%")) >= 0


def test_marks_of_pooled_cells_are_their_intervals_in_every_showing():
    counts = np.zeros(4096, np.int64)
    counts[2000] = 60
    asked = measure_for_experiment(counts, tu.TreeCounts(4096, adaptive=True), 0.1, seed=1)
    release = tu.infer(asked, nonnegative=True, integers=True)
    assert "marks show 95 % intervals" in " ".join(ET.fromstring(release._repr_html_()).itertext())
    assert release.error_words == "half the 95 % interval"
    edges = row_edges(4096, 24)
    for (_, _, error), first, last in zip(
        release.lines(24), edges[:-1].tolist(), edges[1:].tolist(), strict=True
    ):
        low, high = release.unbiased.between(first, last).interval()
        assert error == pytest.approx((high - low) / 2)


def test_a_page_of_pooled_cells_finds_few_laws(monkeypatch):
    """Each takes a while: a page of a million cells took half a minute."""
    counts = np.zeros(100_000, np.int64)
    counts[2000] = 60
    asked = measure_for_experiment(counts, tu.TreeCounts(100_000, adaptive=True), 0.1, seed=1)
    release, looked = tu.infer(asked), []
    reach = type(release.errors).half_widths
    monkeypatch.setattr(
        type(release.errors),
        "half_widths",
        lambda errors, starts, *given: looked.append(len(starts)) or reach(errors, starts, *given),
    )
    assert release.picture().script()
    assert 2048 <= sum(looked) <= 3 * 4096
