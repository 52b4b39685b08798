"""Running totals from what a stream publishes. Anybody can do it: it costs no privacy.

After every step a stream publishes one whole number a level: the noisy count of the node that the
step lies in. Of a node that is still open, the noise of everything later in it is taken off, so
that the number does not depend on what is to come.
"""

from __future__ import annotations

import numpy as np

from trueup.arrays import Floats, Ints
from trueup.stream.schedule import Spread


class Totals:
    """Running totals, step by step; `sums` of complete nodes under an open one, by level."""

    def __init__(self, spread: Spread, steps: int, sums: Floats) -> None:
        self.spread, self.steps, self.sums = spread, steps, sums

    @staticmethod
    def start(spread: Spread, cells: int) -> Totals:
        """Those of a stream that has just begun."""
        return Totals(spread, 0, np.zeros((spread.schedule.levels, cells)))

    def after(self, answers: Ints) -> tuple[Totals, Floats]:
        """The totals after one more step, whose answers are given, one row a level."""
        steps, sums, parts = self.steps + 1, self.sums.copy(), self.spread.own_part
        widths = self.spread.schedule.widths
        count = answers[0].astype(np.float64)
        sums[0] += count
        for level in range(1, len(widths)):
            if steps % widths[level]:
                break
            count = parts[level] * answers[level] + (1 - parts[level]) * sums[level - 1]
            sums[level - 1] = 0.0
            sums[level] += count
        walk = self.spread.walk(np.array([steps]))
        past, future = np.zeros(sums.shape[1]), np.zeros(sums.shape[1])
        for level in range(len(widths) - 1):
            if walk.opened[level, 0]:
                past = past + sums[level]
                surprise = answers[level + 1] - past - future
                past = past + walk.past[level, 0] * surprise
                future = future + walk.future[level, 0] * surprise
        return Totals(self.spread, steps, sums), sums[-1] + past

    def arrays(self) -> dict[str, Floats]:
        """What is kept of it."""
        return {"sums": self.sums}


def all_totals(spread: Spread, answers: Ints) -> Floats:
    """The total after every step, from all answers: steps × levels × cells of them."""
    steps, levels, cells = answers.shape
    number = np.arange(1, steps + 1)
    walk, parts = spread.walk(number), spread.own_part
    past, future = np.zeros((steps, cells)), np.zeros((steps, cells))
    counts = answers[:, 0].astype(np.float64)  # of the complete nodes of a level
    for level in range(levels):
        before = np.concatenate([np.zeros((1, cells)), np.cumsum(counts, axis=0)])
        if level == levels - 1:
            return before[number // spread.schedule.widths[level]] + past
        width, radix = spread.schedule.widths[level + 1], spread.schedule.radices[level]
        complete = number // spread.schedule.widths[level]
        opened = walk.opened[level][:, None]
        past = past + before[complete] - before[complete // radix * radix]
        surprise = answers[:, level + 1] - past - future
        past = np.where(opened, past + walk.past[level][:, None] * surprise, 0.0)
        future = np.where(opened, future + walk.future[level][:, None] * surprise, 0.0)
        below = np.diff(before[::radix], axis=0)
        own = answers[width - 1 :: width, level + 1]
        counts = parts[level + 1] * own + (1 - parts[level + 1]) * below
    raise AssertionError("A schedule has at least one level.")
