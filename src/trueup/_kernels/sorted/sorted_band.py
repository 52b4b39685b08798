"""A band that holds all true counts of a sorted sequence at once, narrow where counts repeat.

True counts rise, so count k is at most the mean of those from k to any j ≥ k; and the mean of L
noises is small. Isotonic regression pools: inside a block, the mean of the noisy counts from k to
the block's end is at most the block's fitted value, so that the fit alone gives

    count k ≤ mean of the fit over k … j + q(j − k + 1)   for every block's end j ≥ k,

mirrored below. q(L) is such that all windows of all lengths stay within it together: length L is
given a part of 1 − level, shared among its windows, which lie anywhere. Besides, the fit is nowhere
further off than the largest single noise, q(1).
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from trueup.arrays import Floats, Ints

_FINENESS = 200  # steps of each doubling of a window's exponent: q is rounded up to the next


def window_reach(
    scale: float, size: int, level: float, lengths: Ints, gaussian: bool = False
) -> Floats:
    """q(L) for each length: every window's mean noise lies within it, all together, with `level`.

    Half of 1 − level goes to single noises, the rest to longer windows in proportion to
    1 / (L log²(L + 1)), which adds up however many there are. Of Gaussian noise the scale is σ².
    """
    lengths = np.asarray(lengths, np.int64)
    whole = np.arange(2.0, size + 1)
    total = np.sum(1 / (whole * np.log(whole + 1) ** 2)) if size > 1 else 1.0
    part = np.where(lengths == 1, 0.5, 0.5 / (total * lengths * np.log(lengths + 1.0) ** 2))
    tail = (1 - level) * part / (2 * (size - lengths + 1.0))  # one side of one window
    if gaussian:
        return _gaussian_reach(scale, tail, lengths)
    log_p = -1 / scale
    # Of one noise: P(X > t) = p^(t + 1) / (1 + p), t whole.
    single = np.ceil(np.log(tail * (1 + math.exp(log_p))) / log_p - 1)
    # Of a mean of L, by Chernoff: exp(L(K(θ) − θq)) = tail, so q = (K(θ) + log(1/tail)/L)/θ.
    room = -np.log(tail) / lengths
    steps = np.ceil(np.log2(room) * _FINENESS)
    distinct, which = np.unique(steps, return_inverse=True)
    theta = np.linspace(0.004, 0.996, 249) / scale
    theta = theta[theta < 700.0]  # beyond, where scales are below 1/700, its cosh is no float
    s = 2 * math.exp(log_p) / math.expm1(log_p) ** 2
    inside = s * 2 * np.sinh(theta / 2) ** 2  # s (cosh θ − 1), of which large scales leave nothing
    theta, cumulant = theta[inside < 1], -np.log1p(-inside[inside < 1])
    bound = ((cumulant + np.exp2(distinct / _FINENESS)[:, None]) / theta).min(axis=1)
    return np.where(lengths == 1, np.maximum(single, 0.0), bound[which])


def _gaussian_reach(variance: float, tails: Floats, lengths: Ints) -> Floats:
    """What a mean of so many discrete Gaussian noises passes with at most these probabilities.

    Of one noise: beyond σ the bell is convex, so that e^(−x²/2σ²) is at most its mean over
    x − ½ … x + ½; and its sum over all whole x is at least the integral. So P(X > t) is at most
    what a normal curve has beyond t + ½ ≥ σ. A mean of L has subgaussian tails of variance σ²/L.
    """
    sigma = math.sqrt(variance)
    each = np.array([-NormalDist().inv_cdf(tail) for tail in tails.tolist()])
    single = np.ceil(sigma * np.maximum(each, 1.0) - 0.5)
    mean = sigma * np.sqrt(-2 * np.log(tails) / lengths)
    return np.where(lengths == 1, np.minimum(np.maximum(single, 0.0), mean), mean)


def sorted_band(
    fitted: Floats, scale: float, level: float, gaussian: bool = False
) -> tuple[Floats, Floats]:
    """The two ends of the band around a rising fit."""
    reach = window_reach(scale, len(fitted), level, np.arange(1, len(fitted) + 1), gaussian)
    high = _upper(fitted, reach)
    low = -_upper(-fitted[::-1], reach)[::-1]
    high, low = high + inexact(fitted), low - inexact(fitted)
    # Rising truths: what bounds one bounds those before it, or after it.
    high = np.minimum.accumulate(high[::-1])[::-1]
    return np.maximum.accumulate(low), high


def inexact(values: Floats) -> Floats:
    """How far off a count may be for being a float; 0 where whole numbers are exact."""
    size = np.abs(values)
    return np.where(size < 1 << 50, 0.0, size * 2.0**-50)


def _upper(fitted: Floats, reach: Floats) -> Floats:
    size = len(fitted)
    at = np.arange(size)
    last = np.append(np.flatnonzero(np.diff(fitted) > 0), size - 1)  # where blocks end
    sums = np.concatenate([[0.0], np.cumsum(fitted - fitted[0])])
    best = fitted + reach[0]
    length = 1
    while length <= size:
        # The first block's end that makes the window at least this long.
        place = np.searchsorted(last, np.minimum(at + length - 1, size - 1))
        stop = last[place]
        number = stop - at + 1
        mean = fitted[0] + (sums[stop + 1] - sums[at]) / number
        best = np.minimum(best, mean + reach[number - 1])
        length *= 2
    return best
