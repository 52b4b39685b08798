"""The error of H̃: a range answered by the fewest noisy nodes, with no inference, in closed form.

Write the cost of a range as a sum over all nodes inside it: a node inside stands for its children,
so it adds its own variance less theirs (0 where it was not asked). How many ranges hold a node is
elementary, and the nodes of a level lie on an arithmetic progression.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats


class FewestNodes:
    """Errors of a regular tree answered node by node.

    `variances` is one a level, root first, inf where the level was not asked.
    """

    def __init__(self, size: int, widths: Sequence[int], variances: Sequence[float]) -> None:
        self.size, self.widths = size, tuple(widths)
        self._cost = [(float(variances[-1]), float(variances[-1]))]  # of a full node, of the last
        self._saved = [self._cost[0]]  # its cost less its children's
        for level in range(len(widths) - 2, -1, -1):
            full, last = self._cost[0]
            k = widths[level] // widths[level + 1]
            m = ((size - 1) % widths[level]) // widths[level + 1]
            parts = (k * full, m * full + last)
            asked = np.isfinite(variances[level])
            # A node of one child has the same cells: whichever of the two is cheaper.
            own = float(variances[level])
            cost = (own, own if m else min(own, last)) if asked else parts
            self._cost.insert(0, cost)
            self._saved.insert(0, (cost[0] - parts[0], cost[1] - parts[1]))

    def _over_nodes(self, holds: Callable[[int, int, int], Any]) -> Any:
        """Σ over all nodes of what a node saves × how many of the ranges hold it.

        holds(width, first, count) adds up the latter over nodes that start at first,
        first + width, ….
        """
        total = 0.0
        for width, (full, last) in zip(self.widths, self._saved, strict=True):
            before_last = (self.size - 1) // width
            start = before_last * width
            total = total + full * holds(width, 0, before_last)
            total = total + last * holds(self.size - start, start, 1)
        return total

    def mean_over_ranges(self) -> float:
        """The error of a range, averaged over all of them."""
        n = self.size

        def holds(width: int, first: int, count: int) -> int:
            starts, stops = first + 1, n - first - width + 1
            i, ii = count * (count - 1) // 2, (count - 1) * count * (2 * count - 1) // 6
            return count * starts * stops + (stops - starts) * width * i - width * width * ii

        return float(self._over_nodes(holds)) / (n * (n + 1) // 2)

    def mean_over_prefixes(self) -> float:
        """The error of a prefix, averaged over the non-empty ones."""
        n = self.size

        def holds(width: int, first: int, count: int) -> int:
            return count * (n - first - width + 1) - width * (count * (count - 1) // 2)

        return float(self._over_nodes(holds)) / n

    def mean_by_length(self, lengths: npt.ArrayLike) -> Floats:
        """The error of a range of each length, averaged over all its places."""
        n, m = self.size, np.asarray(lengths, np.int64)

        def holds(width: int, first: int, count: int) -> Floats:
            # A node that starts at s lies in min(s, n − width − s, cap) + 1 of them.
            cap = np.minimum(n - m, m - width)
            if count == 1:
                low = min(first, n - width - first)
                return np.where(m >= width, np.minimum(low, cap) + 1.0, 0.0)
            # Rising while s < cap, falling once n − width − s < cap, level between.
            past = np.full_like(m, count)
            rising = np.minimum(-(-np.maximum(cap, 0) // width), past)
            falling = np.clip((n - width - cap) // width + 1, 0, past)
            # Where the two overlap the tent has no level part: split at its middle.
            middle = np.minimum((n - width) // (2 * width) + 1, past)
            rising, falling = np.minimum(rising, middle), np.maximum(falling, middle)
            ups = width * (rising * (rising - 1.0) / 2)
            downs = (past - falling) * (n - width + 0.0)
            downs = downs - width * ((past - falling) * (past + falling - 1.0) / 2)
            level = np.maximum(falling - rising, 0) * cap
            return np.where(m >= width, ups + downs + level + count, 0.0)

        return np.asarray(self._over_nodes(holds) / (n - m + 1), np.float64)

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each [start, stop)."""
        i, j = np.asarray(starts, np.int64), np.asarray(stops, np.int64)
        total = np.zeros(np.broadcast(i, j).shape)
        for width, (full, last) in zip(self.widths, self._saved, strict=True):
            before_last = (self.size - 1) // width
            inside = np.minimum(j // width, before_last) - -(-i // width)
            total = total + full * np.maximum(inside, 0)
            total = total + last * ((j == self.size) & (i <= before_last * width))
        return total

    def worst_range(self) -> float:
        """The variance of the range that has the largest."""
        worst = self._cost[0][1]
        part, part_last = 0.0, 0.0  # the dearest prefix of a node, short of the whole node
        for level in range(len(self.widths) - 2, -1, -1):
            full, last = self._cost[level + 1]
            k = self.widths[level] // self.widths[level + 1]
            m = ((self.size - 1) % self.widths[level]) // self.widths[level + 1]
            # A suffix of one child, whole children, a prefix of another; not all children whole.
            if (self.size - 1) // self.widths[level]:
                worst = max(worst, part + (k - 2) * full + max(part, full))
            if m > 1:
                worst = max(worst, part + (m - 2) * full + max(part, full))
            if m:
                worst = max(worst, part + (m - 1) * full + max(part_last, last))
                worst = max(worst, m * full + part_last)
            part_last = max(m * full + part_last, (m - 1) * full + part if m else 0.0)
            part = (k - 1) * full + part
        return worst
