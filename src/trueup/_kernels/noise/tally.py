"""Discrete Laplace samples counted against their exact law."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from trueup._kernels.compiled import compiled
from trueup.arrays import Floats, Ints

DIGIT_BITS = 9
_POINTS = 4096  # per scale: up to this scale every value has a cell of its own
_EXPECTED = 100.0  # samples that a group of cells must expect
_REACH = 20  # scales on either side of zero; what lies beyond has one cell a side


@compiled
def _count(samples: Ints, shift: int, cells: Ints, digits: Ints) -> None:
    """Adds each sample to its cell, and the digits of its distance from zero to theirs."""
    half = (cells.size - 2) >> 1
    for x in samples:
        cell = (x >> shift) + half
        cell = max(-1, min(cell, 2 * half)) + 1
        cells[cell] += 1
        sign = x >> 63
        magnitude = x ^ sign
        for k in range(digits.shape[0]):
            digits[k, -sign, (magnitude >> (DIGIT_BITS * k)) & ((1 << DIGIT_BITS) - 1)] += 1


class SampleTally:
    """Counts of samples by value and by digit, with the exact probability of each count.

    Values fall in cells of one point each up to a scale of 4,096, and of a power of two of
    points above. The digits of the distance from zero are counted too, negatives apart, so
    that no bit of a sample goes unwatched.

    >>> tally = SampleTally(Fraction(1))
    >>> tally.add(np.array([0, 0, -3]))
    >>> tally.total
    3
    """

    def __init__(self, scale: Fraction) -> None:
        self.scale = scale
        self.shift = 0
        while scale > _POINTS << self.shift:
            self.shift += 1
        half = int(_REACH * scale / (1 << self.shift)) + 2
        self.cells = np.zeros(2 * half + 2, np.int64)
        digits = -(-int(scale).bit_length() // DIGIT_BITS)
        self.digits = np.zeros((digits, 2, 1 << DIGIT_BITS), np.int64)

    @property
    def total(self) -> int:
        """How many samples were counted."""
        return int(self.cells.sum())

    def add(self, samples: Ints) -> None:
        """Counts some more samples."""
        _count(samples, self.shift, self.cells, self.digits)

    def cell_probabilities(self) -> Floats:
        """P of each cell, both tails included: differences of p^x, by expm1."""
        rate = float(1 / self.scale)
        width = 1 << self.shift
        half = (self.cells.size - 2) // 2
        starts = np.arange(half, dtype=np.float64) * width
        negative = np.exp(-rate)
        right = np.exp(-rate * starts) * -np.expm1(-rate * width) / (1 + negative)
        tail = np.exp(-rate * half * width) / (1 + negative)
        return np.concatenate([[tail * negative], right[::-1] * negative, right, [tail]])

    def digit_probabilities(self, number: int) -> Floats:
        """P of each sign and value of a digit of the distance from zero."""
        rate = float(1 / self.scale)
        step = rate * (1 << (DIGIT_BITS * number))
        values = np.arange(1 << DIGIT_BITS)
        digit = np.exp(-step * values) * np.expm1(-step) / np.expm1(-step * values.size)
        signs = np.array([1.0, np.exp(-rate)]) / (1 + np.exp(-rate))
        return np.outer(signs, digit)

    def p_value(self) -> float:
        """The chance, at most, that samples of the law fit it as badly as those counted.

        The least p-value of several tests, times their number.
        """
        cells = self.cell_probabilities()
        found = [worst(self.cells, cells), *chi_squares(self.cells, cells)]
        for number, counted in enumerate(self.digits):
            found += chi_squares(counted.ravel(), self.digit_probabilities(number).ravel())
        return min(1.0, min(found) * len(found))


def _pooled(counted: Ints, expected: Floats, least: float) -> tuple[Ints, Floats]:
    """Neighbouring cells added together until each group expects at least so many."""
    group = np.floor(np.cumsum(expected) / least - 1e-9).astype(np.int64)
    _, starts = np.unique(group, return_index=True)
    starts = starts[np.add.reduceat(expected, starts) >= least / 2]  # leftovers join a neighbour
    starts[0] = 0
    return np.add.reduceat(counted, starts), np.add.reduceat(expected, starts)


def chi_squares(counted: Ints, chances: Floats) -> list[float]:
    """Pearson's test, cell by cell and in large groups: fine faults, then faint broad ones."""
    from scipy.stats import chi2

    total = int(counted.sum())
    found = []
    for least in (_EXPECTED, total / 1024, total / 64):
        seen, expected = _pooled(counted, chances * total, max(_EXPECTED, least))
        if seen.size > 1:
            statistic = float(((seen - expected) ** 2 / expected).sum())
            found.append(float(chi2.sf(statistic, seen.size - 1)))
    return found or [1.0]


def worst(counted: Ints, chances: Floats) -> float:
    """The exact binomial test of the cell furthest from its expectation, for all cells."""
    from scipy.stats import binom

    total = int(counted.sum())
    chances = np.minimum(chances, 1.0)
    spread = np.sqrt(total * chances * (1 - chances)) + 1
    place = int(np.argmax(np.abs(counted - total * chances) / spread))
    seen, chance = int(counted[place]), float(chances[place])
    tail = min(binom.cdf(seen, total, chance), binom.sf(seen - 1, total, chance))
    return float(min(1.0, 2 * tail * counted.size))
