"""Noise: the exact law of the noise in every answer. Only here stands the privacy formula.

A question tells its price: the most that one record can move its answers, each block of answers
weighed. Noise of scale price · rows per unit / (weight · ε) in every answer of a block then makes
the answers ε-differentially private, for the neighbour relation the price was taken for and for a
unit of at most so many rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from trueup.ask.question import Neighbours, Question, check_neighbours, check_question
from trueup.axis.numbers import whole_number
from trueup.epsilon import positive
from trueup.errors import InputError, shown

Floats = npt.NDArray[np.float64]
Law = Literal["discrete", "continuous"]
LAWS: tuple[Law, ...] = ("discrete", "continuous")
"""Discrete Laplace noise, which is published; Laplace noise on the real line, for experiments."""

_MOST_ROWS = 1_000_000_000


@dataclass(frozen=True)
class Noise:
    """The noise of a question's answers: its cost, whom it protects, and from these the scales.

    >>> from trueup.ask import TreeCounts
    >>> Noise(TreeCounts(4, branching=2), Fraction(1, 2)).scales
    (Fraction(6, 1), Fraction(6, 1), Fraction(6, 1))
    """

    question: Question
    epsilon: Fraction
    neighbours: Neighbours = "add-remove"
    rows_per_unit: int = 1
    law: Law = "discrete"

    def __post_init__(self) -> None:
        put = object.__setattr__
        check_question(self.question)
        put(self, "epsilon", positive(self.epsilon))
        put(self, "neighbours", check_neighbours(self.neighbours))
        put(self, "rows_per_unit", check_rows_per_unit(self.rows_per_unit))
        put(self, "law", check_law(self.law))

    @staticmethod
    def of_unit(question: Question, law: Law = "continuous") -> Noise:
        """The noise at the ε that equals the question's price: scale 1/weight in every block."""
        return Noise(question, question.price(), law=law)

    @cached_property
    def scales(self) -> tuple[Fraction, ...]:
        """The exact noise scale of each block of answers: price · rows / (weight · ε)."""
        return tuple(self.unit / weight for _, weight in self.question.blocks)

    @cached_property
    def unit(self) -> Fraction:
        """The exact noise scale of an answer of weight 1."""
        return self.question.price(self.neighbours) * self.rows_per_unit / self.epsilon

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """How many answers each block has."""
        return tuple(length for length, _ in self.question.blocks)

    @cached_property
    def log_variances(self) -> tuple[float, ...]:
        """The logarithm of the noise variance of each block: finite for scales however small."""
        return tuple(log_noise_variance(scale, self.law) for scale in self.scales)

    @cached_property
    def variances(self) -> tuple[float, ...]:
        """The noise variance of each block."""
        return tuple(math.exp(log) for log in self.log_variances)

    @cached_property
    def relative_weights(self) -> tuple[float, ...]:
        """1/variance of each block, the largest being 1: what least squares needs.

        From logarithms, so that scales far below 1, whose variances underflow, keep their order.
        """
        least = min(self.log_variances)
        return tuple(max(math.exp(least - log), 1e-150) for log in self.log_variances)

    def each_answer(self, values: Any) -> Floats:
        """One value for each answer, from one value a block."""
        return np.repeat(np.asarray(values, np.float64), self.lengths)

    def check_drawable(self) -> None:
        """Refuses scales that the sampler does not draw."""
        from trueup._kernels.noise.laplace_tables import checked_scale

        for scale in self.scales:
            checked_scale(scale)


def check_law(law: object) -> Law:
    """The noise law, refused unless it is one of the two."""
    if law == "discrete" or law == "continuous":
        return law
    raise InputError(f"The noise law must be one of {', '.join(LAWS)}, got {shown(law)}.")


def check_rows_per_unit(rows: object) -> int:
    """How many rows one unit may have, refused unless at least 1."""
    number = whole_number(rows, "rows_per_unit")
    if not 1 <= number <= _MOST_ROWS:
        raise InputError(f"rows_per_unit must lie between 1 and {_MOST_ROWS:,}, got {number}.")
    return number


def noise_variance(scale: Fraction | float, law: str = "discrete") -> float:
    """The variance of (discrete) Laplace noise: 2p/(1 − p)² with p = e^(−1/scale), or 2·scale²."""
    return math.exp(log_noise_variance(scale, law))


def log_noise_variance(scale: Fraction | float, law: str = "discrete") -> float:
    """The logarithm of `noise_variance`, which is finite for scales however small."""
    b = float(scale)
    if law == "continuous":
        return math.log(2) + 2 * math.log(b)
    return math.log(2) - 1 / b - 2 * math.log(-math.expm1(-1 / b))
