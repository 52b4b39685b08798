"""Trees small enough for dense linear algebra: what errors of trees are tested against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from trueup.intervaltree import IntervalTree


@dataclass(frozen=True)
class DenseTree:
    """A tree written out: a row of 0s and 1s a node, its level and its weight."""

    size: int
    widths: tuple[int, ...]
    weights: tuple[float, ...]

    @property
    def shape(self) -> IntervalTree:
        return IntervalTree(self.size, widths=self.widths)

    @property
    def irregular(self) -> IntervalTree:
        """The same tree, described node by node."""
        return IntervalTree(self.size, cuts=tuple(np.arange(0, self.size, w) for w in self.widths))

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        rows, levels = [], []
        for level, width in enumerate(self.widths):
            for start in range(0, self.size, width):
                row = np.zeros(self.size)
                row[start : start + width] = 1
                rows.append(row)
                levels.append(level)
        return np.array(rows), np.array(levels)

    def covariance(self) -> np.ndarray:
        """The covariance of the cells after least squares."""
        rows, levels = self.rows()
        weights = np.array(self.weights)[levels]
        return np.linalg.inv(rows.T @ (weights[:, None] * rows))

    def range_variances(self) -> np.ndarray:
        """Entry [i, j]: the variance of the count of [i, j)."""
        prefix = np.vstack([np.zeros(self.size), np.tril(np.ones((self.size, self.size)))])
        between = prefix @ self.covariance() @ prefix.T
        own = np.diag(between)
        return own[:, None] + own[None, :] - 2 * between


def random_tree(seed: int, most: int = 120) -> DenseTree:
    generator = np.random.default_rng(seed)
    size = int(generator.integers(1, most + 1))
    widths = [1]
    while widths[-1] < size:
        widths.append(widths[-1] * int(generator.integers(2, 9)))
    weights = generator.uniform(0.01, 2, len(widths))
    unasked = generator.random(len(widths)) < 0.3
    weights[1:][unasked[1:]] = 0  # the cells are always asked
    if seed % 3 == 0:  # the paper's: every level asked alike
        weights[:] = 0.5
    return DenseTree(size, tuple(reversed(widths)), tuple(float(w) for w in weights[::-1]))


@pytest.fixture(params=range(40))
def tree(request: pytest.FixtureRequest) -> DenseTree:
    """One of many trees: any number of cells, radices, weights and levels not asked."""
    return random_tree(request.param, most=60 if request.param < 30 else 256)


@pytest.fixture(params=range(24))
def small_tree(request: pytest.FixtureRequest) -> DenseTree:
    """As `tree`, small enough for brute force."""
    return random_tree(request.param, most=30)
