"""Catching a mechanism that lies: about its ε, its sensitivity or its noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from trueup.epsilon import positive

_EXPECTED = 100.0  # samples a cell must expect before it stands alone
_CHUNK = 1 << 20


def noise_fit(
    sampler: Callable[[int], NDArray[np.int64]], scale: object, draws: int = 10_000_000
) -> float:
    """The chance that exact discrete Laplace noise fits as badly as this sampler's, at most.

    `sampler(size)` gives that many int64 samples. They are compared with the law of the
    scale value by value, in 1,024 and in 64 groups of equal chance, at the one worst value,
    and digit by digit. The least of those p-values is given, times how many there are.

    >>> from trueup._kernels import laplace
    >>> noise_fit(lambda size: laplace.draw(size, 3), 3, draws=100_000) > 1e-9
    True
    >>> noise_fit(lambda size: laplace.draw(size, "2.9"), 3, draws=100_000) < 1e-9
    True
    """
    from trueup._kernels.tally import Tally

    tally = Tally(positive(scale, "scale"))
    left = draws
    while left > 0:
        tally.add(sampler(min(left, _CHUNK)))
        left -= _CHUNK
    found = [_worst(tally.cells, tally.cell_probabilities())]
    found += _chi_squares(tally.cells, tally.cell_probabilities())
    for number, counted in enumerate(tally.digits):
        found += _chi_squares(counted.ravel(), tally.digit_probabilities(number).ravel())
    return min(1.0, min(found) * len(found))


def _pooled(
    counted: NDArray[np.int64], expected: NDArray[np.float64], least: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Neighbouring cells added together until each group expects at least so many."""
    group = np.floor(np.cumsum(expected) / least - 1e-9).astype(np.int64)
    _, starts = np.unique(group, return_index=True)
    starts = starts[np.add.reduceat(expected, starts) >= least / 2]  # leftovers join a neighbour
    starts[0] = 0
    return np.add.reduceat(counted, starts), np.add.reduceat(expected, starts)


def _chi_squares(counted: NDArray[np.int64], chances: NDArray[np.float64]) -> list[float]:
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


def _worst(counted: NDArray[np.int64], chances: NDArray[np.float64]) -> float:
    """The exact binomial test of the cell furthest from its expectation, for all cells."""
    from scipy.stats import binom

    total = int(counted.sum())
    chances = np.minimum(chances, 1.0)
    spread = np.sqrt(total * chances * (1 - chances)) + 1
    worst = int(np.argmax(np.abs(counted - total * chances) / spread))
    seen, chance = int(counted[worst]), float(chances[worst])
    tail = min(binom.cdf(seen, total, chance), binom.sf(seen - 1, total, chance))
    return float(min(1.0, 2 * tail * counted.size))
