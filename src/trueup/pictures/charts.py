"""Charts to look into: bars with an interval each, and curves inside a band."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trueup.arrays import Floats, Ints
from trueup.axis import Axis
from trueup.facts import Facts
from trueup.pictures.places import MOST_BARS, drawn, moments, stretches, words
from trueup.pictures.theme import BLUE, ORANGE, base_figure, headline

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


_BAND = "rgba(0, 114, 178, 0.22)"
_ZOOM = Path(__file__).with_name("zoom.js")
_FLOOR = 0.5  # a logarithm has no zero
_RANKS = 600  # that are drawn
_FEW = 30  # ranks that have a mark each


@dataclass(frozen=True, eq=False)
class Interval:
    """Values and the two ends of an interval around each."""

    values: Floats
    low: Floats
    high: Floats

    def marks(self) -> dict[str, Any]:
        """Plotly's error bars, that reach to the two ends."""
        above, below = self.high - self.values, self.values - self.low
        each = {"array": np.maximum(above, 0), "arrayminus": np.maximum(below, 0)}
        return {**each, "color": ORANGE, "thickness": 1, "width": 0}

    def times(self, factors: Floats) -> Interval:
        """Each value and its ends times a factor."""
        return Interval(self.values * factors, self.low * factors, self.high * factors)

    def said(self) -> list[list[str]]:
        """The values and the ends, to be read."""
        return [[f"{end:,.0f}" for end in ends] for ends in (self.values, self.low, self.high)]


def histogram(
    facts: Facts, title: str, axis: Axis, edges: Ints, counts: Interval, whose: str
) -> Figure:
    """Bars over stretches of an axis, each with its interval."""
    bars = stretches(axis, edges)
    figure = base_figure(facts, axis.name, bars.label)
    each = words(axis, edges)
    places: Any = each
    width = None
    if axis.traits.scale:
        ends = drawn(axis, edges)
        places, width = moments(axis, (ends[1:] + ends[:-1]) / 2), np.diff(ends)
    figure.add_bar(
        x=places,
        y=counts.values * bars.times,
        width=width,
        customdata=np.column_stack([each, *counts.said()]),
        error_y=counts.times(bars.times).marks(),
        marker={"color": BLUE, "line": {"width": 0}},
        hovertemplate="%{customdata[0]}<br><b>%{customdata[1]}</b>, between %{customdata[2]} and "
        "%{customdata[3]}<extra></extra>",
    )
    cells = int(edges[1] - edges[0])
    note = "1 cell a bar" if cells == 1 else f"{cells:,} cells a bar"
    figure.update_layout(bargap=0, title=headline(title, f"{note}, orange: {whose}"))
    return figure


def named_bars(facts: Facts, names: Sequence[str], counts: Interval, whose: str) -> Figure:
    """A bar for each name."""
    figure = base_figure(facts, "query", "count")
    marks = {**counts.marks(), "thickness": 1.5, "width": None}
    figure.add_bar(x=list(names), y=counts.values, error_y=marks, marker={"color": BLUE})
    figure.update_layout(title=headline("Counts by name", f"orange: {whose}"))
    return figure


def shares(facts: Facts, title: str, axis: Axis, edges: Ints, below: Interval) -> Figure:
    """The share of the total below each edge of an axis, inside its band."""
    figure = base_figure(facts, axis.name, "share below")
    x = moments(axis, drawn(axis, edges)) if axis.traits.scale else edges
    _add_band(figure, x, below.low, below.high)
    figure.add_scatter(x=x, y=below.values, mode="lines", line={"color": BLUE}, name="share")
    note = "share of the total below, with its 95 % band"
    figure.update_layout(title=headline(title, note), yaxis_range=[0, 1.02])
    return figure


