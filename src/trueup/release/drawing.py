"""What is drawn of a release: bars with their intervals, shares with their band, maps of boxes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.axis import Axis
from trueup.errors import InputError, shown
from trueup.facts import Facts
from trueup.pictures import charts
from trueup.pictures.charts import Interval
from trueup.pictures.map import MOST_BOXES, Boxes, heat_map, map_drawing
from trueup.pictures.page import Picture
from trueup.pictures.places import MOST_BARS, bar_edges, stretches, words
from trueup.pictures.svg import Bars, Panel, Ticks, between, svg
from trueup.pictures.theme import BLUE, price, stamp
from trueup.release.intervals import cut_to_counts, reaches, share_band

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_MOST_KEPT = 65_536  # finest bars that a page carries with it
_NOTEBOOK = 64
_LONGITUDE = re.compile(r"(^|[_ ])(lon|lng|long|longitude)$", re.IGNORECASE)
_LATITUDE = re.compile(r"(^|[_ ])(lat|latitude)$", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Prefix sums over one axis or two, as shown and unbiased, with the errors of the latter."""

    axes: tuple[Axis, ...]
    prefix: npt.NDArray[Any]
    unbiased: npt.NDArray[Any]
    errors: Any
    facts: Facts

    def picture(self, kind: str | None, cdf: Callable[[], Floats]) -> Picture:
        """The picture of a kind; bars of a histogram split when zoomed in."""
        if len(self.axes) > 1:
            return Picture(self._map(check_kind(kind, "heatmap", "error") == "error"))
        if check_kind(kind, "histogram", "cdf") == "cdf":
            return Picture(self._shares(cdf()))
        return Picture(self._histogram(), self._zoom_script if self.axes[0].traits.scale else None)

    @property
    def _title(self) -> str:
        (axis,) = self.axes
        return f"{axis.name}: {self.prefix[-1]:,.0f} in {axis.size:,} cells"

    @property
    def _shown(self) -> bool:
        """Whether the counts were made to be shown."""
        return self.unbiased is not self.prefix

    @property
    def _whose(self) -> str:
        return " of the unbiased counts" if self._shown else ""

    def _histogram(self) -> Figure:
        """Bars with the 95 % interval of each; coarser when zoomed out: those are accurate."""
        (axis,) = self.axes
        edges = bar_edges(axis.size)
        middle, reach = np.diff(self.unbiased[edges]), self._reach(edges)
        values = np.diff(self.prefix[edges]).astype(np.float64)
        ends = (middle - reach, middle + reach)
        if self._shown:
            ends = cut_to_counts(*ends, values)
        counts = Interval(values, *ends)
        whose = f"95 % intervals{self._whose}"
        return charts.histogram(self.facts, self._title, axis, edges, counts, whose)

    def _shares(self, cdf: Floats, level: float = 0.95) -> Figure:
        """The share of the total below each value, with a band."""
        (axis,) = self.axes
        edges = bar_edges(axis.size)
        share = cdf[edges]
        below = Interval(share, *share_band(self.errors, self.unbiased, edges, share, level))
        return charts.shares(self.facts, self._title, axis, edges, below)

    def _map(self, of_errors: bool) -> Figure:
        names = " × ".join(axis.name for axis in self.axes)
        title = f"{names}: {self.prefix[-1, -1]:,.0f} in all{', ± of each box' * of_errors}"
        whose = f"standard errors{self._whose}"
        return heat_map(self.facts, title, self._boxes(), of_errors, whose)

    def _boxes(self) -> Boxes:
        """The counts of the boxes of a picture of two axes, and their errors."""
        cuts = [bar_edges(axis.size, MOST_BOXES) for axis in self.axes]
        shown, unbiased = (
            np.diff(np.diff(each[np.ix_(*cuts)], axis=0), axis=1).astype(np.float64)
            for each in (self.prefix, self.unbiased)
        )
        whole = [np.array([0, axis.size]) for axis in self.axes]
        sides = (cuts, [cuts[0], whole[1]], [whole[0], cuts[1]])
        spread, *margins = (np.sqrt(self.errors.product_variances(each)) for each in sides)
        flat = [margin.ravel() for margin in margins]
        if _LONGITUDE.search(self.axes[0].name) and _LATITUDE.search(self.axes[1].name):
            turned = (shown.T, unbiased.T, spread.T)  # north is at the top
            return Boxes(self.axes[::-1], cuts[::-1], *turned, flat[::-1])
        return Boxes(self.axes, cuts, shown, unbiased, spread, flat)

    def _zoom_script(self) -> str:
        (axis,) = self.axes
        finest = edges = bar_edges(axis.size, _MOST_KEPT)
        reach = [self._reach(edges)]
        while len(edges) - 1 > MOST_BARS:
            edges = np.unique(np.append(edges[::2], edges[-1]))
            reach.append(self._reach(edges))
        return charts.zoom_script(
            axis, finest, self.prefix[finest], self.unbiased[finest], reach, self._shown
        )

    def _reach(self, edges: Ints) -> Floats:
        return reaches(self.errors, edges[:-1], edges[1:], 0.95)

    def drawing(self, total: str) -> str:
        """The picture for a notebook."""
        if len(self.axes) > 1:
            title = f"{self.axes[0].name} × {self.axes[1].name}, total {total}"
            return map_drawing(title, self._boxes(), note(self.facts))
        (axis,) = self.axes
        edges = bar_edges(axis.size, _NOTEBOOK)
        bars = stretches(axis, edges)
        heights = np.diff(self.prefix[edges]) * bars.times
        spread = np.sqrt(self.errors.range_variances(edges[:-1], edges[1:])) * bars.times
        ends = (bars.ends - bars.ends[0]) * (len(heights) / (bars.ends[-1] - bars.ends[0]))
        named = ["" if end is None else str(end) for end in axis.edges_at(edges)]
        if axis.traits.bins and not axis.traits.scale:
            named = [*words(axis, edges), ""]
        middles = ((ends[1:] + ends[:-1]) / 2).tolist()
        ticks: Ticks = list(
            zip(ends.tolist(), named, strict=True)
            if axis.traits.scale
            else zip(middles, named[:-1], strict=True)
        )
        title = f"{axis.name}: {axis.size:,} cells, total {total}"
        drawn = Bars("", heights.tolist(), BLUE, spread.tolist(), ends.tolist())
        return bars_drawing(title, drawn, ticks, note(self.facts), bars.label)


