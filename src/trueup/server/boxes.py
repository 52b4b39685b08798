"""Answers read from a release over two columns and more: boxes, and a map of any part of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints
from trueup.axis import Axis
from trueup.errors import InputError
from trueup.law import EXACT, UPPER_BOUND
from trueup.pictures.places import bar_edges, stretches
from trueup.release import Release
from trueup.release.intervals import allowing_for_rounding, cut_to_counts
from trueup.release.wording import check_level
from trueup.server.answers import (
    NEARLY,
    Version,
    affordable,
    check_affordable,
    of_shown,
    span_of,
)
from trueup.server.errors import field as in_field

Box = tuple[tuple[int, int], ...]

_MOST_WORK = 1 << 21  # cells × laws: what exact intervals may take
_MOST_POOLED = 1024  # boxes of pooled cells: each takes a millisecond or two
_MOST_TIMES = 200  # levels that are remembered


@dataclass(frozen=True, eq=False)
class AnsweringBoxes:
    """One version of a release that can be asked about boxes."""

    release: Release
    version: Version
    _times: dict[float, float] = field(default_factory=dict, repr=False)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """What the boxes are over."""
        return self.release.axes

    def box(self, ranges: Sequence[Sequence[Any] | None], at: Sequence[object] = ()) -> Box:
        """The cells of a box, given by the two ends of each axis; null is the whole axis.

        `at` is the field that the box is in: what is wrong with a range is blamed on its place.
        """
        if len(ranges) != len(self.axes):
            raise InputError(f"A box has a range for each of {len(self.axes)} columns, or null.")
        found = []
        for side, (axis, ends) in enumerate(zip(self.axes, ranges, strict=True)):
            low, high = (None, None) if ends is None else ends
            with in_field(*at, side) if at else nullcontext():
                found.append(span_of(axis, low, high))
        return tuple(found)

    def many(self, boxes: Sequence[Box], level: float | None) -> list[dict[str, Any]]:
        """The counts of boxes, each with an interval of its own; without one at None."""
        errors = self.release.errors
        check_affordable(errors, len(boxes))
        exact = errors.work * len(boxes) <= _MOST_WORK
        if self._pooled and level is not None:
            # No standard error says how far off such a box may be, nor do boxes alike.
            if len(boxes) > _MOST_POOLED:
                raise InputError(
                    f"Where boxes were pooled {_MOST_POOLED:,} are answered with intervals at "
                    f"once, got {len(boxes):,}. Ask them in parts, or without intervals."
                )
            exact = True
        return [self._told(box, level, exact) for box in boxes]

    @property
    def _pooled(self) -> bool:
        return getattr(self.release.errors, "pooled", False)

    def _told(self, box: Box, level: float | None, exact: bool) -> dict[str, Any]:
        shown = self.release.between(*box)
        own = shown.unbiased
        low, high = None, None
        if level is not None and exact:
            low, high = shown.interval(level)
        elif level is not None:
            low, high = self._nearly(shown.value, own.value, own.std_error, level)
        kind = of_shown(own) if own is not shown else NEARLY
        if own is shown and exact:
            kind = EXACT if level is None else own.noise_law.words
        if own is shown and self._pooled and level is None:
            kind = UPPER_BOUND
        return {
            "box": [
                [axis.edge(start), axis.edge(stop)]
                for axis, (start, stop) in zip(self.axes, box, strict=True)
            ],
            "count": shown.value,
            "low": low,
            "high": high,
            "standard_error": own.std_error,
            "kind": kind,
        }

    def _nearly(
        self, shown: float, value: float, spread: float, level: float
    ) -> tuple[float, float]:
        reach = float(allowing_for_rounding(spread * self._times_spread(level), value))
        low, high = value - reach, value + reach
        if self.release.unbiased is not self.release:
            return tuple(float(end) for end in cut_to_counts(low, high, shown))  # type: ignore[return-value]
        return low, high

    def _times_spread(self, level: float) -> float:
        """How many standard errors the interval of a box reaches: the most of two unlike boxes."""
        check_level(level)
        if level not in self._times:
            one = tuple((axis.size // 2, axis.size // 2 + 1) for axis in self.axes)
            most = tuple((0, -(-axis.size // 2)) for axis in self.axes)
            found = []
            for box in (one, most):
                own = self.release.unbiased.between(*box)
                if own.std_error > 0:
                    low, high = own.interval(level)
                    found.append((high - low) / 2 / own.std_error)
            if len(self._times) > _MOST_TIMES:
                self._times.clear()
            self._times[level] = max(found, default=0.0)
        return self._times[level]

    def heatmap(self, spans: Box, points: int, level: float) -> dict[str, Any]:
        """The boxes of a part of the first two columns, no more than so many a side.

        Boxes are a power of two cells wide on each side, so that zooming in splits them. With
        them come the margins of the part that is shown, and its sum.
        """
        first, second = self.axes[:2]
        if len(self.axes) > 2:
            return AnsweringBoxes(
                self.release.margin(first.name, second.name), self.version
            ).heatmap(spans, points, level)
        points = affordable(self.release.errors, points)
        cuts = [
            bar_edges(axis.size, points, *span) for axis, span in zip(self.axes, spans, strict=True)
        ]
        whole = [each[[0, -1]] for each in cuts]
        (start, stop), (left, right) = (each.tolist() for each in whole)
        return {
            "columns": [first.name, second.name],
            "cells": [each.tolist() for each in cuts],
            "edges": [axis.edges_at(each) for axis, each in zip(self.axes, cuts, strict=True)],
            "times": [
                stretches(axis, each).times.tolist()
                for axis, each in zip(self.axes, cuts, strict=True)
            ],
            **self._between(cuts, level),
            "margins": [
                self._flat(self._between([cuts[0], whole[1]], level)),
                self._flat(self._between([whole[0], cuts[1]], level)),
            ],
            "total": self.many([((start, stop), (left, right))], level)[0],
        }

    def _between(self, cuts: list[Ints], level: float) -> dict[str, Any]:
        """The boxes between neighbouring cuts, each with its interval."""
        own = self.release.unbiased
        counts, values = (_boxes(each.prefix, cuts) for each in (self.release, own))
        spread = np.sqrt(np.maximum(own.errors.product_variances(cuts), 0.0))
        spread = spread.reshape(counts.shape)
        between = getattr(own.errors, "half_widths_between", None)  # where boxes were pooled
        reach = spread * self._times_spread(level) if between is None else between(cuts, level)
        reach = np.reshape(reach, counts.shape)
        low, high = values - reach, values + reach
        if own is not self.release:
            low, high = cut_to_counts(low, high, counts)
        return {
            "counts": counts.tolist(),
            "low": low.tolist(),
            "high": high.tolist(),
            "standard_errors": spread.tolist(),
        }

    @staticmethod
    def _flat(found: dict[str, Any]) -> dict[str, Any]:
        return {name: np.ravel(each).tolist() for name, each in found.items()}


def _boxes(prefix: npt.NDArray[Any], cuts: list[Ints]) -> npt.NDArray[Any]:
    """The sums of the boxes between neighbouring cuts of two axes."""
    corners = prefix[np.ix_(*cuts)]
    return np.asarray(np.diff(np.diff(corners, axis=0), axis=1))
