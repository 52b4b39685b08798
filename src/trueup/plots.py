"""Pictures of releases, for notebook, report and page."""

from __future__ import annotations

import json
import re
from html import escape, unescape
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.axis.dates import DateCells
from trueup.axis.numbers import EdgeCells, IntegerCells, RegularCells
from trueup.errors import FileError, InputError
from trueup.heatmaps import plot_grid
from trueup.look import BLUE, ORANGE, base_figure, headline
from trueup.release import GridRelease, MarginalRelease, QueryRelease, Release, SortedRelease
from trueup.release.intervals import reaches, share_band

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_BAND = "rgba(0, 114, 178, 0.22)"
MOST_BARS = 200  # on screen at once; more cannot be told apart
_MOST_KEPT = 65_536  # finest bars that a page carries with it

_ZOOM = Path(__file__).with_name("zoom.js")


def plot(
    release: Release | SortedRelease | QueryRelease | GridRelease, kind: str | None = None
) -> Figure:
    """The picture of a release: its histogram or its "cdf"; its sorted counts or their "tail".

    Of a grid, its heat map between its margins, or the "error" of every box.

    A plotly Figure: shows itself in a notebook; `save_plot` writes it to a file.
    """
    if isinstance(release, SortedRelease):
        if kind not in (None, "sorted", "tail"):
            raise InputError(f'kind must be "sorted" or "tail", got {kind!r}.')
        return plot_tail(release) if kind == "tail" else plot_sorted(release)
    if isinstance(release, QueryRelease):
        return _plot_queries(release)
    if isinstance(release, Release):
        if kind not in (None, "histogram", "cdf"):
            raise InputError(f'kind must be "histogram" or "cdf", got {kind!r}.')
        return plot_cdf(release) if kind == "cdf" else plot_histogram(release)
    if isinstance(release, GridRelease):
        return plot_grid(release, kind)
    if isinstance(release, MarginalRelease):
        listed = "; ".join(", ".join(each) for each in release.marginals)
        raise InputError(f"Draw one of its margins: release.margin(…), of {listed}.")
    raise InputError(f"plot needs a release, got {type(release).__name__}; infer it first.")


