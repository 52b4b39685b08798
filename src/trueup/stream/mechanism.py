"""How a stream does its work: by nodes of a tree for ε, by windows over the past for ρ."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from trueup.arrays import Floats, Ints
from trueup.ask import CellCounts, GridCounts, TreeCounts
from trueup.ask.question import Question
from trueup.axis import Axis
from trueup.errors import InputError
from trueup.measurement import Measurement
from trueup.stream.errors import StreamErrors
from trueup.stream.past import (
    PastSchedule,
    PastSecret,
    PastStreamErrors,
    PastTotals,
    all_past_totals,
)
from trueup.stream.schedule import Schedule
from trueup.stream.secret import Secret
from trueup.stream.terms import StreamTerms
from trueup.stream.totals import Totals, all_totals

State = Secret | PastSecret
"""What only the owner may see, after some steps."""

Running = Totals | PastTotals
"""Running totals, from what was published."""


def mechanism_of(terms: StreamTerms) -> Mechanism:
    """The way in which a stream of these terms does its work."""
    return ByWindows(terms) if isinstance(terms.schedule, PastSchedule) else ByNodes(terms)


@dataclass(frozen=True)
class ByNodes:
    """Noisy counts of spans of steps, each level with a share of ε."""

    terms: StreamTerms

    @property
    def schedule(self) -> Schedule:
        """The levels."""
        assert isinstance(self.terms.schedule, Schedule)
        return self.terms.schedule

    @cached_property
    def errors(self) -> StreamErrors:
        """The error of the totals."""
        return StreamErrors(self.schedule, self.terms.scales)

    def draw(self, size: int, scale: Fraction) -> Ints:
        """Fresh discrete Laplace noise."""
        from trueup._kernels.noise import laplace

        return laplace.draw(size, scale)

    def start(self) -> Secret:
        """The state before the first step."""
        return Secret.start(self.schedule, self.terms.scales, self.terms.cells)

    def kept(self, steps: int, arrays: dict[str, Any]) -> Secret:
        """The state of which these arrays were kept."""
        later = tuple(arrays[f"later{k}"] for k in range(self.schedule.levels - 1))
        counts, noise = arrays["counts"], arrays["noise"]
        return Secret(self.schedule, self.terms.scales, steps, counts, noise, later)

    def running(self, arrays: dict[str, Any], answers: Ints) -> Totals:
        """The running totals: their sums are kept."""
        if not len(answers):
            return Totals.start(self.errors.spread, self.terms.cells)
        return Totals(self.errors.spread, len(answers), arrays["sums"])

    def all_totals(self, answers: Ints) -> Floats:
        """The total after every step."""
        return all_totals(self.errors.spread, answers)

    def measurement(self, state: Any, answers: Ints, cell: int | None) -> Measurement:
        """The noisy counts of all nodes, as those of a tree.

        Levels that the stream was too short for are left out, and so is their share of ε.
        """
        schedule, steps, last = self.schedule, len(answers), state.last_answers()
        used = next(
            (k + 1 for k, width in enumerate(schedule.widths) if width >= steps), schedule.levels
        )
        noisy = []
        for level in range(used):
            width = schedule.widths[level]
            nodes = answers[width - 1 :: width, level]
            if steps % width:  # the last one is cut short
                nodes = np.vstack([nodes, last[level : level + 1]])
            noisy.append(nodes if cell is None else nodes[:, cell : cell + 1])
        reached = sum(schedule.shares[:used])
        shares = [share / reached for share in schedule.shares[:used]]
        radices = [schedule.radices[k] for k in range(used - 1)]
        if len(noisy[-1]) > 1:  # the nodes of the highest level have no root
            radices.append(len(noisy[-1]))
            shares.append(Fraction(0))
        elif used > 1:
            radices[-1] = len(noisy[-2])
        question: Question = TreeCounts(
            Axis.integers("step", 1, steps), radices=radices[::-1], shares=shares[::-1]
        )
        if self.terms.axis is not None and cell is None:
            question = GridCounts(question, CellCounts(self.terms.axis))  # type: ignore[arg-type]
        # What these answers cost, from the noise that is in them: as `Noise` has it, backwards.
        price = question.price(self.terms.neighbours) * self.terms.rows
        paid = price / (self.terms.scales[used - 1] * question.blocks[0][1])
        every = np.concatenate([level.reshape(-1) for level in reversed(noisy)])
        found = _measured(self.terms, question, every, epsilon=paid)
        if found.noise.scales != self.terms.scales[:used][::-1]:
            raise AssertionError("The noise of the measurement is not that of the stream.")
        return found


@dataclass(frozen=True)
class ByWindows:
    """After every step a window over the past, with Gaussian noise of its own."""

    terms: StreamTerms

    @property
    def schedule(self) -> PastSchedule:
        """The blocks."""
        assert isinstance(self.terms.schedule, PastSchedule)
        return self.terms.schedule

    @cached_property
    def errors(self) -> PastStreamErrors:
        """The error of the totals."""
        return PastStreamErrors(self.schedule, self.terms.scales[0])

    def draw(self, size: int, scale: Fraction) -> Ints:
        """Fresh discrete Gaussian noise."""
        from trueup._kernels.noise import gauss

        return gauss.draw(size, scale)

    def start(self) -> PastSecret:
        """The state before the first step."""
        return PastSecret.start(self.schedule, self.terms.scales[0], self.terms.cells)

    def kept(self, steps: int, arrays: dict[str, Any]) -> PastSecret:
        """The state of which these arrays were kept."""
        counts, last = arrays["counts"], arrays["last"]
        return PastSecret(self.schedule, self.terms.scales[0], steps, counts, last)

    def running(self, arrays: dict[str, Any], answers: Ints) -> PastTotals:
        """The running totals, from the answers."""
        return PastTotals.of(self.schedule, answers)

    def all_totals(self, answers: Ints) -> Floats:
        """The total after every step."""
        return all_past_totals(self.schedule, answers)

    def measurement(self, state: Any, answers: Ints, cell: int | None) -> Measurement:
        """The noisy windows, as those of a question about all steps."""
        if self.terms.axis is not None and cell is None:
            raise InputError(
                "At a rho the history of an axis is trued up cell by cell: give cell=0, 1, …"
            )
        question = self.schedule.question(len(answers))
        scale, rows = self.terms.scales[0], self.terms.rows
        paid = question.square_price(self.terms.neighbours) * rows**2 / (2 * scale)
        found = _measured(self.terms, question, answers[:, 0, cell or 0], rho=paid)
        if found.noise.scales != (scale,):
            raise AssertionError("The noise of the measurement is not that of the stream.")
        return found


Mechanism = ByNodes | ByWindows
"""One way to publish counts step after step."""


def _measured(terms: StreamTerms, question: Question, noisy: Ints, **cost: Fraction) -> Measurement:
    return Measurement(
        question,
        noisy,
        neighbours=terms.neighbours,
        unit=terms.unit,
        rows_per_unit=terms.rows,
        id=terms.id,
        **cost,  # type: ignore[arg-type]
    )
