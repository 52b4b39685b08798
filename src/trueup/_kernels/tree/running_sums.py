"""Running sums of many numbers on a binary grid, block by block, in several threads.

A sum of millions of numbers, added one after the other, carries the rounding of every addition.
Blocks that begin at the same time each begin near the sum of all before them, so that they round
as one run over all numbers would: within a binade every addition rounds to the same multiples,
wherever it starts. What a block's start was off by is then added to the whole block. The sums are
those of `numpy.cumsum`, but for the few places where they pass a power of two.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trueup._kernels.compiled import compiled
from trueup._kernels.threads import in_threads
from trueup._kernels.tree.binary_grid import grid_for

Floats = npt.NDArray[np.float64]


@compiled
def _totals(values: Floats, block: int, begin: int, end: int, totals: Floats) -> None:
    for number in range(begin, end):
        own = values[number * block : (number + 1) * block]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0  # four sums, so that one need not wait for the last
        for i in range(own.size // 4):
            a += own[4 * i]
            b += own[4 * i + 1]
            c += own[4 * i + 2]
            d += own[4 * i + 3]
        for i in range(own.size - own.size % 4, own.size):
            a += own[i]
        totals[number] = (a + b) + (c + d)


@compiled
def _sum(values: Floats, block: int, begin: int, end: int, starts: Floats, found: Floats) -> None:
    """Running sums of blocks begin … end − 1, in place; of each the last, and the largest size."""
    for number in range(begin, end):
        own = values[number * block : (number + 1) * block]
        running, largest = starts[number], 0.0
        for i in range(own.size):
            running += own[i]
            own[i] = running
            largest = max(largest, abs(running))
        found[0, number], found[1, number] = running, largest


@compiled
def _round(values: Floats, block: int, begin: int, end: int, steps: Floats, grid: float) -> None:
    """The sums of each block, moved by its step and put on the grid."""
    cell = 1.0 / grid
    for number in range(begin, end):
        own = values[number * block : (number + 1) * block]
        step = steps[number]
        for i in range(own.size):
            own[i] = (np.rint((step + own[i]) * grid) + 0.0) * cell  # no minus zero


def sum_blocks_on_grid(values: Floats, block: int, threads: int) -> None:
    """Numbers become their running sums on the finest grid that holds them, in place."""
    number = -(-len(values) // block)
    totals, found, steps = np.empty(number), np.empty((2, number)), np.empty(number)
    in_threads(lambda a, b: _totals(values, block, a, b, totals), number, threads)
    starts = np.concatenate([[0.0], np.cumsum(totals)[:-1]])
    in_threads(lambda a, b: _sum(values, block, a, b, starts, found), number, threads)
    ended = 0.0
    for i in range(number):
        steps[i] = ended - starts[i]
        ended = found[0, i] + steps[i]
    grid = grid_for(float((found[1] + np.abs(steps)).max()))
    in_threads(lambda a, b: _round(values, block, a, b, steps, grid), number, threads)
