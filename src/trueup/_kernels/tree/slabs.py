"""A regular tree in slabs: least squares of a tree that is larger than memory.

A *slab* is a run of the blocks of `blocks.py`, with all their leaves. Slab by slab the answers are
made and every block goes up, which leaves two numbers for each block. The small tree above the
blocks goes up and down in memory. Then, slab by slab again, every block goes up and down: each
number is made from the same numbers in the same order as by `blocks.fit_into`, to the bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trueup._kernels.threads import in_threads
from trueup._kernels.tree import blocks
from trueup._kernels.tree.blocks import block_level
from trueup._kernels.tree.fused import NodeStretch, Noise, Run
from trueup._kernels.tree.regular import RegularTree
from trueup.arrays import Floats, Ints


@dataclass(frozen=True)
class _Span:
    """Some blocks that go up or down together, and where they lie in their slab."""

    stretch: NodeStretch
    number: int
    blocks: slice
    cells: slice
    answers: slice


@dataclass(frozen=True)
class Slabs:
    """A tree cut into slabs of at most so many leaves, at least one span of blocks each."""

    tree: RegularTree
    most: int
    threads: int = 1

    @cached_property
    def top(self) -> int:
        """The level whose nodes are the blocks."""
        return block_level(self.tree)

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.tree.size

    @property
    def roots(self) -> int:
        """How many blocks there are."""
        return self.tree.lengths[self.top]

    @property
    def _width(self) -> int:
        return self.tree.widths[self.top]

    @property
    def _full(self) -> int:
        return self.tree.size // self._width

    @property
    def _together(self) -> int:
        return max(1, blocks.SPAN // self._width)

    @property
    def _per_slab(self) -> int:
        """Spans of a slab."""
        return max(1, self.most // (self._together * self._width))

    @property
    def number(self) -> int:
        """How many slabs there are."""
        return max(1, -(-self._full // (self._together * self._per_slab)))

    def blocks(self, slab: int) -> slice:
        """The blocks of a slab, by number."""
        each = self._together * self._per_slab
        stop = self.roots if slab == self.number - 1 else (slab + 1) * each
        return slice(slab * each, stop)

    def cells(self, slab: int) -> tuple[int, int]:
        """The cells [start, stop) of a slab."""
        own = self.blocks(slab)
        return own.start * self._width, min(own.stop * self._width, self.tree.size)

    def counted(self, slab: int) -> tuple[int, int]:
        """The cells that are counted for a slab: its own."""
        return self.cells(slab)

    def first_cell(self, level: int, node: int) -> int:
        """The first cell of a node."""
        return node * self.tree.widths[level]

    def length(self, slab: int) -> int:
        """How many answers a slab has."""
        return self._spans(slab)[-1].answers.stop

    @cached_property
    def _full_stretches(self) -> dict[int, NodeStretch]:
        return {}

    def _stretch(self, blocks: int) -> NodeStretch:
        """So many full blocks."""
        made = self._full_stretches
        if blocks not in made:
            widths = self.tree.widths[self.top :]
            number = [blocks * (self._width // width) for width in widths]
            made[blocks] = NodeStretch.of(self.tree, self.top, number, step=self._together)
        return made[blocks]

    @cached_property
    def _cut(self) -> NodeStretch:
        """The last block, where it is cut short."""
        lengths, widths = self.tree.lengths[self.top :], self.tree.widths[self.top :]
        number = [
            length - self._full * (self._width // width)
            for length, width in zip(lengths, widths, strict=True)
        ]
        return NodeStretch.of(self.tree, self.top, number, before=self._full)

    def _spans(self, slab: int) -> list[_Span]:
        own, found, answers = self.blocks(slab), list[_Span](), 0
        begin, end = own.start, min(own.stop, self._full)
        first_cell, last_cell = self.cells(slab)
        while begin < own.stop:
            full = min(self._together, end - begin)
            stretch = self._stretch(full) if full > 0 else self._cut
            number = begin // self._together if full > 0 else 0
            stop = begin + max(full, 1)
            cells = slice(
                begin * self._width - first_cell, min(stop * self._width, last_cell) - first_cell
            )
            asked = sum(run.end - run.begin for run in stretch.runs)
            place = slice(answers, answers + asked)
            found.append(
                _Span(stretch, number, slice(begin - own.start, stop - own.start), cells, place)
            )
            begin, answers = stop, answers + asked
        return found

    def draw(self, slab: int, cells: Ints, noise: Noise) -> tuple[Ints, Ints]:
        """The noisy answers of a slab, and the true totals of its blocks.

        Answers lie span by span, the lowest level of each first. Levels that are not asked are not
        among them: of these nothing is kept.
        """
        spans, own = self._spans(slab), self.blocks(slab)
        answers = np.empty(spans[-1].answers.stop, np.int64)
        totals = np.empty(own.stop - own.start, np.int64)

        def work(begin: int, end: int) -> None:
            for span in spans[begin:end]:
                values = np.empty(span.stretch.size, np.int64)
                totals[span.blocks] = span.stretch.count(cells[span.cells], values)
                noise(values, span.stretch.runs, span.number)
                _pack(values, span.stretch.runs, answers[span.answers])

        in_threads(work, len(spans), self.threads)
        return answers, totals

    def totals(self, slab: int, cells: Ints) -> Ints:
        """The true totals of the blocks of a slab."""
        return np.add.reduceat(cells, np.arange(0, len(cells), self._width))

    def rise(self, slab: int, answers: Ints) -> tuple[Floats, Floats]:
        """What is fitted to each block of a slab from its own answers, and its root's step."""
        own = self.blocks(slab)
        roots, steps = np.empty(own.stop - own.start), np.zeros(own.stop - own.start)

        def keep(span: _Span, bottom: Ints, inner: Floats) -> None:
            steps[span.blocks] = inner[span.stretch.size - span.stretch.highest :]

        self._each(slab, answers, roots, keep)
        return roots, steps

    def fall(self, slab: int, answers: Ints, steps: Floats, leaves: Floats) -> None:
        """Writes the leaves of a slab, the steps of its blocks' roots being final."""
        own = self.blocks(slab)
        roots = np.empty(own.stop - own.start)

        def finish(span: _Span, bottom: Ints, inner: Floats) -> None:
            if len(span.stretch.layout):
                inner[span.stretch.size - span.stretch.highest :] = steps[span.blocks]
            span.stretch.fall(bottom, inner, leaves[span.cells])

        self._each(slab, answers, roots, finish)

    def _each(
        self,
        slab: int,
        answers: Ints,
        roots: Floats,
        then: Callable[[_Span, Ints, Floats], None],
    ) -> None:
        """Every span of a slab goes up; then what is to be done with its steps."""
        spans = self._spans(slab)

        def work(begin: int, end: int) -> None:
            for span in spans[begin:end]:
                values = _unpacked(answers[span.answers], span.stretch)
                inner = np.zeros(span.stretch.size)
                bottom = values[: span.cells.stop - span.cells.start]
                span.stretch.rise(bottom, values, inner, roots[span.blocks])
                then(span, bottom, inner)

        in_threads(work, len(spans), self.threads)

    def slab_of(self, cell: int) -> int:
        """The slab that holds a cell."""
        return min(cell // self.cells(0)[1], self.number - 1)

    def by_level(self, slab: int, answers: Ints) -> dict[int, tuple[int, Ints]]:
        """The answers of a slab level by level: the number of the first node, and all of them."""
        firsts, parts = dict[int, int](), dict[int, list[Ints]]()
        for span in self._spans(slab):
            own, taken = answers[span.answers], 0
            for run in span.stretch.runs:
                firsts.setdefault(run.level, run.first + run.step * span.number)
                parts.setdefault(run.level, []).append(own[taken : taken + run.end - run.begin])
                taken += run.end - run.begin
        return {level: (first, np.concatenate(parts[level])) for level, first in firsts.items()}

    # The tree above the blocks.

    @cached_property
    def _above(self) -> NodeStretch:
        return NodeStretch.of(self.tree, 0, self.tree.lengths[: self.top + 1])

    @property
    def _runs_above(self) -> list[Run]:
        return [run for run in self._above.runs if run.level < self.top]

    @property
    def length_above(self) -> int:
        """How many answers there are above the blocks."""
        return sum(run.end - run.begin for run in self._runs_above)

    def above_by_level(self, answers: Ints) -> dict[int, tuple[int, Ints]]:
        """As `by_level`, for the answers above the blocks."""
        found, taken = dict[int, tuple[int, Ints]](), 0
        for run in self._runs_above:
            found[run.level] = 0, answers[taken : taken + run.end - run.begin]
            taken += run.end - run.begin
        return found

    def draw_above(self, totals: Ints, noise: Noise) -> Ints:
        """The noisy answers above the blocks, whose true totals are given."""
        values = np.empty(self._above.size, np.int64)
        self._above.count(totals, values)
        noise(values, self._runs_above, 0)
        answers = np.empty(self.length_above, np.int64)
        _pack(values, self._runs_above, answers)
        return answers

    def final_steps(self, above: Ints, roots: Floats, steps: Floats) -> Floats:
        """The steps of the blocks' roots once the tree above them is fitted."""
        if self.top == 0:
            return steps
        values, inner = np.zeros(self._above.size, np.int64), np.zeros(self._above.size)
        _unpack(above, self._runs_above, values)
        self._above.rise(roots, values, inner, np.empty(self._above.highest))
        final = np.empty(len(roots))
        self._above.fall(steps, inner, final)
        return final


def _pack(values: Ints, runs: list[Run] | tuple[Run, ...], answers: Ints) -> None:
    taken = 0
    for run in runs:
        answers[taken : taken + run.end - run.begin] = values[run.begin : run.end]
        taken += run.end - run.begin


def _unpack(answers: Ints, runs: list[Run] | tuple[Run, ...], values: Ints) -> None:
    taken = 0
    for run in runs:
        values[run.begin : run.end] = answers[taken : taken + run.end - run.begin]
        taken += run.end - run.begin


def _unpacked(answers: Ints, stretch: NodeStretch) -> Ints:
    """The answers of a stretch where its layout has them; 0 where nothing was asked."""
    values = np.zeros(stretch.size, np.int64)
    _unpack(answers, stretch.runs, values)
    return values
