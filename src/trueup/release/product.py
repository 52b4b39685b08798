"""Product: one estimate times another, with an interval that is safe."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from trueup.errors import InputError
from trueup.facts import Facts
from trueup.release.noise_parts import facts_of, joined
from trueup.release.wording import Inexact, between, check_level, written

if TYPE_CHECKING:
    from trueup.release.estimate import Estimate


@dataclass(frozen=True, repr=False)
class Product(Inexact):
    """One estimate times another.

    Its error has no exact law. The interval is safe instead: half of 1 − level is spent on each
    factor, and where both lie in their intervals the product lies in its own. So it holds the true
    product at least as often as it says, whatever noise the two share.
    """

    value: float | int
    first: Estimate = field(compare=False)
    second: Estimate = field(compare=False)

    @staticmethod
    def of(first: Estimate, second: Estimate) -> Product:
        """The product of two estimates."""
        return Product(first.value * second.value, first, second)

    @property
    def facts(self) -> Facts:
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
        return self.with_caps(said)

    def __str__(self) -> str:
        return f"{written(self.value)} (95 %: {between(*self.interval(), ' to ')})"
