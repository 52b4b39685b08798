"""The nearest rising sequence to numbers that stay on a disk, looked at in a few places.

The rising sequence nearest to y (Theorem 1) reaches a goal t first at the cut where the sum of
y − t over all before it is least. Right of that cut its value is the least mean of a run of y that
begins there; left of it, the largest mean of a run that ends there. Of a block of y whose sum,
least and largest value are known, these sums are known at its ends, and inside it they can only
fall so far. So few blocks are read: those in which a sum might fall below the least that is known.
Large blocks consist of smaller ones, and the search goes from large to small.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.axis import Axis
from trueup.errors import InputError
from trueup.release.distribution import check_total

if TYPE_CHECKING:
    from trueup.files.stored_blocks import Blocks, StoredBlocks


MOST_READ = 1 << 12  # blocks that one quantile reads, of 128 kB each
READ = 1 << 20
"""Numbers on the disk up to which a picture or an interval may read all of them."""


def on_disk(prefix: Any) -> bool:
    """Whether prefix sums stay on the disk."""
    return hasattr(prefix, "blocks")


def too_many(prefix: Any) -> bool:
    """Whether prefix sums stay on the disk and are never all read for a picture or an interval."""
    return on_disk(prefix) and len(prefix) > READ


@dataclass(frozen=True, eq=False)
class BlockedRun:
    """Numbers in blocks: of each its length, sum, least and largest.

    `read` gives what is in a block: its numbers, or these in smaller blocks. The sum is kept as
    what its numbers exceed `before` by, which loses no digits.
    """

    lengths: Ints
    before: Floats
    above: Floats
    least: Floats
    most: Floats
    read: Callable[[int], Floats | BlockedRun]

    @staticmethod
    def inner(prefix: Any) -> BlockedRun:
        """The prefix sums of stored counts but for the first, 0, and the last, the total."""
        blocks: StoredBlocks = prefix.blocks
        total, last = float(prefix[-1]), len(blocks.parts.lengths) - 1

        def inside(part: int) -> BlockedRun:
            own: Blocks = blocks.inside(part)

            def numbers(block: int) -> Floats:
                first = int(own.starts[block]) + 1
                found: Floats = prefix[first : first + int(made.lengths[block])]
                return found

            made = BlockedRun._of(own, numbers, total if part == last else None)
            return made

        return BlockedRun._of(blocks.parts, inside, total)

    @staticmethod
    def _of(
        blocks: Blocks, read: Callable[[int], Floats | BlockedRun], last: float | None
    ) -> BlockedRun:
        """Some blocks; without their last number, if that is given."""
        lengths, above, some = blocks.lengths, blocks.above, len(blocks.lengths)
        if last is not None:
            lengths, above = lengths.copy(), above.copy()
            lengths[-1] -= 1
            above[-1] -= last - blocks.before[-1]
            some -= int(lengths[-1] == 0)
        return BlockedRun(
            lengths[:some],
            blocks.before[:some],
            above[:some],
            blocks.least[:some],
            blocks.most[:some],
            read,
        )

    @cached_property
    def starts(self) -> Ints:
        """Where each block begins, and where the last one ends."""
        return np.concatenate([[0], np.cumsum(self.lengths)])

    def mirrored(self) -> BlockedRun:
        """The same from the last to the first, each with the other sign: what fell, rises."""
        last = len(self.lengths) - 1
        return BlockedRun(
            self.lengths[::-1],
            -self.before[::-1],
            -self.above[::-1],
            -self.most[::-1],
            -self.least[::-1],
            lambda block: _mirror(self.read(last - block)),
        )

    def opened(self, block: int, inside: BlockedRun) -> BlockedRun:
        """The same with smaller blocks in the place of one that consists of them."""

        def spliced(own: npt.NDArray[Any], new: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return np.concatenate([own[:block], new, own[block + 1 :]])

        places = self._places
        return BlockedRun(
            spliced(self.lengths, inside.lengths),
            spliced(self.before, inside.before),
            spliced(self.above, inside.above),
            spliced(self.least, inside.least),
            spliced(self.most, inside.most),
            _Reads([*places[:block], *inside._places, *places[block + 1 :]]),
        )

    @property
    def _places(self) -> list[tuple[Callable[[int], Floats | BlockedRun], int]]:
        """By whom, and under which number, each block is read."""
        if isinstance(self.read, _Reads):
            return self.read.places
        return [(self.read, block) for block in range(len(self.lengths))]

    def _sums(self, goal: float) -> Floats:
        """The sum of y − goal over each block."""
        return self.above + self.lengths * (self.before - goal)

    def _lowest(self, goal: float, at_ends: Floats) -> Floats:
        """How low the running sum of y − goal can be inside each block, from what it is at ends.

        It falls at most as its least number, and rises at most as its largest.
        """
        start, end = at_ends[:-1], at_ends[1:]
        down, up = self.least - goal, self.most - goal
        found = np.minimum(start, end)
        turns = (down < 0) & (up > 0)
        fallen = (up * self.lengths - (end - start))[turns] / (up - down)[turns]
        found[turns] = np.minimum(found[turns], start[turns] + fallen * down[turns])
        return found

    def first(self, goal: float) -> int:
        """How many numbers of the nearest rising sequence are below a goal."""
        if not len(self.lengths):
            return 0
        sums = self._sums(goal)
        near = int(np.argmin(np.cumsum(np.concatenate([[0.0], sums]))))
        # Added up from where they are least, so that the numbers compared have all their digits.
        at_ends = np.concatenate(
            [-np.cumsum(sums[:near][::-1])[::-1], [0.0], np.cumsum(sums[near:])]
        )
        at, number = int(np.argmin(at_ends)), 0
        best = float(at_ends[at]), int(self.starts[at])
        waiting = self._waiting(goal, at_ends, 0, best[0])
        heapq.heapify(waiting)
        while waiting and waiting[0].lowest <= best[0]:
            block = heapq.heappop(waiting)
            inside = block.read()
            if isinstance(inside, BlockedRun):
                sums = inside._sums(goal)
                ends = np.empty(len(sums) + 1)
                if block.first < self.starts[near]:
                    ends[:-1] = block.end - np.cumsum(sums[::-1])[::-1]
                else:
                    ends[1:] = block.start + np.cumsum(sums)
                ends[0], ends[-1] = block.start, block.end
                place = int(np.argmin(ends))
                best = min(best, (float(ends[place]), block.first + int(inside.starts[place])))
                for each in inside._waiting(goal, ends, block.first, best[0]):
                    heapq.heappush(waiting, each)
                continue
            _check_read(number)
            number += 1
            running = block.start + np.cumsum(inside - goal)
            place = int(np.argmin(running))
            best = min(best, (float(running[place]), block.first + place + 1))
        return best[1]

    def _waiting(self, goal: float, at_ends: Floats, first: int, least: float) -> list[_Waiting]:
        """The blocks in which the running sum might fall to the least that is known."""
        lowest = self._lowest(goal, at_ends)
        return [
            _Waiting(
                float(lowest[block]),
                first + int(self.starts[block]),
                float(at_ends[block]),
                float(at_ends[block + 1]),
                partial(self.read, block),
            )
            for block in np.flatnonzero(lowest <= least).tolist()
        ]

    def after(self, cut: int) -> float:
        """The nearest rising sequence right of a cut at which it rises: the least mean from it."""
        block = int(np.searchsorted(self.starts, cut, side="right")) - 1
        inside = self.read(block)
        if isinstance(inside, BlockedRun):
            return self.opened(block, inside).after(cut)
        own, run = inside[cut - int(self.starts[block]) :], self
        mean = own[0] + float((np.cumsum(own - own[0]) / np.arange(1, len(own) + 1)).min())
        unread, number = np.arange(len(self.lengths)) > block, 0
        while True:
            sums = float((own - mean).sum()) + np.cumsum(
                np.concatenate([[0.0], run._sums(mean)[block + 1 :]])
            )
            lower = mean + float((sums / (run.starts - cut)[block + 1 :]).min())
            if lower < mean:
                mean = lower
                continue
            at_ends = np.concatenate([np.full(block + 1, np.inf), sums])
            with np.errstate(invalid="ignore"):
                lowest = np.where(unread, run._lowest(mean, at_ends), np.inf)
            next_ = int(np.argmin(lowest))
            if not lowest[next_] < 0:
                return mean
            inside = run.read(next_)
            if isinstance(inside, BlockedRun):
                run = run.opened(next_, inside)
                more = np.ones(len(inside.lengths), np.bool_)
                unread = np.concatenate([unread[:next_], more, unread[next_ + 1 :]])
                continue
            _check_read(number)
            number += 1
            unread[next_] = False
            running = at_ends[next_] + np.cumsum(inside - mean)
            counts = np.arange(1, len(running) + 1) + run.starts[next_] - cut
            mean = min(mean, mean + float((running / counts).min()))


@dataclass(frozen=True)
class _Reads:
    """Reads blocks that came from several runs."""

    places: list[tuple[Callable[[int], Floats | BlockedRun], int]]

    def __call__(self, block: int) -> Floats | BlockedRun:
        read, own = self.places[block]
        return read(own)


@dataclass(frozen=True, order=True)
class _Waiting:
    """A block that a search may come to: how low the running sum can be in it, and where it is."""

    lowest: float
    first: int
    start: float = field(compare=False)
    """The running sum before its numbers, and after them."""
    end: float = field(compare=False)
    read: Callable[[], Floats | BlockedRun] = field(compare=False)


def _mirror(inside: Floats | BlockedRun) -> Floats | BlockedRun:
    return inside.mirrored() if isinstance(inside, BlockedRun) else -inside[::-1]


def _check_read(number: int) -> None:
    """Refuses to read more than so many blocks for one quantile."""
    if number >= MOST_READ:
        raise InputError(
            f"This quantile depends on more than {MOST_READ:,} blocks of the folder: beside their "
            f"noise the counts are too small to say where it lies. Ask ranges instead, or take "
            f"`release.counts()` and work with all cells in memory."
        )


@dataclass(frozen=True, eq=False)
class RisingOnDisk:
    """Prefix sums on the disk, made to rise from 0 to the total: as `distribution.rising`."""

    run: BlockedRun
    total: float

    @staticmethod
    def of(axis: Axis, prefix: Any) -> RisingOnDisk:
        """Those of stored counts, whose total must be above zero."""
        return RisingOnDisk(BlockedRun.inner(prefix), check_total(axis, prefix))

    def cell(self, goal: float) -> int:
        """The first cell at whose end the goal is reached."""
        return 0 if goal <= 0 else self.run.first(goal)

    def around(self, cell: int) -> tuple[float, float]:
        """What lies below the start of the cell of a goal, and below its end."""
        last = int(self.run.starts[-1])
        low = 0.0 if cell == 0 else -self.run.mirrored().after(last - cell)
        high = self.total if cell == last else self.run.after(cell)
        return min(max(low, 0.0), self.total), min(max(high, 0.0), self.total)
