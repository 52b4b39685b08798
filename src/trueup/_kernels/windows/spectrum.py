"""Windows read back: their inverse by sines or cosines, and the variances after it.

The windows of a profile, before cells are scaled, have the sines sin(kπ(i − ½)/n) as eigenvectors
where they are cut off at both ends, and the cosines cos((k − ½)π(i − ½)/n) where they are thrown
back at the first cell: a fast transform reads them back, and gives the variance of any sum of
cells. Variances are in units of the noise's.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from trueup._kernels.windows.profile import Profile, profile_of
from trueup.arrays import Floats, Ints

_NUMBERS = 1 << 22  # looked at together
_BLOCK = 128  # cells whose sums of pairs are written out
_KEPT = 8


@lru_cache(maxsize=_KEPT)
def eigenvalues(size: int, end: int) -> Floats:
    """Of the windows before cells are scaled, in the order of the transform."""
    from scipy.fft import rfft

    profile = profile_of(size, end)
    period = 2 * size if end < 0 else 4 * size
    found = rfft(profile.at(np.arange(period)).astype(np.float64)).real
    return np.ascontiguousarray(found[1:]) if end < 0 else found[1::2] / 2


def _there(end: int, lines: Floats) -> Floats:
    from scipy.fft import dct, dst

    return dst(lines, 2, norm="ortho") if end < 0 else dct(lines, 4, norm="ortho")


def _back(end: int, lines: Floats) -> Floats:
    from scipy.fft import dct, idst

    return idst(lines, 2, norm="ortho") if end < 0 else dct(lines, 4, norm="ortho")


def _without_windows(size: int, end: int, lines: Floats) -> Floats:
    """What windows, before cells are scaled, make these lines of: they are their own transpose."""
    return _back(end, _there(end, lines) / eigenvalues(size, end))


def cells_of(profile: Profile, answers: Floats) -> Floats:
    """The cells of which these are the answers, along the last dimension."""
    return _without_windows(profile.size, profile.end, answers) / profile.by_cell


def coefficients(profile: Profile, values: Floats) -> Floats:
    """What each answer counts for in the sum of the cells times these values, line by line."""
    return _without_windows(profile.size, profile.end, values / profile.by_cell)


def variances(profile: Profile, values: Floats) -> Floats:
    """The variance of the sum of the cells times these values, line by line."""
    waves = _there(profile.end, values / profile.by_cell)
    return np.square(waves / eigenvalues(profile.size, profile.end)).sum(axis=-1)


def range_variances(profile: Profile, starts: Ints, stops: Ints) -> Floats:
    """The variance of each range [start, stop) of cells."""
    cells, found = np.arange(profile.size), np.zeros(len(starts))
    together = max(1, _NUMBERS // profile.size)
    for first in range(0, len(starts), together):
        some = slice(first, first + together)
        inside = (cells >= starts[some, None]) & (cells < stops[some, None])
        found[some] = variances(profile, inside.astype(np.float64))
    return found


def prefix_covariance(profile: Profile, edges: Ints) -> Floats:
    """The covariance of the counts below these edges."""
    below = (np.arange(profile.size) < edges[:, None]) / profile.by_cell
    waves = _there(profile.end, below) / eigenvalues(profile.size, profile.end)
    return np.asarray(waves @ waves.T)


def prefix_variances(profile: Profile) -> Floats:
    """The variance of the count of the first 0, 1, …, n cells; O(n log² n).

    With H the inverse of the squared windows and a = 1/s, the first j cells have what the first
    j − 1 have, and a_j · (2 Σ_{i<j} H[i, j] a_i + H[j, j] a_j). H is h(i − j) + end · h(i + j − 1)
    with h of its own: the first part is a convolution, the second one of halves in halves.
    """
    from scipy.fft import irfft, next_fast_len, rfft

    n, end = profile.size, profile.end
    a = 1.0 / profile.by_cell
    h = _inverse_by_distance(n, end)
    length = next_fast_len(2 * n, real=True)
    causal = np.concatenate([[0.0], h[1:n]])
    near = irfft(rfft(causal, length) * rfft(a, length), length)[:n]
    own = h[0] + end * h[2 * np.arange(n) + 1]
    return np.concatenate([[0.0], np.cumsum(a * (2 * (near + end * _thrown_back(h, a)) + own * a))])


def _inverse_by_distance(n: int, end: int) -> Floats:
    """h of the inverse of the squared windows, for distances up to 2n."""
    from scipy.fft import irfft

    period = 2 * n if end < 0 else 4 * n
    waves = np.zeros(period // 2 + 1)
    squared = 1 / eigenvalues(n, end) ** 2
    if end < 0:
        waves[1:] = squared
    else:
        waves[1::2] = 2 * squared
    found = irfft(waves, period)
    return np.append(found, found[0]) if end < 0 else found[: 2 * n + 1]


def _thrown_back(h: Floats, a: Floats) -> Floats:
    """Σ_{i<j} h(i + j − 1) · a_i for each j, cells counted from 1."""
    from scipy.fft import irfft, rfft

    n = len(a)
    blocks = 1 << max(0, -(-n // _BLOCK) - 1).bit_length()
    padded = np.zeros(blocks * _BLOCK)
    padded[:n] = a
    far = np.zeros(2 * len(padded) + 1)
    far[: min(len(h), len(far))] = h[: len(far)]
    found = np.zeros(len(padded))
    # Pairs within a block, written out; from 0: i and j stand for h(i + j + 1).
    i = np.arange(_BLOCK)
    before = np.tril(np.ones((_BLOCK, _BLOCK)), -1)
    together = max(1, _NUMBERS // _BLOCK**2)
    for first in range(0, blocks, together):
        starts = np.arange(first, min(first + together, blocks)) * _BLOCK
        each = far[2 * starts[:, None, None] + (i[:, None] + i + 1)] * before
        values = padded[starts[:, None] + i]
        found[starts[:, None] + i] = np.einsum("bji,bi->bj", each, values)
    # A block and the next one, of twice the length each time.
    width = _BLOCK
    while width < len(padded):
        starts = np.arange(0, len(padded), 2 * width)
        left = padded.reshape(-1, 2 * width)[:, :width]
        lags = 2 * starts[:, None] + width + 1 + np.arange(2 * width)
        # Cell i of the left, backwards, with h from the sum of the first cells of both on.
        product = rfft(far[np.minimum(lags, len(far) - 1)]) * rfft(left[:, ::-1], 2 * width)
        sums = irfft(product, 2 * width)[:, width - 1 : 2 * width - 1]
        found.reshape(-1, 2 * width)[:, width:] += sums
        width *= 2
    return found[:n]


def mean_variances(profile: Profile) -> tuple[float, float]:
    """The mean variance over all ranges, and over all prefixes.

    Over all pairs of edges the variances between them add up to n + 1 times those of all prefixes,
    less that of the sum of all prefixes. Kept for some while: a plan asks for it again and again.
    """
    return _mean_variances(profile.size, profile.end)


@lru_cache(maxsize=_KEPT)
def _mean_variances(size: int, end: int) -> tuple[float, float]:
    profile, n = profile_of(size, end), size
    prefixes = float(prefix_variances(profile).sum())
    every = float(variances(profile, np.arange(n, 0, -1.0)[None])[0])
    return ((n + 1) * prefixes - every) / (n * (n + 1) / 2), prefixes / n
