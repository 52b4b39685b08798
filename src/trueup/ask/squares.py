"""Squared moves: how far one record moves the answers in L2, exactly, for Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Ints = npt.NDArray[np.int64]

_NEARLY = 1e-9  # of the greatest sum: floats are nearer than that, so what is left out is smaller
_MOST = 1 << 62
_PAIRS_AT_ONCE = 1 << 22
_MOST_PAIRS = 1 << 32


def greatest(parts: Sequence[Ints], weights: Sequence[Fraction]) -> Fraction:
    """The greatest of Σ weight · part over all cells, exactly; nothing is negative.

    >>> greatest([np.array([1, 4]), np.array([3, 1])], [Fraction(1, 2), Fraction(1, 3)])
    Fraction(7, 3)
    """
    sums = sum(float(w) * part.astype(np.float64) for w, part in zip(weights, parts, strict=True))
    near = np.flatnonzero(np.asarray(sums) >= (1 - _NEARLY) * np.max(sums))
    some = np.unique(np.stack([part[near] for part in parts]), axis=1).T.tolist()
    return max(
        sum((w * n for w, n in zip(weights, each, strict=True)), Fraction(0)) for each in some
    )


def squared_price(
    matrix: csr_array[Any],
    blocks: Sequence[tuple[int, Fraction]],
    squares: Sequence[Fraction],
    neighbours: str = "add-remove",
) -> Fraction:
    """The most that one record moves the answers of a matrix of whole numbers, squared.

    Each answer's move counts with its block's square. Replacing is found pair by pair.
    """
    from scipy.sparse import csr_array

    whole = csr_array(matrix.astype(np.int64))
    most = int(np.abs(whole.data).max(initial=0)) ** 2 * int(np.diff(whole.tocsc().indptr).max())
    if most >= _MOST:
        raise InputError("Squares of such large weights do not fit 64 bits: ask smaller ones.")
    ends = np.cumsum([0, *(length for length, _ in blocks)]).tolist()
    rows = [whole[a:b] for a, b in pairwise(ends)]
    parts = [np.asarray((part * part).sum(axis=0)).ravel() for part in rows]
    one = greatest(parts, squares)
    if neighbours == "add-remove" or whole.shape[1] == 1:
        return one
    common = math.lcm(*(square.denominator for square in squares))
    scaled = [int(square * common) for square in squares]
    each = np.repeat(np.array(scaled, object), [length for length, _ in blocks])
    return max(one, Fraction(furthest(whole, each.tolist()), common))


def furthest(whole: csr_array[Any], squares: Sequence[int]) -> int:
    """The greatest Σ square · (a − b)² over all pairs of columns a, b of a whole matrix."""
    from scipy.sparse import csr_array

    size = whole.shape[1]
    largest = int(np.abs(whole.data).max(initial=0))
    most = int(np.diff(whole.tocsc().indptr).max(initial=0)) * max(squares) * largest**2
    if size**2 > _MOST_PAIRS or 4 * most >= _MOST:
        raise InputError(
            "The price of replacing a record cannot be found: there are too many cells, or the "
            "weights are too long. Round the weights, or protect add-remove."
        )
    rows = csr_array(whole.astype(np.int64))
    each = np.repeat(np.array(squares, np.int64), np.diff(rows.indptr))
    weighed = csr_array((rows.data * each, rows.indices, rows.indptr), rows.shape)
    norms = np.asarray((rows * weighed).sum(axis=0)).ravel()
    step = max(1, _PAIRS_AT_ONCE // size)
    worst = 0
    for start in range(0, size, step):
        shared = (weighed[:, start : start + step].T @ rows).toarray()
        worst = max(worst, int((norms[start : start + step, None] + norms - 2 * shared).max()))
    return worst
