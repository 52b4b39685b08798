"""Grouping of wide families, and the shown cells of a tree."""

from __future__ import annotations

import numpy as np
import pytest

from trueup.intervaltree import IntervalTree
from trueup.intervaltree.readable import WIDE, grouped, projected_cells, whole_cells


@pytest.mark.parametrize(
    ("size", "radices"), [(1, ()), (5, (5,)), (4096, (4096,)), (1000, (100, 10)), (777, (3, 300))]
)
def test_grouping_keeps_every_node_and_leaves_no_wide_family(size, radices):
    shape = IntervalTree.regular(size, radices)
    narrow, own = grouped(shape)
    assert np.diff(narrow.first).max(initial=0) <= WIDE
    kept = {tuple(narrow.starts(level)) for level in range(narrow.height)}
    for level in range(shape.height):
        assert tuple(shape.starts(level)) in kept
        assert np.array_equal(narrow.starts(own[level]), shape.starts(level))
    assert np.array_equal(narrow.starts(narrow.height - 1), np.arange(size))


def test_empty_neighbours_do_not_eat_large_counts():
    """In one flat family the noise of thousands of empty cells is taken from the large ones."""
    rng = np.random.default_rng(1)
    truth = np.zeros(4096)
    truth[:1024] = 500
    noisy = truth + rng.laplace(0, 10, 4096)
    shape = IntervalTree.regular(4096, (4096,))
    found = projected_cells(shape, noisy)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(noisy.sum())
    least_squares = abs(noisy[:1024].sum() - truth[:1024].sum())
    assert abs(found[:1024].sum() - truth[:1024].sum()) <= least_squares + 500


def test_whole_cells_are_within_one_of_every_node():
    rng = np.random.default_rng(2)
    for radices in ((16, 16), (300,), (2,) * 8):
        shape = IntervalTree.regular(250, radices)
        cells = rng.exponential(2, 250)
        whole = whole_cells(shape, cells, True)
        for level in range(shape.height):
            starts = shape.starts(level)
            off = np.add.reduceat(whole, starts) - np.add.reduceat(cells, starts)
            assert np.abs(off).max() < 1
