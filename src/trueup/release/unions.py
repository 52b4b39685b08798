"""Unions of regions: any parts of the axes together, each cell counted once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from trueup.arrays import Ints
from trueup.axis import Axis
from trueup.errors import InputError, kind

Box = tuple[tuple[int, int], ...]

_MOST = 1 << 20  # boxes of one union


def union_boxes(axes: Sequence[Axis], parts: Mapping[str, Any]) -> list[Box]:
    """The disjoint boxes of a union: parts of each axis, those not named whole."""
    names = [axis.name for axis in axes]
    for name in parts:
        if name not in names:
            raise InputError(f"There is no axis {name!r}. Axes: {', '.join(names)}.")
    runs = [_runs(axis, parts[axis.name]) if axis.name in parts else _whole(axis) for axis in axes]
    if np.prod([float(len(each)) for each in runs]) > _MOST:
        raise InputError(
            f"This union is made of more than {_MOST:,} boxes. Ask for parts of it, and add them."
        )
    return list(product(*runs))


def ends_of(boxes: Sequence[Box], axes: int) -> list[tuple[Ints, Ints]]:
    """Where the boxes begin and end along each axis."""
    ends = np.array(boxes, np.int64).reshape(-1, axes, 2)
    return [(ends[:, axis, 0], ends[:, axis, 1]) for axis in range(axes)]


def terms_of(boxes: Sequence[Box]) -> tuple[tuple[Any, float], ...]:
    """The sum of the boxes, as errors take it: of one axis, ranges."""
    return tuple((box[0] if len(box) == 1 else box, 1.0) for box in boxes)


def _whole(axis: Axis) -> list[tuple[int, int]]:
    return [(0, axis.size)]


def _runs(axis: Axis, parts: Any) -> list[tuple[int, int]]:
    """The runs of cells of some parts of an axis, apart from each other and in order."""
    if isinstance(parts, np.ndarray):
        if parts.dtype.kind not in "iu" or parts.ndim != 1:
            raise InputError(
                f"An array for axis '{axis.name}' holds the numbers of cells, as axis.locate gives."
            )
        if parts.size and not 0 <= parts.min() <= parts.max() < axis.size:
            raise InputError(f"Axis '{axis.name}' has cells 0 to {axis.size - 1}.")
        starts = np.unique(parts).astype(np.int64)
        stops = starts + 1
    elif isinstance(parts, str) or not isinstance(parts, Iterable):
        raise InputError(
            f"A union on axis '{axis.name}' is a list of its parts, got {kind(parts)}. Write "
            f"{axis.name}=[…]."
        )
    else:
        spans = np.array([_span(axis, part) for part in parts], np.int64).reshape(-1, 2)
        starts, stops = spans[np.argsort(spans[:, 0], kind="stable")].T
    inside = stops > starts
    starts, stops = starts[inside], stops[inside]
    if not len(starts):
        return []
    reach = np.maximum.accumulate(stops)
    first = np.r_[True, starts[1:] > reach[:-1]]
    last = np.r_[np.flatnonzero(first)[1:] - 1, len(starts) - 1]
    return list(zip(starts[first].tolist(), reach[last].tolist(), strict=True))


def _span(axis: Axis, part: Any) -> tuple[int, int]:
    """The cells of one part: a label, a node, a range (low, high), or either as typed."""
    if isinstance(part, tuple) and not axis.paths:
        if len(part) != 2:
            raise InputError(f"A range of axis '{axis.name}' is (low, high), got {part!r}.")
        return axis.span(*part)
    if isinstance(part, str):
        return axis.parse_span(part)
    if axis.has_nodes:
        return axis.node(part)
    start = axis.span(part, None)[0]
    return start, start + 1
