"""The binary grid: as fine as 52 bits allow, and no finer."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from trueup._kernels.tree.binary_grid import grid_for


@pytest.mark.parametrize("largest", [1.0, 2.0, 3.0, 0.1, 1e300, 1e-300, 2.0**52, 2.0**52 + 1, 5e7])
def test_the_largest_sum_just_fits_52_bits(largest: float) -> None:
    grid = Fraction(grid_for(largest))
    assert math.log2(grid).is_integer()
    assert Fraction(largest) * grid <= 2**52
    if grid < Fraction(2) ** 1000:
        assert Fraction(largest) * grid * 2 > 2**52


def test_nothing_needs_no_grid() -> None:
    assert grid_for(0.0) == 1.0
