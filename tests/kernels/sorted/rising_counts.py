"""Counts of every kind that a walk meets, noise for them, and how often a band may miss."""

from __future__ import annotations

import numpy as np
from scipy.stats import binomtest


def drawing(seed, scale):
    rng = np.random.default_rng(seed)
    p = -np.expm1(-1 / scale)
    return lambda size: rng.geometric(p, size) - rng.geometric(p, size)


def families():
    """Counts of every kind the walk meets, rising."""
    rng = np.random.default_rng(11)
    made = {
        "constant": np.full(1500, 5000),
        "zeros": np.zeros(1500, np.int64),
        "two clusters": np.repeat([0, 3000], [400, 1100]),
        "staircase": np.repeat(np.arange(20) * 50, 75),
        "gaussian": np.rint(rng.normal(1e5, 300, 1500)),
        "uniform": rng.integers(0, 2000, 1500),
        "geometric": rng.geometric(0.02, 1500),
        "zipf": np.minimum(rng.zipf(1.8, 1500), 10**7),
        "giants": np.concatenate([np.zeros(1490), rng.integers(10**5, 10**6, 10)]),
    }
    return {name: np.sort(counts).astype(np.int64) for name, counts in made.items()}


FAMILIES = families()


LEVELS = (0.5, 0.8, 0.95)


def assert_covered_as_often_as_claimed(missed, draws):
    """By a binomial test: so many misses of a band that holds its level are not out of the way."""
    for level, number in zip(LEVELS, missed, strict=True):
        assert binomtest(number, draws, 1 - level, alternative="greater").pvalue > 0.05
