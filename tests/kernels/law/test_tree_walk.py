"""One walk, interpreted on lists and compiled on arrays: the same bits for any combination."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from trueup._kernels.law import range_coefficients
from trueup._kernels.law.tree_walk import KnownTree, room_for, walk
from trueup.intervaltree import IntervalTree
from trueup.intervaltree.coefficients import Regular, TreeCoefficients
from trueup.intervaltree.variance import TreeVariance


def zeros(zero, *shape):
    return np.full(shape, zero).tolist()


def integers(*shape):
    return np.zeros(shape, np.int64)


def floats(*shape):
    return np.zeros(shape)


@pytest.mark.parametrize("size", [2, 28, 100, 1000])
@pytest.mark.parametrize("radices", [(2,) * 10, (10, 10, 10), (4, 300), (1000,)])
def test_lists_and_arrays_give_the_same_bits(size, radices):
    rng = np.random.default_rng(size)
    tree = TreeVariance(IntervalTree.regular(size, radices), rng.uniform(0.1, 2, len(radices) + 1))
    known, height = Regular(tree).known, len(radices) + 1
    arrays = KnownTree(
        known.size,
        *(np.array(part) for part in known[1:4]),
        *(range_coefficients._pairs(part, height) for part in known[4:6]),
        np.array(known.weight),
        np.array([*known.full_children, 0.0]),
    )
    for number in range(min(size, 9)):
        turns = np.sort(rng.choice(np.arange(1, size), number, replace=False))
        values, first = rng.normal(size=number), float(rng.normal())
        path, found = room_for(height, max(1, number), partial(zeros, 0), partial(zeros, 0.0))
        parts, alone = walk(known, turns.tolist(), values.tolist(), first, path, found)
        path, compiled = room_for(height, max(1, number), integers, floats)
        counts = range_coefficients._walk(arrays, turns, values, number, first, path, compiled)
        assert counts == (parts, alone)
        for mine, other, end in zip(found, compiled, (parts,) * 3 + (alone,) * 2, strict=True):
            assert mine[:end] == other[:end].tolist()


@pytest.mark.parametrize(
    ("size", "radices"), [(1, (2,)), (7, (7,)), (11, (3, 4)), (12, (3, 2, 2)), (13, (2,) * 4)]
)
def test_coefficients_are_those_of_dense_least_squares(size, radices):
    """Level by level the coefficients that (AᵀWA)⁻¹ puts on every noisy answer, in any order."""
    rng = np.random.default_rng(size)
    shape = IntervalTree.regular(size, radices)
    cells = np.arange(size)
    rows = [
        [(cells >= a) & (cells < b) for a, b in zip(shape.starts(k), shape.stops(k), strict=True)]
        for k in range(shape.height)
    ]
    matrix = np.concatenate(rows).astype(float)
    for unasked in range(len(radices) + 1):
        weights = rng.uniform(0.1, 2, len(radices) + 1)
        weights[:unasked] *= rng.integers(0, 2, unasked)
        W = np.repeat(weights, [len(level) for level in rows])
        for number in range(min(size, 6)):
            turns = np.sort(rng.choice(np.arange(1, size), number, replace=False)).tolist()
            values = rng.normal(size=number + 1)
            values[rng.integers(number + 1)] = 0.0
            each = np.repeat(values, np.diff([0, *turns, size]))
            dense = W * (matrix @ np.linalg.solve(matrix.T @ (W[:, None] * matrix), each))
            tree = TreeCoefficients(TreeVariance(shape, weights))
            found = tree.classes([0, *turns, size], values.tolist())
            ends = np.cumsum([0, *(len(level) for level in rows)])
            for level in range(shape.height):
                own = found[1] == level
                mine = np.repeat(found[0][own], found[2][own].astype(int))
                wanted = np.zeros(len(rows[level]))
                wanted[: len(mine)] = mine
                exact = dense[ends[level] : ends[level + 1]]
                assert np.allclose(np.sort(wanted), np.sort(exact), rtol=1e-9, atol=1e-12)
