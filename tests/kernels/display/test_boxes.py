"""Sums over boxes against plain numpy, and with whole numbers of any size in between."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from trueup._kernels.display.boxes import box_prefix, box_sums, cells_of

SHAPES = [(7,), (1, 1), (5, 6), (4, 1, 3), (2, 3, 2, 3)]


def random_boxes(rng, sizes, number=60):
    ends = np.sort([rng.integers(0, size + 1, (number, 2)) for size in sizes], axis=2)
    return ends[:, :, 0].T.copy(), ends[:, :, 1].T.copy()


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_sums_are_those_of_the_cells_inside(sizes, kind):
    rng = np.random.default_rng(1)
    cells = rng.integers(-(2**44), 2**44, sizes).astype(kind)
    prefix = box_prefix(cells)
    assert prefix.dtype == kind
    starts, stops = random_boxes(rng, sizes)
    wanted = [
        cells[tuple(slice(a, b) for a, b in zip(low, high, strict=True))].sum()
        for low, high in zip(starts, stops, strict=True)
    ]
    assert box_sums(prefix, starts, stops).tolist() == wanted
    assert cells_of(prefix).tolist() == cells.tolist()


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_real_counts_add_up_exactly_and_move_by_less_than_a_rounding(sizes):
    rng = np.random.default_rng(2)
    cells = rng.normal(0, 1e6, sizes)
    prefix = box_prefix(cells)
    shown = cells_of(prefix)
    starts, stops = random_boxes(rng, sizes)
    for low, high, found in zip(starts, stops, box_sums(prefix, starts, stops), strict=True):
        inside = shown[tuple(slice(a, b) for a, b in zip(low, high, strict=True))]
        assert sum(map(Fraction, inside.ravel().tolist()), Fraction(0)) == Fraction(float(found))
    largest = np.abs(prefix).max()
    assert np.abs(shown - cells).max() <= 4.0 ** len(sizes) * largest * 2.0**-51
