"""Numbers as people write them, and as Python writes them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np

from trueup.errors import InputError, shown
from trueup.facts import Facts

_NUMERIC = frozenset("eEfFgGn%,.d")


class Inexact(ABC):
    """A published number that comes with an interval: how Python and people see it."""

    value: float | int

    @property
    @abstractmethod
    def facts(self) -> Facts:
        """What was asked, what it cost, whom it protects: of all that is in the number."""

    @abstractmethod
    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Where the true number lies, with at least this probability."""

    def with_caps(self, said: str) -> str:
        """A description, and after it that only some rows of each unit are counted, if so."""
        capped = self.facts.capped
        return f"{said} {capped[0].upper()}{capped[1:]}." if capped else said

    def __float__(self) -> float:
        return float(self.value)

    def __round__(self, digits: int | None = None) -> float | int:
        return round(self.value, digits)

    def __format__(self, spec: str) -> str:
        """Value and interval, each in a number's format, such as f"{ratio:.1%}"."""
        return formatted(spec, "{} (95 %: {} to {})", (self.value, *self.interval()), str(self))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}{self.facts.also}>"


def as_number(given: object) -> int | float | None:
    """The number that was given; None if it is none. Infinite ones are refused."""
    if isinstance(given, (bool, np.bool_)):
        return None
    if isinstance(given, (int, np.integer)):
        return int(given)
    if not isinstance(given, (float, np.floating, Fraction, Decimal)):
        return None
    number = float(given)
    if not math.isfinite(number):
        raise InputError(f"An estimate goes with finite numbers only, got {given}.")
    return number


def written(number: float | int) -> str:
    """A number as a person writes it: thousands separated, three figures if it is small."""
    if isinstance(number, int):
        return f"{number:,}"
    if not math.isfinite(number):
        return str(number)
    if abs(number) >= 100 or number.is_integer():
        return f"{number + 0.0:,.0f}"  # no minus zero
    shown = float(f"{number:.3g}")
    return f"{shown:,.{max(0, 2 - math.floor(math.log10(abs(shown))))}f}"


def between(low: float, high: float, word: str = " and ") -> str:
    """The two ends of an interval, rounded so that it does not shrink."""
    return word.join(outward(low, high))


def with_interval(value: float | int, low: float, high: float) -> str:
    """A number and where the true one lies, 95 times in 100."""
    return f"{written(value)} (95 %: {between(low, high, ' to ')})"


def told(count: Inexact, by_interval: bool) -> str:
    """A count and its error, or its interval where all errors beside it are told by theirs."""
    return with_interval(count.value, *count.interval()) if by_interval else str(count)


def outward(low: float, high: float) -> tuple[str, str]:
    """Each end of an interval, rounded so that the interval does not shrink.

    >>> outward(2.6, 1999.2), outward(-0.4, 12.0)
    (('2.60', '2,000'), ('-0.400', '12'))
    """
    return _outward(low, math.floor), _outward(high, math.ceil)


def _outward(end: float, rounded: Callable[[float], int]) -> str:
    """The end of an interval to three figures, rounded so that the interval does not shrink."""
    if not math.isfinite(end):
        return written(end)
    least = math.ulp(0.0)  # of the smallest numbers a thousandth is 0
    step = max(10.0 ** min(0, math.floor(math.log10(abs(end))) - 2), least) if end else 1.0
    return written(rounded(end / step) * step if step < 1 else rounded(end))


def formatted(spec: str, template: str, numbers: Sequence[float], plain: str) -> str:
    """Numbers each in a format of numbers; any other format is that of the plain text."""
    if not _NUMERIC & set(spec):
        return format(plain, spec)
    if spec[-1] == "d":
        spec, numbers = spec[:-1] + ".0f", [float(round(number)) for number in numbers]
    return template.format(*(format(number, spec) for number in numbers))


def check_level(level: float) -> float:
    """A confidence level, refused unless it lies between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
        raise InputError(f"A level must lie between 0 and 1, such as 0.95, got {shown(level)}.")
    return level
