"""Boxes of a grid: prefix sums that add up with ==, and the hierarchy of boxes in boxes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup._kernels.tree.prefix import on_grid
from trueup.intervaltree import IntervalTree

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def box_prefix(cells: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The sums of the first i, j, … cells along each axis: one entry more than cells.

    Whole numbers stay whole. Others are rounded to one power of two, with a bit to spare for each
    axis: a box is a sum of 2^axes prefixes, and every such sum is exact.
    """
    whole = cells.dtype.kind == "i"
    prefix = np.zeros([size + 1 for size in cells.shape], np.int64 if whole else np.float64)
    inner = prefix[(slice(1, None),) * cells.ndim]
    inner[...] = cells
    for axis in range(cells.ndim):
        np.cumsum(inner, axis=axis, out=inner)
    if whole:
        return prefix
    return on_grid(prefix, float(np.abs(prefix).max()) * 2.0**cells.ndim)


def box_sums(prefix: npt.NDArray[Any], starts: Ints, stops: Ints) -> npt.NDArray[Any]:
    """The sum of each box, a row of `starts` and `stops` each with one column an axis."""
    found = np.zeros(len(starts), prefix.dtype)
    for corner in itertools.product((0, 1), repeat=prefix.ndim):
        at = tuple(stops[:, axis] if end else starts[:, axis] for axis, end in enumerate(corner))
        if (prefix.ndim - sum(corner)) % 2:
            found -= prefix[at]
        else:
            found += prefix[at]
    return found


def cells_of(prefix: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The cells that prefix sums are the sums of."""
    for axis in range(prefix.ndim):
        prefix = np.diff(prefix, axis=axis)
    return prefix


def nested(shapes: Sequence[IntervalTree]) -> tuple[Ints, IntervalTree]:
    """The product of trees as one tree, and the order in which its leaves come.

    The children of a box are the products of its sides' children; all axes reach their cells on
    the last level, and an axis of fewer levels is not split on the first ones. Entry i of the
    order is the number, the last axis running fastest, of the cell that is leaf i.
    """
    height = max(shape.height for shape in shapes)
    sizes = [shape.size for shape in shapes]
    order = np.zeros(1, np.int64)
    keys = []
    for level in range(1, height):
        nodes = []
        for shape in shapes:
            own = max(0, level - (height - shape.height))
            nodes.append(shape.node_of(own, np.arange(shape.size)))
        counts = [int(each[-1]) + 1 for each in nodes]
        key = np.zeros(sizes, np.int64)
        for axis, (each, count) in enumerate(zip(nodes, counts, strict=True)):
            key *= count
            key += each.reshape([-1 if other == axis else 1 for other in range(len(sizes))])
        keys.append(key.ravel())
    order = np.lexsort(keys[::-1]).astype(np.int64)
    cuts = []
    for key in keys:
        sorted_key = key[order]
        changes = np.flatnonzero(sorted_key[1:] != sorted_key[:-1]) + 1
        cuts.append(np.concatenate([[0], changes]))
    return order, IntervalTree.irregular(len(order), cuts)