def rows_drawing(title: str, rows: Sequence[tuple[str, float, float]], said: str) -> str:
    """A bar with an error mark for each count, for a notebook."""
    names, heights, spread = zip(*rows, strict=True)
    return bars_drawing(title, Bars("", heights, BLUE, spread), between(names), said)


def bars_drawing(title: str, bars: Bars, ticks: Ticks, said: str, label: str = "count") -> str:
    """Bars with an error mark each, for a notebook."""
    panel = Panel("", "", label, (), (bars,), ticks, y_from_zero=True, columns=2)
    return svg(title, [[panel]], said)


def note(facts: Facts, marks: str = "marks and ± show one standard error") -> str:
    """What was paid, what the marks are, and whether it is private at all."""
    inferred = facts.inferred or "least squares"
    if not inferred.startswith(("least squares", "isotonic")):
        marks = f"the counts are {inferred}; {marks} of the unbiased ones"
    said = (price(facts), marks[0].upper() + marks[1:], stamp(facts))
    return "\n".join(f"{each}." for each in said if each)


def check_kind(kind: str | None, *known: str) -> str:
    """The kind of picture asked for, the first if none."""
    if kind is not None and kind not in known:
        listed = " or ".join(f'"{each}"' for each in known)
        raise InputError(f"kind must be {listed}, got {shown(kind)}.")
    return kind or known[0]
