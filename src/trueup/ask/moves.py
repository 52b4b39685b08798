"""How far one record moves the answers of a matrix: in L1, and in L2 squared; exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from trueup.arrays import Ints
from trueup.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


_NEARLY = 1e-9  # of the greatest sum: floats are nearer than that, so what is left out is smaller
_MOST = 1 << 62
_PAIRS_AT_ONCE = 1 << 22
_MOST_PAIRS = 1 << 32
_MOST_STEPS = 10**11
_NOT_FOUND = (
    "The price of replacing a record cannot be found: there are too many cells, or the weights are "
    "too long. Round the weights, or protect add-remove."
)


def greatest(parts: Sequence[Ints], weights: Sequence[Fraction | int]) -> Fraction:
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


def moved_by_matrix(
    matrix: csr_array[Any],
    lengths: Sequence[int],
    weights: Sequence[Fraction | int],
    power: int,
    replacing: bool = False,
) -> Fraction:
    """The most that one record moves the answers of a matrix of whole numbers: to that power.

    Each answer's move counts with the weight of its block of rows, which are so many in each block.
    Replacing is found pair by pair.
    """
    from scipy.sparse import csr_array

    whole = csr_array(matrix.astype(np.int64))
    if sum(lengths) != whole.shape[0] or abs(whole - matrix).max() > 0:
        raise InputError(
            "A price is found from a matrix of whole numbers with a row for each answer: give the "
            "question one, or a price of its own."
        )
    largest = int(np.abs(whole.data).max(initial=0))
    if largest**power * int(np.diff(whole.tocsc().indptr).max()) >= _MOST:
        raise InputError("Squares of such large weights do not fit 64 bits: ask smaller ones.")
    ends = np.cumsum([0, *lengths]).tolist()
    rows = [abs(whole[a:b]).power(power) for a, b in pairwise(ends)]
    one = greatest([np.asarray(part.sum(axis=0)).ravel() for part in rows], weights)
    if not replacing or whole.shape[1] == 1:
        return one
    common = math.lcm(*(weight.denominator for weight in weights))
    scaled = [int(weight * common) for weight in weights]
    each = np.repeat(np.array(scaled, object), lengths)
    if power == 2:
        return max(one, Fraction(furthest(whole, each.tolist()), common))
    if 2 * common * one >= _MOST:
        raise InputError(_NOT_FOUND)
    weighed = csr_array(whole * each.astype(np.int64)[:, None])
    return max(one, Fraction(furthest_in_sum(weighed), common))


def furthest(whole: csr_array[Any], squares: Sequence[int]) -> int:
    """The greatest Σ square · (a − b)² over all pairs of columns a, b of a whole matrix."""
    from scipy.sparse import csr_array

    size = whole.shape[1]
    largest = int(np.abs(whole.data).max(initial=0))
    most = int(np.diff(whole.tocsc().indptr).max(initial=0)) * max(squares) * largest**2
    if size**2 > _MOST_PAIRS or 4 * most >= _MOST:
        raise InputError(_NOT_FOUND)
    rows = csr_array(whole.astype(np.int64))
    weighed = csr_array(rows * np.array(squares, np.int64)[:, None])
    return furthest_by_products(rows, weighed)


def furthest_by_products(rows: csr_array[Any], weighed: csr_array[Any]) -> int:
    """The greatest |a|² + |b|² − 2ab over all pairs of columns of a matrix, its rows weighed."""
    size = rows.shape[1]
    norms = np.asarray((rows * weighed).sum(axis=0)).ravel()
    step = max(1, _PAIRS_AT_ONCE // size)
    worst = 0
    for start in range(0, size, step):
        shared = (weighed[:, start : start + step].T @ rows).toarray()
        worst = max(worst, int((norms[start : start + step, None] + norms - 2 * shared).max()))
    return worst


def furthest_in_sum(whole: csr_array[Any]) -> int:
    """The greatest Σ |a − b| over all pairs of columns a, b of a whole matrix."""
    from trueup._kernels.error.furthest_columns import furthest_columns

    pairs = int((np.diff(whole.indptr).astype(float) ** 2).sum()) + whole.shape[1] ** 2
    if pairs > _MOST_STEPS:
        raise InputError(
            f"Finding the price of replacing a record would take {pairs:,} steps. "
            f"Protect add-remove, or ask rows of fewer cells."
        )
    columns = whole.tocsc()
    return int(
        furthest_columns(
            whole.indptr.astype(np.int64),
            whole.indices.astype(np.int64),
            whole.data,
            columns.indptr.astype(np.int64),
            columns.indices.astype(np.int64),
            columns.data,
            np.asarray(abs(whole).sum(axis=0)).ravel(),
        )
    )
