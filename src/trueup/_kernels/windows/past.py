"""The whole-number weights of windows over the past: by age, and by cell.

Cells come in blocks. Within a block the window on cell i weighs the cells j ≤ i by

    A[i, j] = f(i − j) · s[j].

f falls as the root of a sum does: f(m) ∝ C(2m, m) / 4^m, so that f convolved with itself is 1, 1,
1, …. s makes every column as long as may be, at most LONGEST_COLUMN, whatever the block. So a
record costs no more than that, in whichever cell it is. Only sums, products, quotients and roots
decide: every machine finds the same weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from trueup._kernels.compiled import PLAIN_PAIRS, compiled
from trueup._kernels.windows.convolution import cyclic_convolution
from trueup.arrays import Floats, Ints

OWN = 1 << 14  # what a window weighs the cell it stands on, before cells are scaled
LONGEST_COLUMN = 1 << 24
GROWTH = 32  # how much longer a block is than the one before
LONGEST_BLOCK = 1 << 20
_KEPT = 8
_ONE_BY_ONE = 64  # totals: of more, all are looked at


@dataclass(frozen=True, eq=False)
class PastBlock:
    """The weights of a block planned for so many cells."""

    length: int
    by_age: Ints
    by_cell: Ints

    @cached_property
    def back(self) -> Floats:
        """The weights by age that undo `by_age`: a power series' inverse, by Newton's method."""
        from scipy.fft import irfft, rfft

        given, found = self.by_age / float(OWN), np.ones(1)
        while len(found) < self.length:
            n = min(2 * len(found), self.length)
            span = 1 << (2 * n - 1).bit_length()
            wave = rfft(found, span)
            wrong = irfft(rfft(given[:n], span) * wave, span)[:n]
            wrong[0] -= 1.0
            more = irfft(rfft(wrong, span) * wave, span)[:n]
            found = np.concatenate([found, np.zeros(n - len(found))]) - more
        return found / OWN

    def answer(self, counts: Ints) -> Ints:
        """What the window on the last of the first cells, along the first axis, says: mod 2^64."""
        n = len(counts)
        weights = self.by_age[:n][::-1] * self.by_cell[:n]
        return (weights @ counts).astype(np.int64)

    def answers(self, counts: Ints) -> Ints:
        """What all windows on the first cells say, modulo 2^64."""
        n = len(counts)
        span = 1 << (2 * n - 1).bit_length()
        numbers, kernel = np.zeros(span, np.int64), np.zeros(span, np.int64)
        numbers[:n], kernel[:n] = counts * self.by_cell[:n], self.by_age[:n]
        return cyclic_convolution(numbers, kernel, n)[:n]

    def cells(self, answers: Floats) -> Floats:
        """The cells of which these are the answers, along the last axis."""
        n = answers.shape[-1]
        return _causal(self.back[:n], answers) / self.by_cell[:n]

    def coefficients(self, values: Floats) -> Floats:
        """What each answer counts for in the sum of the cells times these values, by line."""
        n = values.shape[-1]
        return _causal(self.back[:n], (values / self.by_cell[:n])[..., ::-1])[..., ::-1]

    def total_variances(self, counts: Ints) -> Floats:
        """The variance of the sum of the first so many cells, for each number of them."""
        most = int(counts.max(initial=0))
        if len(counts) <= _ONE_BY_ONE:
            return np.array(
                [np.square(self.coefficients(np.ones(count))).sum() for count in counts.tolist()]
            )
        found = np.zeros(most + 1)
        _add_up(self.back[:most], 1.0 / self.by_cell[:most], found)
        return found[counts]


@compiled(most=PLAIN_PAIRS)
def _add_up(back: Floats, each: Floats, found: Floats) -> None:
    """The variance of the sum of the first 0, 1, …, n cells; time in n², memory in n."""
    n = back.size
    own = np.zeros(n)  # what each answer counts for, the last one first
    for i in range(n):
        total = 0.0
        for age in range(i + 1):
            own[n - 1 - i + age] += back[age] * each[i]
            total += own[n - 1 - i + age] * own[n - 1 - i + age]
        found[i + 1] = total


def _causal(weights: Floats, lines: Floats) -> Floats:
    """Σ_{j ≤ i} weights[i − j] · lines[…, j]."""
    from scipy.fft import irfft, rfft

    n = len(weights)
    span = 1 << (2 * n - 1).bit_length()
    return np.asarray(irfft(rfft(weights, span) * rfft(lines, span), span))[..., :n]


@lru_cache(maxsize=_KEPT)
def past_block(length: int) -> PastBlock:
    """The weights of a block planned for so many cells."""
    m = np.arange(1, length, dtype=np.float64)
    f = np.concatenate([[1.0], np.cumprod((2 * m - 1) / (2 * m))])
    by_age = np.rint(f * OWN).astype(np.int64)
    squares = np.cumsum(by_age * by_age)[::-1]  # the squared length of each column
    by_cell = np.floor(np.sqrt(float(LONGEST_COLUMN) ** 2 / squares)).astype(np.int64)
    by_cell -= by_cell * by_cell * squares > LONGEST_COLUMN**2  # rounding may have helped
    for array in (by_age, by_cell):
        array.setflags(write=False)
    return PastBlock(length, by_age, by_cell)


def block_starts(size: int, first: int, most: int) -> list[tuple[int, int]]:
    """Where the blocks of so many cells begin, and how long each is planned.

    The first is planned for `first` cells, each of the others for GROWTH times as many as the one
    before, up to `most`. The last one may be cut short.
    """
    found, begin, length = [], 0, first
    while begin < size:
        found.append((begin, length))
        begin += length
        length = max(length, min(length * GROWTH, most))
    return found
