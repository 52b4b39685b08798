"""Noise: the exact law of the noise in every answer. Only here stand the privacy formulas.

A question tells its price: the most that one record can move its answers, each block of answers
weighed. Laplace noise of scale price · rows per unit / (weight · ε) in every answer of a block then
makes the answers ε-differentially private, for the neighbour relation the price was taken for and
for a unit of at most so many rows.

It also tells its square price: the same of squared moves, each block with its square. Gaussian
noise of variance square price · rows per unit² / (2 · square · ρ) makes the answers ρ-zCDP.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from trueup.arrays import Floats
from trueup.ask.question import Neighbours, Question, check_neighbours, check_question
from trueup.axis.numbers import whole_number
from trueup.cost import Cost
from trueup.epsilon import rounded
from trueup.errors import InputError, shown

Law = Literal["discrete", "continuous", "gaussian", "normal"]
LAWS: tuple[Law, ...] = ("discrete", "continuous")
"""Discrete Laplace noise, which is published; Laplace noise on the real line, for experiments."""

GAUSSIAN: tuple[Law, ...] = ("gaussian", "normal")
"""The same of Gaussian noise, for costs in ρ: on whole numbers, and on the real line."""

_MOST_ROWS = 1_000_000_000
_SMOOTH = 2.5  # from this σ² on the variance on whole numbers is σ² to the last bit of a float
_REACH = 20  # at most that many terms count below: e^(−400/5) is lost in rounding


@dataclass(frozen=True)
class Noise:
    """The noise of a question's answers: its cost, whom it protects, and from these the scales.

    The cost is an ε, for Laplace noise, or a ρ, for Gaussian noise.

    >>> from trueup.ask import TreeCounts
    >>> Noise(TreeCounts(4, branching=2), Fraction(1, 2)).scales
    (Fraction(6, 1), Fraction(6, 1), Fraction(6, 1))
    >>> Noise(TreeCounts(4, branching=2), rho=Fraction(1, 2)).scales
    (Fraction(3, 1), Fraction(3, 1), Fraction(3, 1))
    """

    question: Question
    epsilon: Fraction | None = None
    neighbours: Neighbours = "add-remove"
    rows_per_unit: int = 1
    law: Law = "discrete"
    rho: Fraction | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        check_question(self.question)
        cost = Cost.of(self.epsilon, self.rho)
        if cost.delta:
            raise InputError("Noise spends no delta: give the cost without one.")
        put(self, "epsilon", cost.epsilon)
        put(self, "rho", cost.rho)
        put(self, "neighbours", check_neighbours(self.neighbours))
        put(self, "rows_per_unit", check_rows_per_unit(self.rows_per_unit))
        put(self, "law", law_for(self.law, cost.rho is not None))

    @staticmethod
    def of_unit(question: Question, law: Law = "continuous") -> Noise:
        """The noise at a cost that equals the question's price: 1/weight in every block.

        For Gaussian laws the cost is half of the square price: variances are 1/square.
        """
        if law in GAUSSIAN:
            return Noise(question, law=law, rho=question.square_price() / 2)
        return Noise(question, question.price(), law=law)

    @property
    def gaussian(self) -> bool:
        """Whether the noise is Gaussian, as it is for a ρ."""
        return self.rho is not None

    @cached_property
    def scales(self) -> tuple[Fraction, ...]:
        """What each block's noise is drawn by, exactly.

        Of Laplace noise the scale, price · rows / (weight · ε); of Gaussian noise the variance σ²,
        square price · rows² / (2 · square · ρ).
        """
        if self.gaussian:
            return tuple(self.unit / square for square in self.question.squares)
        return tuple(self.unit / weight for _, weight in self.question.blocks)

    @cached_property
    def unit(self) -> Fraction:
        """The exact noise scale of an answer of weight 1; of Gaussian noise, the variance."""
        if self.rho is not None:
            return (
                self.question.square_price(self.neighbours) * self.rows_per_unit**2 / 2 / self.rho
            )
        assert self.epsilon is not None
        return self.question.price(self.neighbours) * self.rows_per_unit / self.epsilon

    @property
    def laws(self) -> tuple[Law, ...]:
        """The noise as it is published, and as it would be on the real line."""
        return GAUSSIAN if self.gaussian else LAWS

    @property
    def variance_on_the_line(self) -> float:
        """The variance of an answer of weight 1, were its noise on the real line."""
        return float(self.unit) if self.gaussian else 2 * float(self.unit) ** 2

    @property
    def scale_to_choose_by(self) -> Fraction:
        """The scale of an answer of weight 1, its deviation over √2: for choices, not for noise."""
        if not self.gaussian:
            return self.unit
        return Fraction(math.sqrt(float(self.unit) / 2))

    def scale_of(self, weight: Fraction, square: Fraction) -> Fraction:
        """What noise of this weight, or square, is drawn by, as `scales` are."""
        return self.unit / (square if self.gaussian else weight)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """How many answers each block has."""
        return tuple(self.question.block_lengths)

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
        """Refuses scales that the sampler does not draw, and a question that cannot be asked now:
        one that was asked already, or one whose answers no memory holds."""
        self.question.check_new()
        self.check_scales()

    def check_scales(self) -> None:
        """Refuses scales that the sampler does not draw."""
        if self.gaussian:
            from trueup._kernels.noise.gauss_tables import checked_variance

            for variance in self.scales:
                checked_variance(variance)
            return
        from trueup._kernels.noise.laplace_tables import LEAST, MOST

        wrong = [scale for scale in self.scales if not LEAST <= scale <= MOST]
        if wrong:
            cost = Fraction(self.epsilon or 1)
            least, most = cost * max(self.scales) / MOST, cost * min(self.scales) / LEAST
            advice = "shares of epsilon that differ less"
            if least <= most:
                ends = rounded(least, upward=True), rounded(most, upward=False)
                advice = f"an epsilon between {ends[0]} and {ends[1]}"
            raise InputError(
                f"The noise scale must lie between {LEAST} and {MOST}, got {wrong[0]}. It is "
                f"sensitivity / epsilon: choose {advice}."
            )


def check_law(law: object) -> Law:
    """The noise law, refused unless it is one of those for ε or for ρ."""
    for known in (*LAWS, *GAUSSIAN):
        if law == known:
            return known
    raise InputError(f"The noise law must be one of {', '.join(LAWS)}, got {shown(law)}.")


def law_for(law: object, gaussian: bool) -> Law:
    """The noise law of a cost: for a ρ, Gaussian noise on the same numbers."""
    known = check_law(law)
    if gaussian:
        return GAUSSIAN[LAWS.index(known)] if known in LAWS else known
    if known in GAUSSIAN:
        raise InputError(f"The noise law {known} goes with rho=, not with epsilon=.")
    return known


def common_law(laws: Sequence[str]) -> Law:
    """One law for answers put together; an experiment's noise on the real line stands for both."""
    if {law in GAUSSIAN for law in laws} == {True, False}:
        raise InputError(
            "Some of these counts have Laplace noise and some have Gaussian noise. Put together "
            "those that were asked with epsilon, or those that were asked with rho."
        )
    whole, line = GAUSSIAN if laws and laws[0] in GAUSSIAN else LAWS
    return whole if all(law == whole for law in laws) else line


