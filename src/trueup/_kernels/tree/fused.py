"""Truth, noise and least squares of a regular tree in one go, keeping no noisy answer.

Blocks of `blocks.py` are counted, noised and solved, each as if its root were final, while they
are in the cache. Then the small tree above them is solved, and what a block's root gains, each
leaf of the block gains alike. What remains is the output, written in place: first the leaves,
then their prefix sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from trueup._kernels.compiled import ARRAY_ELEMENTS, compiled, inlined, plain_if_small
from trueup._kernels.threads import in_threads
from trueup._kernels.tree import blocks
from trueup._kernels.tree.binary_grid import grid_for
from trueup._kernels.tree.blocks import block_level, fall, rise
from trueup._kernels.tree.regular import RegularTree
from trueup.arrays import Floats, Ints


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
        total = 0
        for child in range(radix):
            total += below[i * radix + child]
        own[i] = total


@compiled
def _add(below: Ints, radix: int, own: Ints) -> None:
    """Each of `own` becomes the sum of its children below."""
    if radix == 2:  # constants make vector code
        _add_by(2, below, own)
    elif radix == 4:
        _add_by(4, below, own)
    else:
        _add_by(radix, below, own)


def _count_by_level(cells: Ints, layout: Ints, values: Ints) -> None:
    below = values[: cells.size]
    below[:] = cells
    for radix, size, start, _ in layout[::-1]:
        below, children = values[start : start + size], below
        np.add.reduceat(children, np.arange(0, len(children), radix), out=below)


@compiled(most=ARRAY_ELEMENTS, plain=_count_by_level)
def _count(cells: Ints, layout: Ints, values: Ints) -> None:
    """The true count of every node above some cells, which come first; `layout` as in `rise`."""
    below = values[: cells.size]
    for i in range(cells.size):
        below[i] = cells[i]
    for k in range(len(layout) - 1, -1, -1):
        radix, size, start, _ = layout[k]
        own, full = values[start : start + size], below.size // radix
        _add(below, radix, own[:full])
        if full < size:  # the last node has fewer children
            rest = below[full * radix :]
            _add(rest, rest.size, own[full:])
        below = own


def _sum_of_sizes_by_arrays(leaves: Floats) -> float:
    fours, rest = np.split(np.abs(leaves), [leaves.size - leaves.size % 4])
    a, b, c, d = np.cumsum(np.append(np.zeros(4), fours).reshape(-1, 4), axis=0)[-1]
    for size in rest:
        a += size
    return float(a + b + (c + d))


@compiled(most=ARRAY_ELEMENTS, plain=_sum_of_sizes_by_arrays)
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


def _accumulate_by_arrays(
    leaves: Floats, width: int, starts: Floats, steps: Floats, grid: float
) -> None:
    together = max(1, blocks.SPAN // width)  # so that what is made on the way stays small
    every = leaves.reshape(steps.size, width)
    for first in range(0, len(every), together):
        rows = every[first : first + together]
        rows += steps[first : first + together, None]
        end = width - width % 4
        fours = rows[:, :end].reshape(len(rows), -1, 4)
        np.cumsum(fours, axis=2, out=fours)
        each = [starts[first : first + together, None], fours[:, :, 3]]
        before = np.cumsum(np.concatenate(each, axis=1), axis=1)
        rows[:, :end] = (fours + before[:, :-1, None]).reshape(len(rows), end)
        rest = np.concatenate([before[:, -1:], rows[:, end:]], axis=1)
        rows[:, end:] = np.cumsum(rest, axis=1)[:, 1:]
        rows *= grid
        np.rint(rows, out=rows)
        rows *= 1.0 / grid


@compiled(most=ARRAY_ELEMENTS, plain=_accumulate_by_arrays)
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
        most = blocks.SPAN // width
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


@dataclass(frozen=True)
class NodeStretch:
    """Nodes of several levels, side by side, in memory of their own: the lowest level first.

    `layout` is that of `rise`, with one place for a node's answer and its step; the
    nodes of the highest level are the last `highest` of `size`. `last`: the tree ends with them.
    """

    layout: Ints
    coefficients: Floats
    runs: tuple[Run, ...]
    size: int
    highest: int
    last: bool

    @staticmethod
    def of(
        tree: RegularTree, top: int, number: Sequence[int], before: int = 0, step: int = 0
    ) -> NodeStretch:
        """number[k] nodes of each level top + k, after so many full nodes of level `top`.

        `step` is how many full nodes of level `top` lie between one span and the next.
        """
        begins = [sum(number[k + 1 :]) for k in range(len(number))]
        each = [tree.widths[top] // width for width in tree.widths[top:]]
        rows = [
            (tree.radices[top + k], number[k], begins[k], begins[k]) for k in range(len(number) - 1)
        ]
        runs = [
            Run(top + k, begins[k], begins[k] + number[k], before * each[k], step * each[k])
            for k in reversed(range(len(number)))
            if tree.weights[top + k] > 0.0
        ]
        layout = np.array(rows, np.int64).reshape(-1, 4)
        coefficients = tree.coefficients[top : top + len(rows)]
        return NodeStretch(layout, coefficients, tuple(runs), sum(number), number[0], step == 0)

    def count(self, cells: Ints, values: Ints) -> Ints:
        """Writes the true count of every node; those of the highest level come back."""
        _count(cells, self.layout, values)
        return values[self.size - self.highest : self.size]

    def rise(self, bottom: Ints | Floats, values: Ints, steps: Floats, roots: Floats) -> None:
        """Writes the steps of all levels but the lowest, and what is fitted to the highest."""
        if not len(self.layout):  # one level alone: nothing is above its answers
            roots[:] = bottom
            return
        work = np.empty(2 * int(self.layout[-1, 1]))
        run = rise if bottom.dtype == np.int64 else plain_if_small(rise)  # of roots there are few
        run(bottom, values, self.layout, self.coefficients, self.last, steps, roots, work)

    def fall(self, bottom: Ints | Floats, steps: Floats, leaves: Floats) -> None:
        """Writes the lowest level, the steps of the highest being final."""
        if not len(self.layout):
            leaves[:] = bottom
            return
        run = fall if bottom.dtype == np.int64 else plain_if_small(fall)
        run(bottom, self.layout, self.coefficients, self.last, steps, leaves)


class _Blocks:
    """The blocks of a tree: full ones, span by span, and the last one if it is cut short."""

    def __init__(self, tree: RegularTree, cells: Ints, leaves: Floats, noise: Noise) -> None:
        self.tree, self.cells, self.leaves, self.noise = tree, cells, leaves, noise
        self.top = block_level(tree)
        self.width = tree.widths[self.top]
        self.counts = [self.width // width for width in tree.widths[self.top :]]
        self.full = tree.size // self.width
        self.together = max(1, blocks.SPAN // self.width)
        self.spans = -(-self.full // self.together)
        self.truths = np.empty(tree.lengths[self.top], np.int64)
        self.roots = np.empty(self.truths.size)
        self.sizes = np.zeros(self.spans)  # Σ|leaf| of each span

    def solve_spans(self, first: int, end: int) -> None:
        """Solves spans first … end − 1, each block as if its root were final."""
        values = np.empty(self.together * sum(self.counts), np.int64)
        steps = np.empty(values.size)
        made: dict[int, NodeStretch] = {}  # all spans but the last are laid out alike
        for span in range(first, end):
            begin, stop = span * self.together, min((span + 1) * self.together, self.full)
            if stop - begin not in made:
                number = [(stop - begin) * count for count in self.counts]
                made[stop - begin] = NodeStretch.of(self.tree, self.top, number, step=self.together)
            stretch = made[stop - begin]
            place = slice(begin * self.width, stop * self.width)
            self.truths[begin:stop] = stretch.count(self.cells[place], values)
            self.noise(values, stretch.runs, span)
            bottom, leaves = values[: (stop - begin) * self.width], self.leaves[place]
            stretch.rise(bottom, values, steps, self.roots[begin:stop])
            stretch.fall(bottom, steps, leaves)
            self.sizes[span] = _sum_of_sizes(leaves)

    def solve_last(self) -> Callable[[float], Floats]:
        """Solves the block that is cut short from below; its leaves follow from its root."""
        lengths = self.tree.lengths[self.top :]
        number = [
            length - self.full * count for length, count in zip(lengths, self.counts, strict=True)
        ]
        stretch = NodeStretch.of(self.tree, self.top, number, before=self.full)
        values, steps = np.empty(stretch.size, np.int64), np.empty(stretch.size)
        begin = self.full * self.width
        self.truths[-1:] = stretch.count(self.cells[begin:], values)
        self.noise(values, stretch.runs, 0)
        bottom = values[: number[-1]]
        stretch.rise(bottom, values, steps, self.roots[-1:])

        def leaves(root: float) -> Floats:
            steps[-1] += root - self.roots[-1]
            stretch.fall(bottom, steps, self.leaves[begin:])
            return self.leaves[begin:]

        return leaves

    def final_roots(self) -> Floats:
        """The final value of every block's root, from the tree above."""
        stretch = NodeStretch.of(self.tree, 0, self.tree.lengths[: self.top + 1])
        values, steps = np.empty(stretch.size, np.int64), np.empty(stretch.size)
        stretch.count(self.truths, values)
        self.noise(values, [run for run in stretch.runs if run.level < self.top], 0)
        stretch.rise(self.roots, values, steps, np.empty(stretch.highest))
        final = np.empty(self.roots.size)
        stretch.fall(self.roots, steps, final)
        return final


