"""The adaptive mechanism of multiplicative weights: count where the table is furthest off.

After Hardt, Ligett and McSherry (2012). ε has 2T + 1 equal parts: one for the total, and in each of
T rounds one for choosing a box and one for counting it. A box is chosen by the largest of the
scores |true count − whole count of the table so far|, each with discrete Laplace noise of scale
2/part. Scores are whole numbers, and a record moves each by one at most. Fix the noise of all other
scores: a box wins if its own noise is at least some whole number, which is at most two further on a
neighbour; so the choice has the privacy of its part. Where a unit has c rows, all scales are c
times as large.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from trueup._kernels.display.boxes import box_prefix, box_sums
from trueup._kernels.rows.reweigh import level, moved
from trueup.arrays import Ints
from trueup.ask.question import Neighbours, check_neighbours
from trueup.ask.several import check_grid, grid_counts, table_counts
from trueup.axis import Axis
from trueup.axis.numbers import whole_number
from trueup.epsilon import positive
from trueup.errors import InputError, shown
from trueup.measure import new_id
from trueup.release.reweighted import ReweightedCounts, facts_of
from trueup.workload import as_workload, default_workload

Draw = Callable[[int, Fraction], Ints]

_MOST_CELLS = 1 << 20  # every round goes through all of them, many times
_MOST_ROUNDS = 200
_BOXES = 1 << 12  # to choose from


@dataclass(frozen=True, eq=False)
class Weighing:
    """What multiplicative weights are asked for: all of it public, and checked."""

    axes: tuple[Axis, ...]
    epsilon: Fraction
    rounds: int
    starts: Ints
    stops: Ints
    neighbours: Neighbours

    @staticmethod
    def of(
        axes: Axis | Sequence[Axis],
        epsilon: object,
        rounds: object,
        workload: object,
        neighbours: Neighbours,
    ) -> Weighing:
        """Refused where there are too many cells or rounds."""
        over = [axes] if isinstance(axes, Axis) else list(axes)
        if not over or not all(isinstance(axis, Axis) for axis in over):
            raise InputError(f"adaptive needs an axis or several, got {shown(axes)}.")
        cells = math.prod(axis.size for axis in over)
        check_grid(over, cells)
        if cells > _MOST_CELLS:
            raise InputError(
                f"Multiplicative weights go through all cells again and again: at most "
                f"{_MOST_CELLS:,}, got {cells:,}. Ask tu.publish."
            )
        cost, check = positive(epsilon), check_neighbours(neighbours)
        number = whole_number(rounds, "The number of rounds")
        if not 1 <= number <= _MOST_ROUNDS:
            raise InputError(f"There are 1 to {_MOST_ROUNDS} rounds, got {shown(rounds)}.")
        return Weighing(tuple(over), cost, number, *boxes(over, workload), check)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many cells each axis has."""
        return tuple(axis.size for axis in self.axes)

    @property
    def part(self) -> Fraction:
        """The ε of the total, of each choice and of each count."""
        return self.epsilon / (2 * self.rounds + 1)

    def to_json(self) -> dict[str, Any]:
        """What a ledger's entry says of it; the boxes to choose from by their hash."""
        told = hashlib.sha256(np.ascontiguousarray([self.starts, self.stops]).tobytes())
        return {
            "kind": "multiplicative weights",
            "axes": [axis.to_json() for axis in self.axes],
            "rounds": self.rounds,
            "boxes": told.hexdigest(),
        }

    def drawn(self, counts: Ints, unit: str = "row", rows: int = 1) -> ReweightedCounts:
        """The rounds on these counts, of at most so many rows of each unit."""
        from trueup._kernels.noise import laplace
        from trueup._kernels.noise.bits import one_measurement

        with one_measurement():
            total, picked, answers = rounds_of(
                counts, self.starts, self.stops, self.part, self.rounds, laplace.draw, rows
            )
            name = new_id()
        facts = facts_of(self.epsilon, self.neighbours, name, unit=unit, rows=rows)
        starts, stops = self.starts[picked], self.stops[picked]
        return ReweightedCounts(self.axes, starts, stops, answers, total, facts)


def reweighted(table: Any, asked: Weighing) -> ReweightedCounts:
    """The counts of a frame, or of counts in axis order, by multiplicative weights."""
    columns = hasattr(table, "columns") or hasattr(table, "keys")
    found = table_counts(asked.axes, table) if columns else grid_counts(table, asked.sizes)
    return asked.drawn(found)


def boxes(axes: Sequence[Axis], workload: object) -> tuple[Ints, Ints]:
    """The boxes to choose from, by their first cells and ends: public, whatever the data."""
    given = workload if isinstance(workload, (list, tuple)) else [workload] * len(axes)
    if len(given) != len(axes):
        raise InputError(f"Give one workload, or one for each of the {len(axes)} axes.")
    each = max(2, int(_BOXES ** (1 / len(axes))))
    spans = []
    for axis, one in zip(axes, given, strict=True):
        wanted = default_workload(axis) if one is None else as_workload(one)
        wanted.check(axis)
        starts, stops, _ = wanted.sample(axis, each)
        keep = starts < stops
        spans.append(np.unique(np.stack([starts[keep], stops[keep]], axis=1), axis=0))
    index = np.stack([i.ravel() for i in np.indices([len(s) for s in spans])], axis=1)
    found = [span[index[:, n]] for n, span in enumerate(spans)]
    first, last = (np.stack([span[:, end] for span in found], axis=1) for end in (0, 1))
    return first, last


def rounds_of(
    counts: Ints,
    starts: Ints,
    stops: Ints,
    part: Fraction,
    rounds: int,
    draw: Draw,
    rows: int = 1,
) -> tuple[int, Ints, Ints]:
    """The noisy total, the boxes chosen in each round and their noisy counts.

    A unit has at most so many rows: it moves the count of a box by no more, under both relations.
    """
    one, choice = rows / part, 2 * rows / part
    true = box_sums(box_prefix(counts), starts, stops)
    total = int(counts.sum()) + int(draw(1, one)[0])
    table = level(counts.shape, total)
    picked, answers = [], []
    for _ in range(rounds):
        # Whole scores: a real one, rounded with its noise, could move by more than a record does.
        guessed = np.rint(box_sums(box_prefix(table), starts, stops)).astype(np.int64)
        scores = np.abs(true - guessed) + draw(len(true), choice)
        worst = int(np.argmax(scores))
        picked.append(worst)
        answers.append(int(true[worst]) + int(draw(1, one)[0]))
        table = moved(table, starts[picked], stops[picked], answers)
    return total, np.array(picked), np.array(answers, np.int64)
