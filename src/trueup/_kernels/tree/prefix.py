"""Numbers that add up with ==: prefix sums on a binary grid. Plain numpy up to 2^15 numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trueup._kernels.threads import cores
from trueup._kernels.tree.binary_grid import grid_for
from trueup.arrays import Floats

BLOCK = 1 << 15  # numbers summed from zero and rounded while they are in the cache


def on_grid(values: npt.ArrayLike, largest: float) -> Floats:
    """The values rounded to a power of two, so fine that `largest` just fills 52 bits.

    Sums and differences of such values are exact in floating point while they stay below that.
    """
    rounded = np.array(values, np.float64, order="C")
    _round(rounded.reshape(-1), largest)
    return rounded


def _round(values: Floats, largest: float) -> None:
    """As `on_grid`, in place."""
    grid = grid_for(largest)
    cell = 1.0 / grid
    for start in range(0, len(values), BLOCK):
        block = values[start : start + BLOCK]
        block *= grid
        np.rint(block, out=block)
        block += 0.0  # no minus zero
        block *= cell


def prefix_on_grid(counts: npt.ArrayLike) -> Floats:
    """The sums of the first 0, 1, …, n counts, each rounded to one common power of two.

    The difference of any two prefixes, and the sum of two such differences that meet, is exact.
    """
    prefix = np.empty(len(np.asarray(counts)) + 1)
    prefix[0] = 0.0
    prefix[1:] = counts
    sum_on_grid(prefix)
    return prefix


def sum_on_grid(prefix: Floats, threads: int | None = None, totals: Floats | None = None) -> None:
    """As `prefix_on_grid`, in place: counts from the second place on become their prefix sums.

    Counts are summed in blocks, each from zero, and what came before is added to a block as a
    whole, so that errors of rounding do not pile up over millions of counts. The number of
    threads, by default that of the cores, changes no bit. `totals` are the sums of the blocks,
    where they are known.
    """
    counts = prefix[1:]
    if len(counts) <= BLOCK:
        np.cumsum(counts, out=counts)
        _round(counts, max(float(counts.max(initial=0.0)), -float(counts.min(initial=0.0))))
        return
    from trueup._kernels.tree.running_sums import sum_blocks_on_grid

    sum_blocks_on_grid(counts, BLOCK, threads or cores(), totals)
