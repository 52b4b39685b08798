"""Expected squared error of least squares on a tree of any shape, over sets of ranges.

Before the answers above the cells are taken in, a range has the sum of its cells' variances. The
answer of node v takes off gain_v · C_v², where C_v = F(stop) − F(start) and F(x) is the covariance
of the cells left of x with the total of v, given what was asked below v: 0 left of the node, rising
through it, constant after.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats
from trueup.intervaltree.variance import TreeVariance

_MOST_BY_BRUTE_FORCE = 1500


def _prefix_sums(tree: TreeVariance) -> list[tuple[Floats, Floats]]:
    """Per level the sums of F and F² over the cuts inside each node, its end included."""
    shape = tree.shape
    V = tree.levels[-1].variance
    size, first, second = np.ones(len(V)), V, V * V
    found = [(first, second)]
    for level in range(shape.height - 2, -1, -1):
        lower = tree.levels[level + 1]
        children = shape.children(level)
        if level < shape.height - 2:
            first, second = first * lower.shrink, second * lower.shrink**2
        running = np.concatenate([[0.0], np.cumsum(lower.variance)])
        before = running[:-1] - np.repeat(running[children[:-1]], np.diff(children))
        second = second + before * (before * size + 2 * first)
        first = first + before * size
        first, second, size = (
            np.add.reduceat(part, children[:-1]) for part in (first, second, size)
        )
        found.append((first, second))
    return found[::-1]


def mean_over_ranges(tree: TreeVariance) -> float:
    """The error of a range, averaged over all of them."""
    shape = tree.shape
    n = shape.size
    cell = np.arange(n)
    total = float(np.sum(tree.levels[-1].variance * (cell + 1.0) * (n - cell)))
    for level, (first, second) in enumerate(_prefix_sums(tree)[:-1]):
        known = tree.levels[level]
        after = n - shape.stops(level)
        first = first + after * known.below
        second = second + after * known.below**2
        # Σ (F(j) − F(i))² over i < j, of the n + 1 cuts
        total -= float(np.sum(known.gain * ((n + 1) * second - first * first)))
    return total / (n * (n + 1) / 2)


def mean_over_prefixes(tree: TreeVariance) -> float:
    """The error of a prefix, averaged over the non-empty ones."""
    n = tree.shape.size
    stops = np.arange(1, n + 1)
    return float(tree.range_variances(np.zeros(n, np.int64), stops).mean())


def mean_by_length(tree: TreeVariance, lengths: npt.ArrayLike) -> Floats:
    """The error of a range of each length, averaged over all its places."""
    n = tree.shape.size
    found = []
    for length in np.asarray(lengths, np.int64).tolist():
        starts = np.arange(n - length + 1)
        found.append(tree.range_variances(starts, starts + length).mean())
    return np.array(found)


def worst_range(tree: TreeVariance) -> float:
    """The largest error of any range; of a large tree, the largest found by climbing to it.

    Climbing moves one end at a time to where it is worst, from many starts.
    """
    n = tree.shape.size
    if n <= _MOST_BY_BRUTE_FORCE:
        i, j = np.triu_indices(n + 1, 1)
        return float(tree.range_variances(i, j).max())
    cuts = np.arange(n + 1)
    worst = 0.0
    for start in np.linspace(0, n, 8).astype(np.int64).tolist():
        fixed, best = start, -1.0
        while True:
            errors = tree.range_variances(np.full(n + 1, fixed), cuts)
            if errors.max() <= best * (1 + 1e-12):
                break
            fixed, best = int(errors.argmax()), float(errors.max())
        worst = max(worst, best)
    return worst
