"""Boxes of cells: from what was given in axis units to numbers of cells, and their sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup._kernels.display.boxes import box_prefix
from trueup._kernels.tree.prefix import prefix_on_grid
from trueup.arrays import Ints
from trueup.axis import Axis
from trueup.errors import InputError, shown
from trueup.facts import Span

Spans = list[tuple[Ints, Ints]]
"""The first cells and ends of many ranges, for each axis."""


def prefix_of(counts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The prefix sums of counts, put on a binary grid unless they are whole."""
    if counts.ndim == 1 and counts.dtype.kind != "i":
        return prefix_on_grid(counts)
    return box_prefix(counts)


def box_of(
    axes: Sequence[Axis], ends: tuple[Any, ...], named: dict[str, Any]
) -> list[tuple[int, int]]:
    """The cells of a box: two ends of one axis, or (low, high) of each, in order or by name."""
    if len(axes) == 1 and len(ends) == 2 and not named:
        return [axes[0].span(*ends)]
    names = [axis.name for axis in axes]
    if len(names) == 1 and not set(named) & set(names):
        given = _matched(("low", "high"), ends, named, names)
        if len(ends) == 1 and "high" not in given:
            raise _one_end(axes[0], ends[0])
        return [axes[0].span(given.get("low"), given.get("high"))]
    given = _matched(names, ends, named, names)
    return [_span(axis, given.get(axis.name)) for axis in axes]


def _one_end(axis: Axis, end: Any) -> InputError:
    """What to say to `range(18)`, which Python would begin at 0 and a person might end at 18."""
    given = shown(end)
    return InputError(
        f"A range of '{axis.name}' has two ends. range({given}, None) goes from {given} to the end "
        f"of the axis, range(None, {given}) from its start up to {given}."
    )


def _matched(
    places: Sequence[str], given: tuple[Any, ...], named: dict[str, Any], axes: list[str]
) -> dict[str, Any]:
    """What was given in order, and what was given by name."""
    if len(given) > len(places):
        if len(axes) == 1:
            raise InputError(f"A range of '{axes[0]}' has two ends, but {len(given)} were given.")
        raise InputError(f"There are {len(axes)} axes, but {len(given)} ranges were given.")
    found = dict(zip(places, given, strict=False))
    for name, each in named.items():
        if name not in places:
            raise InputError(f"There is no axis {name!r}. Axes: {', '.join(axes)}.")
        if name in found:
            raise InputError(f"Axis {name!r} is given twice.")
        found[name] = each
    return found


def _span(axis: Axis, ends: Any) -> tuple[int, int]:
    if ends is None:
        return 0, axis.size
    if not isinstance(ends, (tuple, list)) or len(ends) != 2:
        raise InputError(
            f"A range of axis '{axis.name}' is (low, high) or None, got {shown(ends)}."
        )
    return axis.span(ends[0], ends[1])


def stacked(spans: Spans) -> tuple[Ints, Ints]:
    """The same with a row for each box and a column for each axis."""
    starts, stops = zip(*spans, strict=True)
    return np.stack(starts, axis=1), np.stack(stops, axis=1)


def cut(prefix: npt.NDArray[Any], ends: tuple[Span, ...]) -> npt.NDArray[Any]:
    """The prefix sums of what is left, summed over the range of each axis that is fixed."""
    for number in reversed(range(len(ends))):
        span = ends[number]
        if span is not None and hasattr(prefix, "between"):  # on the disk: reads what it needs
            prefix = prefix.between(*span, axis=number)
        elif span is not None:
            start, stop = (prefix.take(end, axis=number) for end in span)
            prefix = stop - start
    return np.ascontiguousarray(prefix)


def places(axes: Sequence[Axis]) -> dict[str, Any]:
    """Where every cell lies: the columns of an axis, named after it where there are several."""
    sizes = [axis.size for axis in axes]
    table: dict[str, Any] = {}
    for number, axis in enumerate(axes):
        cells = np.arange(axis.size)
        columns = axis.columns(cells, cells + 1)
        if len(axes) == 1:
            return columns
        index = np.broadcast_to(np.indices(sizes, sparse=True)[number], sizes).ravel()
        for name, column in columns.items():
            each = np.asarray(column)[index]
            table[f"{axis.name} {name}"] = each if each.dtype.kind in "ifM" else each.tolist()
    return table
