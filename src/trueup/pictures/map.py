"""Maps of counts over two axes, between bars of their margins: to look into, and for notebooks.

The first axis is upright, the second runs to the right. Numbers rise from the bottom up, as
everywhere; labels and dates run down, as in a table. Of a longitude and a latitude the latitude is
upright: north is at the top.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trueup.arrays import Floats, Ints
from trueup.axis import Axis
from trueup.facts import Facts
from trueup.pictures.charts import Interval
from trueup.pictures.places import stretches, words
from trueup.pictures.svg import bar, drawing, rect, text
from trueup.pictures.theme import BLUE, base_figure, caption, headline

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


MOST_BOXES = 64  # a side: more cannot be told apart
_TICKS = 8
SURE = 1.96
"""So many standard errors a map's ± is."""
_SHADES = [[0.0, "#ffffff"], [0.25, "#b8d8ea"], [0.6, "#4a9cc7"], [1.0, "#00466e"]]
_WARM = [[0.0, "#ffffff"], [0.5, "#eda06a"], [1.0, "#993f00"]]
_SIDE, _MARGIN = 420, 60


@dataclass(frozen=True, eq=False)
class Boxes:
    """Counts of boxes between cuts of two axes, one standard error of each, and the same of both
    margins; `unbiased` are the counts that the errors belong to."""

    axes: Sequence[Axis]
    cuts: Sequence[Ints]
    counts: Floats
    unbiased: Floats
    spread: Floats
    margin_spreads: Sequence[Floats]

    @property
    def rises(self) -> bool:
        """Whether the first axis rises from the bottom of the map to its top."""
        return self.axes[0].traits.scale == "number"

    @property
    def times(self) -> tuple[Floats, Floats]:
        """By what counts are multiplied to be shaded alike at equal density, for each axis."""
        first, second = (
            stretches(axis, cuts).times for axis, cuts in zip(self.axes, self.cuts, strict=True)
        )
        return first, second

    @property
    def shaded(self) -> Floats:
        """The counts as they are shaded: a box of fewer cells as if it had as many as others."""
        first, second = self.times
        return self.counts * first[:, None] * second

    def margin(self, number: int, errors: float) -> Interval:
        """The counts of one axis alone, between so many standard errors of the unbiased ones."""
        values, middle = (each.sum(axis=1 - number) for each in (self.counts, self.unbiased))
        reach = errors * self.margin_spreads[number]
        return Interval(values, middle - reach, middle + reach).times(self.times[number])


def heat_map(facts: Facts, title: str, boxes: Boxes, of_errors: bool, whose: str) -> Figure:
    """A map of the counts, or of 1.96 standard errors of each, to look into."""
    down, right = boxes.axes
    named = [words(axis, cuts) for axis, cuts in zip(boxes.axes, boxes.cuts, strict=True)]
    counts, reach, shaded = boxes.counts, SURE * boxes.spread, boxes.shaded
    figure = base_figure(facts, right.name, down.name)
    spoken = [[f"{down.name} {a}<br>{right.name} {b}" for b in named[1]] for a in named[0]]
    figure.add_heatmap(
        z=reach if of_errors else np.sqrt(np.maximum(shaded, 0.0)),
        x=np.arange(len(named[1])),
        y=np.arange(len(named[0])),
        customdata=np.dstack([np.array(spoken), _written(counts), _written(reach)]),
        colorscale=_WARM if of_errors else _SHADES,
        zmin=0,
        zmax=max(float(reach.max()), 1e-9) if of_errors else _most(shaded) ** 0.5,
        colorbar=_scale(reach.max() if of_errors else shaded.max(), of_errors),
        hovertemplate="%{customdata[0]}<br><b>%{customdata[1]}</b> ± %{customdata[2]}"
        "<extra></extra>",
    )
    for number in (0, 1):
        _add_margin(figure, boxes, number, named[number])
    cells = " × ".join(f"{int(each[1] - each[0]):,}" for each in boxes.cuts)
    top = headline(title, f"{cells} cells a box; ± and orange: {whose}")
    # Names under the picture may be long: its caption goes above it.
    top["text"] += "".join(f"<br><sup>{line}</sup>" for line in caption(facts).split("<br>"))
    figure.layout.annotations = ()
    figure.update_layout(
        title=top,
        height=680,
        margin={"l": 70, "r": 20, "t": 60 + 20 * top["text"].count("<br>"), "b": 70},
        xaxis={"domain": [0, 0.78], "anchor": "y", **_ticks(right, boxes.cuts[1], named[1])},
        yaxis={
            "domain": [0, 0.74],
            "autorange": True if boxes.rises else "reversed",
            **_ticks(down, boxes.cuts[0], named[0]),
        },
        xaxis2={"domain": [0, 0.78], "matches": "x", "anchor": "y2", "showticklabels": False},
        yaxis2={"domain": [0.79, 1], "anchor": "x2", "tickformat": ",", "nticks": 4},
        xaxis3={"domain": [0.81, 1], "anchor": "y3", "tickformat": ",", "nticks": 3},
        yaxis3={"domain": [0, 0.74], "matches": "y", "anchor": "x3", "showticklabels": False},
        bargap=0.05,
    )
    return figure


