"""The tables of the discrete Laplace sampler, exact by ball arithmetic.

X with P(X = x) ∝ exp(−|x|/b) is drawn in independent parts (docs/noise.md has the proof):
X = (m << L) + low, the low bits complemented where m < 0. `m` is the top part, on all the
integers; `low` is cut into digits of at most nine bits, each a truncated geometric.

A part is drawn by inverting its cumulative distribution C: the outcome for a uniform u is
the number of j with C_j < u. The table holds floor(2^64 C_j): a 64-bit word w, which says
only that u lies in [w, w+1)/2^64, decides unless it equals an entry. Then `settle` decides,
with as many more bits and as much precision as it takes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from trueup.epsilon import positive
from trueup.errors import InputError, NoiseError

LEAST, MOST = Fraction(1, 1000), Fraction(10**9)
WORD, PREFIX = 64, 16
TOP_SCALE = 48  # the top part's scale in steps of 2^L: its table has some 4,000 entries at most
DIGIT_BITS = 9
OPEN = 1 << 15  # set where the first bits do not decide: the sign bit of an int16
_PRECISION_LIMIT = 1 << 20

# python-flint keeps its precision in one global. Another thread that changes it can only make
# our balls wider, never wrong; the lock spares us the retries.
_precision = threading.RLock()


@dataclass(frozen=True)
class SamplerPart:
    """One independent part of a sample, and how to draw it."""

    step: Fraction  # an increment of one multiplies the probability by exp(−step)
    bits: int  # a digit has 2^bits outcomes; 0 is the top part, on all the integers
    sign: Fraction  # top part only: negatives weigh exp(−sign) against the others
    word: int
    prefix: int
    lowest: int  # the outcome of index 0
    boundaries: NDArray[np.uint64]  # floor(2^word C_j), increasing
    outcomes: NDArray[np.uint16]  # by 16 random bits: the index, or OPEN and the least index

    def cumulative(self, index: int) -> Any:
        """C at an index as a ball: P(outcome ≤ lowest + index), at flint's present precision."""
        outcome = self.lowest + index
        if self.bits:
            return _expm1(-(outcome + 1) * self.step) / _expm1(-(1 << self.bits) * self.step)
        negative = _exp(-self.sign)
        if outcome < 0:  # (p/(1+p)) q^k at outcome −1−k
            return negative / (1 + negative) * _exp((outcome + 1) * self.step)
        return 1 - _exp(-(outcome + 1) * self.step) / (1 + negative)

    def settle(self, word: int, more: Callable[[], int]) -> int:
        """The index for the uniform number whose first bits are `word`, by asking for more.

        Each call of `more` gives the next `self.word` bits. The number is never equal to a
        boundary, because no boundary is rational, so this ends with probability one.
        """
        bits = self.word
        while True:
            index = self._decided(word, bits)
            if index is not None:
                return index
            word = (word << self.word) | more()
            bits += self.word

    def _decided(self, word: int, bits: int) -> int | None:
        """The index if all of [word, word+1)/2^bits leads to the same one, else None."""
        low, high = -1, 1  # invariant, once found: C_low < word/2^bits and (word+1)/2^bits < C_high
        if self.bits:
            low, high = -1, (1 << self.bits) - 1
        else:
            while (side := self._side(low, word, bits)) != -1:
                if side == 0:
                    return None
                low *= 2
            while (side := self._side(high, word, bits)) != 1:
                if side == 0:
                    return None
                high *= 2
        while high - low > 1:
            middle = (low + high) // 2
            side = self._side(middle, word, bits)
            if side == 0:
                return None
            low, high = (middle, high) if side < 0 else (low, middle)
        return high

    def _side(self, index: int, word: int, bits: int) -> int:
        """−1, 0 or 1: C at the index lies below, inside or above [word, word+1)/2^bits."""
        for precision in _precisions(bits + 64):
            with _working(precision):  # a ball compares true only if all of it does
                scaled = self.cumulative(index) * flint.arb(flint.fmpz(2) ** bits)
                if scaled < word:
                    return -1
                if scaled > word + 1:
                    return 1
                if scaled > word and scaled < word + 1:
                    return 0
        raise NoiseError("A boundary could not be placed; nothing was released.")


