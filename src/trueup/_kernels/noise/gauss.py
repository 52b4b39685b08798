"""Exact discrete Gaussian noise: P(X = x) ∝ exp(−x²/(2σ²)), for any rational variance σ².

No floating-point number takes part. docs/noise.md gives the algorithm and its proof.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trueup._kernels.compiled import compiled
from trueup._kernels.noise.bits import Bits, keystream
from trueup._kernels.noise.gauss_tables import (
    ACCEPT_BITS,
    GaussTables,
    checked_variance,
    gauss_tables,
)
from trueup._kernels.noise.laplace import (
    BATCH,
    RESERVE,
    add_top,
    checked_values,
    draw_part,
    runs_of,
)
from trueup.arrays import Ints
from trueup.errors import InputError

_WORDS = 3  # of 16 bits, for the low bits at the largest variance
_ROUNDING = 4  # in 2^-31: more than `chance` can be off for the exponent it is given
_SMALL = 1 << 29  # in 2^-31: up to here `chance` is that close
_ONE = 1 << ACCEPT_BITS


@compiled
def chance(loss: int) -> int:
    """2^31 · exp(−loss/2^31), within 4, for a loss of at most 1/4; by Horner's rule.

    e^(−x) = 1 − x(1 − x/2(1 − x/3(… (1 − x/9)))): a product and a division round by less than two
    units each time, and the next factor, x/j ≤ 1/4, shrinks that; what is left out is below one.
    """
    found = _ONE
    for j in range(9, 0, -1):
        found = _ONE - ((loss * found) >> ACCEPT_BITS) // j
    return found


@compiled
def verdict(k: int, low: int, low_bits: int, factor: int, shift: int, draw: int) -> int:
    """1 if a draw of 31 bits accepts k and low, 0 if it rejects them, −1 if it does not say.

    The loss is t(2k + t)/(2v), with t = low/2^L below 1 and v the variance in steps of 2^L. It is
    enclosed in whole numbers of 2^-31: t by 24 bits, the product by 31 bits, 1/(2v) by `factor`.
    """
    exact = low_bits <= 24
    t = low << (24 - low_bits) if exact else low >> (low_bits - 24)
    above = t if exact else t + 1
    least = (t * ((k << 25) + t)) >> 29
    most = ((above * ((k << 25) + above)) >> 29) + 1
    if most >= _ONE:
        return -1
    lost = (least * factor) >> (shift - 12)
    lost_most = ((most * (factor + 1)) >> (shift - 12)) + 1
    if lost_most > _SMALL:
        return -1
    if draw + 1 <= chance(lost_most) - _ROUNDING:
        return 1
    return 0 if draw >= chance(lost) + _ROUNDING else -1


@compiled(work=0)
def accept(
    values: Ints,
    chosen: NDArray[np.int16],
    words: NDArray[np.uint32],
    lows: NDArray[np.uint16],
    law: tuple[int, int, int],
    sure: Ints,
    left: Ints,
) -> tuple[int, int]:
    """Adds to each value what was drawn for it if that is accepted; how many are not, or untold.

    A word is a sign and 31 bits that accept or reject. Zero with a minus is rejected: it would be
    met twice. `law` is the number of low bits, the factor and its shift; `left` gets the places of
    those that are not accepted, and of those that are untold.
    """
    low_bits, factor, shift = law
    rejected, tied = left
    mask = (np.int64(1) << low_bits) - 1
    lost = open_ = 0
    for i in range(values.size):
        k = np.int64(chosen[i])
        low = np.int64(lows[0, i])
        for j in range(1, lows.shape[0]):
            low |= np.int64(lows[j, i]) << (16 * j)
        low &= mask
        minus, draw = np.int64(words[i] & np.uint32(1)), np.int64(words[i] >> np.uint32(1))
        size = (k << low_bits) + low
        if k < sure.size and draw < sure[k] and size > 0:
            values[i] += (size ^ -minus) + minus
            continue
        told = -1  # beyond the table the kernel does not say
        if k < sure.size:
            told = 1 if low == 0 else verdict(int(k), int(low), low_bits, factor, shift, int(draw))
        if told < 0:
            tied[open_] = i
            open_ += 1
        elif told == 0 or (size == 0 and minus == 1):
            rejected[lost] = i
            lost += 1
        else:
            values[i] += (size ^ -minus) + minus
    return lost, open_


class _GaussWorkspace(threading.local):
    """Preallocated memory, one a thread. Holds nothing between calls that is used again."""

    def __init__(self) -> None:
        self.fresh = np.empty((2 + 4 + 2 * _WORDS) * BATCH + RESERVE * 8, np.uint8)
        self.chosen = np.empty(BATCH, np.int16)
        self.left = np.empty((2, BATCH), np.int64)


_workspace = _GaussWorkspace()


def sample_into(values: Ints, law: GaussTables, bits: Bits) -> None:
    """Adds a sample to each value, in place, from the bits given; sums are modulo 2^64."""
    for start in range(0, values.size, BATCH):
        batch = values[start : start + BATCH]
        places = _round(batch, law, bits)
        while places.size:  # those that were rejected are drawn anew
            again = np.zeros(places.size, np.int64)
            left = _round(again, law, bits)
            batch[places] += again
            places = places[left]


def _round(values: Ints, law: GaussTables, bits: Bits) -> Ints:
    """One draw for each value: added where it is accepted; the places of the others."""
    space, part = _workspace, law.part
    size = -(-values.size // 4) * 4  # draws are looked up four at a time
    reserve = 8 * min(RESERVE, size // 16 + 16)
    count = -(-law.low_bits // 16)
    wide = 4 if law.low_bits else 0
    fresh = space.fresh[: reserve + (2 + wide + 2 * count) * size]
    bits(fresh)
    ends = np.cumsum([reserve, wide * size, 2 * size, 2 * count * size])
    words = fresh[ends[0] : ends[1]].view(np.uint32)
    prefixes = fresh[ends[1] : ends[2]].view(np.uint16)
    lows = fresh[ends[2] : ends[3]].view(np.uint16).reshape(count, size)
    chosen = space.chosen[:size]
    far: dict[int, int] = {}
    draw_part(part, prefixes, chosen, fresh[:reserve], 0, far, bits)
    if not law.low_bits:
        add_top(values, chosen, part.lowest)
        for at, missing in far.items():
            if at < values.size:
                values[at] += missing
        return np.empty(0, np.int64)
    for at in far:
        chosen[at] = law.sure.size  # a k beyond the table: the kernel leaves it alone
    numbers = (law.low_bits, law.factor, law.shift)
    lost, untold = accept(values, chosen, words, lows, numbers, law.sure, space.left)
    rejected = space.left[0, :lost].tolist()
    for at in space.left[1, :untold].tolist():
        low = sum(int(word) << (16 * j) for j, word in enumerate(lows[:, at]))
        drawn = (far.get(at, int(chosen[at])), low & ((1 << law.low_bits) - 1), int(words[at]))
        sample = _settled(law, *drawn, bits)
        if sample is None:
            rejected.append(at)
        else:
            values[at : at + 1] += np.int64((sample + (1 << 63)) % (1 << 64) - (1 << 63))
    return np.array(rejected, np.int64)


def _settled(law: GaussTables, k: int, low: int, word: int, bits: Bits) -> int | None:
    """What the kernel could not say: the sample, if with more bits it is accepted."""

    def more() -> int:
        eight = np.empty(8, np.uint8)
        bits(eight)
        return int.from_bytes(eight.tobytes(), "little") >> (64 - ACCEPT_BITS)

    size, minus = (k << law.low_bits) + low, word & 1
    if (size == 0 and minus) or not law.accepts(k, low, word >> 1, more):
        return None
    return -size if minus else size


def add_gaussian_noise(values: Ints, variance: object) -> None:
    """Adds independent discrete Gaussian noise of variance parameter σ² to each value, in place.

    The variance is a positive rational from 10^-6 to 10^24.
    """
    checked_values(values)
    sample_into(values, gauss_tables(checked_variance(variance)), keystream().fill)


def add_noise_blocks(values: Ints, lengths: Sequence[int], variances: Sequence[object]) -> None:
    """Adds noise to consecutive runs of the values, each run with a variance of its own.

    Every length and variance is checked before the first value changes.
    """
    exact = [checked_variance(variance) for variance in variances]
    fill = keystream().fill
    for begin, end, variance in runs_of(values, lengths, exact):
        sample_into(values[begin:end], gauss_tables(variance), fill)


def draw(size: int, variance: object) -> Ints:
    """Independent discrete Gaussian samples of variance parameter σ²."""
    if size < 0:
        raise InputError(f"The number of samples must be >= 0, got {size}.")
    values = np.zeros(size, np.int64)
    add_gaussian_noise(values, variance)
    return values
