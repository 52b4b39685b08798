"""Estimate: a number with its error."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from trueup.errors import InputError
from trueup.facts import Facts
from trueup.law import Combination, Errors, Law, NoiseLaw
from trueup.release.intervals import allowing_for_rounding


@dataclass(frozen=True)
class Estimate:
    """A published number and how far it may be from the truth.

    It prints as value ± standard error: the truth lies within one standard error about two times
    in three. Two estimates of one release subtract and add with their common noise accounted for.

    A count that was made non-negative or whole carries the unbiased estimate of the same count
    (`unbiased`). The error of that one is known; its own is not, and is refused.
    """

    value: float | int
    combination: Combination = field(repr=False, compare=False)
    errors: Errors = field(repr=False, compare=False)
    from_unbiased: Estimate | None = field(default=None, repr=False, compare=False)
    facts: Facts = field(default=Facts(), repr=False, compare=False)
    """What was asked, what it cost, whom it protects; one stamp for the number and its release."""

    @property
    def unbiased(self) -> Estimate:
        """The unbiased estimate of the same count: itself, unless it was made to be shown."""
        return self.from_unbiased or self

    @cached_property
    def std_error(self) -> float:
        """The standard deviation of the value around the truth."""
        self._check_unbiased()
        return math.sqrt(self.errors.variance(self.combination))

    @cached_property
    def noise_law(self) -> Law:
        """The distribution of the value around the truth."""
        self._check_unbiased()
        return self.errors.noise_law(self.combination)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """An interval that holds the true number with this probability, and hardly more.

        Exact for linear inference, whatever the counts: it follows from the distribution of the
        noise, not from a normal curve. (Only where no more than a variance is known, as of numbers
        typed in with their standard errors, a normal curve is assumed.) It is about this one
        number; for several at once see `intervals` of the release.
        """
        check_level(level)
        reach = self.noise_law.half_width(level)
        reach = float(allowing_for_rounding(reach, self.value))
        return self.value - reach, self.value + reach

    def describe(self, level: float = 0.95) -> str:
        """The interval in words: what it holds, how often, and what kind it is.

        >>> from trueup import Measurement, CellCounts, infer
        >>> two = infer(Measurement(CellCounts(3), [4, 12, 7], epsilon=1)).range(0, 2)
        >>> print(two.describe().removesuffix(" It is about this one number alone."))
        16, between 12 and 20 with probability 95 %: exact, from the law of the noise.
        """
        if self.from_unbiased is not None:
            return (
                f"{written(self.value)}, made non-negative or whole to be shown. The unbiased "
                f"estimate is {self.from_unbiased.describe(level)}"
            )
        low, high = self.interval(level)
        exact = "exact, from the law of the noise"
        if not isinstance(self.noise_law, NoiseLaw):
            exact = "by a normal curve, as only standard errors are known"
        ends = f"{_outward(low, math.floor)} and {_outward(high, math.ceil)}"
        return (
            f"{written(self.value)}, between {ends} with probability {100 * level:.6g} %: "
            f"{exact}. It is about this one number alone."
        )

    def covariance(self, other: Estimate) -> float:
        """How the errors of two estimates of one release move together."""
        return ((self + other).std_error ** 2 - (self - other).std_error ** 2) / 4

    def _check_unbiased(self) -> None:
        if self.from_unbiased is not None:
            raise InputError(
                "This count was made non-negative or whole, and the error of least squares is no "
                "longer its own. Ask for .unbiased.std_error or .unbiased.interval(level): they "
                "belong to the unbiased estimate of the same count."
            )

    def __add__(self, other: Estimate) -> Estimate:
        return self._with(other, 1.0)

    def __radd__(self, other: object) -> Estimate:
        if isinstance(other, int) and other == 0:  # where sum() begins
            return self
        return NotImplemented

    def __sub__(self, other: Estimate) -> Estimate:
        return self._with(other, -1.0)

    def _with(self, other: Estimate, sign: float) -> Estimate:
        if not isinstance(other, Estimate):
            return NotImplemented
        if other.errors is not self.errors:
            raise InputError(
                "These estimates come from different releases; combine the releases first "
                "with trueup.reconcile."
            )
        signed = tuple((key, sign * coefficient) for key, coefficient in other.combination)
        value = self.value + other.value if sign > 0 else self.value - other.value
        both = None
        if self.from_unbiased or other.from_unbiased:
            both = self.unbiased._with(other.unbiased, sign)
        return Estimate(value, self.combination + signed, self.errors, both, self.facts)

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        if self.from_unbiased is not None:
            return f"{written(self.value)} (unbiased: {self.from_unbiased})"
        return f"{written(self.value)} ± {written(self.std_error)}"


def check_level(level: float) -> float:
    """A confidence level, refused unless it lies between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
        raise InputError(f"A level must lie between 0 and 1, such as 0.95, got {level!r}.")
    return level


def _outward(end: float, rounded: Callable[[float], int]) -> str:
    """The end of an interval to three figures, rounded so that the interval does not shrink."""
    step = 10.0 ** min(0, math.floor(math.log10(abs(end))) - 2) if end else 1.0
    return written(rounded(end / step) * step if step < 1 else rounded(end))


def written(number: float | int) -> str:
    """A number as a person writes it: thousands separated, three figures if it is small."""
    if isinstance(number, int):
        return f"{number:,}"
    if abs(number) >= 100 or number.is_integer():
        return f"{number + 0.0:,.0f}"  # no minus zero
    shown = float(f"{number:.3g}")
    return f"{shown:,.{max(0, 2 - math.floor(math.log10(abs(shown))))}f}"
