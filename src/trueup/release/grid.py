"""GridRelease: counts over two axes and more, whose boxes, margins and slices all agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup._kernels.display.boxes import box_prefix, box_sums, cells_of
from trueup.axis import Axis
from trueup.errors import InputError
from trueup.facts import LEAST_SQUARES, Facts, Span
from trueup.files import write
from trueup.grid_errors import BoxErrors, SliceErrors
from trueup.pictures.map import MOST_BOXES, Boxes, heat_map, map_drawing
from trueup.pictures.page import Picture
from trueup.pictures.places import bar_edges
from trueup.release.drawing import check_kind, note
from trueup.release.estimate import Estimate
from trueup.release.histogram import Release, to_frame

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Ends = tuple[object, object] | None


@dataclass(frozen=True, eq=False)
class GridRelease:
    """Consistent counts over several axes.

    All answers are sums of one array of prefix sums kept on a binary grid, so that boxes, margins,
    slices and cells agree exactly, with ==. As for a `Release`, counts made to be shown keep the
    unbiased ones beside them.
    """

    axes: tuple[Axis, ...]
    prefix: npt.NDArray[Any]
    errors: BoxErrors
    facts: Facts
    unbiased_prefix: Floats | None = None

    def __post_init__(self) -> None:
        if self.prefix.shape != tuple(axis.size + 1 for axis in self.axes):
            raise InputError(f"A release over {self._named()} needs counts of that shape.")
        self.prefix.setflags(write=False)

    @staticmethod
    def of(axes: tuple[Axis, ...], counts: Floats, errors: BoxErrors, facts: Facts) -> GridRelease:
        """The release with these counts, put on the grid."""
        return GridRelease(axes, box_prefix(counts), errors, facts)

    def showing(self, counts: npt.NDArray[Any], inferred: str) -> GridRelease:
        """A release that shows these counts and keeps its own as the unbiased ones."""
        facts = self.facts.made(inferred)
        return GridRelease(self.axes, box_prefix(counts), self.errors, facts, self.prefix)

    @cached_property
    def unbiased(self) -> GridRelease:
        """The least-squares release of the same measurement: itself, unless made to be shown."""
        if self.unbiased_prefix is None:
            return self
        facts = self.facts.made(LEAST_SQUARES)
        return GridRelease(self.axes, self.unbiased_prefix, self.errors, facts)

    def _named(self) -> str:
        return " × ".join(f"'{axis.name}'" for axis in self.axes)

    def counts(self) -> npt.NDArray[Any]:
        """The count of every cell: one dimension an axis."""
        return cells_of(self.prefix)

    def std_errors(self) -> Floats:
        """The standard error of every cell's count."""
        self._check_unbiased()
        cuts = [np.arange(axis.size + 1) for axis in self.axes]
        return np.sqrt(self.errors.product_variances(cuts))

    def _check_unbiased(self) -> None:
        if self.unbiased_prefix is not None:
            raise InputError(
                f"These counts are {self.facts.inferred}; the errors of least squares are not "
                f"theirs. Ask the same of release.unbiased."
            )

    def range(self, *ends: Ends, **named: Ends) -> Estimate:
        """The count of a box: (low, high) for each axis in order, or by name; None is all of it.

        Half open in axis units, as a `Release`'s ranges are; an axis not named is counted whole.
        """
        return self.between(self._box(ends, named))

    def _box(self, ends: tuple[Ends, ...], named: dict[str, Ends]) -> tuple[tuple[int, int], ...]:
        names = [axis.name for axis in self.axes]
        if len(ends) > len(names):
            raise InputError(f"There are {len(names)} axes, but {len(ends)} ranges were given.")
        given = dict(zip(names, ends, strict=False))
        for name, each in named.items():
            if name not in names:
                raise InputError(f"There is no axis {name!r}. Axes: {', '.join(names)}.")
            if name in given:
                raise InputError(f"Axis {name!r} is given twice.")
            given[name] = each
        return tuple(_span(axis, given.get(axis.name)) for axis in self.axes)

    def between(self, box: tuple[tuple[int, int], ...]) -> Estimate:
        """The count of the cells start … stop − 1 of each axis, by number."""
        ends = np.array([box], np.int64)
        value = box_sums(self.prefix, ends[:, :, 0], ends[:, :, 1])[0].item()
        shown_for = None if self.unbiased is self else self.unbiased.between(box)
        return Estimate(value, ((box, 1.0),), self.errors, shown_for, self.facts)

    def ranges(
        self, low: Sequence[npt.ArrayLike], high: Sequence[npt.ArrayLike]
    ) -> npt.NDArray[Any]:
        """The counts of many boxes at once: an array of low and of high ends for each axis."""
        return box_sums(self.prefix, *self._boxes(low, high))

    def range_errors(self, low: Sequence[npt.ArrayLike], high: Sequence[npt.ArrayLike]) -> Floats:
        """The standard errors of many boxes at once."""
        self._check_unbiased()
        return np.sqrt(self.errors.box_variances(*self._boxes(low, high)))

    def _boxes(
        self, low: Sequence[npt.ArrayLike], high: Sequence[npt.ArrayLike]
    ) -> tuple[Ints, Ints]:
        if len(low) != len(self.axes) or len(high) != len(self.axes):
            raise InputError(f"Give an array of ends for each of the {len(self.axes)} axes.")
        spans = [axis.spans(a, b) for axis, a, b in zip(self.axes, low, high, strict=True)]
        if len({len(starts) for starts, _ in spans}) > 1:
            raise InputError("The axes have different numbers of ends.")
        starts = np.stack([starts for starts, _ in spans], axis=1)
        return starts, np.stack([stops for _, stops in spans], axis=1)

    def total(self) -> Estimate:
        """The count of everything on the grid."""
        return self.between(tuple((0, axis.size) for axis in self.axes))

    def margin(self, *names: str) -> Any:
        """The counts over these axes alone, the others summed up: a Release, or a smaller grid."""
        for name in names:
            if name not in [axis.name for axis in self.axes]:
                listed = ", ".join(axis.name for axis in self.axes)
                raise InputError(f"There is no axis {name!r}. Axes: {listed}.")
        if not names:
            raise InputError("Name the axes to keep; the count of everything is total().")
        return self.slice(**{a.name: (None, None) for a in self.axes if a.name not in names})

    def slice(self, **fixed: Ends) -> Any:
        """The counts over the axes not named, inside these ranges of those named."""
        if not fixed:
            return self
        box = self._box((), {name: ends or (None, None) for name, ends in fixed.items()})
        kept = tuple(axis for axis in self.axes if axis.name not in fixed)
        if not kept:
            raise InputError("Every axis is fixed: ask for the range instead.")
        ends = tuple(
            span if axis.name in fixed else None for axis, span in zip(self.axes, box, strict=True)
        )
        errors = SliceErrors(self.errors, ends)
        facts = replace(self.facts, slice=self._slice(ends))
        prefix = _cut(self.prefix, ends)
        other = None if self.unbiased_prefix is None else _cut(self.unbiased_prefix, ends)
        if len(kept) == 1:
            return Release(kept[0], prefix, errors, facts, other)
        return GridRelease(kept, prefix, errors, facts, other)

    def _slice(self, ends: tuple[Span, ...]) -> tuple[Span, ...]:
        """The range of every axis of the grid asked that is fixed, here or before."""
        left = iter(ends)
        before = self.facts.slice or (None,) * len(ends)
        return tuple(next(left) if span is None else span for span in before)

    def columns(self, errors: bool = True) -> dict[str, Any]:
        """The cells as a table: their place on each axis, count, standard error."""
        own = self.unbiased
        cells = [np.arange(axis.size) for axis in self.axes]
        table = grid_columns(self.axes, cells, [each + 1 for each in cells])
        table["count"] = self.counts().ravel()
        if own is not self:
            table["unbiased"] = own.counts().ravel()
        if errors:
            name = "std_error" if own is self else "unbiased_std_error"
            table[name] = own.std_errors().ravel()
        return table

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
        return "grid release", self.columns(), self.facts.to_json()

    def __repr__(self) -> str:
        stamp = self.facts.stamp
        shown = "" if self.unbiased is self else f"{self.facts.inferred}, "
        sizes = " × ".join(f"{axis.size:,}" for axis in self.axes)
        return (
            f"<GridRelease{stamp}: {sizes} cells of {self._named()}, {shown}"
            f"total {self.total()}, epsilon={self.facts.epsilon}>"
        )

    def plot(self, kind: str | None = None) -> Figure:
        """The plotly figure: a "heatmap" between its margins, or the "error" of every box.

        Cells are put together into at most 64 boxes a side; of more than two axes it is the margin
        over the first two.
        """
        of_errors = check_kind(kind, "heatmap", "error") == "error"
        flat = self._first_two
        names = " × ".join(axis.name for axis in flat.axes)
        title = f"{names}: {self.total().value:,.0f} in all{', ± of each box' * of_errors}"
        whose = "standard errors" + " of the unbiased counts" * (self.unbiased is not self)
        return heat_map(self.facts, title, flat._boxes_shown(), of_errors, whose)

    def save_plot(self, path: str | Path, kind: str | None = None) -> None:
        """Draws it into a file by its ending: .html (self-contained, to zoom in), .png or .svg."""
        Picture(self.plot(kind)).save(path)

    @property
    def _first_two(self) -> GridRelease:
        if len(self.axes) == 2:
            return self
        found: GridRelease = self.margin(*(axis.name for axis in self.axes[:2]))
        return found

    def _boxes_shown(self) -> Boxes:
        """The counts of the boxes of a picture of two axes, and their errors."""
        cuts = [bar_edges(axis.size, MOST_BOXES) for axis in self.axes]
        shown, unbiased = (
            np.diff(np.diff(each.prefix[np.ix_(*cuts)], axis=0), axis=1).astype(np.float64)
            for each in (self, self.unbiased)
        )
        whole = [np.array([0, axis.size]) for axis in self.axes]
        sides = ([cuts[0], whole[1]], [whole[0], cuts[1]])
        spread, *margins = (np.sqrt(self.errors.product_variances(each)) for each in (cuts, *sides))
        flat = [margin.ravel() for margin in margins]
        return Boxes(self.axes, cuts, shown, unbiased, spread, flat)

    def _repr_html_(self) -> str:
        flat = self._first_two
        title = f"{flat.axes[0].name} × {flat.axes[1].name}, total {self.total()}"
        return map_drawing(title, flat._boxes_shown(), note(self.facts))


