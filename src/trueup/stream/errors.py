"""How wrong a running total may be: the law of its error, and of any sum of totals."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats
from trueup.law import Combination, NoiseLaw
from trueup.stream.schedule import Schedule, Spread, evenly

_SAME = 1e-12  # coefficients that differ by rounding alone, in parts of 1


def cells_alike(combination: Combination) -> Counter[tuple[tuple[int, float], ...]]:
    """What a combination asks of a cell, totals and their coefficients, and of how many cells."""
    of_cell: dict[int, list[tuple[int, float]]] = {}
    for (cell, steps), coefficient in combination:
        of_cell.setdefault(cell, []).append((steps, coefficient))
    return Counter(tuple(sorted(asked)) for asked in of_cell.values())


@dataclass(frozen=True, eq=False)
class StreamErrors:
    """The error of the totals of a stream: an answer is (cell, steps), a total after so many steps.

    Cells have noise of their own; totals of one cell share theirs.
    """

    schedule: Schedule
    scales: tuple[Fraction, ...]

    @cached_property
    def spread(self) -> Spread:
        """How the noise spreads into totals."""
        return Spread.of(self.schedule, self.scales)

    def variances(self, steps: npt.ArrayLike) -> Floats:
        """The variance of the total of one cell after each number of steps."""
        return self.spread.variances(steps)

    def mean_error(self, steps: int) -> float:
        """The mean squared error of the totals after 1, 2, …, `steps` steps, or many of them."""
        every = self.variances(evenly(steps))
        return math.fsum(every) / len(every)

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of totals."""
        if len(combination) == 1:
            ((_, steps), coefficient) = combination[0]
            return float(self.spread.variances([steps])[0]) * coefficient**2
        return self.noise_law(combination).variance

    def noise_law(self, combination: Combination) -> NoiseLaw:
        """The law of the error of a combination of totals."""
        found: dict[tuple[float, float], float] = {}
        for asked, cells in cells_alike(combination).items():
            for level, part in enumerate(self._noises(dict(asked))):
                kept = np.round(np.abs(part[np.abs(part) > _SAME]) / _SAME) * _SAME
                for each, times in zip(*np.unique(kept, return_counts=True), strict=True):
                    place = float(each), float(self.scales[level])
                    found[place] = found.get(place, 0.0) + float(times) * cells
        columns = np.array([(c, b, n) for (c, b), n in found.items()]).reshape(-1, 3)
        return NoiseLaw(columns[:, 0], columns[:, 1], columns[:, 2])

    def _noises(self, asked: dict[int, float]) -> list[Floats]:
        """What the noise of every node counts for in a sum of totals of one cell, by level."""
        every = [self.noises(steps) for steps in asked]
        found = []
        for level in range(self.schedule.levels):
            parts = [each[level] for each in every]
            whole = np.zeros(max(map(len, parts)))
            for part, coefficient in zip(parts, asked.values(), strict=True):
                whole[: len(part)] += coefficient * part
            found.append(whole)
        return found

    def noises(self, steps: int) -> list[Floats]:
        """What the noise of every node counts for in the total after so many steps, by level.

        Backwards through `Totals`: from what the total takes of each node's count to what it takes
        of each node's noise. The answer that is published of an open node has the noise of all
        that is later in it taken off.
        """
        walk, radices = self.spread.walk(np.array([steps])), self.schedule.radices
        top = len(radices)
        past, future = 1.0, 0.0  # what the total takes of the open node's past and future
        of_open, of_done = [0.0] * (top + 1), [0.0] * top
        for level in reversed(range(top)):
            if walk.opened[level, 0]:
                taken = past * walk.past[level, 0] + future * walk.future[level, 0]
                past, future = past - taken, future - taken
                of_open[level + 1], of_done[level] = taken, past
        found: list[Floats] = []
        counted = np.ones(int(walk.tops[0]))  # what it takes of complete nodes' counts
        for level in reversed(range(top + 1)):
            if level < top:
                radix = radices[level]
                counted = np.repeat((1 - self.spread.own_part[level + 1]) * counted, radix)
                if walk.opened[level, 0]:
                    counted = np.append(counted, np.full(walk.done[level, 0], of_done[level]))
            own = counted * self.spread.own_part[level]
            if level > 0 and walk.opened[level - 1, 0]:
                own = np.append(own, of_open[level])
            if level < top and walk.opened[level, 0]:
                taken_off = -math.fsum(of_open[level + 1 :])
                own = np.append(own, np.full(walk.later[level, 0], taken_off))
            found.append(own)
        return found[::-1]
