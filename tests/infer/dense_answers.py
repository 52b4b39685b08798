"""Noisy answers, and the variance of the noise in each by the textbook formula."""

from __future__ import annotations

import math

import numpy as np


def variances(m):
    """The noise variance of every answer, from the exact scales, by the textbook formula."""
    each = []
    for scale, (length, _) in zip(m.noise.scales, m.question.blocks, strict=True):
        p = math.exp(-1 / scale)
        each += [2 * p / (1 - p) ** 2 if m.law == "discrete" else 2 * float(scale) ** 2] * length
    return np.array(each)


def noisy(rng, length):
    return rng.integers(-100, 1000, length)
