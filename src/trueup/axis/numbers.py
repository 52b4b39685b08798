"""Numbers: read from arrays, from Python, and as a person types them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Bools, Floats, Ints
from trueup.errors import InputError, shown

MOST_CELLS = 1 << 34  # more than folders are made for; a typing error rather than a domain
MOST_LISTED = 1 << 32  # where each cell is listed in memory
COMPILED = 1 << 14  # so many values at once are worth a compiled kernel
_WHOLE = re.compile(r"[+-]?[0-9]{1,4000}")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,3})?", re.I)
_LONGEST = 4000  # digits of a number that somebody might mean


def real_numbers(values: npt.ArrayLike, name: str) -> Floats:
    """The values as float64, NaN where one is missing or is no number."""
    array = np.asarray(values)
    if array.dtype.kind in "iuf":
        return array.astype(np.float64, copy=False)
    if array.dtype.kind == "O":
        return np.array([as_real(value) for value in array.ravel()], np.float64).reshape(
            array.shape
        )
    raise InputError(f"Axis '{name}' takes numbers, got an array of type {array.dtype}.")


def as_real(value: object) -> float:
    if isinstance(value, (bool, np.bool_, str, bytes)) or value is None:
        return math.nan
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan
    except OverflowError:
        return math.inf


def whole_numbers(array: npt.NDArray[Any]) -> tuple[Ints, Bools]:
    """Numbers of any width as 64-bit whole numbers, and which of them are."""
    if array.dtype.kind == "i":
        return array.astype(np.int64, copy=False), np.ones(array.shape, np.bool_)
    if array.dtype.kind == "u":
        known = array <= np.uint64((1 << 63) - 1)
        return array.astype(np.int64), known
    x = array.astype(np.float64, copy=False)
    with np.errstate(invalid="ignore"):
        known = (x >= -(2.0**63)) & (x < 2.0**63) & (x == np.floor(x))
    return np.where(known, x, 0.0).astype(np.int64), known


def whole_number(value: object, what: str) -> int:
    """The int that was given, refused if it is anything else."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise InputError(f"{what} must be a whole number, got {shown(value)}.")
    return int(value)


def finite_number(value: object, what: str) -> float:
    """The finite float that was given, refused if it is anything else."""
    if isinstance(value, (bool, np.bool_, str)):
        raise InputError(f"{what} must be a number, got {shown(value)}.")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what} must be a number, got {shown(value)}.") from None
    if not math.isfinite(number):
        raise InputError(f"{what} must be finite, got {shown(value)}.")
    return number


def typed_whole(text: str) -> int | None:
    """The whole number that a text writes out in digits; None if it writes anything else.

    >>> typed_whole("9007199254740993"), typed_whole("²"), typed_whole("--5")
    (9007199254740993, None, None)
    """
    return int(text) if _WHOLE.fullmatch(text) else None


def typed_number(text: str) -> int | float:
    """The number that a person wrote: an int, exactly, wherever it is whole.

    >>> [typed_number(text) for text in ("9007199254740993", "9007199254740993.0", "1e3", ".125")]
    [9007199254740993, 9007199254740993, 1000, 0.125]
    """
    try:
        if _WHOLE.fullmatch(text):
            return int(text)
        if not text.isascii() or "_" in text or len(text) > _LONGEST:
            raise ValueError  # what float would read too, though no person writes it
        if not _DECIMAL.fullmatch(text):
            return float(text)
        decimal = Decimal(text)
        return int(decimal) if decimal == decimal.to_integral_value() else float(text)
    except ValueError:
        raise InputError(f"{text[:100]!r} is not a number.") from None


def each(boundary: Callable[[object], int], values: npt.NDArray[Any]) -> Ints:
    """The boundary of each value, in the shape of the array."""
    given = values.ravel() if values.dtype.kind == "M" else values.ravel().tolist()
    return np.array([boundary(value) for value in given], np.int64).reshape(values.shape)


def check_size(size: int, name: str, most: int = MOST_CELLS) -> None:
    """Refuses an axis of no cells or of absurdly many."""
    if size < 1:
        raise InputError(f"Axis '{name}' has no cells.")
    if size > most:
        raise InputError(
            f"Axis '{name}' has {size:,} cells; at most {most:,} can be held. Use wider bins."
        )


def off_grid(name: str, given: object, below: object, above: object) -> InputError:
    """The error for a range end that is no edge."""
    after = "the end" if above is None else above
    return InputError(
        f"{given!r} is not an edge of axis '{name}'. The nearest edges are {below} and {after}."
    )


def outside(name: str, given: object, low: object, high: object) -> InputError:
    """The error for a range end beyond the axis."""
    end = "the end" if high is None else high
    return InputError(f"{given!r} is outside axis '{name}', which runs from {low} to {end}.")
