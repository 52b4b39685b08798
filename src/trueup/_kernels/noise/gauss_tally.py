"""Discrete Gaussian samples counted against their exact law."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from trueup._kernels.noise.tally import chi_squares, worst
from trueup.arrays import Floats, Ints

_REACH = 10  # standard deviations on either side of zero; what lies beyond has one cell a side
_POINTS = 2048  # per standard deviation: up to there every value has a cell of its own
_DIGIT_BITS = 9


class GaussTally:
    """Counts of samples by value and by low digit, with the exact probability of each count.

    The lowest bits of x, as two's complement, are uniform up to exp(−2π²σ²/P²) where P is their
    period: digits are watched up to P = σ/4, where that is exp(−315).

    >>> tally = GaussTally(Fraction(1))
    >>> tally.add(np.array([0, 0, -3]))
    >>> int(tally.cells.sum())
    3
    """

    def __init__(self, variance: Fraction) -> None:
        self.deviation = float(variance) ** 0.5
        self.shift = 0
        while self.deviation > _POINTS << self.shift:
            self.shift += 1
        half = int(_REACH * self.deviation / (1 << self.shift)) + 2
        self.cells = np.zeros(2 * half + 2, np.int64)
        count = 0
        while 4 << (_DIGIT_BITS * (count + 1)) <= self.deviation:
            count += 1
        self.digits = np.zeros((count, 1 << _DIGIT_BITS), np.int64)

    def add(self, samples: Ints) -> None:
        """Counts some more samples."""
        half = (self.cells.size - 2) // 2
        cells = np.clip((samples >> self.shift) + half, -1, 2 * half) + 1
        self.cells += np.bincount(cells, minlength=self.cells.size)
        for number, digits in enumerate(self.digits):
            digit = (samples >> (_DIGIT_BITS * number)) & ((1 << _DIGIT_BITS) - 1)
            digits += np.bincount(digit, minlength=digits.size)

    def cell_probabilities(self) -> Floats:
        """P of each cell, both tails included.

        A cell of one value by the definition. A wider one, where σ is above 2,048, by the normal
        law between half numbers: the rule of midpoints is off by 1/(24σ²), below 10^-8.
        """
        from scipy.special import ndtr

        half = (self.cells.size - 2) // 2
        if self.shift:
            starts = (np.arange(half + 1) * float(1 << self.shift) - 0.5) / self.deviation
            above = ndtr(-starts)
            right = above[:-1] - above[1:]
            left = np.diff(
                ndtr((np.arange(-half, 1) * float(1 << self.shift) - 0.5) / self.deviation)
            )
            end = ndtr((-half * float(1 << self.shift) - 0.5) / self.deviation)
            return np.concatenate([[end], left, right, [above[-1]]])
        values = np.arange(-half, half, dtype=np.float64)
        chances = np.exp(-((values / self.deviation) ** 2) / 2)
        return np.concatenate([[0.0], chances / chances.sum(), [0.0]])

    def p_value(self) -> float:
        """The chance, at most, that samples of the law fit it as badly as those counted."""
        cells = self.cell_probabilities()
        found = [worst(self.cells, cells), *chi_squares(self.cells, cells)]
        for counted in self.digits:
            found += chi_squares(counted, np.full(counted.size, 1 / counted.size))
        return min(1.0, min(found) * len(found))