def grid_columns(
    axes: Sequence[Axis], starts: Sequence[Ints], stops: Sequence[Ints]
) -> dict[str, Any]:
    """The products of intervals of each axis as columns, named after the axes."""
    lengths = [len(each) for each in starts]
    table: dict[str, Any] = {}
    for number, axis in enumerate(axes):
        before, after = math.prod(lengths[:number]), math.prod(lengths[number + 1 :])
        index = np.tile(np.repeat(np.arange(lengths[number]), after), before)
        for name, column in axis.columns(starts[number], stops[number]).items():
            each = np.asarray(column)
            spread = each[index]
            table[f"{axis.name} {name}"] = spread if each.dtype.kind in "ifM" else spread.tolist()
    return table


def _span(axis: Axis, ends: Ends) -> tuple[int, int]:
    if ends is None:
        return 0, axis.size
    if not isinstance(ends, (tuple, list)) or len(ends) != 2:
        raise InputError(f"A range of axis '{axis.name}' is (low, high) or None, got {ends!r}.")
    return axis.span(ends[0], ends[1])


def _cut(prefix: npt.NDArray[Any], ends: tuple[tuple[int, int] | None, ...]) -> npt.NDArray[Any]:
    """The prefix sums of what is left, summed over the range of each axis that is fixed."""
    for number in reversed(range(len(ends))):
        span = ends[number]
        if span is not None:
            start, stop = (prefix.take(end, axis=number) for end in span)
            prefix = stop - start
    return np.ascontiguousarray(prefix)