@dataclass(frozen=True)
class Tables:
    """All that is needed to draw at one scale: the top part first, then digits, lowest last."""

    scale: Fraction
    parts: tuple[SamplerPart, ...]
    low_bits: int


def _exp(power: Fraction) -> Any:
    return flint.arb(flint.fmpq(power.numerator, power.denominator)).exp()


def _expm1(power: Fraction) -> Any:
    return flint.arb(flint.fmpq(power.numerator, power.denominator)).expm1()


def _precisions(first: int) -> Iterator[int]:
    """Working precisions to try in turn, each twice the one before."""
    while first <= _PRECISION_LIMIT:
        yield first
        first *= 2


@contextmanager
def _working(precision: int) -> Iterator[None]:
    """Ball arithmetic at the given precision, for this block of code."""
    with _precision:
        before = flint.ctx.prec
        flint.ctx.prec = precision
        try:
            yield
        finally:
            flint.ctx.prec = before


def _floor(ball: Any) -> int | None:
    """The floor of every number in the ball, if they all have the same one."""
    floor = ball.floor().unique_fmpz()
    return None if floor is None else int(floor)


def _top_boundaries(step: Fraction, sign: Fraction, word: int) -> tuple[int, list[int]] | None:
    """Floors of 2^word C out to where they reach 0 and 2^word − 1; None if one is uncertain."""
    one = flint.arb(flint.fmpz(2) ** word)
    ratio, negative = _exp(-step), _exp(-sign)
    below: list[int] = []
    power = one * negative / (1 + negative)  # C at −1, −2, …: each q times the one before
    while not below or below[-1] > 0:
        floor = _floor(power)
        if floor is None:
            return None
        below.append(floor)
        power *= ratio
    above: list[int] = []
    power = one * ratio / (1 + negative)  # 1 − C at 0, 1, …
    while not above or above[-1] < (1 << word) - 1:
        floor = _floor(one - power)
        if floor is None:
            return None
        above.append(floor)
        power *= ratio
    return -len(below), below[::-1] + above


def _digit_boundaries(step: Fraction, bits: int, word: int) -> tuple[int, list[int]] | None:
    """Floors of 2^word C for all outcomes of a digit but the last, where C is 1."""
    one = flint.arb(flint.fmpz(2) ** word)
    scaled = one / _expm1(-(1 << bits) * step)
    floors: list[int] = []
    for outcome in range((1 << bits) - 1):
        floor = _floor(scaled * _expm1(-(outcome + 1) * step))
        if floor is None:
            return None
        floors.append(floor)
    return 0, floors


def _outcomes(boundaries: NDArray[np.uint64], word: int, prefix: int) -> NDArray[np.uint16]:
    """For each prefix the least index it leads to, marked OPEN if it may lead to others.

    It may where a boundary begins with that prefix. Always indexed by 16 bits: a shorter
    prefix, as tests use, is repeated.
    """
    firsts = (boundaries >> np.uint64(word - prefix)).astype(np.int64)
    count = np.bincount(firsts, minlength=1 << prefix)
    least = np.cumsum(count) - count  # boundaries below every word of the prefix
    found = np.where(count > 0, OPEN | least, least).astype(np.uint16)
    return np.repeat(found, 1 << (16 - prefix))


def _part(step: Fraction, bits: int, sign: Fraction, word: int, prefix: int) -> SamplerPart:
    for precision in _precisions(word + 64):
        with _working(precision):
            if bits:
                found = _digit_boundaries(step, bits, word)
            else:
                found = _top_boundaries(step, sign, word)
        if found is not None:
            break
    else:
        raise NoiseError("A table of the noise could not be made certain; nothing was drawn.")
    lowest, floors = found
    boundaries = np.array(floors, dtype=np.uint64)
    outcomes = _outcomes(boundaries, word, prefix)
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
    to spare for the sums of noisy counts.
    """
    number = positive(scale, "scale")
    if not LEAST <= number <= MOST:
        raise InputError(
            f"The noise scale must lie between {LEAST} and {MOST}, got {number}. "
            "It is sensitivity / epsilon: choose an epsilon that brings it inside."
        )
    return number
