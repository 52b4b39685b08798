"""Sums over boxes of a grid, from prefix sums along every axis that add up with ==."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup._kernels.tree.prefix import on_grid
from trueup.arrays import Ints


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