def bars(release: Release, start: int = 0, stop: int | None = None, most: int = MOST_BARS) -> Ints:
    """The cell edges of at most that many equal bars over cells start … stop − 1.

    Bars are as many cells wide as a power of two, so that zooming in splits them and never moves
    them.
    """
    stop = release.axis.size if stop is None else stop
    width = 1
    while -(-(stop - start) // width) > most:
        width *= 2
    inner = np.arange(start // width * width, stop, width)
    return np.unique(np.clip(np.append(inner, stop), start, stop)).astype(np.int64)


def plot_histogram(release: Release) -> Figure:
    """Bars with the 95 % interval of each; coarser when zoomed out, since those are accurate."""
    figure = base_figure(release.about, release.axis.name, "count")
    edges = bars(release)
    middle, width, shown = _places(release, edges)
    values = np.diff(release.prefix[edges]).astype(np.float64)
    low, high = _intervals(release, edges)
    figure.add_bar(
        x=middle,
        y=values,
        width=width,
        customdata=np.column_stack([shown, _rounded(low), _rounded(high)]),
        error_y={
            "array": np.maximum(high - values, 0),
            "arrayminus": np.maximum(values - low, 0),
            "color": ORANGE,
            "thickness": 1,
            "width": 0,
        },
        marker={"color": BLUE, "line": {"width": 0}},
        hovertemplate="%{customdata[0]}<br><b>%{y:,.0f}</b>, between %{customdata[1]} and "
        "%{customdata[2]}<extra></extra>",
    )
    cells = int(edges[1] - edges[0])
    note = "1 cell a bar" if cells == 1 else f"{cells:,} cells a bar"
    figure.update_layout(bargap=0, title=_title(release, f"{note}, orange: {_whose(release)}"))
    return figure


def plot_cdf(release: Release, level: float = 0.95) -> Figure:
    """The share of the total below each value, with a band."""
    figure = base_figure(release.about, release.axis.name, "share below")
    edges = bars(release)
    x = _edge_values(release, edges)
    share = release.cdf()[edges]
    own = release.unbiased
    low, high = share_band(own.errors, own.prefix, edges, share, level)
    _band(figure, x, low, high)
    figure.add_scatter(x=x, y=share, mode="lines", line={"color": BLUE}, name="share")
    figure.update_layout(
        title=_title(release, "share of the total below, with its 95 % band"), yaxis_range=[0, 1.02]
    )
    return figure


def plot_sorted(release: SortedRelease, level: float = 0.95) -> Figure:
    """The counts from the largest down, on log-log axes, with the band that holds them all."""
    figure = base_figure(release.about, "rank, largest first", "count")
    counts = np.maximum(release.counts().astype(np.float64)[::-1], 0.0)
    low, high = (np.asarray(side, np.float64)[::-1] for side in release.band(level))
    n = len(counts)
    places = np.unique(np.geomspace(1, n, min(n, 600)).astype(np.int64)) - 1
    floor = 0.5  # a logarithm has no zero
    x = places + 1
    _band(figure, x, np.maximum(low[places], floor), np.maximum(high[places], floor))
    figure.add_scatter(
        x=x,
        y=np.maximum(counts[places], floor),
        mode="lines",
        line={"color": BLUE, "shape": "hv"},
        hovertemplate="rank %{x:,}: <b>%{y:,.1f}</b><extra></extra>",
        name="count",
    )
    note = "band: the whole true sequence, 95 times in 100"
    figure.update_layout(title=headline(f"{n:,} groups by their counts", note))
    figure.update_xaxes(type="log")
    figure.update_yaxes(type="log")
    return figure


def plot_tail(release: SortedRelease, level: float = 0.95) -> Figure:
    """How many groups have at least each count, on log-log axes: a power law is a straight line."""
    figure = base_figure(release.about, "count", "groups with at least that count")
    counts = np.asarray(release.counts(), np.float64)
    low, high = (np.asarray(side, np.float64) for side in release.band(level))
    n, top = len(counts), max(float(high[-1]), 2.0)
    x = np.unique(np.rint(np.geomspace(1, top, 600)))
    floor = 0.5  # a logarithm has no zero
    least, reaching, most = (
        np.maximum(n - np.searchsorted(side, x - 0.5), floor) for side in (low, counts, high)
    )
    _band(figure, x, least, most)
    shown = x <= max(counts[-1], 1.0)
    figure.add_scatter(
        x=x[shown],
        y=reaching[shown],
        mode="lines",
        line={"color": BLUE, "shape": "vh"},
        hovertemplate="at least %{x:,}: <b>%{y:,.0f}</b> groups<extra></extra>",
        name="groups",
    )
    note = f"band: all true numbers at once, {100 * level:g} times in 100"
    figure.update_layout(title=headline(f"{n:,} groups: the tail of their counts", note))
    figure.update_xaxes(type="log")
    figure.update_yaxes(type="log")
    return figure


def _plot_queries(release: QueryRelease) -> Figure:
    figure = base_figure(release.about, "query", "count")
    own = release.unbiased
    low, high = np.array([own[name].interval(0.95) for name in release.names]).T
    values = np.asarray(release.answers, np.float64)
    figure.add_bar(
        x=list(release.names),
        y=values,
        error_y={
            "array": np.maximum(high - values, 0),
            "arrayminus": np.maximum(values - low, 0),
            "color": ORANGE,
            "thickness": 1.5,
        },
        marker={"color": BLUE},
    )
    figure.update_layout(title=headline("Counts by name", f"orange: {_whose(release)}"))
    return figure


def save_plot(figure: Figure, path: str | Path, release: object = None) -> None:
    """Writes a picture by its ending: .html (self-contained), .png or .svg.

    Given the release of a histogram, the page splits its bars when zoomed in. PNG and SVG are
    drawn by kaleido with the Chromium or Chrome of the machine.
    """
    target = Path(path)
    if target.suffix == ".html":
        target.write_text(to_html(figure, release), encoding="utf-8")
        return
    if target.suffix not in (".png", ".svg"):
        raise InputError(f"A picture must end in .html, .png or .svg, got {target.name!r}.")
    try:
        figure.write_image(target, width=960, height=540, scale=2 if target.suffix == ".png" else 1)
    except (ImportError, ValueError, RuntimeError, OSError) as wrong:
        raise FileError(
            f"{target.suffix} pictures need kaleido and Chromium or Chrome "
            f"(Debian: apt install chromium). Write .html instead. ({type(wrong).__name__})"
        ) from None


def to_html(figure: Figure, release: object = None, whole_page: bool = True) -> str:
    """The figure as a page that needs nothing from elsewhere, or as a part of one.

    A part leaves plotly.js to the page around it.
    """
    script = [zoom_script(release)] if isinstance(release, Release) else []
    part = figure.to_html(
        full_html=False,
        include_plotlyjs=whole_page,
        post_script=script,
        config={"displaylogo": False, "responsive": True},
    )
    if not whole_page:
        return str(part)
    # Names of axes may come from a file that a stranger wrote: text, and never markup.
    first = str(figure.layout.title.text or "trueup").split("<br>")[0]
    title = escape(unescape(re.sub("</?b>", "", first)))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>'
        f'{title}</title><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"></head><body style="margin:0">{part}</body></html>'
    )


def zoom_script(release: Release) -> str:
    """The script that redraws the bars of a histogram at the width that fits the zoom."""
    if not _is_numeric(release):
        return ""
    finest = bars(release, most=_MOST_KEPT)
    levels: list[dict[str, Any]] = []
    edges = finest
    while True:
        reach = _reach(release, edges)
        levels.append({"step": len(levels), "reach": [round(float(r), 2) for r in reach]})
        if len(edges) - 1 <= MOST_BARS:
            break
        edges = np.unique(np.append(edges[::2], edges[-1]))
    data = {
        "edges": [round(float(e), 9) for e in _numeric_edges(release, finest)],
        "prefix": [round(float(p), 6) for p in release.prefix[finest]],
        "unbiased": [round(float(p), 6) for p in release.unbiased.prefix[finest]],
        "levels": levels,
        "most": MOST_BARS,
        "dates": isinstance(release.axis.cells, DateCells),
        "cells": int(finest[1] - finest[0]),
    }
    return f"const trueup = {json.dumps(data)};\n{_ZOOM.read_text(encoding='utf-8')}"


def _reach(release: Release, edges: Ints) -> Floats:
    """How far a bar's 95 % interval reaches."""
    return reaches(release.errors, edges[:-1], edges[1:], 0.95)


def _intervals(release: Release, edges: Ints) -> tuple[Floats, Floats]:
    """The 95 % intervals of the bars. For counts made to be shown, those of the unbiased ones."""
    middle = np.diff(release.unbiased.prefix[edges])
    reach = _reach(release, edges)
    return middle - reach, middle + reach


def _whose(release: Release | QueryRelease) -> str:
    own = release.unbiased is release
    return "95 % intervals" if own else "95 % intervals of the unbiased counts"


def _is_numeric(release: Release) -> bool:
    return isinstance(release.axis.cells, (IntegerCells, RegularCells, EdgeCells, DateCells))


def _numeric_edges(release: Release, edges: Ints) -> Floats:
    """Edges as numbers; dates as milliseconds since 1970, plotly's own."""
    cells = release.axis.cells
    if isinstance(cells, DateCells):
        return cells.edges[edges] / 1000.0
    if isinstance(cells, RegularCells):
        return cells.edges_at(edges)
    if isinstance(cells, EdgeCells):
        return np.array(cells.edges)[edges]
    assert isinstance(cells, IntegerCells)
    return (cells.first + edges).astype(np.float64)


def _edge_values(release: Release, edges: Ints) -> Any:
    if isinstance(release.axis.cells, DateCells):
        return release.axis.cells.edges[edges].view("datetime64[us]")
    return _numeric_edges(release, edges) if _is_numeric(release) else edges


def _places(release: Release, edges: Ints) -> tuple[Any, Any, list[str]]:
    """Where bars stand, how wide they are, and the words for their intervals."""
    axis = release.axis
    shown = [f"{axis.cells.edge(int(a))} – {axis.cells.edge(int(b))}" for a, b in pairwise(edges)]
    if not _is_numeric(release):
        columns = axis.columns(edges[:-1], edges[1:])
        names = [
            " / ".join(str(v) for v in row if v) for row in zip(*columns.values(), strict=True)
        ]
        return names, None, names
    numbers = _numeric_edges(release, edges)
    middle = (numbers[1:] + numbers[:-1]) / 2
    if isinstance(axis.cells, DateCells):
        return (middle * 1000).astype("datetime64[us]"), np.diff(numbers), shown
    return middle, np.diff(numbers), shown


def _rounded(values: Floats) -> list[str]:
    return [f"{value:,.0f}" for value in values]


def _title(release: Release, note: str) -> dict[str, Any]:
    words = f"{release.axis.name}: {release.total().value:,.0f} in {release.axis.size:,} cells"
    return headline(words, note)


def _band(figure: Figure, x: Any, low: Floats, high: Floats) -> None:
    edge = {"width": 0}
    quiet = {"mode": "lines", "line": edge, "hoverinfo": "skip"}
    figure.add_scatter(x=x, y=low, **quiet)
    figure.add_scatter(x=x, y=high, fill="tonexty", fillcolor=_BAND, name="95 % band", **quiet)
