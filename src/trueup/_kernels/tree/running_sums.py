"""Running sums of many numbers on a binary grid, block by block, in several threads.

A sum of millions of numbers, added one after the other, carries the rounding of every addition.
Blocks that begin at the same time each begin near the sum of all before them, so that they round
as one run over all numbers would: within a binade every addition rounds to the same multiples,
wherever it starts. What a block's start was off by is then added to the whole block. The sums are
those of `numpy.cumsum`, but for the few places where they pass a power of two.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trueup._kernels.compiled import ARRAY_ELEMENTS, compiled
from trueup._kernels.threads import in_threads
from trueup._kernels.tree.binary_grid import grid_for
from trueup.arrays import Floats, Ints


def _blocks(values: Floats, block: int, begin: int, end: int) -> Iterator[tuple[int, Floats]]:
    for number in range(begin, end):
        yield number, values[number * block : (number + 1) * block]


def _totals_by_arrays(values: Floats, block: int, numbers: Ints, totals: Floats) -> None:
    for number in numbers.tolist():
        own = values[number * block : (number + 1) * block]
        fours = own[: own.size - own.size % 4].reshape(-1, 4)
        a, b, c, d = np.cumsum(np.concatenate([np.zeros((1, 4)), fours]), axis=0)[-1]
        for value in own[fours.size :]:
            a += value
        totals[number] = (a + b) + (c + d)


def _sum_by_arrays(
    values: Floats, block: int, begin: int, end: int, starts: Floats, found: Floats
) -> None:
    for number, own in _blocks(values, block, begin, end):
        running = np.cumsum(np.append(starts[number], own))
        own[:] = running[1:]
        found[0, number], found[1, number] = running[-1], np.abs(own).max(initial=0.0)


def _round_by_arrays(
    values: Floats, block: int, begin: int, end: int, steps: Floats, grid: float
) -> None:
    for number, own in _blocks(values, block, begin, end):
        own[:] = (np.rint((steps[number] + own) * grid) + 0.0) * (1.0 / grid)


@compiled(most=ARRAY_ELEMENTS, plain=_totals_by_arrays)
def sum_each(values: Floats, block: int, numbers: Ints, totals: Floats) -> None:
    """The sum of each of the blocks with these numbers."""
    for number in numbers:
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


@compiled(most=ARRAY_ELEMENTS, plain=_sum_by_arrays)
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


@compiled(most=ARRAY_ELEMENTS, plain=_round_by_arrays)
def _round(values: Floats, block: int, begin: int, end: int, steps: Floats, grid: float) -> None:
    """The sums of each block, moved by its step and put on the grid."""
    cell = 1.0 / grid
    for number in range(begin, end):
        own = values[number * block : (number + 1) * block]
        step = steps[number]
        for i in range(own.size):
            own[i] = (np.rint((step + own[i]) * grid) + 0.0) * cell  # no minus zero


def block_totals(values: Floats, block: int, threads: int) -> Floats:
    """The sum of each block."""
    number = -(-len(values) // block)
    totals = np.empty(number)
    numbers = np.arange(number)
    in_threads(lambda a, b: sum_each(values, block, numbers[a:b], totals), number, threads)
    return totals


def run_from(values: Floats, block: int, starts: Floats, threads: int) -> Floats:
    """Numbers become running sums, in place, each block's from its start.

    Of each block the last sum comes back, and in a second row the size of the largest.
    """
    number = -(-len(values) // block)
    found = np.empty((2, number))
    in_threads(lambda a, b: _sum(values, block, a, b, starts, found), number, threads)
    return found


def block_steps(found: Floats, starts: Floats, ended: float) -> tuple[Floats, float]:
    """What each block is to be moved by, the sum before the first being `ended`; and the last."""
    steps = np.empty(found.shape[1])
    for i in range(len(steps)):
        steps[i] = ended - starts[i]
        ended = found[0, i] + steps[i]
    return steps, ended


def round_blocks(values: Floats, block: int, steps: Floats, grid: float, threads: int) -> None:
    """Sums that `run_from` made, moved by their steps and put on the grid, in place."""
    in_threads(lambda a, b: _round(values, block, a, b, steps, grid), len(steps), threads)


class RunningSums:
    """Running sums of numbers that come in parts, in order: parts of whole blocks, but the last.

    Parts of any size give the same bits.
    """

    def __init__(self, block: int, threads: int) -> None:
        self._block, self._threads = block, threads
        self._summed = self._ended = 0.0  # of all blocks so far: by their sums, and one by one
        self.largest = 0.0
        """The size of the largest sum so far."""

    def add(self, values: Floats, totals: Floats | None = None) -> Floats:
        """Numbers become running sums, in place, each block's still to be moved by its step.

        `totals` are the sums of the blocks, where they are known.
        """
        if totals is None:
            totals = block_totals(values, self._block, self._threads)
        starts = np.cumsum(np.concatenate([[self._summed], totals]))
        found = run_from(values, self._block, starts, self._threads)
        steps, self._ended = block_steps(found, starts, self._ended)
        self._summed = float(starts[-1])
        self.largest = max(self.largest, float((found[1] + np.abs(steps)).max(initial=0.0)))
        return steps

    def round(self, values: Floats, steps: Floats, grid: float) -> None:
        """Sums that `add` made, moved by their steps and put on the grid, in place."""
        round_blocks(values, self._block, steps, grid, self._threads)


def sum_blocks_on_grid(
    values: Floats, block: int, threads: int, totals: Floats | None = None
) -> None:
    """Numbers become their running sums on the finest grid that holds them, in place."""
    sums = RunningSums(block, threads)
    steps = sums.add(values, totals)
    sums.round(values, steps, grid_for(sums.largest))
