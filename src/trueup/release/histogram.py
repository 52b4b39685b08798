"""Release: a histogram whose every answer agrees with every other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup._kernels.tree.prefix import prefix_on_grid
from trueup.axis import Axis, levels
from trueup.errors import InputError
from trueup.facts import LEAST_SQUARES, Facts
from trueup.files import arrow_table, write
from trueup.pictures.page import Picture
from trueup.release.drawing import Drawn, check_kind
from trueup.release.estimate import Estimate, check_level
from trueup.release.intervals import quantile_cells, range_intervals, share_interval
from trueup.release.uhi import PlottableAxis
from trueup.uncertainty import RangeErrors

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Release:
    """Consistent counts over an axis.

    All answers are differences of one array of prefix sums kept on a binary grid, so that
    range(a, b) + range(b, c) == range(a, c) holds exactly, for every split. Ranges are half open
    in axis units: range(18, 65) counts ages 18 to 64.

    A release made to be shown (non-negative, whole) keeps the unbiased counts beside the shown
    ones: `unbiased` is the release of those, with their errors. `facts.inferred` says which
    this one gives.
    """

    axis: Axis
    prefix: npt.NDArray[Any]
    errors: RangeErrors
    facts: Facts
    unbiased_prefix: Floats | None = None

    def __post_init__(self) -> None:
        if self.prefix.shape != (self.axis.size + 1,):
            raise InputError(f"A release over '{self.axis.name}' needs {self.axis.size} counts.")
        self.prefix.setflags(write=False)
        if self.unbiased_prefix is not None:
            self.unbiased_prefix.setflags(write=False)

    @staticmethod
    def of(axis: Axis, counts: npt.ArrayLike, errors: RangeErrors, facts: Facts) -> Release:
        """The release with these counts, put on the grid."""
        return Release(axis, prefix_on_grid(counts), errors, facts)

    def showing(self, counts: npt.NDArray[Any], inferred: str) -> Release:
        """A release that shows these counts and keeps its own as the unbiased ones."""
        if counts.dtype.kind == "i":
            prefix = np.concatenate([[0], np.cumsum(counts)])
        else:
            prefix = prefix_on_grid(counts)
        facts = self.facts.made(inferred)
        return Release(self.axis, prefix, self.errors, facts, self.prefix)

    @cached_property
    def unbiased(self) -> Release:
        """The least-squares release of the same measurement: itself, unless made to be shown."""
        if self.unbiased_prefix is None:
            return self
        facts = self.facts.made(LEAST_SQUARES)
        return Release(self.axis, self.unbiased_prefix, self.errors, facts)

    def _check_unbiased(self) -> None:
        if self.unbiased_prefix is not None:
            raise InputError(
                f"These counts are {self.facts.inferred}; the errors of least squares are not "
                f"theirs. Ask the same of release.unbiased."
            )

    def counts(self) -> npt.NDArray[Any]:
        """The count of every cell, in the order of the axis."""
        return np.diff(self.prefix)

    def std_errors(self) -> Floats:
        """The standard error of every cell's count."""
        self._check_unbiased()
        cells = np.arange(self.axis.size)
        return np.sqrt(self.errors.range_variances(cells, cells + 1))

    def range(self, low: object = None, high: object = None) -> Estimate:
        """The count of [low, high) in axis units; None is the end of the axis."""
        return self.between(*self.axis.span(low, high))

    def ranges(self, low: npt.ArrayLike, high: npt.ArrayLike) -> npt.NDArray[Any]:
        """The counts of many ranges at once."""
        starts, stops = self.axis.spans(low, high)
        return self.prefix[stops] - self.prefix[starts]

    def range_errors(self, low: npt.ArrayLike, high: npt.ArrayLike) -> Floats:
        """The standard errors of many ranges at once."""
        self._check_unbiased()
        return np.sqrt(self.errors.range_variances(*self.axis.spans(low, high)))

    def node(self, *path: object) -> Estimate:
        """The count of a label, a path of labels, a period or a prefix."""
        return self.between(*self.axis.node(*path))

    def children(self, *path: object) -> dict[str, Estimate]:
        """The counts directly under a label, a path, a period or a prefix: one step down.

        Without a path, the counts of the coarsest level.
        """
        under = levels.below(self.axis, path, None)
        if not under:
            return {}
        level, starts, stops = under[0]
        pairs = zip(starts.tolist(), stops.tolist(), strict=True)
        return dict(
            zip(
                self.axis.level_labels(level, starts, stops),
                (self.between(start, stop) for start, stop in pairs),
                strict=True,
            )
        )

    def table(self, *path: object, level: str | None = None, library: str = "pyarrow") -> Any:
        """Every node under a path, level by level, as a table; with a level named, that one.

        Columns as in `columns`, with the level of each node before them.
        """
        under = levels.below(self.axis, path, level)
        starts, stops = levels.spans(under)
        own = self.unbiased
        spread = np.sqrt(self.errors.range_variances(starts, stops))
        table = levels.columns(self.axis, under)
        table["count"] = self.prefix[stops] - self.prefix[starts]
        if own is self:
            table["std_error"] = spread
        else:
            table["unbiased"] = own.prefix[stops] - own.prefix[starts]
            table["unbiased_std_error"] = spread
        return to_frame(table, library)

    def total(self) -> Estimate:
        """The count of everything on the axis."""
        return self.between(0, self.axis.size)

    def between(self, start: int, stop: int) -> Estimate:
        """The count of the cells start … stop − 1, by number."""
        value = (self.prefix[stop] - self.prefix[start]).item()
        shown_for = None if self.unbiased is self else self.unbiased.between(start, stop)
        return Estimate(value, (((start, stop), 1.0),), self.errors, shown_for, self.facts)

    @cached_property
    def _rising(self) -> Floats:
        """The prefix sums made to rise from 0 to the total: what cdf and quantiles are read from.

        Unbiased counts may be negative, and then the prefix sums fall; the nearest rising
        sequence is taken.
        """
        from trueup._kernels.sorted.isotonic import isotonic

        total = float(self.prefix[-1])
        if total <= 0:
            raise InputError(
                f"The total of this release is {total:g}; it is too noisy for a distribution."
            )
        rising = self.prefix.astype(np.float64)
        rising[1:-1] = np.clip(isotonic(self.prefix[1:-1]), 0.0, total)
        return rising

    def cdf(self) -> Floats:
        """The share of the total below each edge of the axis: n + 1 values from 0 to 1, rising."""
        return self._rising / self._rising[-1]

    def quantile(self, q: Any) -> Any:
        """The value below which a share q of the total lies, read from the rising `cdf`.

        Inside a bin it is interpolated; for whole numbers, dates and labels it is the first cell
        at which the share is reached.
        """
        goal = check_share(q) * self._rising[-1]
        cell = int(np.searchsorted(self._rising[1:], goal))
        cell = min(cell, self.axis.size - 1)
        low, high = self.axis.interval(cell)
        if not self.axis.traits.bins:
            return low
        inside = self._rising[cell + 1] - self._rising[cell]
        part = (goal - self._rising[cell]) / inside if inside > 0 else 0.0
        return min(max(low + part * (high - low), low), high)  # sums round, quantiles never fall

    @property
    def kind(self) -> str:
        """What the histogram protocol UHI calls this: a histogram of counts."""
        return "COUNT"

    @property
    def axes(self) -> tuple[PlottableAxis]:
        """The axis, as the histogram protocol UHI describes one."""
        return (PlottableAxis(self.axis),)

    def values(self) -> npt.NDArray[Any]:
        """The counts, by the name that the histogram protocol UHI gives them."""
        return self.counts()

    def variances(self) -> Floats | None:
        """The variance of every count; None where the counts were made to be shown."""
        return None if self.unbiased is not self else self.std_errors() ** 2

    def intervals(
        self,
        low: npt.ArrayLike,
        high: npt.ArrayLike,
        level: float = 0.95,
        simultaneous: bool = True,
    ) -> tuple[Floats, Floats]:
        """The two ends of an interval for each of many ranges.

        Simultaneous unless told otherwise: with that probability, at least, every one of them
        holds its true count. With simultaneous=False each does by itself, as `Estimate.interval`.
        """
        self._check_unbiased()
        check_level(level)
        starts, stops = self.axis.spans(low, high)
        values = (self.prefix[stops] - self.prefix[starts]).astype(np.float64)
        return range_intervals(self.errors, values, starts, stops, level, simultaneous)

    def cdf_interval(self, value: object, level: float = 0.95) -> tuple[float, float]:
        """An interval for the share of the total below an edge of the axis.

        It holds the true share with at least that probability, whatever the counts; about this one
        share. The wider the noisier the total.
        """
        self._check_unbiased()
        check_level(level)
        return share_interval(self.errors, self.prefix, self.axis.span(None, value)[1], level)

    def quantile_interval(self, q: float, level: float = 0.95) -> tuple[Any, Any]:
        """An interval for the value below which a share q of the total lies.

        It holds the true quantile with at least that probability, whatever the counts. For bins
        the ends are edges; for whole numbers, dates and labels they are cells, both included.
        """
        self._check_unbiased()
        check_level(level)
        first, last = quantile_cells(self.errors, self.prefix, check_share(q), level)
        side = 1 if self.axis.traits.bins else 0
        return self.axis.interval(first)[0], self.axis.interval(last)[side]

    def columns(self) -> dict[str, Any]:
        """The cells as a table: interval or label, count, standard error.

        Where the counts were made to be shown, the unbiased ones stand beside them, and the
        standard error is theirs.
        """
        cells = np.arange(self.axis.size)
        table = {**self.axis.columns(cells, cells + 1), "count": self.counts()}
        if self.unbiased is self:
            return {**table, "std_error": self.std_errors()}
        own = self.unbiased
        return {**table, "unbiased": own.counts(), "unbiased_std_error": own.std_errors()}

    def to_frame(self, library: str = "pyarrow") -> Any:
        """The cells as a table of pyarrow, or of any library that narwhals knows by name."""
        return to_frame(self.columns(), library)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_frame().__arrow_c_stream__(requested_schema)

    def save(self, path: str | Path) -> None:
        """Writes one file, Parquet or (by its ending) JSON, that `trueup.load` reads back."""
        write(path, *self.contents())

    def contents(self) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """What a file of it holds: the kind, the columns and the facts."""
        return "release", self.columns(), self.facts.to_json()

    def __repr__(self) -> str:
        stamp = self.facts.stamp
        shown = "" if self.unbiased is self else f"{self.facts.inferred}, "
        return (
            f"<Release{stamp}: {self.axis.size:,} cells of '{self.axis.name}', {shown}"
            f"total {self.total()}, epsilon={self.facts.epsilon}>"
        )

    def plot(self, kind: str | None = None) -> Figure:
        """The plotly figure: its histogram, or its "cdf"."""
        if check_kind(kind, "histogram", "cdf") == "cdf":
            return self._drawn.shares(self.cdf())
        return self._drawn.histogram()

    def save_plot(self, path: str | Path, kind: str | None = None) -> None:
        """Draws it into a file by its ending: .html (self-contained, to zoom in), .png or .svg."""
        Picture(self.plot(kind), "" if kind == "cdf" else self.zoom_script()).save(path)

    def zoom_script(self) -> str:
        """The script by which the bars of its histogram split when a page is zoomed in."""
        return self._drawn.zoom_script()

    @property
    def _drawn(self) -> Drawn:
        return Drawn(self.axis, self.prefix, self.unbiased.prefix, self.errors, self.facts)

    def _repr_html_(self) -> str:
        return self._drawn.drawing(str(self.total()))


def check_share(q: object) -> float:
    """The share of a quantile, refused unless it lies between 0 and 1."""
    real = isinstance(q, (int, float, np.integer, np.floating)) and not isinstance(q, bool)
    if not real or not 0 <= q <= 1:  # type: ignore[operator]
        raise InputError(f"A quantile needs a share between 0 and 1, got {q!r}.")
    return float(q)  # type: ignore[arg-type]


def to_frame(columns: dict[str, Any], library: str) -> Any:
    """The columns as a table of the library named."""
    table = arrow_table(columns)
    if library == "pyarrow":
        return table
    import narwhals as nw

    try:
        frame = nw.from_arrow(table, backend=library)  # type: ignore[arg-type]
        return frame.to_native()
    except (ValueError, ImportError, TypeError):
        raise InputError(
            f"Cannot make a {library!r} table; try 'pyarrow', 'pandas' or 'polars', installed."
        ) from None
