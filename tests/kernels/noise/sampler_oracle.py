"""What samples and tables are checked against: exact counts of strings, and copies to alter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np

from trueup._kernels.noise import laplace
from trueup._kernels.noise.inversion import Inverted
from trueup._kernels.noise.laplace_tables import SamplerPart, Tables

# Below one, around the steps of 48·2^k, with composite numerators and denominators, to the ends.
LISTED = """
    1/1000 1/100 1/30 1/12 1/7 1/5 1/4 1/3 2/5 1/2 5/8 3/4 1 10/9 5/4 3/2 2 30/13 5/2 3 10/3
    4 9/2 6 7 9 10 12 47 48 481/10 49 15 20 24 25 30 45 64 90 96 100 105 210/11 360/7 500/3 720 1000
    1001 2310/13 3600 7200 8640/7 10000 65536 99991 123456/7 1000000 9699690/17 16777217 123456789
    1000000000
"""
SCALES = [Fraction(scale) for scale in LISTED.split()]


class UndecidedError(Exception):
    """The bits given do not decide the sample."""


def cumulative(part: SamplerPart, outcome: int) -> mpmath.mpf:
    """C at an outcome by another library, from the definition: sums of p^|x|."""
    ratio = mpmath.exp(-mpmath.mpf(part.step.numerator) / part.step.denominator)
    if part.bits:
        weights = [ratio**c for c in range(1 << part.bits)]
        return mpmath.fsum(weights[: outcome + 1]) / mpmath.fsum(weights)
    negative = mpmath.exp(-mpmath.mpf(part.sign.numerator) / part.sign.denominator)
    if outcome < 0:
        return negative / (1 + negative) * ratio ** (-1 - outcome)
    return 1 - ratio ** (outcome + 1) / (1 + negative)


def strings_inside(part: SamplerPart, outcome: int, bits: int) -> int:
    """How many strings of so many bits lie wholly between C at outcome − 1 and C at outcome."""
    if part.bits and not 0 <= outcome < 1 << part.bits:
        return 0
    with mpmath.workdps(60):
        below = cumulative(part, outcome - 1) if not part.bits or outcome else mpmath.mpf(0)
        first = int(mpmath.ceil(below * 2**bits))
        last = int(mpmath.floor(cumulative(part, outcome) * 2**bits))
        return max(0, last - first)


LEVEL = 1e-12  # times sixty scales, each already corrected: a false alarm has chance 1e-10


def seeded(seed: int) -> Callable[[np.ndarray], None]:
    generator = np.random.default_rng(seed)

    def fill(buffer: np.ndarray) -> None:
        buffer[:] = np.frombuffer(generator.bytes(buffer.size), np.uint8)

    return fill


def sampler(law: Tables, bits: Callable[[np.ndarray], None]) -> Callable[[int], np.ndarray]:
    def draw(size: int) -> np.ndarray:
        values = np.zeros(size, np.int64)
        laplace.sample_into(values, law, bits)
        return values

    return draw


def settled_strings(part: Inverted, depth: int) -> Counter[int]:
    """How many strings of four bits, so many in a row, `settle` leads to each outcome."""
    drawn: Counter[int] = Counter()
    for string in product(range(16), repeat=depth):
        later = list(string[:0:-1])

        def more(later: list[int] = later) -> int:
            if not later:
                raise UndecidedError
            return later.pop()

        with suppress(UndecidedError):
            drawn[part.lowest + part.settle(string[0], more)] += 1
    return drawn
