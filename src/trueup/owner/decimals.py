"""Decimals of Arrow: whole numbers of a power of ten, in 4 to 32 bytes, read to the last digit."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Bools, Floats, Ints

_EXACT = 1 << 53  # up to here every whole number is a float
_POWERS = 22  # up to here every power of ten is


def _unscaled(column: Any) -> tuple[Ints, Bools]:
    """The unscaled numbers that fit 64 bits, and which do."""
    words = column.type.bit_width // 64
    if words == 0:
        return _signed(column, 4).astype(np.int64), np.ones(len(column), np.bool_)
    parts = _signed(column, 8).reshape(len(column), words)
    low = np.ascontiguousarray(parts[:, 0])
    return low, (parts[:, 1:] == (low >> 63)[:, None]).all(axis=1)


def _signed(column: Any, width: int) -> npt.NDArray[Any]:
    bytes_each = column.type.bit_width // 8
    count = len(column) * bytes_each // width
    values = column.buffers()[1]
    if values is None:
        return np.zeros(count, f"i{width}")
    return np.frombuffer(values, f"<i{width}", count, column.offset * bytes_each)


def _large(column: Any, places: Ints) -> list[tuple[int, int]]:
    """The unscaled numbers at some places, however long, with the places."""
    each = column.type.bit_width // 8
    values = column.buffers()[1]
    raw = memoryview(values if values is not None else b"")
    starts = [(place, (column.offset + place) * each) for place in places.tolist()]
    return [(p, int.from_bytes(raw[s : s + each], "little", signed=True)) for p, s in starts]


def whole(column: Any, known: Bools) -> tuple[Ints, Ints, Bools]:
    """Decimals as whole numbers of 128 bits, low and high half, and which are."""
    number, fits = _unscaled(column)
    scale = column.type.scale
    if 0 <= scale <= 18:
        low = number // 10**scale
        is_whole = fits & (low * 10**scale == number)
    else:
        low = np.zeros(len(column), np.int64)
        fits = is_whole = fits & (number == 0)
    high = low >> 63
    is_whole = is_whole.copy()
    for place, large in _large(column, np.flatnonzero(known & ~fits)):
        exact, left = divmod(large, 10**scale) if scale >= 0 else (large * 10**-scale, 0)
        if left == 0 and -(1 << 127) <= exact < 1 << 127:
            low[place] = (exact + (1 << 63)) % (1 << 64) - (1 << 63)
            high[place] = exact >> 64
            is_whole[place] = True
    return low, high, is_whole


def real(column: Any, known: Bools) -> Floats:
    """Decimals as the nearest float64."""
    number, fits = _unscaled(column)
    scale = column.type.scale
    exact = fits & (number >= -_EXACT) & (number <= _EXACT) & (0 <= scale <= _POWERS)
    # Both sides are exact, so the quotient is rounded once.
    x = np.where(exact, number, 0).astype(np.float64) / (10.0**scale if scale <= _POWERS else 1.0)
    for place, large in _large(column, np.flatnonzero(known & ~exact)):
        x[place] = large / 10**scale if scale >= 0 else float(large * 10**-scale)
    return x
