"""Exact numbers from what a person types: 0.1 means 1/10."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from numbers import Rational

import numpy as np

from trueup.errors import InputError, kind, shown

Exact = int | float | str | Fraction | Decimal

_FLOAT_DIGITS = 15  # every decimal of 15 digits survives a round trip through a float
_SHORT = 9  # decimals
_DIGITS = 100  # of a numerator or denominator: floats of it neither overflow nor vanish
# What is taken as a Fraction is read back from the text that a ledger or a file has of it.
_WHOLE = rf"\d{{1,{_DIGITS}}}"
_TEXT = re.compile(
    rf"[+-]?{_WHOLE}(?:\.\d{{0,{_DIGITS}}})?(?:[eE][+-]?\d{{1,3}})?|[+-]?{_WHOLE}/{_WHOLE}"
)


def exact(value: object, name: str = "epsilon") -> Fraction:
    """The Fraction that was typed: a float is read by its shortest decimal form.

    >>> exact(0.1), exact("1/3"), exact("0.25")
    (Fraction(1, 10), Fraction(1, 3), Fraction(1, 4))
    """
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) > _DIGITS:
        raise _absurd(name)  # before it is multiplied out
    number = _typed(value, name)
    if max(abs(number.numerator), number.denominator) >= 10**_DIGITS:
        raise _absurd(name)
    return number


def _absurd(name: str) -> InputError:
    return InputError(f"{name} is too large, too small or too long: at most {_DIGITS} digits.")


def _typed(value: object, name: str) -> Fraction:
    if isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} must be a number, got {shown(value)}.")
    if isinstance(value, (Rational, np.integer)):
        return Fraction(int(value)) if isinstance(value, np.integer) else Fraction(value)
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise InputError(f"{name} must be a finite number, got {value}.")
        return Fraction(value)
    if isinstance(value, (float, np.floating)):
        if not np.isfinite(value):
            raise InputError(f"{name} must be a finite number, got {value}.")
        shortest = Decimal(str(value))
        if len(shortest.normalize().as_tuple().digits) > _FLOAT_DIGITS:
            raise InputError(
                f"{name} = {value} has more digits than a float holds exactly. "
                f'Give it as text or a Fraction, such as "1/3" or Fraction(1, 3).'
            )
        return Fraction(shortest)
    if isinstance(value, str):
        text = value.strip().replace("_", "")
        if not _TEXT.fullmatch(text):
            raise InputError(
                f'{name} must be a number such as 0.1, "1/10" or Fraction(1, 10), '
                f"got {shown(value)}."
            )
        try:
            return Fraction(text)
        except ZeroDivisionError:
            raise InputError(f"{name} divides by zero: {value!r}.") from None
    raise InputError(f"{name} must be an int, Fraction, Decimal, text or float, got {kind(value)}.")


def positive(value: object, name: str = "epsilon") -> Fraction:
    """The exact number typed, refused unless greater than zero."""
    number = exact(value, name)
    if number <= 0:
        raise InputError(f"{name} must be positive, got {value}.")
    return number


def rounded(number: Fraction, upward: bool) -> str:
    """A number to three figures, as it can be typed.

    >>> rounded(Fraction(1, 3), True), rounded(Fraction(20_000, 3), False)
    ('0.334', '6660')
    """
    context = Context(prec=3, rounding=ROUND_CEILING if upward else ROUND_FLOOR)
    found = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    return f"{found:f}"


def written(cost: Fraction) -> str:
    """A cost as people write it: as a decimal where that is short.

    >>> written(Fraction(253, 1000)), written(Fraction(1, 3)), written(Fraction(2))
    ('0.253', '1/3', '2')
    """
    if 10**_SHORT % cost.denominator:
        return str(cost)
    return f"{Decimal(cost.numerator) / Decimal(cost.denominator):f}"
