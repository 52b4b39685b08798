"""Drawing by inversion: a part of a sample from a table of its cumulative probabilities.

The outcome for a uniform u is the number of j with C_j < u. The table holds floor(2^64 C_j): a
64-bit word w, which says only that u lies in [w, w+1)/2^64, decides unless it equals an entry.
Then `settle` decides, with as many more bits and as much precision as it takes.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, TypeVar

import flint
import numpy as np
from numpy.typing import NDArray

from trueup.arrays import Words
from trueup.errors import NoiseError

WORD, PREFIX = 64, 16
OPEN = 1 << 15  # set where the first bits do not decide: the sign bit of an int16
_PRECISION_LIMIT = 1 << 20

# python-flint keeps its precision in one global. Another thread that changes it can only make
# our balls wider, never wrong; the lock spares us the retries.
_precision = threading.RLock()


Found = TypeVar("Found")


class Inverted(ABC):
    """A part that is drawn by inverting its cumulative probabilities."""

    word: int
    prefix: int
    lowest: int  # the outcome of index 0
    boundaries: Words  # floor(2^word C_j), increasing
    outcomes: NDArray[np.uint16]  # by 16 random bits: the index, or OPEN and the least index

    @abstractmethod
    def cumulative(self, index: int) -> Any:
        """C at an index as a ball: P(outcome ≤ lowest + index), at flint's present precision."""

    @property
    @abstractmethod
    def ends(self) -> tuple[bool, int | None]:
        """Whether index 0 is the least outcome, and the index of the greatest if there is one."""

    def settle(self, word: int, more: Callable[[], int]) -> int:
        """The index for the uniform number whose first bits are `word`, by asking for more.

        Each call of `more` gives the next `self.word` bits. The number is equal to a boundary with
        probability zero, so this ends with probability one.
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
        begins, last = self.ends
        low, high = -1, 1  # invariant, once found: C_low < word/2^bits and (word+1)/2^bits < C_high
        while not begins and (side := self._side(low, word, bits)) != -1:
            if side == 0:
                return None
            low *= 2
        while last is None and (side := self._side(high, word, bits)) != 1:
            if side == 0:
                return None
            high *= 2
        high = high if last is None else last
        while high - low > 1:
            middle = (low + high) // 2
            side = self._side(middle, word, bits)
            if side == 0:
                return None
            low, high = (middle, high) if side < 0 else (low, middle)
        return high

    def _side(self, index: int, word: int, bits: int) -> int:
        """−1, 0 or 1: C at the index lies below, inside or above [word, word+1)/2^bits."""
        for precision in precisions(bits + 64):
            with working(precision):  # a ball compares true only if all of it does
                scaled = self.cumulative(index) * flint.arb(flint.fmpz(2) ** bits)
                if scaled < word:
                    return -1
                if scaled > word + 1:
                    return 1
                if scaled > word and scaled < word + 1:
                    return 0
        raise NoiseError("A boundary could not be placed; nothing was released.")


def exp(power: Fraction) -> Any:
    """e to a rational power, as a ball."""
    return flint.arb(flint.fmpq(power.numerator, power.denominator)).exp()


def expm1(power: Fraction) -> Any:
    """e to a rational power less one, as a ball."""
    return flint.arb(flint.fmpq(power.numerator, power.denominator)).expm1()


def precisions(first: int) -> Iterator[int]:
    """Working precisions to try in turn, each twice the one before."""
    while first <= _PRECISION_LIMIT:
        yield first
        first *= 2


@contextmanager
def working(precision: int) -> Iterator[None]:
    """Ball arithmetic at the given precision, for this block of code."""
    with _precision:
        before = flint.ctx.prec
        flint.ctx.prec = precision
        try:
            yield
        finally:
            flint.ctx.prec = before


def floor_of(ball: Any) -> int | None:
    """The floor of every number in the ball, if they all have the same one."""
    floor = ball.floor().unique_fmpz()
    return None if floor is None else int(floor)


def outcomes_of(boundaries: Words, word: int, prefix: int) -> NDArray[np.uint16]:
    """For each prefix the least index it leads to, marked OPEN if it may lead to others.

    It may where a boundary begins with that prefix. Always indexed by 16 bits: a shorter
    prefix, as tests use, is repeated.
    """
    firsts = (boundaries >> np.uint64(word - prefix)).astype(np.int64)
    count = np.bincount(firsts, minlength=1 << prefix)
    least = np.cumsum(count) - count  # boundaries below every word of the prefix
    found = np.where(count > 0, OPEN | least, least).astype(np.uint16)
    return np.repeat(found, 1 << (16 - prefix))


def certain(made: Callable[[], Found | None], word: int) -> Found:
    """What `made` gives at the first precision at which it is certain of every number."""
    for precision in precisions(word + 64):
        with working(precision):
            found = made()
        if found is not None:
            return found
    raise NoiseError("A table of the noise could not be made certain; nothing was drawn.")
