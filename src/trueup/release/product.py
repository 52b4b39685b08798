"""Product: one estimate times another, with an interval that is safe."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn, Protocol

from trueup.errors import InputError
from trueup.facts import Facts
from trueup.release.noise_parts import Part, facts_of, joined
from trueup.release.wording import between, check_level, formatted, written


class Multiplicand(Protocol):
    """What a product is made of: an estimate, as a product needs to know it."""

    @property
    def value(self) -> float | int:
        """The published number."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """Whose noise is in it."""

    def interval(self, level: float = ...) -> tuple[float, float]:
        """Where the true number lies."""


@dataclass(frozen=True, repr=False)
class Product:
    """One estimate times another.

    Its error has no exact law. The interval is safe instead: half of 1 − level is spent on each
    factor, and where both lie in their intervals the product lies in its own. So it holds the true
    product at least as often as it says, whatever noise the two share.
    """

    value: float | int
    first: Multiplicand = field(compare=False)
    second: Multiplicand = field(compare=False)

    @staticmethod
    def of(first: Multiplicand, second: Multiplicand) -> Product:
        """The product of two estimates."""
        return Product(first.value * second.value, first, second)

    @property
    def facts(self) -> Facts:
        """What was asked, what it cost, whom it protects: of all that is in the number."""
        return facts_of(joined([*self.first.parts, *self.second.parts]))

    @property
    def std_error(self) -> NoReturn:
        """Refused: a product of noisy numbers spreads differently around every truth."""
        raise InputError(
            "A product of estimates has no standard error of its own. Ask for its interval: "
            "product.interval(level)."
        )

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """An interval that holds the true product with at least this probability."""
        each = (1 + check_level(level)) / 2
        corners = [a * b for a in self.first.interval(each) for b in self.second.interval(each)]
        return min(corners), max(corners)

    def describe(self, level: float = 0.95) -> str:
        """The interval in words: what it holds, how often, and what kind it is."""
        ends = between(*self.interval(level))
        sure = f"with probability {100 * level:.6g} % or more"
        said = f"{written(self.value)}, between {ends} {sure}: both factors lie in their intervals."
        capped = self.facts.capped
        return f"{said} {capped[0].upper()}{capped[1:]}." if capped else said

    def __float__(self) -> float:
        return float(self.value)

    def __round__(self, digits: int | None = None) -> float | int:
        return round(self.value, digits)

    def __format__(self, spec: str) -> str:
        """Value and interval, each in a number's format."""
        return formatted(spec, "{} (95 %: {} to {})", (self.value, *self.interval()), str(self))

    def __str__(self) -> str:
        return f"{written(self.value)} (95 %: {between(*self.interval(), ' to ')})"

    def __repr__(self) -> str:
        return f"<Product: {self}{self.facts.also}>"
