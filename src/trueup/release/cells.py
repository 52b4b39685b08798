"""Release: counts over one axis or several, whose every answer agrees with every other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup._kernels.display.boxes import box_sums, cells_of
from trueup.arrays import Floats, Ints
from trueup.axis import Axis, levels
from trueup.errors import InputError
from trueup.facts import LEAST_SQUARES, Facts
from trueup.release.boxes import Spans, box_of, cut, places, prefix_of, stacked
from trueup.release.distribution import (
    RisingInMemory,
    for_each,
    quantile,
    quantile_ends,
    rising,
    shares_at,
)
from trueup.release.estimate import Estimate
from trueup.release.intervals import cut_to_counts, quantile_cells, range_intervals
from trueup.release.published import Contents, Published, Row, beside, freeze, to_frame
from trueup.release.slices import SliceErrors, fixed_spans
from trueup.release.unions import ends_of, terms_of, union_boxes
from trueup.release.wording import check_level, told

if TYPE_CHECKING:
    from trueup.pictures.page import Picture
    from trueup.release.drawing import Drawn
    from trueup.release.equidepth import EquidepthBins
    from trueup.release.rising import RisingOnDisk
    from trueup.release.rows import Inside, Rows


@dataclass(frozen=True, eq=False)
class Release(Published):
    """Consistent counts over the cells of one axis, or of several.

    All answers are sums of one array of prefix sums kept on a binary grid, so that ranges, boxes,
    margins and slices agree exactly: range(a, b) + range(b, c) == range(a, c) for every split.
    Ranges are half open in axis units: range(18, 65) counts ages 18 to 64.

    A release made to be shown (non-negative, whole) keeps the unbiased counts beside the shown
    ones: `unbiased` is the release of those, with their errors. `facts.inferred` says which this
    one gives. Where only some margins of a table were `asked`, its cells mean nothing, and only
    those margins are answered.
    """

    axes: tuple[Axis, ...]
    prefix: npt.NDArray[Any]
    errors: Any
    facts: Facts
    unbiased_prefix: Floats | None = None
    asked: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        if self.prefix.shape != tuple(axis.size + 1 for axis in self.axes):
            sizes = " × ".join(str(axis.size) for axis in self.axes)
            raise InputError(f"A release over {self._named} needs {sizes} counts.")
        freeze(self.prefix, self.unbiased_prefix)

    @staticmethod
    def of(
        axes: Sequence[Axis],
        counts: npt.NDArray[Any],
        errors: Any,
        facts: Facts,
        asked: tuple[tuple[str, ...], ...] = (),
    ) -> Release:
        """The release with these counts, put on the grid."""
        return Release(tuple(axes), prefix_of(counts), errors, facts, None, asked)

    def showing(self, counts: npt.NDArray[Any], inferred: str) -> Release:
        """A release that shows these counts and keeps its own as the unbiased ones."""
        facts = self.facts.made(inferred)
        return replace(self, prefix=prefix_of(counts), facts=facts, unbiased_prefix=self.prefix)

    @cached_property
    def unbiased(self) -> Release:
        """The least-squares release of the same measurement: itself, unless made to be shown."""
        if self.unbiased_prefix is None:
            return self
        facts = self.facts.made(LEAST_SQUARES)
        return replace(self, prefix=self.unbiased_prefix, facts=facts, unbiased_prefix=None)

    @property
    def axis(self) -> Axis:
        """The one axis; refused where there are several."""
        if len(self.axes) > 1:
            raise InputError(
                f"This release is over {self._named}. Take one axis: release.margin(…) or "
                f"release.slice(…)."
            )
        return self.axes[0]

    @property
    def _named(self) -> str:
        return " × ".join(f"'{axis.name}'" for axis in self.axes)

    def _check_unbiased(self) -> None:
        if self.unbiased_prefix is not None:
            raise InputError(
                f"These counts are {self.facts.inferred}; the errors known are those of the "
                f"counts before that. Ask the same of release.unbiased."
            )

    def _check_asked(self, names: Sequence[str]) -> None:
        """Refuses what needs counts over these axes, where they are in no margin asked."""
        if self.asked and not any(set(names) <= set(each) for each in self.asked):
            listed = "; ".join(", ".join(each) for each in self.asked)
            raise InputError(
                f"No margin that was asked contains {', '.join(names)}. Asked: {listed}. "
                f"Take one of these: release.margin(…)."
            )

    def _check_cells(self) -> None:
        self._check_asked([axis.name for axis in self.axes])

    def counts(self) -> npt.NDArray[Any]:
        """The count of every cell, in the order of the axis; one dimension an axis."""
        self._check_cells()
        return cells_of(self.prefix)

    def std_errors(self) -> Floats:
        """The standard error of every cell's count; of pooled cells that of the noise alone."""
        self._check_cells()
        self._check_unbiased()
        return np.sqrt(self._between_cuts([np.arange(axis.size + 1) for axis in self.axes]))

    def range(self, *ends: Any, **named: Any) -> Estimate:
        """The count of [low, high) in axis units; None is the end of the axis.

        Over several axes, of a box: (low, high) for each axis in order, or by its name; an axis
        not named is counted whole.
        """
        return self.between(*box_of(self.axes, ends, named))

    def between(self, *box: Any) -> Estimate:
        """The count of the cells start … stop − 1, by number; over several axes, of each axis."""
        spans = (box,) if isinstance(box[0], (int, np.integer)) else box
        key: Any = tuple((int(start), int(stop)) for start, stop in spans)
        if self.asked:
            sides = zip(self.axes, key, strict=True)
            self._check_asked([axis.name for axis, span in sides if span != (0, axis.size)])
        if len(key) == 1:
            (key,) = key
            value = self.prefix[key[1]] - self.prefix[key[0]]
        else:
            (value,) = self._sums([(np.array([start]), np.array([stop])) for start, stop in key])
        shown_for = None if self.unbiased is self else self.unbiased.between(*box)
        return Estimate.of(value.item(), ((key, 1.0),), self.errors, self.facts, shown_for)

    def union(self, **parts: Any) -> Estimate:
        """The count of a union of regions: for each axis a list of its parts, each cell once.

        A part is a label, a node or a prefix, a range (low, high), or either as typed; an array
        holds the numbers of cells. An axis that is not named is counted whole. The parts need not
        lie beside each other, nor be nodes that were asked.
        """
        boxes = union_boxes(self.axes, parts)
        if self.asked:
            self._check_asked(list(parts))
        value = self._sums(ends_of(boxes, len(self.axes))).sum()
        shown_for = None if self.unbiased is self else self.unbiased.union(**parts)
        return Estimate.of(value.item(), terms_of(boxes), self.errors, self.facts, shown_for)

    def ranges(self, low: Any, high: Any) -> npt.NDArray[Any]:
        """The counts of many ranges at once; over several axes, arrays of ends for each axis."""
        return self._sums(self._spans(low, high))

    def range_errors(self, low: Any, high: Any) -> Floats:
        """The standard errors of many ranges at once; of pooled cells those of the noise alone."""
        self._check_unbiased()
        return np.sqrt(self._variances(self._spans(low, high)))

    def _spans(self, low: Any, high: Any) -> Spans:
        """The cells of many ranges, for each axis."""
        self._check_cells()
        if len(self.axes) == 1:
            return [self.axis.spans(low, high)]
        if len(low) != len(self.axes) or len(high) != len(self.axes):
            raise InputError(f"Give an array of ends for each of the {len(self.axes)} axes.")
        spans = [axis.spans(a, b) for axis, a, b in zip(self.axes, low, high, strict=True)]
        if len({len(starts) for starts, _ in spans}) > 1:
            raise InputError("The axes have different numbers of ends.")
        return spans

    def _sums(self, spans: Spans) -> npt.NDArray[Any]:
        if len(spans) == 1:
            ((starts, stops),) = spans
            return self.prefix[stops] - self.prefix[starts]
        return box_sums(self.prefix, *stacked(spans))

    def _variances(self, spans: Spans) -> Floats:
        """The variance of each range or box."""
        if len(spans) == 1:
            return self.errors.range_variances(*spans[0])
        return self.errors.box_variances(*stacked(spans))

    def _between_cuts(self, cuts: list[Ints]) -> Floats:
        """The variances of all boxes between neighbouring cuts of each axis."""
        if len(cuts) == 1:
            return self.errors.range_variances(cuts[0][:-1], cuts[0][1:])
        return self.errors.product_variances(cuts)

    def intervals(
        self, low: Any, high: Any, level: float = 0.95, simultaneous: bool = True
    ) -> tuple[Floats, Floats]:
        """The two ends of an interval for each of many ranges.

        Simultaneous unless told otherwise: with that probability, at least, every one of them
        holds its true count. With simultaneous=False each does by itself, as `Estimate.interval`.
        Of counts made to be shown they are those of the unbiased ones, cut to whole numbers from 0
        and stretched to hold what is shown.
        """
        span = self.axis.spans(low, high)
        values = self.unbiased._sums([span]).astype(np.float64)
        found = range_intervals(self.errors, values, *span, check_level(level), simultaneous)
        return found if self.unbiased is self else cut_to_counts(*found, self._sums([span]))

    def total(self) -> Estimate:
        """The count of everything on the axes."""
        return self.between(*((0, axis.size) for axis in self.axes))

    def margin(self, *names: str) -> Release:
        """The counts over these axes alone, the others summed up."""
        known = [axis.name for axis in self.axes]
        for name in names:
            if name not in known:
                raise InputError(f"There is no axis {name!r}. Axes: {', '.join(known)}.")
        if not names:
            raise InputError("Name the axes to keep; the count of everything is total().")
        self._check_asked(names)
        return self.slice(**{name: (None, None) for name in known if name not in names})

    def slice(self, **fixed: Any) -> Release:
        """The counts over the axes not named, inside these ranges of those named."""
        if not fixed:
            return self
        box = box_of(self.axes, (), {name: ends or (None, None) for name, ends in fixed.items()})
        kept = tuple(axis for axis in self.axes if axis.name not in fixed)
        if not kept:
            raise InputError("Every axis is fixed: ask for the range instead.")
        sides = list(zip(self.axes, box, strict=True))
        ends = tuple(span if axis.name in fixed else None for axis, span in sides)
        self._check_asked([a.name for a, span in sides if a in kept or span != (0, a.size)])
        facts = replace(self.facts, slice=fixed_spans(self.facts.slice, ends))
        other = None if self.unbiased_prefix is None else cut(self.unbiased_prefix, ends)
        return Release(kept, cut(self.prefix, ends), SliceErrors(self.errors, ends), facts, other)

    def node(self, *path: object) -> Estimate:
        """The count of a label, a path of labels, a period or a prefix."""
        return self.between(*self.axis.node(*path))

    def children(self, *path: object) -> dict[str, Estimate]:
        """The counts directly under a label, a path, a period or a prefix: one step down.

        Without a path, the counts of the coarsest level.
        """
        under = next(levels.below(self.axis, path, None), None)
        if under is None:
            return {}
        level, starts, stops = under
        names = self.axis.level_labels(level, starts, stops)
        ends = zip(starts.tolist(), stops.tolist(), strict=True)
        return {name: self.between(*each) for name, each in zip(names, ends, strict=True)}

    def table(self, *path: object, level: str | None = None, library: str = "pyarrow") -> Any:
        """Every node under a path, level by level, as a table; with a level named, that one.

        Columns as in `columns`, with the level of each node before them.
        """
        under = list(levels.below(self.axis, path, level))
        table = levels.columns(self.axis, under)
        return to_frame(table | self._counted([levels.spans(under)]), library)

    def _counted(self, spans: Spans) -> dict[str, Any]:
        """The counts of ranges as columns, with their errors."""
        own = None if self.unbiased is self else self.unbiased._sums(spans)
        spread = np.sqrt(self._variances(spans))
        return beside(self._sums(spans), own, spread, self._pooled)

    @cached_property
    def _rising(self) -> Floats:
        return rising(self.axis, self.prefix)

    def cdf(self) -> Floats:
        """The share of the total below each edge of the axis: n + 1 values from 0 to 1, rising."""
        return self._rising / self._rising[-1]

    def cdf_at(self, cuts: Ints) -> Floats:
        """The share of the total below some edges, rising; on the disk, over these edges alone."""
        from trueup.release.rising import too_many

        if not too_many(self.prefix):
            return self.cdf()[cuts]
        return shares_at(self.axis, self.prefix, cuts)

    @cached_property
    def _below(self) -> RisingInMemory | RisingOnDisk:
        from trueup.release.rising import RisingOnDisk, on_disk

        if not on_disk(self.prefix):
            return RisingInMemory(self._rising)
        return RisingOnDisk.of(self.axis, self.prefix)

    def quantile(self, q: Any) -> Any:
        """The value below which a share q of the total lies, read from the rising `cdf`.

        Inside a bin it is interpolated; for whole numbers, dates and labels it is the first cell
        at which the share is reached. Of a list of shares, the list of their values.
        """
        return for_each(q, lambda share: quantile(self.axis, self._below, share))

    def cdf_interval(self, value: object, level: float = 0.95) -> tuple[float, float]:
        """An interval for the share of the total below an edge of the axis.

        It holds the true share with at least that probability, whatever the counts; about this one
        share. The wider the noisier the total.
        """
        cut = self.axis.span(None, value)[1]
        if cut in (0, self.axis.size):  # nothing, and everything
            check_level(level)
            return float(cut > 0), float(cut > 0)
        low, high = (self.between(0, cut) / self.total()).interval(level)
        return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)

    def quantile_interval(self, q: Any, level: float = 0.95, few: int | None = None) -> Any:
        """An interval for the value below which a share q of the total lies; of a list, a list.

        It holds the true quantile with at least that probability, whatever the counts. For bins
        the ends are edges; for whole numbers, dates and labels they are cells, both included. Of
        counts made to be shown it is that of the unbiased ones, stretched to hold what is shown.
        With `few` it takes a bounded time: it looks at the laws of so many cells on each side, and
        takes those between to be alike.
        """
        check_level(level)
        return for_each(q, lambda share: self._quantile_interval(share, level, few))

    def _quantile_interval(self, share: float, level: float, few: int | None) -> tuple[Any, Any]:
        axis, own = self.axis, self.unbiased
        cells = quantile_cells(self.errors, own.prefix, share, level, few)
        shown = cells if own is self else (self._below.cell(share * self._below.total),)
        return quantile_ends(axis, min(*cells, *shown), max(*cells, *shown))

    def equidepth(self, bins: int, level: float = 0.95) -> EquidepthBins:
        """Bins of whole cells with nearly equal counts, with intervals on edges and counts.

        Fewer than asked where one cell holds more than a bin's share.
        """
        from trueup.release.equidepth import equidepth_bins

        return equidepth_bins(self, self._rising, bins, level)

    @property
    def kind(self) -> str:
        """What the histogram protocol UHI calls this: a histogram of counts."""
        return "COUNT"

    def values(self) -> npt.NDArray[Any]:
        """The counts, by the name that the histogram protocol UHI gives them."""
        return self.counts()

    def variances(self) -> Floats | None:
        """The variance of every count; None where counts were made to be shown, or pooled."""
        return None if self._pooled or self.unbiased is not self else self.std_errors() ** 2

    def columns(self) -> dict[str, Any]:
        """The cells as a table: interval or label on each axis, count, standard error.

        Where the counts were made to be shown, the unbiased ones stand beside them, and the
        standard error is theirs. Where cells were pooled it is `noise_std_error`: only `interval`
        and `intervals` say how far such a count may be off.
        """
        self._check_cells()
        own = None if self.unbiased is self else self.unbiased.counts().ravel()
        spread = self.unbiased.std_errors().ravel()
        return places(self.axes) | beside(self.counts().ravel(), own, spread, self._pooled)

    def lines(self, most: int) -> list[Row]:
        """So many counts at most, over equal parts; of several axes, of one after the other."""
        from trueup.release.drawing import lines

        return lines(self, most)

    @property
    def error_words(self) -> str:
        """What stands behind ± in `lines`."""
        return "half the 95 % interval" if self._pooled else "one standard error"

    @property
    def _pooled(self) -> bool:
        """Whether cells were pooled, so that only an interval says how far one may be off."""
        return getattr(self.errors, "pooled", False)

    def rows(self, inside: Inside = "uniform") -> Rows:
        """Synthetic rows whose every tabulation over the published axes equals the counts. Free.

        Needs whole counts that are never negative. Values inside a bin, a period or a prefix are
        drawn uniformly, or are its "middle". `rows().report` says what was measured and what was
        invented.
        """
        from trueup.release.rows import rows_of

        return rows_of(self, inside)

    def contents(self) -> Contents:
        """What a file of it holds: the kind, the columns and the facts."""
        facts = self.facts.to_json()
        if self.asked:  # of single cells no error is known
            table = places(self.axes) | {"count": cells_of(self.prefix).ravel()}
            if self.unbiased_prefix is not None:
                table["unbiased"] = cells_of(self.unbiased_prefix).ravel()
            return "marginal release", table, facts
        return "release" if len(self.axes) == 1 else "grid release", self.columns(), facts

    def __repr__(self) -> str:
        shown = "" if self.unbiased is self else f"{self.facts.inferred}, "
        sizes = " × ".join(f"{axis.size:,}" for axis in self.axes)
        over = f"{sizes} cells of {self._named}"
        if self.asked:
            over = f"margins of {self._named}: {'; '.join(', '.join(each) for each in self.asked)}"
        return (
            f"<Release{self.facts.stamp}: {over}, {shown}total {told(self.total(), self._pooled)}, "
            f"{self.facts.cost}{self.facts.also}>"
        )

    @property
    def _drawn(self) -> Drawn:
        from trueup.release.drawing import Drawn

        self._check_cells()
        flat = self if len(self.axes) <= 2 else self.margin(*(a.name for a in self.axes[:2]))
        return Drawn(flat.axes, flat.prefix, flat.unbiased.prefix, flat.errors, flat.facts)

    def picture(self, kind: str | None = None) -> Picture:
        """Its histogram, or its "cdf"; of several axes a map of the first two, or its "error"."""
        return self._drawn.picture(kind, self.cdf)

    def _repr_html_(self) -> str:
        return self._drawn.drawing(told(self.total(), self._pooled))