def release_prefix(tree: RegularTree, cells: Ints, noise: Noise, threads: int = 1) -> Floats:
    """Prefix sums, n + 1 of them, of the least-squares leaves of the noised tree, on a grid.

    As `prefix_on_grid` of the fitted leaves of true counts plus noise, the grid chosen by a bound
    on the largest sum. Memory: the output, some megabytes a thread, and a few numbers for each
    block.
    """
    prefix = np.empty(tree.size + 1)
    prefix[0] = 0.0
    leaves = prefix[1:]
    own = _Blocks(tree, cells, leaves, noise)
    in_threads(own.solve_spans, own.spans, threads)
    last = own.solve_last() if tree.size % own.width else None
    final = own.final_roots()
    starts = np.concatenate([[0.0], np.cumsum(final)])
    gained = (final - own.roots)[: own.full]
    largest = float(np.abs(starts).max())
    if own.spans:
        each = np.add.reduceat(np.abs(gained), np.arange(0, own.full, own.together))
        largest += float((own.sizes + each).max())
    rest = last(float(final[-1])) if last else leaves[:0]
    largest += float(np.abs(rest).sum())
    grid = grid_for(largest)
    steps = gained / own.width

    def accumulate(first: int, end: int) -> None:
        begin, stop = first * own.together, min(end * own.together, own.full)
        part = leaves[begin * own.width : stop * own.width]
        _accumulate_blocks(part, own.width, starts[begin:stop], steps[begin:stop], grid)

    in_threads(accumulate, own.spans, threads)
    _accumulate(rest, float(starts[own.full]), 0.0, grid)
    return prefix
