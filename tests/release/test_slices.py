"""Slices of a grid: their errors are those of the grid's boxes."""

from __future__ import annotations

import numpy as np
import pytest

import trueup as tu
from trueup.infer import table_model
from trueup.release.slices import SliceErrors, unsliced

GRID = tu.GridCounts(tu.TreeCounts(tu.Axis.integers("a", 0, 5), branching=2), 4)


@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": "1/8"}])
def test_a_slice_has_the_variance_of_its_boxes(cost):
    errors = table_model(tu.Measurement(GRID, np.zeros(GRID.length, int), **cost).noise).errors
    part = SliceErrors(errors, (None, (1, 3)))
    found = part.range_variances([0, 2], [3, 6])
    boxes = [(((0, 3), (1, 3)), 1.0)], [(((2, 6), (1, 3)), 1.0)]
    assert found == pytest.approx([errors.variance(tuple(box)) for box in boxes])
    assert part.variance((((0, 3), 1.0),)) == pytest.approx(found[0])
    whole, combination = unsliced(part, (((0, 3), 2.0),))
    assert whole is errors
    assert combination == ((((0, 3), (1, 3)), 2.0),)
