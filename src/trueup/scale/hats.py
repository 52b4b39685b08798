"""Hats in slabs: least squares of overlapping windows over an axis that is larger than memory.

A *block* is an interval between two neighbouring knots of one stride; a slab is a run of blocks.
The hats whose knot lies inside a block cover no cell outside of it: they belong to its slab, with
its cells. All others, on the edges of blocks and of larger strides, lie above the slabs. A block is
known to the rest by two numbers for each stride up to its own: what its cells put into the hats on
its two edges. Each number is made from the same numbers in the same order as by `hats.solve`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from trueup._kernels.hats.hat_tables import HatTables
from trueup._kernels.hats.hats import HatStretch, add_lines, fit_lines, go_down, go_up, settle_ends
from trueup._kernels.threads import in_threads
from trueup._kernels.tree.fused import Noise as Drawn
from trueup._kernels.tree.fused import Run
from trueup.arrays import Floats, Ints
from trueup.ask.hats import straight_sums
from trueup.errors import InputError
from trueup.infer.hat_errors import HatErrors

_TOGETHER = 1 << 16  # answers that are drawn by one thread at a time
_MOST_BLOCKS = 1 << 18


@dataclass(frozen=True)
class HatRun(Run):
    """Answers of one kind of noise; `numbers` are their places among all answers."""

    numbers: Ints | None = None


@dataclass(frozen=True, eq=False)
class HatSlabs:
    """The hats of a question in slabs of about so many cells."""

    asked: HatErrors
    most: int
    threads: int = 1

    @cached_property
    def tables(self) -> HatTables:
        """What least squares needs, whatever the answers."""
        return self.asked.tables

    def check(self) -> None:
        """Refuses hats that cannot be fitted slab by slab."""
        strides = self._strides
        if not strides:
            raise InputError(
                f"There are no hats over {self.size:,} cells: ask CellCounts(axis) instead."
            )
        if strides[0] > max(self.most, 1 << 22):
            raise InputError(
                f"The smallest stride, {strides[0]:,}, is too large to be fitted out of memory. "
                f"Put in smaller ones, or leave strides out."
            )
        if self.roots > _MOST_BLOCKS:
            raise InputError(
                f"The largest stride that is fitted in memory, {self._width:,}, cuts the axis into "
                f"too many stretches, {self.roots:,}. Put in larger strides, or leave them out."
            )

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.asked.size

    @property
    def _strides(self) -> tuple[int, ...]:
        return self.asked.strides

    def _stretches(self, stride: int) -> int:
        return -(-self.size // stride)

    def _hats(self, stride: int) -> range:
        """The knots, in strides, on which hats are asked."""
        knots = self._stretches(stride) + 1
        every = self.asked.ends or stride < self._strides[-1]
        return range(knots) if every else range(1, knots - 1)

    @cached_property
    def _inner(self) -> int:
        """How many strides there are up to that of a block."""
        return max(1, sum(stride <= self.most for stride in self._strides))

    @property
    def _width(self) -> int:
        return self._strides[self._inner - 1]

    @property
    def roots(self) -> int:
        """How many blocks there are."""
        return -(-self.size // self._width)

    @property
    def _per_slab(self) -> int:
        return max(1, self.most // self._width)

    @property
    def number(self) -> int:
        """How many slabs there are."""
        return -(-self.roots // self._per_slab)

    def blocks(self, slab: int) -> slice:
        """The blocks of a slab, by number."""
        return slice(slab * self._per_slab, min((slab + 1) * self._per_slab, self.roots))

    def cells(self, slab: int) -> tuple[int, int]:
        """The cells [start, stop) of a slab."""
        own = self.blocks(slab)
        return own.start * self._width, min(own.stop * self._width, self.size)

    def counted(self, slab: int) -> tuple[int, int]:
        """The cells that are counted for a slab: its own."""
        return self.cells(slab)

    def slab_of(self, cell: int) -> int:
        """The slab that holds a cell."""
        return cell // (self._per_slab * self._width)

    # Where answers lie.

    def _intervals(self, level: int, own: slice) -> tuple[int, int]:
        """The intervals [low, high) of a stride inside some blocks."""
        each = self._width // self._strides[level]
        return own.start * each, min(own.stop * each, self._stretches(self._strides[level]))

    def _inside(self, level: int, own: slice) -> Ints:
        """The knots of a stride that lie inside blocks, in strides from the first block's edge."""
        low, high = self._intervals(level, own)
        knots = np.arange(1, high - low, dtype=np.int64)
        return knots[knots % (self._width // self._strides[level]) != 0]

    @cached_property
    def _first_answers(self) -> Ints:
        """The place, among all answers, of the hat on knot 0 of each stride."""
        lengths = [len(self._hats(stride)) for stride in self._strides]
        first = self.size + np.concatenate([[0], np.cumsum(lengths)])[:-1]
        return first - np.array([self._hats(stride).start for stride in self._strides])

    @cached_property
    def _kinds(self) -> Ints:
        """After which answers another kind of noise begins."""
        return np.cumsum(self.asked.lengths)

    def _runs(self, numbers: Ints, begin: int) -> list[HatRun]:
        """Answers of these places, which lie one after the other from `begin` on."""
        kinds = np.searchsorted(self._kinds, numbers, side="right")
        cuts = {0, len(numbers), *(np.flatnonzero(np.diff(kinds)) + 1).tolist()}
        cuts |= set(range(0, len(numbers), _TOGETHER))
        ends = sorted(cuts)
        return [
            HatRun(int(kinds[a]), begin + a, begin + b, numbers=numbers[a:b])
            for a, b in pairwise(ends)
        ]

    def _draw(self, values: Ints, places: Sequence[Ints], noise: Drawn) -> None:
        runs, begin = list[HatRun](), 0
        for numbers in places:
            runs += self._runs(numbers, begin)
            begin += len(numbers)
        in_threads(lambda a, b: noise(values, runs[a:b], 0), len(runs), self.threads)

    def length(self, slab: int) -> int:
        """How many answers a slab has."""
        own = self.blocks(slab)
        start, stop = self.cells(slab)
        return stop - start + sum(len(self._inside(level, own)) for level in range(self._inner - 1))

    # The first pass.

    def _true(self, slab: int, cells: Ints) -> tuple[list[Ints], Ints]:
        """The true answers of a slab: its cells, then its hats by stride; and what each of its
        blocks puts into the hats on its left and on its right edge, by stride."""
        own, inner = self.blocks(slab), self._inner
        number = own.stop - own.start
        parts, edges = [cells], np.empty((number, 2 * inner), np.int64)
        falling = rising = cells
        for level in range(inner):
            low, high = self._intervals(level, own)
            ratio = self._strides[level] // (self._strides[level - 1] if level else 1)
            falling, rising = straight_sums(falling, rising, ratio, high - low)
            each = self._width // self._strides[level]
            edges[:, level] = falling[::each]
            last = np.minimum(np.arange(1, number + 1) * each, high - low) - 1
            edges[:, inner + level] = rising[last]
            if level < inner - 1:
                knots = self._inside(level, own)
                parts.append(falling[knots] + rising[knots - 1])
        return parts, edges

    def draw(self, slab: int, cells: Ints, noise: Drawn) -> tuple[Ints, Ints]:
        """The noisy answers of a slab, and what its blocks truly put into hats on their edges."""
        parts, edges = self._true(slab, np.ascontiguousarray(cells, np.int64))
        own, (start, stop) = self.blocks(slab), self.cells(slab)
        places = [np.arange(start, stop)]
        for level in range(self._inner - 1):
            low = self._intervals(level, own)[0]
            places.append(self._first_answers[level] + low + self._inside(level, own))
        answers = np.concatenate(parts)
        self._draw(answers, places, noise)
        return answers, edges.ravel()

    def totals(self, slab: int, cells: Ints) -> Ints:
        """What the blocks of a slab truly put into the hats on their edges."""
        return self._true(slab, np.ascontiguousarray(cells, np.int64))[1].ravel()

    @property
    def _knots_above(self) -> list[Ints]:
        """The knots of each stride on which hats lie above the slabs, asked or not."""
        found = []
        for level, stride in enumerate(self._strides):
            last = self._stretches(stride)
            each = self._width // stride if level < self._inner else 1
            found.append(np.append(np.arange(0, last, each), last))
        return found

    def _asked_above(self, level: int) -> slice:
        """Which hats of a stride above the slabs are asked."""
        return slice(1, -1) if self._hats(self._strides[level]).start else slice(None)

    @cached_property
    def length_above(self) -> int:
        """How many answers there are above the slabs."""
        return sum(
            len(knots[self._asked_above(level)]) for level, knots in enumerate(self._knots_above)
        )

    def draw_above(self, totals: Ints, noise: Drawn) -> Ints:
        """The noisy answers above the slabs, from what all blocks put into hats on their edges."""
        inner, edges = self._inner, totals.reshape(self.roots, -1)
        found, places = list[Ints](), list[Ints]()
        falling = rising = np.empty(0, np.int64)
        for level, knots in enumerate(self._knots_above):
            if level < inner:
                falling, rising = edges[:, level], edges[:, inner + level]
            else:
                ratio = self._strides[level] // self._strides[level - 1]
                falling, rising = straight_sums(falling, rising, ratio, len(knots) - 1)
            hats = np.append(falling, 0) + np.insert(rising, 0, 0)
            asked = self._asked_above(level)
            found.append(hats[asked])
            places.append(self._first_answers[level] + knots[asked])
        answers = np.concatenate(found)
        self._draw(answers, places, noise)
        return answers

    # The second pass.

    def _part(self, own: slice, slab: slice) -> HatStretch:
        """Some blocks of a slab, whose numbers lie in arrays of the whole slab."""
        inner = self._inner
        ends = np.array([self._intervals(level, own) for level in range(inner)])
        low, high = np.array([self._intervals(level, slab) for level in range(inner)]).T
        hats = np.concatenate([[0], np.cumsum(high - low + 1)])[:-1]
        states = np.concatenate([[0], np.cumsum(2 * np.arange(1, inner + 1) * (high - low))])
        strides = np.array(self._strides[:inner], np.int64)
        starts = states[:-1] - 2 * np.arange(1, inner + 1) * low
        return HatStretch(
            np.ascontiguousarray(ends[:, 0]),
            np.ascontiguousarray(ends[:, 1]),
            hats - low,
            strides,
            starts,
        )

    def _risen(self, slab: int, answers: Ints) -> tuple[Floats, Floats, Floats]:
        """The noisy cells of a slab, its hats and its states, gone up to the blocks."""
        own, inner = self.blocks(slab), self._inner
        part = self._part(own, own)
        start, stop = self.cells(slab)
        sizes = part.high - part.low
        cells = answers[: stop - start].astype(np.float64)
        hats, taken = np.zeros(int((sizes + 1).sum())), stop - start
        for level in range(inner - 1):
            knots = self._inside(level, own)
            noisy = answers[taken : taken + len(knots)] * (1 / (2 * self._strides[level]))
            hats[part.knots[level] + part.low[level] + knots] = noisy
            taken += len(knots)
        states = np.empty(int((2 * np.arange(1, inner + 1) * sizes).sum()))

        def work(begin: int, end: int) -> None:
            each = self._part(slice(own.start + begin, own.start + end), own)
            first, last = int(each.low[0]), int(each.high[0])
            at = first - int(part.low[0])
            place = at * self._strides[0]
            add_lines(self.tables, first, last, cells[place:], states[2 * at :])
            chain = np.zeros(2 * inner + 2)
            go_up(self.tables, each, 1, inner - 1, hats, states, chain)

        in_threads(work, own.stop - own.start, self.threads)
        return cells, hats, states

    def rise(self, slab: int, answers: Ints) -> tuple[Floats, Floats]:
        """What is known of each block of a slab from its own answers: two numbers a stride."""
        own = self.blocks(slab)
        states = self._risen(slab, answers)[2]
        return states[len(states) - 2 * self._inner * (own.stop - own.start) :], np.empty(0)

    def fall(self, slab: int, answers: Ints, steps: Floats, leaves: Floats) -> None:
        """Writes the fitted cells of a slab, from the multipliers of its blocks."""
        own, inner = self.blocks(slab), self._inner
        cells, hats, states = self._risen(slab, answers)
        states[len(states) - len(steps) :] = steps
        low = self._part(own, own).low

        def work(begin: int, end: int) -> None:
            each = self._part(slice(own.start + begin, own.start + end), own)
            go_down(self.tables, each, 1, inner - 1, hats, states, np.zeros(2 * inner + 2))
            first, last = int(each.low[0]), int(each.high[0])
            at = first - int(low[0])
            place = at * self._strides[0]
            fit_lines(self.tables, first, last, cells[place:], states[2 * at :], leaves[place:])

        in_threads(work, own.stop - own.start, self.threads)

    def final_steps(self, above: Ints, roots: Floats, steps: Floats) -> Floats:
        """The multipliers of every block, from what all were fitted to."""
        inner, H = self._inner, len(self._strides)
        lengths = np.array([len(knots) for knots in self._knots_above])
        first = np.concatenate([[0], np.cumsum(lengths)])
        hats, taken = np.zeros(int(first[-1])), 0
        for level, stride in enumerate(self._strides):
            own = hats[first[level] : first[level + 1]][self._asked_above(level)]
            own[:] = above[taken : taken + len(own)] * (1 / (2 * stride))
            taken += len(own)
        strides = np.array([max(stride, self._width) for stride in self._strides], np.int64)
        counts = np.array([self._stretches(stride) for stride in self._strides])
        starts, at = np.zeros(H, np.int64), 0
        for m in range(inner, H + 1):
            starts[m - 1] = at
            at += 2 * m * int(counts[m - 1])
        states = np.empty(at)
        states[: len(roots)] = roots
        part = HatStretch(np.zeros(H, np.int64), counts, first[:-1], strides, starts)
        chain = np.zeros(2 * H + 2)
        go_up(self.tables, part, inner, H, hats, states, chain)
        settle_ends(self.tables, first[:-1], first[1:] - 1, hats, chain)
        go_down(self.tables, part, inner, H, hats, states, chain)
        return states[: len(roots)]
