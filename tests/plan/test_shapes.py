"""What non-negative counts are off by, on shapes that are made up."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup.plan.shapes import shapes


def test_shapes_are_what_they_are_called_and_grow_with_the_noise() -> None:
    one, ten = shapes(4096, Fraction(1)), shapes(4096, Fraction(1, 10))
    assert list(one) == ["dense", "sparse", "clustered"]
    assert one["dense"].min() > 0
    assert (one["sparse"] == 0).mean() == pytest.approx(0.98, abs=0.005)
    assert (np.diff((one["clustered"] > 0).astype(int)) == 1).sum() in (2, 3)
    for name, counts in one.items():
        np.testing.assert_allclose(ten[name], 10 * counts, atol=6)


def test_an_adaptive_tree_buys_much_where_cells_are_empty_and_costs_little_elsewhere() -> None:
    found = tu.plan(1024, 1, nonnegative=True).shown_errors(draws=60)
    ratios = {k: e["adaptive tree"] / e["for non-negative counts"] for k, e in found.items()}
    assert list(ratios) == ["dense", "sparse", "clustered"]
    assert ratios["clustered"] < 0.85
    assert max(ratios.values()) < 1.3


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(tu.InputError, match="nonnegative=True"):
        tu.plan(100, 1).shown_errors()
    with pytest.raises(tu.InputError, match="at least 1"):
        tu.plan(100, 1, nonnegative=True).shown_errors(draws=0)
