"""Equi-depth histograms: bins of nearly equal counts, read from a release over one axis."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.axis import Axis
from trueup.axis.numbers import whole_number
from trueup.errors import InputError
from trueup.facts import Facts
from trueup.release.intervals import cut_to_counts, quantile_cells, range_intervals
from trueup.release.published import to_frame
from trueup.release.wording import between, check_level, written

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from trueup.pictures.page import Picture
    from trueup.release.cells import Release


@dataclass(frozen=True, eq=False, repr=False)
class EquidepthBins:
    """Bins of whole cells with nearly equal counts; intervals on their edges and counts.

    `cuts` are the edges as numbers of cells, both ends included. `around` has, for every edge
    between two bins, the cells [first, last] in which the true quantile lies. `low` and `high` are
    simultaneous intervals of the counts.
    """

    axis: Axis
    cuts: Ints
    around: tuple[tuple[int, int], ...]
    counts: npt.NDArray[Any]
    low: Floats
    high: Floats
    level: float
    facts: Facts

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def edges(self) -> list[Any]:
        """The edges of the bins, as the axis writes them."""
        return self.axis.edges_at(self.cuts)

    def edge_intervals(self) -> list[tuple[Any, Any]]:
        """For every edge between two bins, edges of the axis between which the true quantile is."""
        first, last = np.array(self.around, np.int64).reshape(-1, 2).T
        low, high = self.axis.edges_at(first), self.axis.edges_at(last + 1)
        return list(zip(low, high, strict=True))

    def columns(self) -> dict[str, Any]:
        """The bins as a table: where each begins and ends, its count and the interval of it."""
        places = self.axis.columns(self.cuts[:-1], self.cuts[1:])
        ends = {"count low": self.low, "count high": self.high}
        return {**places, "count": self.counts, **ends}

    def to_frame(self, library: str = "pyarrow") -> Any:
        """The bins as a table of pyarrow, pandas or Polars."""
        return to_frame(self.columns(), library)

    def lines(self) -> list[tuple[str, str, str, str]]:
        """For a terminal: each bin, its count, the interval of that, and where its end may be."""
        ends = [f"{low} – {high}" for low, high in self.edge_intervals()]
        found = []
        for n, (start, stop) in enumerate(zip(self.cuts[:-1], self.cuts[1:], strict=True)):
            words = self.axis.words(int(start), int(stop))
            inside = between(float(self.low[n]), float(self.high[n]), " – ")
            end = ends[n] if n < len(ends) else ""
            found.append((words, written(self.counts[n].item()), inside, end))
        return found

    def picture(self) -> Picture:
        """A bar for each bin, as high as its density; all have nearly the same area."""
        from trueup.pictures import charts
        from trueup.pictures.page import Picture

        counts = charts.Interval(self.counts.astype(np.float64), self.low, self.high)
        title = f"{self.axis.name}: {len(self)} bins of nearly equal counts"
        sure = f"{100 * self.level:.6g} % intervals of all bins at once"
        figure = charts.histogram(self.facts, title, self.axis, self.cuts, counts, sure)
        return Picture(figure)

    def plot(self) -> Figure:
        """The plotly figure: shows itself in a notebook."""
        return self.picture().figure

    def save_plot(self, path: str | Path) -> None:
        """Draws it into a file by its ending: .html, .png or .svg."""
        self.picture().save(path)

    def __repr__(self) -> str:
        few, many = self.counts.min(), self.counts.max()
        return (
            f"<EquidepthBins{self.facts.stamp}: {len(self)} bins of '{self.axis.name}', "
            f"{written(few.item())} to {written(many.item())} each, {self.facts.cost}>"
        )


def equidepth_bins(release: Release, below: Floats, bins: object, level: float) -> EquidepthBins:
    """Bins whose edges are nearest to the k-quantiles; `below` are prefix sums that rise.

    Fewer than k where one cell holds more than a share of its own.
    """
    axis, own = release.axis, release.unbiased
    if axis.traits.labelled:
        raise InputError(f"The labels of axis '{axis.name}' have no order to cut into bins.")
    number = whole_number(bins, "The number of bins")
    if not 2 <= number <= axis.size:
        raise InputError(
            f"Axis '{axis.name}' has {axis.size:,} cells: ask for 2 to {axis.size:,} bins, "
            f"got {number}."
        )
    check_level(level)
    shares = np.arange(1, number) / number
    goals = shares * below[-1]
    after = np.clip(np.searchsorted(below, goals), 1, axis.size)
    nearest = np.where(goals - below[after - 1] <= below[after] - goals, after - 1, after)
    inner, first = np.unique(nearest, return_index=True)
    kept = (inner > 0) & (inner < axis.size)
    inner, first = inner[kept], first[kept]
    around = []
    for cut, share in zip(inner.tolist(), shares[first].tolist(), strict=True):
        start, stop = quantile_cells(own.errors, own.prefix, share, level)
        around.append((min(start, cut), max(stop, cut - 1)))
    cuts = np.concatenate([[0], inner, [axis.size]]).astype(np.int64)
    values = np.diff(own.prefix[cuts]).astype(np.float64)
    low, high = range_intervals(own.errors, values, cuts[:-1], cuts[1:], level, True)
    counts = np.diff(release.prefix[cuts])
    if own is not release:
        low, high = cut_to_counts(low, high, counts)
    return EquidepthBins(axis, cuts, tuple(around), counts, low, high, level, release.facts)
