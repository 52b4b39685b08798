"""Which counts a stream keeps: spans of steps, spans of spans, and the share of ε that each has.

Level 0 has one node a step. A node of a higher level spans so many nodes of the level below. The
nodes of the highest level follow each other without end, so a stream never has to stop.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from trueup.arrays import Bools, Floats, Ints
from trueup.ask import TreeCounts
from trueup.ask.question import Neighbours
from trueup.axis.numbers import whole_number
from trueup.epsilon import positive
from trueup.errors import InputError
from trueup.noise import Noise, noise_variance

Draw = Callable[[int, Fraction], Ints]

MOST_STEPS = 1 << 40
_SAMPLED = 2000  # totals whose error is looked at to choose a schedule
_MOST_LOOKED_AT = 1 << 16  # totals whose error is looked at to tell the mean error
_MOST_LEVELS = 8
_WIDER = tuple(0.75 + 0.05 * i for i in range(12))  # radices tried, in parts of the even one
_TILTS = (0.0, 0.1, 0.2, 0.3)  # how much less the highest level gets than the steps
_ENDLESS = (24, *[12] * 10)  # for 24 · 12^10 steps and more: on made-up lengths from 100 to 65,536
_FALLING = Fraction(3, 5)  # the share of a level in that of the level below, where no end is known


@dataclass(frozen=True)
class Schedule:
    """The radices of a stream's levels and their shares of ε, the steps first.

    `radices` has one number less than `shares`: how many nodes of a level one of the next spans.

    >>> Schedule.best(4096).radices
    (10, 10, 10)
    """

    radices: tuple[int, ...]
    shares: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if len(self.shares) != len(self.radices) + 1:
            raise InputError(
                f"A schedule of {len(self.radices) + 1} levels needs as many shares, "
                f"got {len(self.shares)}."
            )
        if min(self.radices, default=2) < 2:
            raise InputError(f"A node spans at least 2 nodes below it, got {min(self.radices)}.")
        if min(self.shares) <= 0 or sum(self.shares) != 1:
            raise InputError("The shares of a schedule must be positive and add up to 1.")

    @staticmethod
    def best(steps: int) -> Schedule:
        """The schedule whose running totals have the least mean squared error over so many steps.

        Radices are alike, shares fall evenly: within two per cent of the best of any.
        """
        steps = whole_number(steps, "steps")
        if not 1 <= steps <= MOST_STEPS:
            raise InputError(f"steps must lie between 1 and {MOST_STEPS:,}, got {steps}.")
        looked = evenly(steps, _SAMPLED)
        found = []
        for levels in range(1, _MOST_LEVELS + 1):
            even = steps ** (1 / levels)
            if levels > 1 and even < 3:
                break
            for radix in dict.fromkeys(max(2, round(even * wider)) for wider in _WIDER):
                for tilt in _TILTS if levels > 1 else (0.0,):
                    tried = Schedule((radix,) * (levels - 1), _falling(levels, tilt))
                    spread = Spread(tried, tuple(2 / float(share) ** 2 for share in tried.shares))
                    found.append((float(spread.variances(looked).mean()), tried))
        return min(found, key=lambda pair: pair[0])[1]

    @staticmethod
    def endless() -> Schedule:
        """A schedule for a stream whose length nobody knows, after 100 steps as after millions."""
        parts = [_FALLING**level for level in range(len(_ENDLESS) + 1)]
        return Schedule(_ENDLESS, tuple(part / sum(parts) for part in parts))

    @property
    def levels(self) -> int:
        """How many levels there are."""
        return len(self.shares)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """How many steps a node of each level spans."""
        return tuple(accumulate(self.radices, lambda a, b: a * b, initial=1))

    def noise(self, epsilon: Fraction, neighbours: Neighbours, rows: int) -> tuple[Fraction, ...]:
        """The exact noise scale of the nodes of each level.

        A step lies in one node of each level, as a cell does in a tree. So the price is that of
        a tree with the same shares, however long; the smallest such tree stands for it.
        """
        shares = (0, *reversed(self.shares))
        tree = TreeCounts(1 << self.levels, radices=(2,) * self.levels, shares=shares)
        return Noise(tree, epsilon, neighbours, rows).scales[::-1]


def evenly(steps: int, most: int = _MOST_LOOKED_AT) -> Ints:
    """The numbers from 1 to `steps`; of more than `most`, so many of them, evenly spread."""
    if steps <= most:
        return np.arange(1, steps + 1)
    return np.unique(np.ceil(np.linspace(0, steps, most + 1)[1:]).astype(np.int64))


def _falling(levels: int, tilt: float) -> tuple[Fraction, ...]:
    parts = [1 - Fraction(tilt).limit_denominator(10) * Fraction(i, levels) for i in range(levels)]
    return tuple(part / sum(parts) for part in parts)


@dataclass(frozen=True, eq=False)
class Walk:
    """How the total after some steps is made, level by level; a column for each number of steps.

    In the open node of level l + 1, `done[l]` nodes of level l are complete and `later[l]` have not
    begun. `past[l]` and `future[l]` are the gains: what of the surprise at the open node's answer
    goes to its past and to its future. `opened[l]` is false where no node of level l + 1 is open.
    `tops` nodes of the highest level are complete.
    """

    done: Ints
    later: Ints
    opened: Bools
    past: Floats
    future: Floats
    tops: Ints
    variances: Floats


@dataclass(frozen=True, eq=False)
class Spread:
    """How noise of given variances, one a level, spreads into running totals."""

    schedule: Schedule
    own: tuple[float, ...]

    @staticmethod
    def of(schedule: Schedule, scales: tuple[Fraction, ...]) -> Spread:
        """The spread of discrete Laplace noise of these scales."""
        return Spread(schedule, tuple(noise_variance(scale) for scale in scales))

    @cached_property
    def complete(self) -> tuple[float, ...]:
        """The variance of a complete node's count, from its own answer and those below it."""
        found = [self.own[0]]
        for radix, own in zip(self.schedule.radices, self.own[1:], strict=True):
            below = radix * found[-1]
            found.append(own * below / (own + below) if own + below else 0.0)
        return tuple(found)

    @cached_property
    def own_part(self) -> tuple[float, ...]:
        """How much of a complete node's count is its own answer; the rest is the sum below it."""
        return tuple(
            all_ / own if own else 1.0 for own, all_ in zip(self.own, self.complete, strict=True)
        )

    def variances(self, steps: npt.ArrayLike) -> Floats:
        """The variance of the total after each number of steps."""
        return self.walk(np.asarray(steps, np.int64)).variances

    def walk(self, steps: Ints) -> Walk:
        """The gains on the way to the total after each number of steps.

        An open node has a past P and a future F that nobody knows. From the nodes below, P and F
        are known with some covariance; the node's own answer is P + F with noise. The gains are
        those of least squares for these three.
        """
        schedule, own, complete = self.schedule, self.own, self.complete
        shape = (schedule.levels - 1, len(steps))
        done, later = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        opened = np.zeros(shape, np.bool_)
        past, future = np.zeros(shape), np.zeros(shape)
        pp, pf, ff = np.zeros(len(steps)), np.zeros(len(steps)), np.zeros(len(steps))
        under = np.zeros(len(steps), np.bool_)  # whether a node of this level is open
        number = steps
        for level, radix in enumerate(schedule.radices):
            number, done[level] = number // radix, number % radix
            above = under | (done[level] > 0)
            later[level] = np.where(above, radix - done[level] - under, 0)
            pp = pp + done[level] * complete[level]
            ff = ff + later[level] * own[level]
            surprise = pp + 2 * pf + ff + own[level + 1]
            surprise[surprise == 0] = 1.0  # no noise at all
            gain_p, gain_f = (pp + pf) / surprise, (pf + ff) / surprise
            opened[level] = under = above
            past[level], future[level] = gain_p * above, gain_f * above
            pp, pf, ff = (
                np.where(above, pp - gain_p * (pp + pf), 0.0),
                np.where(above, pf - gain_p * (pf + ff), 0.0),
                np.where(above, ff - gain_f * (pf + ff), 0.0),
            )
        return Walk(done, later, opened, past, future, number, pp + number * complete[-1])


def mean_error(schedule: Schedule, epsilon: object, steps: int) -> float:
    """The mean squared error of the running totals after 1, 2, …, `steps` steps, or many of them.

    >>> round(mean_error(Schedule.best(4096), 1, 4096), 1)
    195.7
    """
    if not 1 <= whole_number(steps, "steps") <= MOST_STEPS:
        raise InputError(f"steps must lie between 1 and {MOST_STEPS:,}, got {steps}.")
    scales = schedule.noise(positive(epsilon), "add-remove", 1)
    every = Spread.of(schedule, scales).variances(evenly(steps))
    return math.fsum(every) / len(every)
