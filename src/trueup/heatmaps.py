"""Pictures of grids: a heat map between its two margins, and the error of every box."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.axis import Axis
from trueup.axis.labels import CategoryCells, HierarchyCells
from trueup.errors import InputError
from trueup.look import BLUE, ORANGE, base_figure, caption, headline
from trueup.release import GridRelease

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_MOST = 64  # boxes a side: more cannot be told apart
_TICKS = 8
_SURE = 1.96  # standard errors
_SHADES = [[0.0, "#ffffff"], [0.25, "#b8d8ea"], [0.6, "#4a9cc7"], [1.0, "#00466e"]]
_WARM = [[0.0, "#ffffff"], [0.5, "#eda06a"], [1.0, "#993f00"]]


def plot_grid(release: GridRelease, kind: str | None = None) -> Figure:
    """A heat map of the counts, or of their "error", between bars of the two margins.

    The first axis runs down, the second to the right; cells are put together into at most 64 boxes
    a side. Every box and bar says its count ± 1.96 standard errors; bars have them drawn. Of more
    than two axes it is the margin over the first two.
    """
    if kind not in (None, "heatmap", "error"):
        raise InputError(f'kind must be "heatmap" or "error" for a grid, got {kind!r}.')
    if len(release.axes) > 2:
        release = release.margin(*(axis.name for axis in release.axes[:2]))
    own, (down, right) = release.unbiased, release.axes
    cuts = [box_edges(axis.size) for axis in release.axes]
    counts = np.diff(np.diff(release.prefix[np.ix_(*cuts)], axis=0), axis=1).astype(np.float64)
    reach = _SURE * np.sqrt(own.errors.product_variances(cuts))
    words = [_words(axis, each) for axis, each in zip(release.axes, cuts, strict=True)]
    figure = base_figure(release.about, right.name, down.name)
    spoken = [[f"{down.name} {a}<br>{right.name} {b}" for b in words[1]] for a in words[0]]
    error = kind == "error"
    figure.add_heatmap(
        z=reach if error else np.sqrt(np.maximum(counts, 0.0)),
        x=np.arange(len(words[1])),
        y=np.arange(len(words[0])),
        customdata=np.dstack([np.array(spoken), _written(counts), _written(reach)]),
        colorscale=_WARM if error else _SHADES,
        zmin=0,
        zmax=max(float(reach.max()), 1e-9) if error else max(float(counts.max()), 1.0) ** 0.5,
        colorbar=_scale(reach.max() if error else counts.max(), error),
        hovertemplate="%{customdata[0]}<br><b>%{customdata[1]}</b> ± %{customdata[2]}"
        "<extra></extra>",
    )
    for number, axis in enumerate(release.axes):
        _add_margin(figure, release, number, cuts[number], words[number], axis)
    whose = "standard errors" if own is release else "standard errors of the unbiased counts"
    note = f"{_boxes(cuts)} a box; ± and orange: 1.96 {whose}"
    title = f"{down.name} × {right.name}: {release.total().value:,.0f} in all"
    top = headline(f"{title}, ± of each box" if error else title, note)
    # Names under the picture may be long: its caption goes above it.
    top["text"] += "".join(
        f"<br><sup>{line}</sup>" for line in caption(release.about).split("<br>")
    )
    figure.layout.annotations = ()
    figure.update_layout(
        title=top,
        height=680,
        margin={"l": 70, "r": 20, "t": 60 + 20 * top["text"].count("<br>"), "b": 70},
        xaxis={"domain": [0, 0.78], "anchor": "y", **_ticks(right, words[1])},
        yaxis={"domain": [0, 0.74], "autorange": "reversed", **_ticks(down, words[0])},
        xaxis2={"domain": [0, 0.78], "matches": "x", "anchor": "y2", "showticklabels": False},
        yaxis2={"domain": [0.79, 1], "anchor": "x2", "tickformat": ",", "nticks": 4},
        xaxis3={"domain": [0.81, 1], "anchor": "y3", "tickformat": ",", "nticks": 3},
        yaxis3={"domain": [0, 0.74], "matches": "y", "anchor": "x3", "showticklabels": False},
        bargap=0.05,
    )
    return figure


def box_edges(size: int, most: int = _MOST) -> Ints:
    """The cell edges of at most that many boxes, a power of two cells wide, the last cut short."""
    width = 1
    while -(-size // width) > most:
        width *= 2
    return np.append(np.arange(0, size, width), size).astype(np.int64)


def _add_margin(
    figure: Figure, release: GridRelease, number: int, cuts: Ints, words: list[str], axis: Axis
) -> None:
    """Bars of one axis alone, beside the heat map."""
    margin = release.margin(axis.name)
    values = np.diff(margin.prefix[cuts]).astype(np.float64)
    middle = np.diff(margin.unbiased.prefix[cuts])
    spread = _SURE * np.sqrt(margin.unbiased.errors.range_variances(cuts[:-1], cuts[1:]))
    bars = {
        "array": np.maximum(middle + spread - values, 0),
        "arrayminus": np.maximum(values - middle + spread, 0),
        "color": ORANGE,
        "thickness": 1,
        "width": 0,
    }
    places, sideways = np.arange(len(words)), number == 0
    figure.add_bar(
        x=values if sideways else places,
        y=places if sideways else values,
        orientation="h" if sideways else "v",
        error_x=bars if sideways else None,
        error_y=None if sideways else bars,
        customdata=np.column_stack([words, _written(values), _written(spread)]),
        marker={"color": BLUE, "line": {"width": 0}},
        hovertemplate=f"{axis.name} %{{customdata[0]}}<br><b>%{{customdata[1]}}</b> ± "
        "%{customdata[2]}<extra></extra>",
        xaxis="x3" if sideways else "x2",
        yaxis="y3" if sideways else "y2",
    )


def _words(axis: Axis, cuts: Ints) -> list[str]:
    """The words for each box of an axis."""
    if isinstance(axis.cells, (CategoryCells, HierarchyCells)):
        columns = axis.columns(cuts[:-1], cuts[1:])
        return [" / ".join(str(v) for v in row if v) for row in zip(*columns.values(), strict=True)]
    return [f"{axis.cells.edge(int(a))} – {axis.cells.edge(int(b))}" for a, b in pairwise(cuts)]


def _ticks(axis: Axis, words: list[str]) -> dict[str, Any]:
    """Some boxes by name, evenly; of an ordered axis where they begin."""
    places = np.arange(0, len(words), -(-len(words) // _TICKS))
    labels = isinstance(axis.cells, (CategoryCells, HierarchyCells))
    text = [words[place] if labels else words[place].split(" – ")[0] for place in places]
    return {"tickvals": places if labels else places - 0.5, "ticktext": text, "zeroline": False}


def _scale(most: float, error: bool) -> dict[str, Any]:
    """The legend of the shades; counts are shaded by their square roots, so that few show too."""
    most = max(float(most), 1.0)
    step = 10.0 ** np.floor(np.log10(most))
    most = step * np.floor(most / step)  # round numbers, to be read at a glance
    values = most * np.array([0, 0.1, 0.5, 1.0] if not error else [0, 0.5, 1.0])
    return {
        "tickvals": values if error else np.sqrt(values),
        "ticktext": [f"{value:,.0f}" if value >= 10 else f"{value:.2g}" for value in values],
        "title": {"text": "±" if error else "count"},
        "thickness": 12,
        "len": 0.74,
        "y": 0.37,
    }


def _boxes(cuts: list[Ints]) -> str:
    return " × ".join(f"{int(each[1] - each[0]):,}" for each in cuts) + " cells"


def _written(values: Floats) -> Any:
    return np.vectorize(lambda value: f"{value:,.0f}", otypes=[object])(values)
