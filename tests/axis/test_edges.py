"""Cells between given edges: by comparison, and with ends that are open."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueup as tu
from trueup import Axis, InputError

from .drawn_edges import edged, edges_of, finite, weird


@given(edged(), st.lists(st.one_of(finite, weird), max_size=20))
def test_given_edges_hold_what_comparison_says(axis, values):
    edges = edges_of(axis)
    values += edges
    for value, cell in zip(values, axis.locate(values).tolist(), strict=True):
        inside = [i for i in range(axis.size) if edges[i] <= value < edges[i + 1]]
        assert [cell] == (inside or [-1])


OPEN = Axis.edges("income", [0, 50_000, 250_000, math.inf])


def test_an_open_last_bin_holds_whatever_is_large():
    values = [-1, 0, 49_999, 250_000, 1e300, math.inf, -math.inf, math.nan, None]
    assert OPEN.locate(values).tolist() == [-1, 0, 0, 2, 2, -1, -1, -1, -1]
    both = Axis.edges("x", [-math.inf, 0, math.inf])
    assert both.locate([-1e300, -1, 0, 5, -math.inf, math.inf]).tolist() == [0, 0, 1, 1, -1, -1]


def test_an_open_bin_goes_by_words():
    assert OPEN.words(2, 3) == "250,000 and more"
    assert OPEN.words(0, 2) == "0 – 250,000"
    assert OPEN.words(1, 3) == "50,000 and more"
    assert OPEN.describe() == "numbers from 0 to 250,000 and more in 3 uneven cells"
    both = Axis.edges("x", [-math.inf, 0, math.inf])
    assert [both.words(0, 1), both.words(1, 2), both.words(0, 2)] == [
        "below 0", "0 and more", "all",
    ]  # fmt: skip
    assert OPEN.interval(2) == (250_000, None)
    assert [OPEN[i] for i in range(3)] == ["0 – 50,000", "50,000 – 250,000", "250,000 and more"]


def test_ranges_of_an_open_axis_end_where_it_does():
    for high in (None, math.inf, np.inf):
        assert OPEN.span(50_000, high) == (1, 3)
    assert OPEN.parse_span("50000:") == (1, 3)
    assert OPEN.spans([0, 50_000], [250_000, math.inf])[1].tolist() == [2, 3]
    for wrong in (-1, -math.inf, 60_000):
        with pytest.raises(InputError):
            OPEN.span(wrong, None)
    with pytest.raises(InputError):
        Axis.edges("x", [0, math.inf, 5])
    with pytest.raises(InputError):
        Axis.edges("x", [math.inf, 5])
    with pytest.raises(InputError):
        Axis.edges("x", [0, math.nan])
    with pytest.raises(InputError):
        Axis.edges("x", [0, 1]).span(0, math.inf)


def test_an_open_axis_is_written_and_read_back():
    assert Axis.from_json(json.loads(json.dumps(OPEN.to_json(), allow_nan=False))) == OPEN
    assert OPEN.part((50_000, None), None).words(1, 2) == "250,000 and more"


def test_a_release_with_an_open_bin_is_saved_drawn_and_asked(tmp_path):
    counts = [40, 30, 30]
    release = tu.infer(tu.measure(counts, tu.CellCounts(OPEN), epsilon=100))
    for ending in ("parquet", "json", "csv"):
        release.save(tmp_path / f"x.{ending}")
    for ending in ("parquet", "json"):
        again = tu.load(tmp_path / f"x.{ending}")
        assert again.axis == OPEN
        assert again.counts().tolist() == release.counts().tolist()
    assert release.to_frame()["high"].to_pylist() == [50_000, 250_000, None]
    assert "250,000 and more" in release._repr_html_()
    assert list(release.plot().data[0].x) == ["0 – 50,000", "50,000 – 250,000", "250,000 and more"]
    assert release.plot("cdf").data[-1].y[-1] == 1
    assert release.quantile([0.2, 0.9]) == [25_000, 250_000]
    assert release.quantile_interval(0.9) == (250_000, math.inf)
    assert release.range(250_000, None).value == 30
    counted, edges = tu.histogram([10, 60_000, 1e9], [0, 50_000, 250_000, np.inf], epsilon=100)
    assert (counted.tolist(), edges.tolist()) == ([1, 1, 1], [0, 50_000, 250_000, np.inf])
