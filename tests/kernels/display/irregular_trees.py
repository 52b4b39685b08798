"""Trees of random fan-outs, which the non-negative kernels are tried on."""

from __future__ import annotations

import numpy as np


def random_tree(rng, most=4, height=4, even=True):
    """An irregular tree; with even=False leaves lie at different depths."""
    fans, level = [], 1
    for depth in range(rng.integers(1, height + 1)):
        stop = 0.0 if even or depth == 0 else 0.3
        fan = rng.integers(1, most + 1, level) * (rng.random(level) >= stop)
        fans.append(fan)
        level = int(fan.sum())
        if level == 0:
            break
    fans.append(np.zeros(level, np.int64))
    return np.concatenate([[1], 1 + np.cumsum(np.concatenate(fans))]).astype(np.int64)
