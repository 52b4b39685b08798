"""The whole-number weights of windows: by the distance from the cell they stand on, and by cell.

Of n cells, the window on cell i weighs cell j, both from 1 to n, by

    A[i, j] = (f(|i − j|) + end · f(i + j − 1)) · s[j].

f falls from its largest value to f(n) = 0. It is even and goes on beyond n by
f(2n − m) = −end · f(m). With end = −1 windows are cut off at both ends (best for ranges), with
end = +1 they are thrown back at the first cell (best for prefixes). f is that of the square root
of a square root: the coefficients of |1 − z|^(−1/2) on the unit circle, with the first images of
the ends. s makes the columns as long as each other.

Only sums, products, quotients and square roots decide: every machine finds the same weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from trueup._kernels.windows.convolution import cyclic_convolution
from trueup.arrays import Ints

_BITS = 12
_LONG = 65_536  # cells that 12 bits are enough for; a bit more for every four times as many
SCALE = 1 << 10  # the least s
_KEPT = 8  # profiles


@dataclass(frozen=True, eq=False)
class Profile:
    """The weights by distance, those by cell, and the squared length and the sum of each column."""

    size: int
    end: int
    by_distance: Ints
    by_cell: Ints
    squares: Ints
    sums: Ints

    def at(self, distances: Ints) -> Ints:
        """f at any distances up to 3n."""
        n = self.size
        folded = np.abs(distances)
        folded = np.where(folded > 2 * n, 4 * n - folded, folded)
        beyond = folded > n
        values = self.by_distance[np.where(beyond, 2 * n - folded, folded)]
        return np.where(beyond, -self.end * values, values)

    def windows(self, cells: Ints) -> Ints:
        """Σ_j (f(|i − j|) + end · f(i + j − 1)) · cells[j], modulo 2^64."""
        return _windows(self, cells)

    def matrix(self) -> Ints:
        """A, whole, for a few thousand cells."""
        i = np.arange(1, self.size + 1)
        found = self.at(i[:, None] - i) + self.end * self.at(i[:, None] + i - 1)
        return found * self.by_cell


def _length(size: int, end: int) -> int:
    """The power of two in which cyclic sums over distances do not overlap, or overlap rightly."""
    if end < 0 and size & (size - 1) == 0:
        return 2 * size  # f itself repeats after 2n
    return 1 << (3 * size - 2).bit_length()


def _windows(profile: Profile, cells: Ints) -> Ints:
    # Cells thrown back at the end stand at 0, −1, …, 1 − n: then it is one convolution.
    n, length = profile.size, _length(profile.size, profile.end)
    mirrored = np.zeros(length, np.int64)
    mirrored[1 : n + 1] = cells
    mirrored[np.arange(0, -n, -1)] = profile.end * cells
    lags = np.arange(1 - n, 2 * n)
    kernel = np.zeros(length, np.int64)
    kernel[lags % length] = profile.at(lags)
    return cyclic_convolution(mirrored, kernel, 2 * n)[1 : n + 1]


@lru_cache(maxsize=_KEPT)
def profile_of(size: int, end: int) -> Profile:
    """The weights for so many cells."""
    f = _by_distance(size, end)
    bare = Profile(size, end, f, np.ones(size, np.int64), f[:0], f[:0])
    squares = _squares(bare)
    by_cell = np.floor(np.sqrt(squares.max() / squares) * SCALE).astype(np.int64)
    found = Profile(size, end, f, by_cell, squares * by_cell**2, _sums(bare) * by_cell)
    for array in (f, by_cell, found.squares, found.sums):
        array.setflags(write=False)
    return found


def _by_distance(size: int, end: int) -> Ints:
    """f from 0 to n: c(m + 1) = c(m) · (4m + 1)/(4m + 3), with images at 2n − m and 2n + m."""
    m = np.arange(3 * size, dtype=np.float64)
    c = np.concatenate([[1.0], np.cumprod((4 * m + 1) / (4 * m + 3))])
    at = np.arange(size + 1)
    f = c[at] - end * (c[2 * size - at] + c[2 * size + at])
    f -= f[-1]
    most = (1 << bits_of(size)) - 1
    return np.rint(f / f[0] * most).astype(np.int64)


def bits_of(size: int) -> int:
    """How many bits the weights by distance have."""
    return _BITS + max(0, -(-((size - 1) // _LONG).bit_length() // 2))


def _sums(bare: Profile) -> Ints:
    """The sum of each column: of f from 1 − j to n − j, and from j to n + j − 1."""
    n = bare.size
    below = np.concatenate([[0], np.cumsum(bare.at(np.arange(1 - n, 2 * n)))])  # up to m at m + n
    j = np.arange(1, n + 1)
    near, thrown = below[2 * n - j] - below[n - j], below[2 * n + j - 1] - below[n + j - 1]
    return near + bare.end * thrown


def _squares(bare: Profile) -> Ints:
    """The squared length of each column: g(0) + end · g(2j − 1), g the self-convolution of f."""
    n, end = bare.size, bare.end
    if end < 0 and n & (n - 1) == 0:
        length, lags = 2 * n, np.arange(2 * n)
    else:
        length, lags = 1 << (4 * n - 1).bit_length(), np.arange(-n, 3 * n - 1)
    kernel, own = np.zeros(length, np.int64), np.zeros(length, np.int64)
    kernel[lags % length] = bare.at(lags)
    once = np.arange(1 - n, n + 1)
    own[once % length] = bare.at(once)
    g = cyclic_convolution(own, kernel, 2 * n, width=bits_of(n) + 1)
    return g[0] + end * g[np.arange(1, 2 * n, 2)]