def check_rows_per_unit(rows: object) -> int:
    """How many rows one unit may have, refused unless at least 1."""
    number = whole_number(rows, "rows_per_unit")
    if not 1 <= number <= _MOST_ROWS:
        raise InputError(f"rows_per_unit must lie between 1 and {_MOST_ROWS:,}, got {number}.")
    return number


def noise_variance(scale: Fraction | float, law: str = "discrete") -> float:
    """The variance of (discrete) Laplace noise: 2p/(1 − p)² with p = e^(−1/scale), or 2·scale².

    Of Gaussian noise the scale is σ²: the variance itself, and on whole numbers a little less.
    """
    return math.exp(log_noise_variance(scale, law))


def log_noise_variance(scale: Fraction | float, law: str = "discrete") -> float:
    """The logarithm of `noise_variance`, which is finite for scales however small."""
    b = float(scale)
    if law == "normal" or (law == "gaussian" and b > _SMOOTH):
        return math.log(b)
    if law == "gaussian":
        # Σ x²·e^(−x²/2σ²) / Σ e^(−x²/2σ²), with e^(−1/2σ²) taken out of the sum above.
        above = math.fsum(x * x * math.exp((1 - x * x) / (2 * b)) for x in range(1, _REACH))
        below = 1 + 2 * math.fsum(math.exp(-x * x / (2 * b)) for x in range(1, _REACH))
        return math.log(2) - 1 / (2 * b) + math.log(above / below)
    if law == "continuous":
        return math.log(2) + 2 * math.log(b)
    return math.log(2) - 1 / b - 2 * math.log(-math.expm1(-1 / b))
