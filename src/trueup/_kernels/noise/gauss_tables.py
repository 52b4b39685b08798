"""The tables of the discrete Gaussian sampler, exact by ball arithmetic.

X with P(X = x) ∝ exp(−x²/(2σ²)) is drawn in one of two ways (docs/noise.md has the proof). Up to
σ = TOP it is one part, drawn by inversion. Beyond, |X| = (k << L) + low: k is drawn by inversion
from P(k) ∝ exp(−(k << L)²/(2σ²)), low and the sign are uniform, and all of it is accepted with
probability exp(−(x² − (k << L)²)/(2σ²)), which is close to one.
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
    floor_of,
    outcomes_of,
    precisions,
    working,
)
from trueup.arrays import Ints, Words
from trueup.epsilon import positive
from trueup.errors import InputError, NoiseError

LEAST_VARIANCE, MOST_VARIANCE = Fraction(1, 10**6), Fraction(10**24)
TOP = 128  # the largest σ of a table, in steps of 2^L: some 2,400 entries
ACCEPT_BITS = 31  # of a draw that accepts or rejects


@dataclass(frozen=True)
class GaussPart(Inverted):
    """An outcome j with P(j) ∝ exp(−j²/(2·variance)): on all the integers, or from 0 on."""

    variance: Fraction
    signed: bool
    word: int
    prefix: int
    lowest: int
    boundaries: Words
    outcomes: NDArray[np.uint16]

    @property
    def ends(self) -> tuple[bool, int | None]:
        """It begins at 0 where it has no sign; it never ends."""
        return not self.signed, None

    def cumulative(self, index: int) -> Any:
        """C at an index as a ball: P(outcome ≤ lowest + index), at flint's present precision."""
        outcome = self.lowest + index
        beyond = tail(1, self.variance)
        if not self.signed:
            return 1 - tail(outcome + 1, self.variance) / (1 + beyond)
        if outcome < 0:
            return tail(-outcome, self.variance) / (1 + 2 * beyond)
        return 1 - tail(outcome + 1, self.variance) / (1 + 2 * beyond)


def tail(first: int, variance: Fraction) -> Any:
    """Σ exp(−j²/(2·variance)) over j ≥ first ≥ 0, as a ball.

    Terms are added until what is left is below the precision. (j + i)² ≥ j² + 2ji, so what is left
    from j on is at most exp(−j²/(2v))/(1 − exp(−j/v)): the last ball is as wide as that.
    """
    found, j = flint.arb(0), first
    least = flint.arb(2) ** -flint.ctx.prec
    while True:
        term = weight(j, variance)
        if j > 0:
            left = term / (1 - exp(Fraction(-j) / variance))
            if left < least:
                return found + left * flint.arb(flint.fmpq(1, 2), flint.fmpq(1, 2))
        found += term
        j += 1


def weight(j: int, variance: Fraction) -> Any:
    """exp(−j²/(2·variance)) as a ball."""
    return exp(-Fraction(j * j) / (2 * variance))


@dataclass(frozen=True)
class GaussTables:
    """All that is needed to draw at one variance; `low_bits` is 0 where one part is all."""

    variance: Fraction
    part: GaussPart
    low_bits: int
    sure: Ints  # by k: in 2^-31, a chance below that of every low to be accepted
    factor: int  # floor(2^shift · 2^(2L)/(2·variance)), of at most 32 bits
    shift: int

    def loss(self, k: int, low: int) -> Fraction:
        """The exponent of the chance to accept k and low: (x² − (k << L)²)/(2·variance)."""
        return low * Fraction((k << (self.low_bits + 1)) + low) / (2 * self.variance)

    def accepts(self, k: int, low: int, word: int, more: Any) -> bool:
        """Whether the uniform number whose first bits are `word` lies below exp(−loss).

        `more` gives the next 31 bits. No such boundary is rational but 1, so this ends.
        """
        loss = self.loss(k, low)
        if loss == 0:
            return True
        bits = ACCEPT_BITS
        while True:
            for precision in precisions(bits + 64):
                with working(precision):
                    scaled = exp(-loss) * flint.arb(flint.fmpz(2) ** bits)
                    if scaled > word + 1:
                        return True
                    if scaled < word:
                        return False
                    if scaled > word and scaled < word + 1:
                        break
            else:
                raise NoiseError("A chance could not be placed; nothing was released.")
            word = (word << ACCEPT_BITS) | more()
            bits += ACCEPT_BITS


