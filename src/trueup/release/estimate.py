"""Estimate: a number with its error, and what numbers can do."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, overload

from trueup.errors import InputError, shown
from trueup.facts import Facts
from trueup.law import Combination, Errors, Law, added
from trueup.release.intervals import allowing_for_rounding, cut_to_counts
from trueup.release.noise_parts import Part, facts_of, joined
from trueup.release.wording import (
    Inexact,
    as_number,
    between,
    check_level,
    formatted,
    with_interval,
    written,
)

if TYPE_CHECKING:
    from trueup.release.ratio import Ratio
    from trueup.release.sampled import Scaled

ALONE = "This interval covers one count; for several at once use intervals() of the release."


@dataclass(frozen=True, repr=False)
class Estimate(Inexact):
    """A published number and how far it may be from the truth.

    It prints as value ± standard error: the truth lies within one standard error about two times
    in three. Where an adaptive tree counted cells together, and where it was made to be shown, it
    prints with its 95 % interval. Estimates add, subtract and divide, with numbers and with each
    other: noise that two of them share is accounted for, and noise of different measurements is
    independent.

    A count that was made non-negative or whole carries the unbiased estimate of the same count
    (`unbiased`). Its interval comes from that one; a standard error of its own is refused.

    >>> from trueup import CellCounts, Measurement, infer
    >>> release = infer(Measurement(CellCounts(3), [40, 12, 70], epsilon=1))
    >>> young, old = release.range(0, 1), release.range(2, 3)
    >>> print(old - young, (old - young) / 2, young / (young + old))
    30 ± 1.92 15 ± 0.960 0.364 (95 %: 0.345 to 0.382)
    """

    value: float | int
    parts: tuple[Part, ...] = field(compare=False)
    from_unbiased: Estimate | None = field(default=None, compare=False)
    constant: float | int = field(default=0, compare=False)
    """What was added to it that is no estimate."""

    __array_ufunc__ = None  # numpy's numbers leave the arithmetic to us

    @staticmethod
    def of(
        value: float | int,
        combination: Combination,
        errors: Errors,
        facts: Facts,
        from_unbiased: Estimate | None = None,
    ) -> Estimate:
        """The estimate of a combination of the answers of one release."""
        return Estimate(value, (Part.of(errors, combination, facts),), from_unbiased)

    @cached_property
    def facts(self) -> Facts:
        """What was asked, what it cost, whom it protects: of all that is in the number."""
        return facts_of(self.parts)

    @property
    def unbiased(self) -> Estimate:
        """The unbiased estimate of the same count: itself, unless it was made to be shown."""
        return self.from_unbiased or self

    @cached_property
    def std_error(self) -> float:
        """The standard deviation of the value around the truth, as far as noise goes.

        An adaptive tree counts some neighbours together. How their count is shared among them is
        not known, and no part of this: then ask for the interval.
        """
        self._check_unbiased()
        return math.sqrt(math.fsum(part.variance for part in self.parts))

    @cached_property
    def noise_law(self) -> Law:
        """The distribution of the value around the truth."""
        self._check_unbiased()
        return added([part.noise_law for part in self.parts])

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """An interval that holds the true number with this probability, and hardly more.

        Exact for linear inference, whatever the counts: it follows from the distribution of the
        noise, not from a normal curve. Where noise had a say in what was asked, as with adaptive
        trees, it holds at least that often. (Only where no more than a variance is known, as of
        numbers typed in with their standard errors, a normal curve is assumed.) It is about this
        one number; for several at once see `intervals` of the release.

        Of a count that was made to be shown it is the interval of the unbiased count, cut to what
        the true count can be (a whole number, not below 0) and stretched to hold the count shown:
        it holds the truth at least as often.
        """
        check_level(level)
        if self.from_unbiased is not None:
            low, high = self.from_unbiased.interval(level)
            least, most = self._bounds
            ends = cut_to_counts(low, high, self.value, least, most, self._always_whole)
            return float(ends[0]), float(ends[1])
        reach = self.noise_law.half_width(level)
        reach = float(allowing_for_rounding(reach, self.value))
        return self.value - reach, self.value + reach

    def scaled(self, level: float = 0.95) -> Scaled:
        """The count of all units where only a sample counts (`periods_per_unit`): see its facts.

        Its interval holds the noise and the sampling.
        """
        from trueup.release.sampled import scaled

        return scaled(self, level)

    @property
    def told_by_error(self) -> bool:
        """Whether a standard error says how far it may be off; otherwise only an interval does."""
        return self.from_unbiased is None and all(part.noise_alone for part in self.parts)

    @property
    def _bounds(self) -> tuple[float, float]:
        """Between what the true number must lie, as far as that is known."""
        signs = [c >= 0 for part in self.parts for _, c in part.combination]
        known = all(part.facts.never_negative for part in self.parts)
        low = self.constant if known and all(signs) else -math.inf
        return low, self.constant if known and not any(signs) else math.inf

    @property
    def never_negative(self) -> bool:
        """Whether the true number cannot be below 0, as the sum of counts cannot."""
        return self._bounds[0] >= 0

    @property
    def _always_whole(self) -> bool:
        factors = [c for part in self.parts for _, c in part.combination]
        known = all(part.facts.always_whole for part in self.parts)
        return known and all(float(c).is_integer() for c in (*factors, self.constant))

    def describe(self, level: float = 0.95) -> str:
        """The interval in words: what it holds, how often, and what kind it is.

        >>> from trueup import Measurement, CellCounts, infer
        >>> two = infer(Measurement(CellCounts(3), [4, 12, 7], epsilon=1)).range(0, 2)
        >>> print(two.describe().partition(" This interval")[0])
        16, between 12 and 20 with probability 95 %: exact, from the law of the noise.
        """
        low, high = self.interval(level)
        sure = f"with probability {100 * level:.6g} %"
        own = self.unbiased
        exact = own.noise_law.words
        if own is not self:
            cut = " and cut to what a count can be" if self._always_whole else ""
            whose = f"unbiased count {own}"
            if not own.told_by_error:  # where noise had a say in what was asked
                whose = f"count as inferred, {written(own.value)}"
            exact = (
                f"made to be shown, so the interval is that of the {whose} "
                f"({exact}), stretched to hold the number shown{cut}"
            )
            sure += " or more"
        said = f"{written(self.value)}, between {between(low, high)} {sure}: {exact}. {ALONE}"
        return self.with_caps(said)

    def covariance(self, other: Estimate) -> float:
        """How the errors of two estimates move together; 0 if they are independent."""
        return ((self + other).std_error ** 2 - (self - other).std_error ** 2) / 4

    def share(self, whole: Estimate) -> Ratio:
        """Its share of a whole: `release.range(0, 20).share(release.total())`."""
        return self._over(whole)

    def rate(self, of: Estimate, per: float = 1000) -> Ratio:
        """How many of it there are per so many of another."""
        return self._over(of, per, f"per {written(per)}")

    def percentage_change(self, since: Estimate) -> Ratio:
        """By how many percent it is more than another, or less."""
        return self._over(since, 100, "%", -100)

    def _over(self, other: Estimate, *scale: Any) -> Ratio:
        from trueup.release.ratio import Ratio

        return Ratio.of(self, _estimate(other), *scale)

    def _check_unbiased(self) -> None:
        if self.from_unbiased is not None:
            also = ""
            if self.unbiased.told_by_error:
                also = ", or for .unbiased.std_error: that of the unbiased count"
            raise InputError(
                f"This count was made non-negative or whole, so it has no standard error of its "
                f"own. Ask for .interval(level){also}."
            )

    def _linear(self, times: float | int, plus: float | int) -> Estimate:
        """times · estimate + plus."""
        own = self.from_unbiased
        return Estimate(
            times * self.value + plus,
            tuple(part.times(times) for part in self.parts) if times else (),
            None if own is None else own._linear(times, plus),
            times * self.constant + plus,
        )

    def _with(self, other: object, sign: int) -> Estimate:
        """The estimate plus or less another, or a number."""
        if not isinstance(other, Estimate):
            number = as_number(other)
            return NotImplemented if number is None else self._linear(1, sign * number)
        parts = joined([*self.parts, *(part.times(sign) for part in other.parts)])
        value = self.value + other.value if sign > 0 else self.value - other.value
        own = None
        if self.from_unbiased or other.from_unbiased:
            own = self.unbiased._with(other.unbiased, sign)
        return Estimate(value, parts, own, self.constant + sign * other.constant)

    def __add__(self, other: object) -> Estimate:
        return self._with(other, 1)

    def __radd__(self, other: object) -> Estimate:
        return self._with(other, 1)

    def __sub__(self, other: object) -> Estimate:
        return self._with(other, -1)

    def __rsub__(self, other: object) -> Estimate:
        return (-self)._with(other, 1)

    def __neg__(self) -> Estimate:
        return self._linear(-1, 0)

    def __pos__(self) -> Estimate:
        return self

    def __mul__(self, other: object) -> Any:
        if isinstance(other, Estimate):
            from trueup.release.product import Product

            return Product.of(self, other)
        number = as_number(other)
        return NotImplemented if number is None else self._linear(number, 0)

    def __rmul__(self, other: object) -> Any:
        return self * other

    @overload
    def __truediv__(self, other: Estimate) -> Ratio: ...

    @overload
    def __truediv__(self, other: float | Fraction | Decimal) -> Estimate: ...

    def __truediv__(self, other: object) -> Any:
        if isinstance(other, Estimate):
            return self.share(other)
        number = as_number(other)
        if number is None:
            return NotImplemented
        if number == 0:
            raise InputError(f"{self} cannot be divided by 0.")
        divided = self._linear(1 / number, 0)
        return Estimate(self.value / number, divided.parts, divided.from_unbiased, divided.constant)

    def __rtruediv__(self, other: object) -> Ratio:
        number = as_number(other)
        return NotImplemented if number is None else Estimate(number, (), None, number).share(self)

    def _compared(self, other: object) -> NoReturn:
        raise InputError(
            f"{self} and {other} cannot be compared as if they were certain. Ask for "
            f"(a - b).interval(): if all of it lies above 0, a is larger with that probability. "
            f"To compare the published numbers alone: a.value > b.value, or sort with key=float."
        )

    __lt__ = __le__ = __gt__ = __ge__ = _compared

    def __format__(self, spec: str) -> str:
        """Value and error, each in a number's format, such as f"{estimate:,.0f}"."""
        if self.told_by_error:
            return formatted(spec, "{} ± {}", (self.value, self.std_error), str(self))
        return super().__format__(spec)

    def __str__(self) -> str:
        if self.told_by_error:
            return f"{written(self.value)} ± {written(self.std_error)}"
        return with_interval(self.value, *self.interval())


def _estimate(given: object) -> Estimate:
    if not isinstance(given, Estimate):
        raise InputError(f"A ratio needs two estimates, got {shown(given)}.")
    return given
