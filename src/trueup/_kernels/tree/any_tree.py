"""Least squares on a tree, any tree (Theorem 3 with unequal variances and unasked nodes).

A tree is the array `first` (`IntervalTree.first`): the children of node v are
first[v] … first[v + 1] − 1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trueup._kernels.compiled import compiled
from trueup.arrays import Floats, Ints


@compiled
def up(first: Ints, noisy: Floats, weights: Floats, fitted: Floats, variances: Floats) -> None:
    """fitted[v] becomes the best estimate of v from its own subtree, variances[v] its variance."""
    for v in range(noisy.shape[0] - 1, -1, -1):
        if first[v] == first[v + 1]:
            fitted[v] = noisy[v]
            variances[v] = 1.0 / weights[v]
            continue
        below, spread = 0.0, 0.0
        for child in range(first[v], first[v + 1]):
            below += fitted[child]
            spread += variances[child]
        gain = weights[v] * spread
        fitted[v] = (gain * noisy[v] + below) / (1.0 + gain) if gain > 0.0 else below
        variances[v] = spread / (1.0 + gain)


@compiled
def down(first: Ints, fitted: Floats, variances: Floats) -> None:
    """What v has gained over its children's sum goes to them by their variances."""
    for v in range(fitted.shape[0]):
        below, spread = 0.0, 0.0
        for child in range(first[v], first[v + 1]):
            below += fitted[child]
            spread += variances[child]
        if spread > 0.0:
            step = (fitted[v] - below) / spread
            for child in range(first[v], first[v + 1]):
                fitted[child] += variances[child] * step


def fit(first: Ints, noisy: npt.ArrayLike, weights: npt.ArrayLike) -> Floats:
    """The consistent node values nearest to `noisy`, each difference weighed; 0 is not asked.

    Every leaf must have a weight. O(nodes) time.
    """
    noisy = np.ascontiguousarray(noisy, dtype=np.float64)
    fitted, variances = np.empty_like(noisy), np.empty_like(noisy)
    up(first, noisy, np.ascontiguousarray(weights, np.float64), fitted, variances)
    down(first, fitted, variances)
    return fitted
