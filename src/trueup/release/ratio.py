"""Ratio: one estimate divided by another, with an exact interval."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

from trueup.errors import InputError
from trueup.facts import Facts
from trueup.law import added
from trueup.release.accepted import EVERYTHING, Pieces, Ratios
from trueup.release.intervals import allowing_for_rounding
from trueup.release.noise_parts import LawBetween, facts_of, joined, law_between
from trueup.release.wording import Inexact, as_number, between, check_level, written

if TYPE_CHECKING:
    from trueup.release.estimate import Estimate


@dataclass(frozen=True, repr=False)
class Ratio(Inexact):
    """scale · numerator / denominator + shift: a share, a rate, a change in percent.

    A ratio r is in the interval if 0 is in the interval of numerator − r · denominator at that
    level, which is exact. So it holds the true ratio as often as it says, whatever the counts; no
    normal curve, no division of errors. Where the denominator may be 0, no interval bounds the
    ratio, and it says so.
    """

    value: float
    numerator: Estimate = field(compare=False)
    denominator: Estimate = field(compare=False)
    scale: float = field(default=1.0, compare=False)
    unit: str = field(default="", compare=False)
    shift: float = field(default=0.0, compare=False)

    __array_ufunc__ = None  # numpy's numbers leave the arithmetic to us

    @staticmethod
    def of(
        numerator: Estimate, by: Estimate, scale: float = 1.0, unit: str = "", shift: float = 0.0
    ) -> Ratio:
        """The ratio of two estimates; NaN where the denominator is 0."""
        joined([*numerator.parts, *by.parts])  # refused where they share noise in a way unknown
        value = scale * (numerator.value / by.value) + shift if by.value else math.nan
        return Ratio(value, numerator, by, scale, unit, shift)

    @property
    def facts(self) -> Facts:
        every = joined([*self.numerator.parts, *self.denominator.parts])
        return facts_of(every)

    @property
    def unbiased(self) -> Ratio:
        """The ratio of the unbiased estimates: itself, unless one was made to be shown."""
        if not self._shown:
            return self
        one, other = self.numerator.unbiased, self.denominator.unbiased
        return Ratio.of(one, other, self.scale, self.unit, self.shift)

    @property
    def _shown(self) -> bool:
        return any(one.unbiased is not one for one in (self.numerator, self.denominator))

    @property
    def std_error(self) -> NoReturn:
        """Refused: the error of a ratio has no finite variance."""
        raise InputError(
            "A ratio has no standard error: its denominator may come near 0. Ask for its interval: "
            "ratio.interval(level)."
        )

    @cached_property
    def _law(self) -> LawBetween:
        return law_between(self.numerator.unbiased.parts, self.denominator.unbiased.parts)

    def accepted(self, level: float = 0.95) -> Pieces:
        """The ratios not ruled out at a level: one interval, or two rays, or all numbers.

        Together they hold the true ratio with this probability, and hardly more.
        """
        check_level(level)
        pieces = self._pieces(level)
        if self._shown:
            pieces = self._readable(pieces)
        turned = [sorted(self.scale * end + self.shift for end in piece) for piece in pieces]
        return tuple((low, high) for low, high in sorted(turned))

    def _pieces(self, level: float) -> Pieces:
        a, b = self.numerator.unbiased, self.denominator.unbiased
        units = a.std_error or abs(a.value) or 1.0, b.std_error or abs(b.value) or 1.0

        def reach(x: float, y: float) -> float:
            found = added(self._law.laws(x, y)).half_width(level)
            return float(allowing_for_rounding(found, abs(x * a.value) + abs(y * b.value)))

        return Ratios(float(a.value), float(b.value), units, reach).accepted()

    def _readable(self, pieces: Pieces) -> Pieces:
        """The ratios that shown counts can have, and that which they have."""
        if self.numerator.never_negative and self.denominator.never_negative:
            pieces = tuple((max(low, 0.0), high) for low, high in pieces if high >= 0)
        if self.denominator.value == 0:
            return pieces or EVERYTHING
        held = self.numerator.value / self.denominator.value
        if any(low <= held <= high for low, high in pieces):
            return pieces
        if not pieces:
            return ((held, held),)
        near = min(pieces, key=lambda piece: min(abs(piece[0] - held), abs(piece[1] - held)))
        wider = (min(near[0], held), max(near[1], held))
        return tuple(wider if piece is near else piece for piece in pieces)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """An interval that holds the true ratio with this probability, and hardly more.

        An end is infinite where nothing bounds the ratio: `accepted` says what is ruled out then.
        """
        pieces = self.accepted(level)
        return pieces[0][0], pieces[-1][1]

    def describe(self, level: float = 0.95) -> str:
        """The interval in words: what it holds, how often, and what kind it is."""
        pieces = self.accepted(level)
        sure = f"with probability {100 * level:.6g} %"
        own = self.numerator.unbiased.parts + self.denominator.unbiased.parts
        exact = added([part.noise_law for part in own]).words
        if self._shown:
            sure += " or more"
            exact += ", of the unbiased counts, stretched to hold the ratio shown"
        said = f"{self._written}, {_set(pieces)} {sure}: {exact}."
        if len(pieces) > 1 or not all(map(math.isfinite, pieces[0])):
            said += " Nothing bounds the ratio, as at this level the denominator may be 0."
        return self.with_caps(said)

    def _linear(self, times: float, plus: float) -> Ratio:
        if not times:
            raise InputError("A ratio times 0 is 0.")
        changed = replace(self, scale=times * self.scale, shift=times * self.shift + plus)
        return replace(changed, value=times * self.value + plus, unit="")

    def _number(self, other: object, what: str) -> float | None:
        if isinstance(other, Ratio) or hasattr(other, "unbiased"):
            raise InputError(
                f"A ratio {what} another estimate has no known law. Bring it all over one "
                f"denominator first: (a + b) / c has an exact interval."
            )
        return as_number(other)

    def __add__(self, other: object) -> Ratio:
        number = self._number(other, "plus")
        return NotImplemented if number is None else self._linear(1, number)

    def __radd__(self, other: object) -> Ratio:
        return self + other

    def __sub__(self, other: object) -> Ratio:
        number = self._number(other, "less")
        return NotImplemented if number is None else self._linear(1, -number)

    def __rsub__(self, other: object) -> Ratio:
        number = self._number(other, "less")
        return NotImplemented if number is None else self._linear(-1, number)

    def __neg__(self) -> Ratio:
        return self._linear(-1, 0)

    def __mul__(self, other: object) -> Ratio:
        number = self._number(other, "times")
        return NotImplemented if number is None else self._linear(number, 0)

    def __rmul__(self, other: object) -> Ratio:
        return self * other

    def __truediv__(self, other: object) -> Ratio:
        number = self._number(other, "divided by")
        if number is None:
            return NotImplemented
        if number == 0:
            raise InputError(f"{self} cannot be divided by 0.")
        return self._linear(1 / number, 0)

    def _compared(self, other: object) -> NoReturn:
        raise InputError(
            f"{self} and {other} cannot be compared as if they were certain. Ask for the interval "
            f"of the ratio: ratio.interval(level). To compare the published numbers alone: .value."
        )

    __lt__ = __le__ = __gt__ = __ge__ = _compared

    @property
    def _written(self) -> str:
        if math.isnan(self.value):
            return "no ratio, as the denominator is 0"
        return f"{written(self.value)} {self.unit}".rstrip()

    def __str__(self) -> str:
        pieces = self.accepted()
        said = between(*pieces[0], " to ")
        if len(pieces) > 1 or not all(map(math.isfinite, pieces[0])):
            said = _set(pieces)
        return f"{self._written} (95 %: {said})"


def _set(pieces: Pieces) -> str:
    """A set of ratios in words."""
    (low, _), (_, high) = pieces[0], pieces[-1]
    if len(pieces) > 1:
        first, last = pieces[0][1], pieces[1][0]
        return f"unbounded: at most {written(first)} or at least {written(last)}"
    if math.isinf(low) and math.isinf(high):
        return "unbounded: any number"
    if math.isinf(high):
        return f"unbounded: at least {written(low)}"
    if math.isinf(low):
        return f"unbounded: at most {written(high)}"
    return f"between {between(low, high)}"
