"""The tables of the discrete Laplace sampler, exact by ball arithmetic.

X with P(X = x) ∝ exp(−|x|/b) is drawn in independent parts (docs/noise.md has the proof):
X = (m << L) + low, the low bits complemented where m < 0. `m` is the top part, on all the
integers; `low` is cut into digits of at most nine bits, each a truncated geometric.

Each part is drawn by inversion (`inversion.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from trueup._kernels.noise.inversion import (
    PREFIX,
    WORD,
    Inverted,
    certain,
    exp,
    expm1,
    floor_of,
    outcomes_of,
)
from trueup.arrays import Words
from trueup.epsilon import positive
from trueup.errors import InputError

LEAST, MOST = Fraction(1, 1000), Fraction(10**9)
TOP_SCALE = 48  # the top part's scale in steps of 2^L: its table has some 4,000 entries at most
DIGIT_BITS = 9


@dataclass(frozen=True)
class SamplerPart(Inverted):
    """One independent part of a sample, and how to draw it."""

    step: Fraction  # an increment of one multiplies the probability by exp(−step)
    bits: int  # a digit has 2^bits outcomes; 0 is the top part, on all the integers
    sign: Fraction  # top part only: negatives weigh exp(−sign) against the others
    word: int
    prefix: int
    lowest: int
    boundaries: Words
    outcomes: NDArray[np.uint16]

    @property
    def ends(self) -> tuple[bool, int | None]:
        """A digit has both ends, the top part none."""
        return (True, (1 << self.bits) - 1) if self.bits else (False, None)

    def cumulative(self, index: int) -> Any:
        """C at an index as a ball: P(outcome ≤ lowest + index), at flint's present precision."""
        outcome = self.lowest + index
        if self.bits:
            return expm1(-(outcome + 1) * self.step) / expm1(-(1 << self.bits) * self.step)
        negative = exp(-self.sign)
        if outcome < 0:  # (p/(1+p)) q^k at outcome −1−k
            return negative / (1 + negative) * exp((outcome + 1) * self.step)
        return 1 - exp(-(outcome + 1) * self.step) / (1 + negative)


@dataclass(frozen=True)
class Tables:
    """All that is needed to draw at one scale: the top part first, then digits, lowest last."""

    scale: Fraction
    parts: tuple[SamplerPart, ...]
    low_bits: int


def _top_boundaries(step: Fraction, sign: Fraction, word: int) -> tuple[int, list[int]] | None:
    """Floors of 2^word C out to where they reach 0 and 2^word − 1; None if one is uncertain."""
    one = flint.arb(flint.fmpz(2) ** word)
    ratio, negative = exp(-step), exp(-sign)
    below: list[int] = []
    power = one * negative / (1 + negative)  # C at −1, −2, …: each q times the one before
    while not below or below[-1] > 0:
        floor = floor_of(power)
        if floor is None:
            return None
        below.append(floor)
        power *= ratio
    above: list[int] = []
    power = one * ratio / (1 + negative)  # 1 − C at 0, 1, …
    while not above or above[-1] < (1 << word) - 1:
        floor = floor_of(one - power)
        if floor is None:
            return None
        above.append(floor)
        power *= ratio
    return -len(below), below[::-1] + above


def _digit_boundaries(step: Fraction, bits: int, word: int) -> tuple[int, list[int]] | None:
    """Floors of 2^word C for all outcomes of a digit but the last, where C is 1."""
    one = flint.arb(flint.fmpz(2) ** word)
    scaled = one / expm1(-(1 << bits) * step)
    floors: list[int] = []
    for outcome in range((1 << bits) - 1):
        floor = floor_of(scaled * expm1(-(outcome + 1) * step))
        if floor is None:
            return None
        floors.append(floor)
    return 0, floors


def _part(step: Fraction, bits: int, sign: Fraction, word: int, prefix: int) -> SamplerPart:
    def made() -> tuple[int, list[int]] | None:
        if bits:
            return _digit_boundaries(step, bits, word)
        return _top_boundaries(step, sign, word)

    lowest, floors = certain(made, word)
    boundaries = np.array(floors, dtype=np.uint64)
    outcomes = outcomes_of(boundaries, word, prefix)
    return SamplerPart(step, bits, sign, word, prefix, lowest, boundaries, outcomes)


def _digit_widths(low_bits: int, most: int) -> list[int]:
    """The low bits in as few digits as may be, of nearly equal width, highest first."""
    digits = -(-low_bits // most)
    return [(low_bits + i) // digits for i in range(digits)]


@lru_cache(maxsize=64)
def tables(
    scale: Fraction,
    word: int = WORD,
    prefix: int = PREFIX,
    top_scale: int = TOP_SCALE,
    digit_bits: int = DIGIT_BITS,
) -> Tables:
    """The tables of one scale, kept for next time.

    Only tests give more than the scale: short words make ties common.

    >>> [part.bits for part in tables(Fraction(1_000_000)).parts]
    [0, 7, 8]
    """
    low_bits = 0
    while scale > top_scale << low_bits:
        low_bits += 1
    parts = [_part((1 << low_bits) / scale, 0, 1 / scale, word, prefix)]
    shift = low_bits
    for bits in _digit_widths(low_bits, digit_bits):
        shift -= bits
        parts.append(_part((1 << shift) / scale, bits, Fraction(0), word, prefix))
    return Tables(scale, tuple(parts), low_bits)


def checked_scale(scale: object) -> Fraction:
    """The scale as an exact number, refused outside [1/1000, 10^9].

    Below, noise is almost surely zero and no count is protected; above, int64 has no room
    to spare for the sums of noisy counts. A Fraction may have any number of digits: it was made
    from a cost that was checked, and what is refused must not hang on how it cancels.
    """
    number = scale if isinstance(scale, Fraction) else positive(scale, "scale")
    if not LEAST <= number <= MOST:
        raise InputError(
            f"The noise scale must lie between {LEAST} and {MOST}, got {number}. "
            "It is sensitivity / epsilon: choose an epsilon that brings it inside."
        )
    return number
