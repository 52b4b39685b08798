"""Numbers that add up with ==: prefix sums on a binary grid. Plain numpy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def on_grid(values: npt.ArrayLike, largest: float) -> Floats:
    """The values rounded to a power of two, so fine that `largest` just fills 52 bits.

    Sums and differences of such values are exact in floating point while they stay below that.
    """
    rounded = np.array(values, np.float64)
    if largest == 0.0:
        return rounded
    shift = 52 - int(np.ceil(np.log2(largest)))
    while np.ldexp(largest, shift) > 2.0**52:  # log2 rounds
        shift -= 1
    np.ldexp(rounded, shift, out=rounded)
    np.rint(rounded, out=rounded)
    rounded += 0.0  # no minus zero
    return np.ldexp(rounded, -shift, out=rounded)


def prefix_on_grid(counts: npt.ArrayLike) -> Floats:
    """The sums of the first 0, 1, …, n counts, each rounded to one common power of two.

    The difference of any two prefixes, and the sum of two such differences that meet, is exact.
    """
    prefix = np.zeros(len(np.asarray(counts)) + 1)
    np.cumsum(counts, dtype=np.float64, out=prefix[1:])
    return on_grid(prefix, float(np.abs(prefix).max()))