def _boundaries(variance: Fraction, signed: bool, word: int) -> tuple[int, list[int]] | None:
    """Floors of 2^word C out to where they reach 0 and 2^word − 1; None if one is uncertain."""
    one = flint.arb(flint.fmpz(2) ** word)
    weights: list[Any] = []
    while not weights or not (weights[-1] * one < flint.arb(2) ** -32):
        weights.append(weight(len(weights), variance))
    beyond = tail(len(weights), variance)  # Σ over j ≥ …, from the far end inwards
    tails = [beyond]
    for each in reversed(weights):
        tails.append(tails[-1] + each)
    tails.reverse()  # tails[j] = Σ over i ≥ j
    total = 2 * tails[1] + 1 if signed else tails[0]
    below: list[int] = []
    above: list[int] = []
    for j in range(1, len(tails)):  # P(outcome ≥ j), and P(outcome ≤ −j)
        share = tails[j] / total * one
        low = floor_of(share)
        if low is None or not share > low:
            return None
        below.append(low)
        above.append((1 << word) - 1 - low)  # the floor of 2^word less a share that is not whole
        if low == 0:
            break
    else:
        raise NoiseError("A table of the noise has no end; nothing was drawn.")
    return (-len(below), below[::-1] + above) if signed else (0, above)


def _part(variance: Fraction, signed: bool, word: int, prefix: int) -> GaussPart:
    lowest, floors = certain(lambda: _boundaries(variance, signed, word), word)
    boundaries = np.array(floors, dtype=np.uint64)
    return GaussPart(
        variance, signed, word, prefix, lowest, boundaries, outcomes_of(boundaries, word, prefix)
    )


def _sure(k: int, low_bits: int, variance: Fraction) -> int:
    """2^31 times a chance below that with which the worst low of k is accepted, rounded down."""
    worst = (1 << low_bits) - 1
    loss = worst * Fraction((k << (low_bits + 1)) + worst) / (2 * variance)

    def made() -> int | None:
        return floor_of(exp(-loss) * flint.arb(flint.fmpz(2) ** ACCEPT_BITS))

    return certain(made, WORD)


@lru_cache(maxsize=64)
def gauss_tables(
    variance: Fraction, word: int = WORD, prefix: int = PREFIX, top: int = TOP
) -> GaussTables:
    """The tables of one variance, kept for next time.

    Only tests give more than the variance: short words make ties common.

    >>> gauss_tables(Fraction(10**6)).low_bits
    3
    """
    low_bits = 0
    while variance > top * top << 2 * low_bits:
        low_bits += 1
    if low_bits == 0:
        return GaussTables(
            variance, _part(variance, True, word, prefix), 0, np.empty(0, np.int64), 0, 0
        )
    own = variance / (1 << 2 * low_bits)
    part = _part(own, False, word, prefix)
    sure = [_sure(k, low_bits, variance) for k in range(part.boundaries.size + 1)]
    shift = 31
    while (Fraction(1 << shift) / (2 * own)) < 1 << 31:
        shift += 1
    factor = int(Fraction(1 << shift) / (2 * own))
    return GaussTables(variance, part, low_bits, np.array(sure, np.int64), factor, shift)


def checked_variance(variance: object) -> Fraction:
    """The variance parameter σ² as an exact number, refused outside [10^-6, 10^24].

    Below, noise is almost surely zero and no count is protected; above, int64 has no room to spare.
    A Fraction may have any number of digits, as for a scale.
    """
    number = variance if isinstance(variance, Fraction) else positive(variance, "variance")
    if not LEAST_VARIANCE <= number <= MOST_VARIANCE:
        raise InputError(
            f"The noise variance must lie between 1/1000000 and 10^24, got {number}. It is "
            "sensitivity² / (2 rho): choose a rho that brings it inside."
        )
    return number
