"""The nearest rising sequence (Theorem 1): pool adjacent violators in one pass."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trueup._kernels.compiled import compiled
from trueup.arrays import Floats


@compiled
def _pool(noisy: Floats, fitted: Floats, lengths: Floats) -> None:
    # fitted[:blocks] and lengths[:blocks] are a stack of blocks (sum, length) whose means rise
    # strictly; the top block is kept out of it, in `top` and `span`. Means are compared by
    # cross-multiplication, so each block is divided once, at the end. Lengths are floats to
    # spare conversions: they are exact far beyond any array.
    if noisy.shape[0] == 0:
        return
    blocks = 0
    top, span = noisy[0], 1.0
    for i in range(1, noisy.shape[0]):
        total, length = noisy[i], 1.0
        if top >= total * span:
            total += top
            length += span
            while blocks > 0 and fitted[blocks - 1] * length >= total * lengths[blocks - 1]:
                blocks -= 1
                total += fitted[blocks]
                length += lengths[blocks]
        else:
            fitted[blocks] = top
            lengths[blocks] = span
            blocks += 1
        top, span = total, length
    fitted[blocks] = top
    lengths[blocks] = span
    # Spread from the right: block b's values start at or right of its place on the stack.
    stop = noisy.shape[0]
    for b in range(blocks, -1, -1):
        mean = fitted[b] / lengths[b]
        start = stop - int(lengths[b])
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
    _pool(values, fitted, np.empty_like(values))
    return fitted
