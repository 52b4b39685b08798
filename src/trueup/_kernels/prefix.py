"""Numbers that add up with ==: prefix sums on a binary grid. Plain numpy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def prefix_on_grid(counts: npt.ArrayLike) -> Floats:
    """The sums of the first 0, 1, …, n counts, each rounded to one common power of two.

    The grid is so fine that the largest prefix just fills 52 bits; then the difference of any two
    prefixes, and the sum of two such differences that meet, is exact in floating point.
    """
    prefix = np.zeros(len(np.asarray(counts)) + 1)
    np.cumsum(counts, dtype=np.float64, out=prefix[1:])
    largest = float(np.abs(prefix).max())
    if largest == 0.0:
        return prefix
    shift = 52 - int(np.ceil(np.log2(largest)))
    while np.ldexp(largest, shift) > 2.0**52:  # log2 rounds
        shift -= 1
    np.ldexp(prefix, shift, out=prefix)
    np.rint(prefix, out=prefix)
    np.ldexp(prefix, -shift, out=prefix)
    return prefix