def sequence(facts: Facts, counts: Interval, level: float) -> Figure:
    """Rising counts from the largest down, inside the band that holds them all; log-log."""
    n = len(counts.values)
    places = np.arange(n)
    if n > _RANKS:
        places = np.unique(np.geomspace(1, n, _RANKS).astype(np.int64)) - 1
    sides = [side[::-1][places] for side in (counts.values, counts.low, counts.high)]
    note = f"band: the whole true sequence, {100 * level:g} times in 100"
    if n and counts.values[0] < _FLOOR:
        note += f"; 0 is drawn at {_FLOOR}"
    figure = _log_log(facts, ("rank, largest first", "count"), places + 1, Interval(*sides), "hv")
    if n <= _FEW:  # the smallest, too, is to be seen, though no step follows it
        figure.data[-1].mode = "lines+markers"
    figure.data[-1].hovertemplate = "rank %{x:,}: <b>%{y:,.1f}</b><extra></extra>"
    figure.update_layout(title=headline(f"{n:,} groups by their counts", note))
    return figure


def tail(facts: Facts, counts: Interval, level: float) -> Figure:
    """How many groups have at least each count; log-log: a power law is a straight line."""
    n, top = len(counts.values), max(float(counts.high[-1]), 2.0)
    x = np.unique(np.rint(np.geomspace(1, top, 600)))
    sides = [
        (n - np.searchsorted(side, x - 0.5)).astype(np.float64)
        for side in (counts.values, counts.low, counts.high)
    ]
    names = ("count", "groups with at least that count")
    figure = _log_log(facts, names, x, Interval(*sides), "vh")
    line, reached = figure.data[-1], x <= max(float(counts.values[-1]), 1.0)
    line.x, line.y = x[reached], line.y[reached]
    line.hovertemplate = "at least %{x:,}: <b>%{y:,.0f}</b> groups<extra></extra>"
    note = f"band: all true numbers at once, {100 * level:g} times in 100"
    figure.update_layout(title=headline(f"{n:,} groups: the tail of their counts", note))
    return figure


def _log_log(facts: Facts, names: tuple[str, str], x: Any, y: Interval, shape: str) -> Figure:
    """A stepped line inside its band, both axes logarithmic."""
    figure = base_figure(facts, *names)
    _add_band(figure, x, np.maximum(y.low, _FLOOR), np.maximum(y.high, _FLOOR), shape)
    line = {"color": BLUE, "shape": shape}
    figure.add_scatter(x=x, y=np.maximum(y.values, _FLOOR), mode="lines", line=line)
    figure.update_xaxes(type="log")
    figure.update_yaxes(type="log")
    return figure


def _add_band(figure: Figure, x: Any, low: Floats, high: Floats, shape: str = "linear") -> None:
    quiet = {"mode": "lines", "line": {"width": 0, "shape": shape}, "hoverinfo": "skip"}
    figure.add_scatter(x=x, y=low, **quiet)
    figure.add_scatter(x=x, y=high, fill="tonexty", fillcolor=_BAND, name="95 % band", **quiet)


def zoom_script(
    axis: Axis,
    edges: Ints,
    shown: Floats,
    unbiased: Floats,
    reaches: Sequence[Floats],
    cut: bool,
) -> str:
    """The script that redraws the bars of a histogram at the width that fits the zoom.

    `edges` are the finest, with the prefix sums shown and unbiased at each; `reaches` says how far
    the intervals of bars of 1, 2, 4, … of the finest reach. Those of counts made to be shown are
    `cut` to whole numbers from 0, and hold what is shown.
    """
    data = {
        # Heights of bars: of uneven cells a count per unit, of others per bar of full width.
        "unit": stretches(axis, edges).unit,
        "last": int(edges[-1] - edges[-2]),
        "edges": [round(float(e), 9) for e in drawn(axis, edges)],
        "prefix": [round(float(p), 6) for p in shown],
        "unbiased": [round(float(p), 6) for p in unbiased],
        "reaches": [[round(float(r), 2) for r in reach] for reach in reaches],
        "cut": cut,
        "most": MOST_BARS,
        "dates": axis.traits.scale == "time",
        "cells": int(edges[1] - edges[0]),
    }
    return f"const trueup = {json.dumps(data)};\n{_ZOOM.read_text(encoding='utf-8')}"
