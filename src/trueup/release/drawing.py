"""What is drawn of a release: bars with their intervals, shares with their band, maps of boxes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.axis import Axis
from trueup.errors import InputError, shown
from trueup.facts import Facts
from trueup.pictures import charts
from trueup.pictures.charts import Interval
from trueup.pictures.map import MOST_BOXES, SURE, Boxes, heat_map, map_drawing
from trueup.pictures.page import Picture
from trueup.pictures.places import MOST_BARS, bar_edges, row_edges, stretches, words
from trueup.pictures.svg import Bars, Panel, Ticks, between, svg
from trueup.pictures.theme import BLUE, price, stamp
from trueup.release.intervals import cut_to_counts, reaches, share_band
from trueup.release.published import Row

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from trueup.release.cells import Release


_MOST_KEPT = 65_536  # finest bars that a page carries with it
_MOST_LAWS = 4_096  # of them, where the interval of each bar has a law of its own
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
        return " of the unbiased counts" if self._shown and not self._pooled else ""

    @property
    def _pooled(self) -> bool:
        """Whether cells were counted together: no standard error says how far one is off."""
        return getattr(self.errors, "pooled", False)

    def _histogram(self) -> Figure:
        """Bars with the 95 % interval of each; coarser when zoomed out: those are accurate."""
        (axis,) = self.axes
        edges = bar_edges(axis.size)
        whose = f"95 % intervals{self._whose}"
        counts = self._counts(edges)
        return charts.histogram(self.facts, self._title, axis, edges, counts, whose)

    def _counts(self, edges: Ints) -> Interval:
        """The counts between edges, each with its 95 % interval."""
        middle, reach = np.diff(self.unbiased[edges]), self._reach(edges)
        values = np.diff(self.prefix[edges]).astype(np.float64)
        ends = (middle - reach, middle + reach)
        if self._shown:
            ends = cut_to_counts(*ends, values)
        return Interval(values, *ends)

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
        whose = f"{SURE} standard errors{self._whose}"
        if self._half_widths is not None:
            whose = "half the 95 % intervals"
        return heat_map(self.facts, title, self._boxes(SURE), of_errors, whose)

    @property
    def _half_widths(self) -> Callable[[Sequence[Ints], float], Floats] | None:
        """The half widths of boxes between cuts, where boxes were pooled."""
        return getattr(self.errors, "half_widths_between", None)

    def _spread(self, cuts: Sequence[Ints], sure: float) -> Floats:
        """One standard error of each box; where boxes were pooled, half its interval over sure."""
        if self._half_widths is not None:
            return self._half_widths(cuts, 0.95) / sure
        return np.sqrt(self.errors.product_variances(cuts))

    def _boxes(self, sure: float = 1.0) -> Boxes:
        """The counts of the boxes of a picture of two axes, and their errors."""
        cuts = [bar_edges(axis.size, MOST_BOXES) for axis in self.axes]
        shown, unbiased = (
            np.diff(np.diff(each[np.ix_(*cuts)], axis=0), axis=1).astype(np.float64)
            for each in (self.prefix, self.unbiased)
        )
        whole = [np.array([0, axis.size]) for axis in self.axes]
        sides = (cuts, [cuts[0], whole[1]], [whole[0], cuts[1]])
        spread, *margins = (self._spread(each, sure) for each in sides)
        flat = [margin.ravel() for margin in margins]
        if _LONGITUDE.search(self.axes[0].name) and _LATITUDE.search(self.axes[1].name):
            turned = (shown.T, unbiased.T, spread.T)  # north is at the top
            return Boxes(self.axes[::-1], cuts[::-1], *turned, flat[::-1])
        return Boxes(self.axes, cuts, shown, unbiased, spread, flat)

    def _zoom_script(self) -> str:
        (axis,) = self.axes
        most = _MOST_KEPT if self.errors.alike else _MOST_LAWS
        finest = edges = bar_edges(axis.size, most)
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
            said = note(self.facts)
            if self._half_widths is not None:
                said = note(self.facts, "± and marks show half the 95 % interval", whose="")
            return map_drawing(title, self._boxes(), said)
        (axis,) = self.axes
        edges = bar_edges(axis.size, _NOTEBOOK)
        bars = stretches(axis, edges)
        heights = np.diff(self.prefix[edges]) * bars.times
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
        if self._pooled:
            marks = self._counts(edges).times(bars.times)
            between = tuple(zip(marks.low.tolist(), marks.high.tolist(), strict=True))
            drawn = Bars("", heights.tolist(), BLUE, (), ends.tolist(), between)
            said = note(self.facts, "marks show 95 % intervals", whose="")
            return bars_drawing(title, drawn, ticks, said, bars.label)
        spread = np.sqrt(self.errors.range_variances(edges[:-1], edges[1:])) * bars.times
        drawn = Bars("", heights.tolist(), BLUE, spread.tolist(), ends.tolist())
        return bars_drawing(title, drawn, ticks, note(self.facts), bars.label)


def lines(release: Release, most: int) -> list[Row]:
    """So many counts at most, over equal parts of an axis; of several axes, one after the other.

    Each has how far it may be off: one standard error, or half the 95 % interval where cells were
    pooled.
    """
    if len(release.axes) > 1:
        known = dict.fromkeys(name for each in release.asked for name in each)
        axes = list(known) or [axis.name for axis in release.axes]
        return [
            (f"{name} {what}", count, error)
            for name in axes
            for what, count, error in lines(release.margin(name), max(most // len(axes), 1))
        ]
    axis, errors = release.axis, release.errors
    edges = row_edges(axis.size, most)
    names = [axis.words(start, stop) for start, stop in pairwise(edges.tolist())]
    starts, stops = edges[:-1], edges[1:]
    if errors.pooled:
        spread = errors.half_widths(starts, stops, 0.95)
    else:
        spread = np.sqrt(errors.range_variances(starts, stops))
    counts = np.diff(release.prefix[edges]).tolist()
    return list(zip(names, counts, spread.tolist(), strict=True))


def rows_drawing(title: str, rows: Sequence[tuple[str, float, float]], said: str) -> str:
    """A bar with an error mark for each count, for a notebook."""
    names, heights, spread = zip(*rows, strict=True)
    return bars_drawing(title, Bars("", heights, BLUE, spread), between(names), said)


def bars_drawing(title: str, bars: Bars, ticks: Ticks, said: str, label: str = "count") -> str:
    """Bars with an error mark each, for a notebook."""
    panel = Panel("", "", label, (), (bars,), ticks, y_from_zero=True, columns=2)
    return svg(title, [[panel]], said)


def note(
    facts: Facts,
    marks: str = "marks and ± show one standard error",
    whose: str = " of the unbiased ones",
) -> str:
    """What was paid, what the marks are, and whether it is private at all."""
    inferred = facts.inferred or "least squares"
    if not inferred.startswith(("least squares", "isotonic")):
        marks = f"the counts are {inferred}; {marks}{whose}"
    said = (price(facts), marks[0].upper() + marks[1:], stamp(facts))
    return "\n".join(f"{each}." for each in said if each)


def check_kind(kind: str | None, *known: str) -> str:
    """The kind of picture asked for, the first if none."""
    if kind is not None and kind not in known:
        listed = " or ".join(f'"{each}"' for each in known)
        raise InputError(f"kind must be {listed}, got {shown(kind)}.")
    return kind or known[0]
