"""A bound that no linear question beats under Gaussian noise, for all ranges or all prefixes.

With G[i, j] the number of asked ranges that hold both cells i and j, a question A has the mean
variance max_j ‖A e_j‖² · tr(G (A'A)⁻¹), over the number of ranges. For any weights λ ≥ 0 of the
cells it is at least (tr (Λ^½ G Λ^½)^½)² / Σλ: by Cauchy and Schwarz, as Σ λ_j ‖A e_j‖² is at most
Σλ times the largest column. G is the inverse of a second difference T, times n + 1 for ranges. So
the trace is Σ τ^−½ over the eigenvalues τ of T against Λ. For every τ > 0 and step h

    h/π · Σ_j e^(jh/2) / (τ + e^(jh)) ≤ τ^−½ · (1 + 2 Σ_m 1/cosh(2π² m/h)),

by Poisson's sum; what is left out at either end is put on the last shift, which makes it smaller.
So a sum of traces of Λ (T + shift·Λ)⁻¹ bounds it from below, and each is one recursion of positive
terms, without a difference. docs/windows.md has the proof.
"""

from __future__ import annotations

import math

import numpy as np

from trueup._kernels.compiled import compiled
from trueup.arrays import Floats

_STEP = 1.0  # of the logarithm of shifts: they exceed τ^−½ by one part in 10^8
_BEYOND = 8.0  # how far shifts go beyond the eigenvalues, in logarithms
_POWERS = {False: 2.0, True: 2.2}  # of the columns, for the weights: ranges, prefixes
_ROUNDING = 64 * 2.0**-53  # of a trace, for every cell


@compiled
def resolvent_traces(weights: Floats, shifts: Floats, free: bool, traces: Floats) -> None:
    """tr (Λ (T + shift Λ)⁻¹) for each shift; T has a free left end, or is held at both.

    The pivots are 1 + s with s_i = shift·λ_i + s_{i−1}/(1 + s_{i−1}), and the trace is the sum of
    the derivatives of their logarithms.
    """
    for p in range(len(shifts)):
        shift = shifts[p]
        s = shift * weights[0]
        slope = weights[0]
        if not free:
            s += 1.0
        total = slope / (1.0 + s)
        for i in range(1, len(weights)):
            over = 1.0 / (1.0 + s)
            slope = weights[i] + slope * over * over
            s = shift * weights[i] + s * over
            total += slope / (1.0 + s)
        traces[p] = total


def shifts_and_parts(least: float, most: float) -> tuple[Floats, Floats]:
    """Shifts t and parts c with Σ c/(τ + t) ≤ τ^−½ for all τ > 0, and nearly equal between."""
    first = math.floor((math.log(least) - _BEYOND) / _STEP)
    last = math.ceil((math.log(most) + _BEYOND) / _STEP)
    j = np.arange(first, last + 1)
    shifts = np.exp(_STEP * j)
    parts = _STEP / math.pi * np.sqrt(shifts)
    # Below: 1/(τ + t) is larger for smaller t. Above: e^(u/2)/(τ + e^u) is at least
    # e^(−u/2) · t/(τ + t) for the last shift t. Both are geometric sums.
    ratio = math.exp(-_STEP / 2)
    parts[0] /= 1 - ratio
    parts[-1] /= 1 - ratio
    exceeds = sum(1 / math.cosh(2 * math.pi**2 * m / _STEP) for m in (1, 2, 3))
    return shifts, parts / (1 + 2.001 * exceeds)


def columns_of_root(size: int, prefixes: bool) -> Floats:
    """The diagonal of the square root of G, all but a factor."""
    from scipy.fft import irfft

    period = 4 * size if prefixes else 2 * size
    waves = np.zeros(period // 2 + 1)
    k = np.arange(1, period // 2 + 1, 2 if prefixes else 1)
    waves[k] = 1 / np.sin(k * math.pi / period)
    by_distance = irfft(waves, period)
    thrown = by_distance[np.arange(1, 2 * size, 2)]
    return by_distance[0] + thrown if prefixes else by_distance[0] - thrown


def least_mean_variance(size: int, prefixes: bool = False) -> float:
    """No linear question has a smaller mean variance over all ranges, or over all prefixes.

    Per unit of noise variance, for columns of length 1. Rounded down, so that it is a bound
    whatever floats do; within a few parts in 10,000 of the best possible.
    """
    weights = columns_of_root(size, prefixes) ** _POWERS[prefixes]
    weights /= weights.max()
    # T against Λ: no eigenvalue is below that of T, as no weight is above 1, nor far above 4/λ.
    least = 4 * math.sin(math.pi / (4 * size + 2)) ** 2
    shifts, parts = shifts_and_parts(least, 4 / float(weights.min()))
    traces = np.zeros(len(shifts))
    resolvent_traces(weights, shifts, prefixes, traces)
    root = float(parts @ traces) * (1 - size * _ROUNDING - 1e-12)
    ranges, factor = (size, 1.0) if prefixes else (size * (size + 1) / 2, size + 1.0)
    return root**2 * factor / (float(weights.sum()) * (1 + 1e-12) * ranges)
