"""How many of very many noises pass a threshold: exact, without drawing them.

Each of `trials` keys that nobody has gets discrete Laplace noise X of scale b, and is shown where
X ≥ τ. With a = e^(−1/b) that is a chance of p = a^τ/(1 + a) each, so the number shown is binomial.
It is drawn by the gaps between successes: a gap is at least g with probability (1 − p)^g, so it is
floor(ln u / ln(1 − p)) for a uniform u. The first bits of u say that u lies in [w, w + 1)/2^bits;
more are drawn until both ends lead to the same gap, in ball arithmetic. No float takes part.
docs/keys.md has the proof.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from trueup._kernels.noise.bits import Bits
from trueup._kernels.noise.inversion import certain, exp, floor_of, precisions, working
from trueup.errors import NoiseError

More = Callable[[int], int]
"""So many fresh random bits, as a whole number."""


def fresh(bits: Bits) -> More:
    """Random whole numbers from a stream of random bytes."""

    def more(count: int) -> int:
        drawn = np.empty(-(-count // 8), np.uint8)
        bits(drawn)
        return int.from_bytes(drawn.tobytes(), "little") >> (8 * drawn.size - count)

    return more


def chance(threshold: int, scale: Fraction) -> Any:
    """P(X ≥ threshold) for a threshold of at least 0, as a ball."""
    return exp(-threshold / scale) / (1 + exp(-1 / scale))


def threshold_for(trials: int, most: Fraction, scale: Fraction) -> int:
    """The least τ ≥ 1 at which `trials` · P(X ≥ τ) is at most `most`: ⌈b·ln(trials/(most(1 + a)))⌉.

    >>> [threshold_for(1 << bits, Fraction(1), Fraction(1)) for bits in (20, 32, 64)]
    [14, 22, 45]
    """

    def made() -> int | None:
        wide = Fraction(trials) / most
        ratio = flint.arb(flint.fmpq(wide.numerator, wide.denominator)) / (1 + exp(-1 / scale))
        steps = flint.arb(flint.fmpq(scale.numerator, scale.denominator)) * ratio.log()
        return floor_of(steps.ceil()) if steps > 1 else 1 if steps < 1 else None

    return certain(made, max(trials.bit_length(), 64))


def uniform(below: int, more: More) -> int:
    """A whole number from 0 to `below` − 1, each with the same chance."""
    bits = (below - 1).bit_length()
    while True:
        number = more(bits) if bits else 0
        if number < below:
            return number


def gap(threshold: int, scale: Fraction, within: int, more: More, first: int = 0) -> int | None:
    """How many noises fail before the next that passes; None if none of `within` passes.

    `first` is how many bits are drawn at first; tests take few.
    """
    rarity = int(threshold / scale / Fraction(69, 100)) + 2  # −log2 of p, or more
    bits = first or rarity + 64
    word = more(bits)
    while True:
        least = _gap_at(word + 1, bits, threshold, scale, rarity)
        if least >= within:
            return None
        if word > 0 and _gap_at(word, bits, threshold, scale, rarity) == least:
            return least
        word, bits = (word << 64) | more(64), bits + 64


def _gap_at(word: int, bits: int, threshold: int, scale: Fraction, rarity: int) -> int:
    """floor(ln(word/2^bits) / ln(1 − p)), for sure."""
    if word == 1 << bits:
        return 0
    for precision in precisions(bits + rarity + 64):
        with working(precision):
            uniformly = flint.arb(flint.fmpq(word, 1 << bits)).log()
            found = floor_of(uniformly / (-chance(threshold, scale)).log1p())
        if found is not None:
            return found
    raise NoiseError("A number of keys could not be made certain; nothing was released.")


def passing(trials: int, threshold: int, scale: Fraction, more: More) -> int:
    """How many of so many noises are at least the threshold: binomial(trials, p), exactly."""
    found = 0
    while trials > 0:
        failed = gap(threshold, scale, trials, more)
        if failed is None:
            break
        found += 1
        trials -= failed + 1
    return found
