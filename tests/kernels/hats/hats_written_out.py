"""Hats small enough for dense linear algebra: the oracle of all hat kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueup._kernels.hats.hat_tables import NOT_ASKED, HatTables, hat_tables


@dataclass(frozen=True)
class DenseHats:
    """Leaves and hats of the given variances, a row of weights each."""

    size: int
    strides: tuple[int, ...]
    noise: np.ndarray  # one a hat, finest first
    cells: np.ndarray  # one a leaf

    def rows(self) -> np.ndarray:
        """The hats, finest first, scaled to weigh 1 a cell and level."""
        middle = np.arange(self.size) + 0.5
        found = [
            np.maximum(1 - np.abs(middle - knot * k) / k, 0)
            for k in self.strides
            for knot in range(-(-self.size // k) + 1)
        ]
        return np.array(found).reshape(len(found), self.size)

    def covariance(self) -> np.ndarray:
        """The covariance of the cells after least squares."""
        rows = self.rows()
        return np.linalg.inv(np.diag(1 / self.cells) + rows.T @ (rows / self.noise[:, None]))

    def range_variances(self) -> np.ndarray:
        """Entry [i, j]: the variance of the count of [i, j)."""
        prefix = np.vstack([np.zeros(self.size), np.tril(np.ones((self.size, self.size)))])
        between = prefix @ self.covariance() @ prefix.T
        own = np.diag(between)
        return own[:, None] + own[None, :] - 2 * between

    def tables(self) -> HatTables:
        k = self.strides[0]
        last = (self.size - 1) // k * k
        cuts = np.cumsum([-(-self.size // stride) + 1 for stride in self.strides])[:-1]
        noise = np.split(self.noise, cuts)
        return hat_tables(self.size, self.strides, noise, self.cells[:k], self.cells[last:])


def random_hats(seed: int, most: int) -> DenseHats:
    """Any number of cells, strides of any ratio (also beyond the last cell), any variances.

    For every second seed noise is different towards the ends, and some hats there are not asked.
    """
    generator = np.random.default_rng(seed)
    size = int(generator.integers(1, most + 1))
    strides = [int(generator.integers(1, 9))]
    while generator.random() < 0.65 and len(strides) < 5:
        strides.append(strides[-1] * int(generator.integers(2, 6)))
    noise, cells = [], np.ones(size)
    for level, k in enumerate(strides):
        knots = np.arange(-(-size // k) + 1) * k
        each = np.full(len(knots), 10 ** generator.uniform(-2, 2))
        if seed % 2:
            above = strides[level + 1] if level + 1 < len(strides) else max(size, k)
            last = (size - 1) // above * above
            ends = (knots < above) & ((knots > 0) | (size > 1)) | (knots > last)
            each[ends] = 10 ** generator.uniform(-2, 2, int(ends.sum()))
            each[ends & (generator.random(len(knots)) < 0.3)] = NOT_ASKED
        noise.append(each)
    if seed % 2:
        ends = (np.arange(size) < strides[0]) | (
            np.arange(size) >= (size - 1) // strides[0] * strides[0]
        )
        cells[ends] = generator.uniform(0.2, 3, int(ends.sum()))
    return DenseHats(size, tuple(strides), np.concatenate(noise), cells)
