"""The nearest rising sequence (Theorem 1): pool adjacent violators in one pass."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trueup._kernels.compiled import compiled

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@compiled
def _pool(noisy: Floats, fitted: Floats, counts: Ints) -> None:
    # fitted[:blocks] and counts[:blocks] are a stack of blocks (sum, length) whose means rise
    # strictly; the block being built is in `total` and `length`. Means are compared by
    # cross-multiplication, so each block is divided once, at the end.
    blocks = 0
    for i in range(noisy.shape[0]):
        total, length = noisy[i], 1
        while blocks > 0 and fitted[blocks - 1] * length >= total * counts[blocks - 1]:
            blocks -= 1
            total += fitted[blocks]
            length += counts[blocks]
        fitted[blocks] = total
        counts[blocks] = length
        blocks += 1
    # Spread from the right: block b's values start at or right of its place on the stack.
    stop = noisy.shape[0]
    for b in range(blocks - 1, -1, -1):
        mean = fitted[b] / counts[b]
        start = stop - counts[b]
        for i in range(start, stop):
            fitted[i] = mean
        stop = start


def isotonic(noisy: npt.ArrayLike) -> Floats:
    """The rising sequence nearest to `noisy` in L2, in linear time.

    >>> isotonic([14, 9, 10, 15]).tolist()
    [11.0, 11.0, 11.0, 15.0]
    """
    values = np.ascontiguousarray(noisy, dtype=np.float64)
    fitted = np.empty_like(values)
    _pool(values, fitted, np.empty(len(values), np.int64))
    return fitted