def _add_margin(figure: Figure, boxes: Boxes, number: int, named: list[str]) -> None:
    """Bars of one axis alone, beside the map."""
    bars, sideways = boxes.margin(number, SURE), number == 0
    values = (boxes.counts.sum(axis=1 - number)).astype(np.float64)
    places = np.arange(len(named))
    reach = _written(SURE * boxes.margin_spreads[number])
    figure.add_bar(
        x=bars.values if sideways else places,
        y=places if sideways else bars.values,
        orientation="h" if sideways else "v",
        error_x=bars.marks() if sideways else None,
        error_y=None if sideways else bars.marks(),
        customdata=np.column_stack([named, _written(values), reach]),
        marker={"color": BLUE, "line": {"width": 0}},
        hovertemplate=f"{boxes.axes[number].name} %{{customdata[0]}}<br><b>%{{customdata[1]}}</b> "
        "± %{customdata[2]}<extra></extra>",
        xaxis="x3" if sideways else "x2",
        yaxis="y3" if sideways else "y2",
    )


def _ticks(axis: Axis, cuts: Ints, named: list[str]) -> dict[str, Any]:
    """Some boxes by name, evenly; of an axis with positions where they begin."""
    places = np.arange(0, len(named), -(-len(named) // _TICKS))
    edges = axis.traits.scale is not None
    shown = [str(axis.edge(int(cuts[place]))) if edges else named[place] for place in places]
    return {"tickvals": places - 0.5 if edges else places, "ticktext": shown, "zeroline": False}


def _scale(most: float, of_errors: bool) -> dict[str, Any]:
    """The legend of the shades; counts are shaded by their square roots, so that few show too."""
    most = max(float(most), 1.0)
    step = 10.0 ** np.floor(np.log10(most))
    most = step * np.floor(most / step)  # round numbers, to be read at a glance
    values = most * np.array([0, 0.5, 1.0] if of_errors else [0, 0.1, 0.5, 1.0])
    return {
        "tickvals": values if of_errors else np.sqrt(values),
        "ticktext": [f"{value:,.0f}" if value >= 10 else f"{value:.2g}" for value in values],
        "title": {"text": "±" if of_errors else "count"},
        "thickness": 12,
        "len": 0.74,
        "y": 0.37,
    }


def _most(shaded: Floats) -> float:
    return max(float(shaded.max()), 1.0)


def _written(values: Floats) -> Any:
    return np.vectorize(lambda value: f"{value:,.0f}", otypes=[object])(values)


def map_drawing(title: str, boxes: Boxes, note: str) -> str:
    """The map as SVG, one standard error on hovering and on the margins' bars.

    A shade fades towards white where the count is within its standard error.
    """
    counts, spread, shaded = boxes.counts, boxes.spread, boxes.shaded
    down, right = (_SIDE / (len(each) - 1) for each in boxes.cuts)
    shade = np.where(counts > spread, np.sqrt(np.maximum(shaded, 0) / _most(shaded)), 0.0)
    rows = range(len(counts) - 1, -1, -1) if boxes.rises else range(len(counts))
    blue = np.array([int(BLUE[i : i + 2], 16) for i in (1, 3, 5)])
    colours = np.rint(255 + (blue - 255) * shade[..., None]).astype(int)
    parts = [
        rect(
            _MARGIN + j * right,
            _MARGIN + place * down,
            right,
            down,
            f"rgb({','.join(map(str, colours[i, j]))})",
            f"{counts[i, j]:,.0f} ± {spread[i, j]:,.0f}",
        )
        for place, i in enumerate(rows)
        for j in range(counts.shape[1])
    ]
    # Turned about its diagonal, an upright margin is the one that runs down.
    for number, turned in ((1, "1 0 0 1"), (0, "0 1 1 0")):
        beside = boxes.margin(number, 1.0)
        if number == 0 and boxes.rises:
            beside = Interval(beside.values[::-1], beside.low[::-1], beside.high[::-1])
        bars = _margin_bars(beside, right if number else down)
        parts.append(f'<g transform="matrix({turned} 0 0)">{"".join(bars)}</g>')
    whole, names = _SIDE + _MARGIN + 8, [axis.name for axis in boxes.axes]
    upright = f"up: {names[0]}" if boxes.rises else f"down: {names[0]}"
    parts.append(text(whole / 2, whole + 8, f"{upright}, to the right: {names[1]}"))
    return drawing(title, whole, whole + 14, parts, note)


def _margin_bars(bars: Interval, step: float) -> list[str]:
    """Upright bars on the map's edge, with an error mark each."""
    room, foot = _MARGIN - 6, _MARGIN - 2
    top = max(float(bars.high.max()), float(bars.values.max()), 1.0)
    heights = [
        foot - np.clip(side / top, 0, 1) * room for side in (bars.values, bars.low, bars.high)
    ]
    return [
        bar(_MARGIN + i * step, step - 1, (foot, height), BLUE, (low, high))
        for i, (height, low, high) in enumerate(zip(*heights, strict=True))
    ]
