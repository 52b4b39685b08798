"""Truth, noise and least squares of a regular tree in one go, keeping no noisy answer.

Blocks of `blocks.py` are counted, noised and solved while they are in the cache. What remains
is the output, written in place: first the leaves, then their prefix sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trueup._kernels.compiled import compiled, inlined
from trueup._kernels.tree import blocks as in_cache
from trueup._kernels.tree.blocks import Blocks, LastBlock, final_roots, solve
from trueup._kernels.tree.prefix import grid_for
from trueup.intervaltree import IntervalTree

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Run:
    """Nodes of a level that lie at values[begin:end].

    The first of them is number first + step · span of its level, for the span in hand.
    """

    level: int
    begin: int
    end: int
    first: int = 0
    step: int = 0


Noise = Callable[[Ints, Sequence[Run], int], None]
"""Adds noise to the runs of some values, in place: noise(values, runs, span)."""


@inlined
def _add_by(radix: int, below: Ints, own: Ints) -> None:
    for i in range(own.size):
        total = below[i * radix]
        for child in range(1, radix):
            total += below[i * radix + child]
        own[i] = total


@compiled
def _add(below: Ints, radix: int, own: Ints, scratch: Ints) -> None:
    """Each of `own` becomes the sum of its children below."""
    if radix == 2:  # constants make vector code
        _add_by(2, below, own)
    elif radix == 4:
        _add_by(4, below, own)
    elif radix == 16:
        _add_by(4, below, scratch[: 4 * own.size])
        _add_by(4, scratch, own)
    else:  # differences of prefix sums beat short loops
        total = 0
        for i in range(below.size):
            scratch[i] = total
            total += below[i]
        scratch[below.size] = total
        for i in range(own.size):
            own[i] = scratch[(i + 1) * radix] - scratch[i * radix]


@compiled
def _add_up(cells: Ints, starts: Ints, radices: Ints, y: Ints, scratch: Ints) -> None:
    """The true count of every node of full blocks, level k from y[starts[k]] on."""
    height = radices.size
    size = cells.size
    y[starts[height] : starts[height] + size] = cells
    for k in range(height - 1, -1, -1):
        below = y[starts[k + 1] : starts[k + 1] + size]
        size //= radices[k]
        _add(below, radices[k], y[starts[k] : starts[k] + size], scratch)


@compiled
def _sum_of_sizes(leaves: Floats) -> float:
    """Σ|leaf|, in four sums that the processor can keep going at once."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    fours = leaves.size - leaves.size % 4
    for i in range(0, fours, 4):
        a += abs(leaves[i])
        b += abs(leaves[i + 1])
        c += abs(leaves[i + 2])
        d += abs(leaves[i + 3])
    for i in range(fours, leaves.size):
        a += abs(leaves[i])
    return a + b + (c + d)


@compiled
def _solve(
    y: Ints,
    starts: Ints,
    radices: Ints,
    gains: Floats,
    leaves: Floats,
    roots: Floats,
    work: Floats,
) -> float:
    """As `solve` of full blocks; Σ|leaf| comes back. One call: threads seldom wait in between."""
    solve(y, starts, radices, gains, leaves, roots, work)
    return _sum_of_sizes(leaves)


@compiled
def _accumulate(leaves: Floats, start: float, step: float, grid: float) -> None:
    """Leaves become prefix sums, in place: start + Σ (leaf + step), on multiples of 1/grid.

    Four at a time, so that each waits for the sum of the four before, not for its neighbour.
    """
    cell = 1.0 / grid
    fours = leaves.size - leaves.size % 4
    for i in range(0, fours, 4):
        a = leaves[i] + step
        b = a + (leaves[i + 1] + step)
        c = b + (leaves[i + 2] + step)
        d = c + (leaves[i + 3] + step)
        leaves[i] = np.rint((start + a) * grid) * cell
        leaves[i + 1] = np.rint((start + b) * grid) * cell
        leaves[i + 2] = np.rint((start + c) * grid) * cell
        start += d
        leaves[i + 3] = np.rint(start * grid) * cell
    for i in range(fours, leaves.size):
        start += leaves[i] + step
        leaves[i] = np.rint(start * grid) * cell


