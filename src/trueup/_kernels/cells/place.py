"""Bins of numbers and counts of cells, many at a time. No value makes any of it fail."""

from __future__ import annotations

from trueup._kernels.compiled import compiled
from trueup.arrays import Floats, Ints

SPARE = 8


@compiled
def regular(x: Floats, low: float, high: float, bins: int, cells: Ints) -> None:
    """The bin of each x among equal ones; -1 where there is none, as for NaN.

    A guess by arithmetic is at most one bin off; the two edges settle it. Edge i is
    low + (i·(high − low))/bins in float64, but the last one is high.
    """
    width, count = high - low, float(bins)
    for i in range(x.size):
        value = x[i]
        if not (low <= value < high):
            cells[i] = -1
            continue
        guess = min(int((value - low) * count / width), bins - 1)
        if value < low + (guess * width) / count:
            guess -= 1
        elif guess + 1 < bins and value >= low + ((guess + 1) * width) / count:
            guess += 1
        cells[i] = guess


@compiled
def fold(cells: Ints, counts: Ints, size: int) -> None:
    """Adds one to the count of each cell; a number that is no cell adds to none of `size` counts.

    It adds to one of the SPARE places behind them in turn: without a branch that is hard to guess,
    and without waiting for the sum before.
    """
    for i in range(cells.size):
        cell = cells[i]
        counts[cell if 0 <= cell < size else size + i % SPARE] += 1
