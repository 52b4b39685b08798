"""The binary grid on which sums are exact in floating point."""

from __future__ import annotations

import math


def grid_for(largest: float) -> float:
    """The power of two g for which the largest sum, times g, just fits 52 bits."""
    if largest == 0.0:
        return 1.0
    shift = min(52 - math.ceil(math.log2(largest)), 1000)
    while math.ldexp(largest, shift) > 2.0**52:  # log2 rounds
        shift -= 1
    return math.ldexp(1.0, shift)
