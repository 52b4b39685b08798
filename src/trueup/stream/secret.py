"""What only the owner may see of a stream: exact counts of open nodes, and the noise in use.

Noise is drawn for all nodes under a node when that node opens. The answer about an open node has
the noise of all that is later in it taken off. Say that one record is added at some step: take 1
off the noise of every node that holds the step. Then every answer, before the step and after it,
is what it was: before, the noise of one node in it went down by 1, and so did that of one later
node, which is taken off; after, the count went up by 1. So the answers of the whole stream, about
data that may depend on earlier answers, tell of a record no more than the noise of one node a
level does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from trueup.arrays import Ints
from trueup.stream.schedule import Draw, Schedule


@dataclass(frozen=True, eq=False)
class Secret:
    """The state of a stream after so many steps: rows are levels, columns cells.

    `later[l]` is the noise of the nodes of level l that have not begun, in the open node above.
    """

    schedule: Schedule
    scales: tuple[Fraction, ...]
    steps: int
    counts: Ints
    noise: Ints
    later: tuple[Ints, ...]

    @staticmethod
    def start(schedule: Schedule, scales: tuple[Fraction, ...], cells: int) -> Secret:
        """The state before the first step."""
        zeros = np.zeros((schedule.levels, cells), np.int64)
        none = np.zeros((0, cells), np.int64)
        return Secret(schedule, scales, 0, zeros, zeros, (none,) * (schedule.levels - 1))

    def after(self, counts: Ints, draw: Draw) -> Secret:
        """The state after one more step with these counts, one a cell."""
        steps, cells = self.steps, len(counts)
        exact, noise, later = self.counts.copy(), self.noise.copy(), list(self.later)
        for level in reversed(range(self.schedule.levels)):
            if steps % self.schedule.widths[level]:
                continue  # the node that is open goes on
            exact[level] = 0
            if level == self.schedule.levels - 1:
                noise[level] = draw(cells, self.scales[level])
            else:
                noise[level], later[level] = later[level][0], later[level][1:]
            if level:
                size = self.schedule.radices[level - 1]
                drawn = draw(size * cells, self.scales[level - 1])
                later[level - 1] = drawn.reshape(size, cells)
        exact += counts
        return replace(self, steps=steps + 1, counts=exact, noise=noise, later=tuple(later))

    def answers(self) -> Ints:
        """What is published after the step: one whole number a level and cell."""
        found = self.counts + self.noise
        for level, noise in enumerate(self.later):
            found[level + 1 :] -= noise.sum(axis=0)
        return found

    def arrays(self) -> dict[str, Ints]:
        """What is kept of it."""
        later = {f"later{level}": noise for level, noise in enumerate(self.later)}
        return {**later, "counts": self.counts, "noise": self.noise}

    def last_answers(self) -> Ints:
        """What is published when the stream is closed: nothing comes later to be taken off."""
        return self.counts + self.noise
