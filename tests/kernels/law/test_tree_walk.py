"""One walk, interpreted on lists and compiled on arrays: the same bits for any combination."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from trueup._kernels.law import range_coefficients
from trueup._kernels.law.tree_walk import KnownTree, room_for, walk
from trueup.intervaltree import IntervalTree
from trueup.intervaltree.coefficients import Regular
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
