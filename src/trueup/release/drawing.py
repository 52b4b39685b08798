"""The pictures of a release over one axis: bars with their intervals, shares with their band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.axis import Axis
from trueup.errors import InputError
from trueup.facts import Facts
from trueup.pictures import charts
from trueup.pictures.charts import Interval
from trueup.pictures.places import MOST_BARS, bar_edges, has_positions
from trueup.pictures.svg import Bars, Panel, between, svg
from trueup.pictures.theme import BLUE, price, stamp
from trueup.release.intervals import reaches, share_band
from trueup.uncertainty import RangeErrors

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_MOST_KEPT = 65_536  # finest bars that a page carries with it
_NOTEBOOK = 64


@dataclass(frozen=True, eq=False)
class Drawn:
    """What is drawn of a release over one axis: prefix sums shown, and unbiased, with errors."""

    axis: Axis
    prefix: npt.NDArray[Any]
    unbiased: npt.NDArray[Any]
    errors: RangeErrors
    facts: Facts

    @property
    def title(self) -> str:
        """What it is, and how much in all."""
        return f"{self.axis.name}: {self.prefix[-1]:,.0f} in {self.axis.size:,} cells"

    def histogram(self) -> Figure:
        """Bars with the 95 % interval of each; coarser when zoomed out: those are accurate."""
        edges = bar_edges(self.axis.size)
        middle, reach = np.diff(self.unbiased[edges]), self._reach(edges)
        values = np.diff(self.prefix[edges]).astype(np.float64)
        counts = Interval(values, middle - reach, middle + reach)
        whose = intervals_of(self.unbiased is self.prefix)
        return charts.histogram(self.facts, self.title, self.axis, edges, counts, whose)

    def shares(self, cdf: Floats, level: float = 0.95) -> Figure:
        """The share of the total below each value, with a band."""
        edges = bar_edges(self.axis.size)
        share = cdf[edges]
        low, high = share_band(self.errors, self.unbiased, edges, share, level)
        below = Interval(share, low, high)
        return charts.shares(self.facts, self.title, self.axis, edges, below)

    def zoom_script(self) -> str:
        """The script by which the bars of a histogram split; none where cells have no width."""
        if not has_positions(self.axis):
            return ""
        finest = edges = bar_edges(self.axis.size, _MOST_KEPT)
        reach = [self._reach(edges)]
        while len(edges) - 1 > MOST_BARS:
            edges = np.unique(np.append(edges[::2], edges[-1]))
            reach.append(self._reach(edges))
        shown, unbiased = self.prefix[finest], self.unbiased[finest]
        return charts.zoom_script(self.axis, finest, shown, unbiased, reach)

    def _reach(self, edges: Ints) -> Floats:
        return reaches(self.errors, edges[:-1], edges[1:], 0.95)

    def drawing(self, total: str) -> str:
        """The picture for a notebook."""
        edges = bar_edges(self.axis.size, _NOTEBOOK)
        heights = np.diff(self.prefix[edges]).astype(np.float64)
        spread = np.sqrt(self.errors.range_variances(edges[:-1], edges[1:]))
        named = ["" if end is None else str(end) for end in self.axis.edges_at(edges)]
        if has_positions(self.axis):
            ticks = [(float(place), name) for place, name in enumerate(named)]
        else:
            ticks = between(named[:-1])
        title = f"{self.axis.name}: {self.axis.size:,} cells, total {total}"
        return bars_drawing(title, heights, spread, ticks, note(self.facts))


def bars_drawing(
    title: str, heights: Floats, spread: Floats, ticks: list[tuple[float, str]], said: str
) -> str:
    """Bars with an error mark each, for a notebook."""
    bars = Bars("", heights.tolist(), BLUE, spread.tolist())
    panel = Panel("", "", "count", (), (bars,), ticks, y_from_zero=True, columns=2)
    return svg(title, [[panel]], said)


def note(facts: Facts, marks: str = "marks and ± show one standard error") -> str:
    """What was paid, what the marks are, and whether it is private at all."""
    inferred = str(facts.inferred)
    if not inferred.startswith(("least squares", "isotonic")):
        marks = f"the counts are {inferred}; {marks} of the unbiased ones"
    marks = marks[0].upper() + marks[1:]
    return "\n".join(f"{each}." for each in (price(facts), marks, stamp(facts)) if each)


def intervals_of(own: bool) -> str:
    """Whose intervals are drawn."""
    return "95 % intervals" if own else "95 % intervals of the unbiased counts"


def check_kind(kind: str | None, *known: str) -> str:
    """The kind of picture asked for, the first if none."""
    if kind is not None and kind not in known:
        listed = " or ".join(f'"{each}"' for each in known)
        raise InputError(f"kind must be {listed}, got {kind!r}.")
    return kind or known[0]
