"""The nearest rising sequence to numbers that stay on a disk, looked at in a few places.

The rising sequence nearest to y (Theorem 1) reaches a goal t first at the cut where the sum of
y − t over all before it is least. Right of that cut its value is the least mean of a run of y that
begins there; left of it, the largest mean of a run that ends there. Of a block of y whose sum,
least and largest value are known, these sums are known at its ends, and inside it they can only
fall so far. So few blocks are read: those in which a sum might fall below the least that is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from trueup.axis import Axis
from trueup.errors import InputError
from trueup.release.distribution import check_total

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


MOST_READ = 1 << 12  # blocks that one quantile reads, of 128 kB each
READ = 1 << 20
"""Numbers on the disk up to which a picture or an interval may read all of them."""


def on_disk(prefix: Any) -> bool:
    """Whether prefix sums stay on the disk."""
    return hasattr(prefix, "blocks")


def too_many(prefix: Any) -> bool:
    """Whether prefix sums stay on the disk and are never all read for a picture or an interval."""
    return on_disk(prefix) and len(prefix) > READ


class Blocks(Protocol):
    """What is known of every block of prefix sums: as `files.dataset.StoredBlocks` has it."""

    starts: Ints
    lengths: Ints
    before: Floats
    above: Floats
    least: Floats
    most: Floats


@dataclass(frozen=True, eq=False)
class BlockedRun:
    """Numbers in blocks: of each its length, sum, least and largest; `read` gives its numbers.

    The sum is kept as what its numbers exceed `before` by, which loses no digits.
    """

    lengths: Ints
    before: Floats
    above: Floats
    least: Floats
    most: Floats
    read: Callable[[int], Floats]

    @staticmethod
    def inner(prefix: Any) -> BlockedRun:
        """The prefix sums of stored counts but for the first, 0, and the last, the total."""
        blocks: Blocks = prefix.blocks
        lengths, above = blocks.lengths.copy(), blocks.above.copy()
        lengths[-1] -= 1
        above[-1] -= float(prefix[-1]) - blocks.before[-1]
        some = len(lengths) - int(lengths[-1] == 0)

        def read(block: int) -> Floats:
            first = int(blocks.starts[block]) + 1
            found: Floats = prefix[first : first + int(lengths[block])]
            return found

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
            lambda block: -self.read(last - block)[::-1],
        )

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
        at = int(np.argmin(at_ends))
        least, cut = at_ends[at], int(self.starts[at])
        lowest = self._lowest(goal, at_ends)
        for number, block in enumerate(np.argsort(lowest, kind="stable").tolist()):
            if lowest[block] > least:
                break
            _check_read(number)
            inside = at_ends[block] + np.cumsum(self.read(block) - goal)
            place = int(np.argmin(inside))
            found = float(inside[place]), int(self.starts[block]) + place + 1
            if found < (least, cut):
                least, cut = found
        return cut

    def after(self, cut: int) -> float:
        """The nearest rising sequence right of a cut at which it rises: the least mean from it."""
        block = int(np.searchsorted(self.starts, cut, side="right")) - 1
        own = self.read(block)[cut - int(self.starts[block]) :]
        mean = own[0] + float((np.cumsum(own - own[0]) / np.arange(1, len(own) + 1)).min())
        unread = np.arange(len(self.lengths)) > block
        numbers = (self.starts - cut)[block + 1 :]
        while True:
            sums = float((own - mean).sum()) + np.cumsum(
                np.concatenate([[0.0], self._sums(mean)[block + 1 :]])
            )
            lower = mean + float((sums / numbers).min())
            if lower < mean:
                mean = lower
                continue
            at_ends = np.concatenate([np.full(block + 1, np.inf), sums])
            with np.errstate(invalid="ignore"):
                lowest = np.where(unread, self._lowest(mean, at_ends), np.inf)
            next_ = int(np.argmin(lowest))
            if not lowest[next_] < 0:
                return mean
            _check_read(len(unread) - block - 1 - int(unread.sum()))
            unread[next_] = False
            inside = at_ends[next_] + np.cumsum(self.read(next_) - mean)
            counts = np.arange(1, len(inside) + 1) + self.starts[next_] - cut
            mean = min(mean, mean + float((inside / counts).min()))


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
