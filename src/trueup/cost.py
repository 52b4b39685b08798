"""Cost: what a measurement costs, in ε or in ρ, with or without a δ; and what ρ means as (ε, δ).

Costs are exact Fractions, and those of one notion add up: ε's (pure differential privacy), ρ's
(zero-concentrated), and beside either the δ's. A pure ε costs ρ = ε²/2. A ρ has no pure ε, but for
each δ > 0 it implies an ε (Canonne, Kamath, Steinke 2020, corollary 13):

    ε = inf over α > 1 of  αρ + (ln(1/δ) − ln α)/(α − 1) + ln(1 − 1/α)

That ε is for people to read. It is rounded up, and nothing is decided by it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Literal

from trueup.epsilon import exact, positive
from trueup.errors import InputError

Notion = Literal["epsilon", "rho"]
NOTIONS: tuple[Notion, ...] = ("epsilon", "rho")
LETTERS = {"epsilon": "ε", "rho": "ρ", "delta": "δ"}

SHOWN_AT = Fraction(1, 10**6)
"""The δ at which ρ is shown as (ε, δ) where nobody says another."""

_DIGITS = 60  # of the logarithms
_SHOWN = 4  # significant digits of an ε that is shown
_PLAIN = 100  # denominators up to this one stay fractions where amounts are written
_LONGEST = 10  # characters of a fraction that is written out
_FINE = 12  # digits of an ε that is compared with a wish
_STEPS = 90  # of the search for α, each of which leaves 0.62 of the stretch before it
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class Cost:
    """An amount of ε or of ρ, and a δ beside it: what is paid, or spent, or allowed.

    >>> paid = Cost.of(epsilon=0.1)
    >>> print(paid, "or", paid.counted_in("rho"))
    ε = 1/10 or ρ = 0.005
    >>> print(Cost.of(rho="1/2", delta="1e-9").shown_at("1e-6"))
    ε = 5.222, δ = 1.001e-6
    """

    notion: Notion
    amount: Fraction
    delta: Fraction = Fraction(0)

    @staticmethod
    def of(epsilon: object = None, rho: object = None, delta: object = 0) -> Cost:
        """The cost that was typed, each number exact; refused unless it is ε or ρ, and not both."""
        if isinstance(epsilon, Cost) and rho is None:
            if check_delta(delta):
                raise InputError(
                    "The delta goes into the cost: Cost.of(1, delta=…), and none beside it."
                )
            return epsilon
        if (epsilon is None) == (rho is None):
            given = "neither" if rho is None else "both"
            raise InputError(f"Give the cost as epsilon or as rho, one of the two; got {given}.")
        also = check_delta(delta)
        if rho is not None:
            return Cost("rho", positive(rho, "rho"), also)
        return Cost("epsilon", positive(epsilon), also)

    @staticmethod
    def nothing(notion: Notion) -> Cost:
        """Nothing spent yet."""
        return Cost(notion, Fraction(0))

    @property
    def epsilon(self) -> Fraction | None:
        """The ε, if that is what it is in."""
        return self.amount if self.notion == "epsilon" else None

    @property
    def rho(self) -> Fraction | None:
        """The ρ, if that is what it is in."""
        return self.amount if self.notion == "rho" else None

    def __add__(self, other: Cost) -> Cost:
        if self.notion != other.notion:
            raise InputError("Costs in epsilon and in rho do not add up.")
        return Cost(self.notion, self.amount + other.amount, self.delta + other.delta)

    def counted_in(self, notion: Notion) -> Cost:
        """The same cost in another notion: ε²/2 for ε in ρ, exactly; ρ in ε is refused."""
        if notion == self.notion:
            return self
        if notion == "epsilon":
            raise InputError(
                "This costs rho, and the ledger counts epsilon. Gaussian noise has no finite "
                "epsilon: however large epsilon is, it is passed with some chance. Ask with "
                "epsilon=, or open another ledger that counts rho: Ledger(path, rho=...)."
            )
        return replace(self, notion="rho", amount=self.amount**2 / 2)

    def shown_at(self, delta: object = SHOWN_AT) -> Cost:
        """What it means as (ε, δ): for ρ an ε rounded up, at this δ and what is spent of δ."""
        at = positive(delta, "shown_at_delta")
        if self.notion == "epsilon" or self.amount == 0:
            return replace(self, notion="epsilon")
        return Cost("epsilon", epsilon_of(self.amount, at), at + self.delta)

    @property
    def rounded(self) -> str:
        """The same as decimals of four digits, rounded up: how an (ε, δ) is shown.

        >>> Cost.of("1/3").rounded
        'ε = 0.3334'
        """
        beside = f", δ = {short(self.delta)}" if self.delta else ""
        return f"{LETTERS[self.notion]} = {short(self.amount)}{beside}"

    def __str__(self) -> str:
        beside = f", δ = {short(self.delta)}" if self.delta else ""
        return f"{LETTERS[self.notion]} = {written(self.amount)}{beside}"


def check_notion(notion: object) -> Notion:
    """The notion that costs are counted in, refused unless it is one of the two."""
    if notion not in NOTIONS:
        raise InputError(f"Costs are counted in epsilon or in rho, got {notion!r}.")
    return notion


def check_delta(delta: object, name: str = "delta") -> Fraction:
    """The exact δ typed, refused unless it is at least 0 and below 1."""
    number = exact(delta, name)
    if not 0 <= number < 1:
        raise InputError(f"{name} must be at least 0 and below 1, got {delta}.")
    return number


def epsilon_of(rho: Fraction, delta: Fraction, digits: int = _SHOWN) -> Fraction:
    """The ε that ρ implies at this δ, by the tight conversion, rounded up to so many digits.

    Every α > 1 gives an ε that holds; the best is looked for in floats, and what it gives is
    bounded from above in exact fractions. So a poor α would show too large an ε, never too small.

    >>> float(epsilon_of(Fraction(1, 2), Fraction(1, 10**6)))
    5.222
    """
    if not 0 < delta < 1:
        raise InputError(f"rho is shown at a delta between 0 and 1, got {delta}.")
    if rho <= 0:
        return Fraction(0)
    above = max(_at_most(rho, delta, _best_order(rho, delta)), Fraction(0))
    return Fraction(_up(above, digits))


def rho_within(epsilon: Fraction, delta: Fraction, digits: int = _SHOWN) -> Fraction:
    """The largest ρ of so many digits that means no more than this (ε, δ).

    >>> float(rho_within(Fraction(1), Fraction(1, 10**6)))
    0.02435
    """
    low = high = min(epsilon * epsilon / 2, epsilon)
    while epsilon_of(low, delta, _FINE) > epsilon:
        low, high = low / 2, low
    while epsilon_of(high, delta, _FINE) <= epsilon:
        low, high = high, 2 * high
    while high - low > high / 10 ** (digits + 2):
        middle = (low + high) / 2
        if epsilon_of(middle, delta, _FINE) <= epsilon:
            low = middle
        else:
            high = middle
    return _down(low, digits)


def largest_epsilon(rho: Fraction, digits: int = _SHOWN) -> Fraction:
    """The largest ε of so many digits, or a little less, with ε²/2 ≤ ρ: what ρ pays for.

    >>> largest_epsilon(Fraction(1, 8))
    Fraction(1, 2)
    """
    scale = 10**digits
    while 2 * rho * scale * scale < 10 ** (2 * digits):
        scale *= 10
    return _down(Fraction(math.isqrt(int(2 * rho * scale * scale)), scale), digits)


def _at_most(rho: Fraction, delta: Fraction, beyond: Fraction) -> Fraction:
    """An upper bound of the ε that α = 1 + beyond gives, by bounds of its logarithms."""
    order = 1 + beyond
    lower, _ = _logarithm(order)
    _, upper = _logarithm(1 / delta)
    _, upper_beyond = _logarithm(beyond)
    return order * rho + (upper - lower) / beyond + upper_beyond - lower


def _best_order(rho: Fraction, delta: Fraction) -> Fraction:
    """α − 1 of about the least ε, found by golden sections of ln(α − 1).

    For one α, ε_α ≤ ε where a convex function of α is at most ln δ; so ε_α has one valley.
    """
    log_delta = math.log(delta.denominator) - math.log(delta.numerator)
    log_rho = math.log(rho.numerator) - math.log(rho.denominator)

    def epsilon(log_beyond: float) -> float:
        beyond = math.exp(log_beyond)
        log_order = math.log1p(beyond)
        left = math.exp(log_rho) + math.exp(log_rho + log_beyond)
        return left + (log_delta - log_order) / beyond + log_beyond - log_order

    middle = (math.log(log_delta) - log_rho) / 2
    low, high = middle - 60, middle + 60
    for _ in range(_STEPS):
        reach = _GOLDEN * (high - low)
        if epsilon(high - reach) <= epsilon(low + reach):
            high = low + reach
        else:
            low = high - reach
    return Fraction(math.exp((low + high) / 2))


def _logarithm(number: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of ln(number): Python's decimal logarithms of whole numbers are correctly rounded."""
    context = Context(prec=_DIGITS)
    low = high = Fraction(0)
    for part, sign in ((number.numerator, 1), (number.denominator, -1)):
        found = context.ln(Decimal(part))
        off = Fraction(10) ** (found.adjusted() - _DIGITS + 1)  # a unit in the last place
        low += sign * Fraction(found) - off
        high += sign * Fraction(found) + off
    return low, high


