"""Streams under Gaussian noise: after every step one window over the past, with noise of its own.

Each answer is a whole-number sum of counts so far, and its noise is used once. So a stream is a
sequence of measurements, each of which may be of data chosen after the earlier answers, and their
ρ add up: a record at some step moves the answers by a column of weights, whose squared length over
twice the variance is what it costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from trueup._kernels.windows.past import (
    LONGEST_BLOCK,
    LONGEST_COLUMN,
    PastBlock,
    block_starts,
    past_block,
)
from trueup.arrays import Floats, Ints
from trueup.ask import PastCounts
from trueup.ask.question import Neighbours, check_neighbours
from trueup.axis import Axis
from trueup.axis.numbers import whole_number
from trueup.coefficient_classes import law_of
from trueup.errors import InputError
from trueup.infer.past import PastErrors
from trueup.law import Combination, NoiseLaw, added
from trueup.noise import noise_variance
from trueup.stream.errors import cells_alike
from trueup.stream.schedule import Draw, evenly

ENDLESS = 2_048  # steps of the first block where nobody knows how many there will be
MOST_KEPT = 1 << 24  # counts of the steps of a block: all are read and written at every step
_MOST_STEPS = 1 << 24  # of a question about windows over the past
_SAMPLED = 64  # totals whose error is looked at


@dataclass(frozen=True)
class PastSchedule:
    """The blocks of a stream: the first is planned for so many steps, none for more than `most`."""

    first: int
    most: int
    levels = 1

    @staticmethod
    def best(steps: int | None, cells: int) -> PastSchedule:
        """For so many steps, or for any number of them."""
        if steps is not None and not 1 <= whole_number(steps, "steps") <= _MOST_STEPS:
            raise InputError(f"steps must lie between 1 and {_MOST_STEPS:,} at a rho, got {steps}.")
        most = min(LONGEST_BLOCK, MOST_KEPT // cells)
        if most < 1:
            raise InputError(
                f"A step of this stream has {cells:,} counts; at most {MOST_KEPT:,} can be kept. "
                f"Use a coarser axis."
            )
        return PastSchedule(
            min(ENDLESS if steps is None else whole_number(steps, "steps"), most), most
        )

    def variance(self, rho: Fraction, neighbours: Neighbours, rows: int) -> Fraction:
        """The exact variance of the noise: no column is longer than LONGEST_COLUMN.

        Replacing moves a record from one column to another. No weight is negative: the squared
        distance of two columns is at most the sum of their squares.
        """
        columns = 1 if check_neighbours(neighbours) == "add-remove" else 2
        return Fraction(columns * LONGEST_COLUMN**2 * rows**2) / (2 * rho)

    def place(self, step: int) -> tuple[int, PastBlock]:
        """Where the block of a step begins, and its weights."""
        begin, length = block_starts(step + 1, self.first, self.most)[-1]
        return begin, past_block(length)

    def question(self, steps: int) -> PastCounts:
        """What a stream of so many steps has asked."""
        return PastCounts(Axis.integers("step", 1, steps), self.first, self.most)


@dataclass(frozen=True, eq=False)
class PastSecret:
    """What only the owner may see: the exact counts of the steps of the block, a row a step."""

    schedule: PastSchedule
    variance: Fraction
    steps: int
    counts: Ints
    last: Ints

    @staticmethod
    def start(schedule: PastSchedule, variance: Fraction, cells: int) -> PastSecret:
        """The state before the first step."""
        none = np.zeros((0, cells), np.int64)
        return PastSecret(schedule, variance, 0, none, np.zeros(cells, np.int64))

    def after(self, counts: Ints, draw: Draw) -> PastSecret:
        """The state after one more step with these counts, one a cell."""
        begin, block = self.schedule.place(self.steps)
        past = self.counts if begin < self.steps else self.counts[:0]
        kept = np.vstack([past, counts])
        last = block.answer(kept) + draw(len(counts), self.variance)
        return replace(self, steps=self.steps + 1, counts=kept, last=last)

    def answers(self) -> Ints:
        """What is published after the step: one whole number a cell."""
        return self.last[None]

    def arrays(self) -> dict[str, Any]:
        """What is kept of it."""
        return {"counts": self.counts, "last": self.last}


@dataclass(frozen=True, eq=False)
class PastTotals:
    """Running totals from what a stream publishes: by anybody, at no cost."""

    schedule: PastSchedule
    steps: int
    answers: Floats  # of the steps of the block
    total: Floats

    @staticmethod
    def start(schedule: PastSchedule, cells: int) -> PastTotals:
        """Those of a stream that has just begun."""
        return PastTotals(schedule, 0, np.zeros((0, cells)), np.zeros(cells))

    @staticmethod
    def of(schedule: PastSchedule, answers: Ints) -> PastTotals:
        """Those after all the steps of which these are the answers: steps × 1 × cells of them."""
        steps, _, cells = answers.shape
        if not steps:
            return PastTotals.start(schedule, cells)
        begin, _ = schedule.place(steps - 1)
        total = all_past_totals(schedule, answers)[-1]
        return PastTotals(schedule, steps, answers[begin:, 0].astype(np.float64), total)

    def after(self, answers: Ints) -> tuple[PastTotals, Floats]:
        """The totals after one more step, whose answers are given."""
        begin, block = self.schedule.place(self.steps)
        past = self.answers if begin < self.steps else self.answers[:0]
        known = np.vstack([past, answers[0]])
        own = block.back[: len(known)][::-1] @ known / block.by_cell[len(known) - 1]
        found = PastTotals(self.schedule, self.steps + 1, known, self.total + own)
        return found, found.total

    def arrays(self) -> dict[str, Any]:
        """What is kept of it: nothing, the answers tell."""
        return {}


def all_past_totals(schedule: PastSchedule, answers: Ints) -> Floats:
    """The total after every step, from all answers: steps × 1 × cells of them."""
    steps, _, cells = answers.shape
    if not steps:
        return np.zeros((0, cells))
    lines, found = answers[:, 0].T.astype(np.float64), []
    for part, block in schedule.question(steps).parts():
        found.append(block.cells(lines[:, part]))
    return np.cumsum(np.concatenate(found, axis=1), axis=1).T


@dataclass(frozen=True, eq=False)
class PastStreamErrors:
    """The error of the totals of a stream: an answer is (cell, steps), a total after so many steps.

    Cells have noise of their own; totals of one cell share theirs.
    """

    schedule: PastSchedule
    scale: Fraction

    def variances(self, steps: Any) -> Floats:
        """The variance of the total of one cell after each number of steps."""
        asked = np.asarray(steps, np.int64)
        found = np.zeros(len(asked))
        before = 0.0
        if not len(asked):
            return found
        for part, block in self.schedule.question(int(asked.max())).parts():
            inside = (asked > part.start) & (asked <= part.stop)
            if inside.any():
                found[inside] = before + block.total_variances(asked[inside] - part.start)
            before += float(block.total_variances(np.array([part.stop - part.start]))[0])
        return found * noise_variance(self.scale, "gaussian")

    def mean_error(self, steps: int) -> float:
        """The mean squared error of the totals after 1, 2, …, `steps` steps, from some of them."""
        return float(self.variances(evenly(steps, _SAMPLED)).mean())

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of totals."""
        return self.noise_law(combination).variance

    def noise_law(self, combination: Combination) -> NoiseLaw:
        """The law of the error of a combination of totals."""
        laws = []
        for asked, cells in cells_alike(combination).items():
            law = law_of([self._coefficients(asked)], [self.scale], "gaussian")
            laws.append(replace(law, counts=law.counts * cells))
        found = added(laws)
        assert isinstance(found, NoiseLaw)
        return found

    def _coefficients(self, asked: Sequence[tuple[int, float]]) -> Floats:
        """What the noise of every step counts for in a sum of totals of one cell."""
        values = np.zeros(max(steps for steps, _ in asked))
        for steps, coefficient in asked:
            values[:steps] += coefficient
        question = self.schedule.question(len(values))
        return PastErrors(question, self.scale, "gaussian").coefficients(values)
