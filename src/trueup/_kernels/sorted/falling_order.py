"""A stable order for compiled code: numpy's own sorts cost seconds to compile, this one little."""

from __future__ import annotations

import numpy as np

from trueup._kernels.compiled import compiled
from trueup.arrays import Floats, Ints


@compiled
def falling(keys: Floats) -> Ints:
    """The places of the keys from the largest to the smallest, equal ones in their order."""
    n = len(keys)
    order, spare = np.arange(n), np.empty(n, np.int64)
    width = 1
    while width < n:
        for begin in range(0, n, 2 * width):
            middle, end = min(begin + width, n), min(begin + 2 * width, n)
            i, j = begin, middle
            for k in range(begin, end):
                if j == end or (i < middle and keys[order[i]] >= keys[order[j]]):
                    spare[k] = order[i]
                    i += 1
                else:
                    spare[k] = order[j]
                    j += 1
        order, spare = spare, order
        width *= 2
    return order