def _down(number: Fraction, digits: int) -> Fraction:
    context = Context(prec=digits, rounding=ROUND_FLOOR)
    return Fraction(context.divide(Decimal(number.numerator), Decimal(number.denominator)))


def _up(number: Fraction, digits: int) -> Decimal:
    """The number as a decimal of so many significant digits, rounded up."""
    context = Context(prec=digits, rounding=ROUND_CEILING)
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def short(number: Fraction, digits: int = _SHOWN) -> str:
    """A number as a person reads it, rounded up where it has more digits than that.

    >>> short(Fraction(1, 10**6)), short(Fraction(1, 3)), short(Fraction(12))
    ('1e-6', '0.3334', '12')
    """
    found = _up(number, digits).normalize(Context(prec=digits))
    if number and found.adjusted() < -3:
        mantissa = found.scaleb(-found.adjusted()).normalize()
        return f"{mantissa:f}e{found.adjusted()}"
    return f"{found:f}"


def written(number: Fraction) -> str:
    """An amount as a person reads it: exact if that is short, else rounded up.

    >>> written(Fraction(1, 10)), written(Fraction(61, 2500)), written(Fraction(1, 3) ** 20)
    ('1/10', '0.0244', '2.868e-10')
    """
    rounded, whole = short(number), str(number)
    if number.denominator > _PLAIN and Fraction(rounded) == number:
        return rounded
    return whole if len(whole) <= _LONGEST else rounded