@compiled
def _accumulate_blocks(
    leaves: Floats, width: int, starts: Floats, steps: Floats, grid: float
) -> None:
    for block in range(steps.size):
        own = leaves[block * width : (block + 1) * width]
        _accumulate(own, starts[block], steps[block], grid)


def refined(radices: Sequence[int]) -> tuple[tuple[int, ...], tuple[int | None, ...]]:
    """The radices with levels put in where one is too wide for the cache, and what each was.

    A level that is not asked changes nothing in least squares. Under the root any grouping will
    do, for only the last group of all is cut short; further down the groups must come out even.
    """
    found: list[int] = []
    origin: list[int | None] = [len(radices)]
    width = 1
    for level in reversed(range(len(radices))):
        radix = radices[level]
        most = in_cache.SPAN // width
        if radix > most >= 2:
            even = [most] if level == 0 else [s for s in range(most, 1, -1) if radix % s == 0]
            if even:
                found.append(even[0])
                origin.append(None)
                radix = -(-radix // even[0])
        found.append(radix)
        origin.append(level)
        width *= radices[level]
    return tuple(reversed(found)), tuple(reversed(origin))


def _span_runs(blocks: Blocks, count: int) -> list[Run]:
    """Where the levels of so many full blocks lie, side by side: leaves first, roots last."""
    runs, begin = [], 0
    for k in reversed(range(blocks.height)):
        size = blocks.counts[k] * count
        step = blocks.counts[k] * blocks.together
        runs.append(Run(blocks.level + k, begin, begin + size, 0, step))
        begin += size
    return runs


def _asked(blocks: Blocks, runs: Iterable[Run]) -> tuple[Run, ...]:
    return tuple(run for run in runs if blocks.weights[run.level] > 0.0)


class _Spans:
    """The full blocks, solved span by span into the leaves' places."""

    def __init__(self, blocks: Blocks, cells: Ints, leaves: Floats, noise: Noise) -> None:
        self.blocks, self.cells, self.leaves, self.noise = blocks, cells, leaves, noise
        self.number = -(-blocks.full // blocks.together)
        self.roots = np.empty(blocks.full + (blocks.rest > 0))
        self.truths = np.empty(self.roots.size, np.int64)
        self.sizes = np.zeros(self.number)

    def solve(self, numbers: Iterable[int]) -> None:
        """Solves the spans of these numbers, one after the other, in memory of its own."""
        blocks = self.blocks
        radices = np.array(blocks.inside, np.int64)
        leaves_together = blocks.together * blocks.width
        work = np.empty(3 * leaves_together + 1)
        values = np.empty(blocks.together * sum(blocks.counts), np.int64)
        layout: dict[int, tuple[Ints, tuple[Run, ...]]] = {}
        for number in numbers:
            begin = number * blocks.together
            end = min(begin + blocks.together, blocks.full)
            if end - begin not in layout:  # all spans but the last are laid out alike
                runs = _span_runs(blocks, end - begin)
                levels = np.array([run.begin for run in reversed(runs)], np.int64)
                layout[end - begin] = levels, _asked(blocks, runs)
            starts, asked = layout[end - begin]
            place = slice(begin * blocks.width, end * blocks.width)
            _add_up(self.cells[place], starts, radices, values, work.view(np.int64))
            self.truths[begin:end] = values[starts[0] : starts[0] + end - begin]
            self.noise(values, asked, number)
            leaves, roots = self.leaves[place], self.roots[begin:end]
            own = work[: 3 * leaves.size]
            self.sizes[number] = _solve(values, starts, radices, blocks.gains, leaves, roots, own)


def _levels(blocks: Blocks, cells: Ints, shape: IntervalTree, top: int) -> tuple[Ints, list[Run]]:
    """The true counts of a small tree's nodes, breadth first, and where its levels lie."""
    parts = [cells]
    for level in reversed(range(shape.height - 1)):
        parts.append(np.add.reduceat(parts[-1], shape.children(level)[:-1]))
    parts.reverse()
    ends = np.cumsum([len(part) for part in parts]).tolist()
    runs = [
        Run(top + k, end - len(part), end)
        for k, (part, end) in enumerate(zip(parts, ends, strict=True))
    ]
    for run, part in zip(runs, parts, strict=True):
        if blocks.weights[run.level] == 0.0:  # not asked: its truth is not even kept
            part[:] = 0
    return np.concatenate(parts), runs


def _solve_last(spans: _Spans) -> LastBlock | None:
    """The block that is cut short, counted, noised and solved from below."""
    blocks = spans.blocks
    if not blocks.rest:
        return None
    cells = spans.cells[blocks.full * blocks.width :]
    spans.truths[-1] = cells.sum()
    values, runs = _levels(blocks, cells.copy(), blocks.last, blocks.level)
    shifted = [
        Run(run.level, run.begin, run.end, blocks.full * count)
        for run, count in zip(runs, blocks.counts, strict=True)
    ]
    spans.noise(values, _asked(blocks, shifted), 0)
    last = LastBlock(blocks, values.astype(np.float64))
    spans.roots[-1] = last.root
    return last


def _solve_above(spans: _Spans, last: LastBlock | None) -> Floats:
    """The final value of every block's root."""
    blocks = spans.blocks
    if blocks.level == 0:
        return spans.roots
    values, runs = _levels(blocks, spans.truths, blocks.above, 0)
    above = values[: runs[-1].begin]
    spans.noise(above, _asked(blocks, runs[:-1]), 0)
    return final_roots(blocks, above.astype(np.float64), spans.roots, last)


def release_prefix(blocks: Blocks, cells: Ints, noise: Noise, threads: int = 1) -> Floats:
    """Prefix sums, n + 1 of them, of the least-squares leaves of the noised tree, on a grid.

    As `prefix_on_grid` of `fit_leaves` of true counts plus noise, the grid chosen by a bound on
    the largest sum. Memory: the output, some hundred kilobytes a thread, and a few numbers for
    each block.
    """
    prefix = np.empty(blocks.size + 1)
    prefix[0] = 0.0
    leaves = prefix[1:]
    spans = _Spans(blocks, cells, leaves, noise)
    shares = np.array_split(np.arange(spans.number), max(1, threads))
    ranges = [range(int(s[0]), int(s[-1]) + 1) for s in shares if s.size]
    _in_threads(spans.solve, ranges, threads)
    last = _solve_last(spans)
    final = _solve_above(spans, last)
    starts = np.concatenate([[0.0], np.cumsum(final)])
    gained = (final - spans.roots)[: blocks.full]
    largest = float(np.abs(starts).max(initial=0.0))
    if spans.number:
        each = np.add.reduceat(np.abs(gained), np.arange(0, blocks.full, blocks.together))
        largest += float((spans.sizes + each).max())
    if last is not None:
        leaves[blocks.full * blocks.width :] = last.leaves(float(final[-1]))
        largest += float(np.abs(leaves[blocks.full * blocks.width :]).sum())
    grid = grid_for(largest)
    steps = gained / blocks.width

    def accumulate(numbers: range) -> None:
        begin = numbers.start * blocks.together
        end = min(numbers.stop * blocks.together, blocks.full)
        own = leaves[begin * blocks.width : end * blocks.width]
        _accumulate_blocks(own, blocks.width, starts[begin:end], steps[begin:end], grid)

    _in_threads(accumulate, ranges, threads)
    if last is not None:
        _accumulate(leaves[blocks.full * blocks.width :], float(starts[blocks.full]), 0.0, grid)
    return prefix


def _in_threads(work: Callable[[range], None], ranges: Sequence[range], threads: int) -> None:
    """The work for every range: in this thread alone, or in as many as asked for."""
    if threads <= 1 or len(ranges) <= 1:
        for numbers in ranges:
            work(numbers)
        return
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work, numbers) for numbers in ranges]:
            done.result()
