"""The Haar wavelet on any number of cells: the total, and left − right of nodes with two parts.

Nodes halve from a power of two, the last of a level cut short; one with a single part is its part.
That is as many answers as cells, and one way back: left = (node + difference) / 2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints


def widths_of(size: int) -> tuple[int, ...]:
    """The cells under a full node of each level, root first, 1 last."""
    height = (size - 1).bit_length()
    return tuple(1 << level for level in range(height, -1, -1))


def pairs(size: int, width: int) -> int:
    """How many nodes of that width have two parts: all, but perhaps the last."""
    return -(-size // width) - (0 if (size - 1) % width >= width // 2 else 1)


def differences(counts: Ints) -> list[Ints]:
    """The total, then each level's differences, the root's first."""
    levels = []
    below = counts
    for width in reversed(widths_of(len(counts))[:-1]):
        number = pairs(len(counts), width)
        levels.append(below[0 : 2 * number : 2] - below[1 : 2 * number : 2])
        below = np.add.reduceat(below, np.arange(0, len(below), 2))
    return [below, *reversed(levels)]


def cells_from(size: int, levels: Sequence[npt.ArrayLike]) -> Floats:
    """The cells whose total and differences these are: the inverse of `differences`."""
    nodes = np.asarray(levels[0], np.float64)
    for width, given in zip(widths_of(size)[:-1], levels[1:], strict=True):
        difference = np.asarray(given, np.float64)
        number = len(difference)
        below = np.empty(-(-2 * size // width))
        below[0 : 2 * number : 2] = (nodes[:number] + difference) / 2
        below[1 : 2 * number : 2] = (nodes[:number] - difference) / 2
        below[2 * number :] = nodes[number:]  # one part: the node itself
        nodes = below
    return nodes


def tree_weights(size: int, weights: Sequence[float]) -> list[Floats]:
    """The weights, per level for full nodes and the last, of the tree that is as informative.

    (left − right)² = 2 left² + 2 right² − node², so a difference of weight w adds 2w to both parts
    and takes w from the node. A node of one part hands its weight down to it.
    """
    widths = widths_of(size)
    found = [np.zeros(2) for _ in widths]
    found[0][:] = weights[0]
    for level, weight in enumerate(weights[1:]):
        found[level][0] -= weight
        found[level + 1][0] += 2 * weight
        if (size - 1) % widths[level] >= widths[level] // 2:
            found[level][1] -= weight
            found[level + 1][1] += 2 * weight
        else:
            found[level + 1][1] += found[level][1]
            found[level][1] = 0.0
    return found


def coefficients(
    size: int, cuts: Sequence[int], values: Sequence[float]
) -> list[tuple[int, float]]:
    """The answers that enter Σ values[i] · count[cuts[i], cuts[i + 1]): block and coefficient.

    Block 0 is the total, block l + 1 the differences of level l. Only nodes with a change of value
    inside have one: (left − right)/2, each side the mean of its parts.
    """
    widths = widths_of(size)
    inner = [cut for cut in cuts if 0 < cut < size]
    found = []
    below: dict[int, float] = {}

    def mean(level: int, node: int) -> float:
        """Of a node of the level: known if it is cut, else the value all through it."""
        if node in below:
            return below[node]
        place = np.searchsorted(cuts, node * widths[level], side="right") - 1
        return values[int(place)]

    for level in range(len(widths) - 2, -1, -1):
        width = widths[level]
        here = {}
        # A node whose halves differ is cut somewhere inside.
        for node in {cut // width for cut in inner if cut % width}:
            left = mean(level + 1, 2 * node)
            if (2 * node + 1) * widths[level + 1] >= size:
                here[node] = left
                continue
            right = mean(level + 1, 2 * node + 1)
            here[node] = (left + right) / 2
            if left != right:
                found.append((level + 1, (left - right) / 2))
        below = here
    found.append((0, mean(0, 0)))
    return found
