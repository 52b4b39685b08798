"""What non-negative counts are off by, on shapes that are made up."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup._kernels.display.boxes import box_prefix, box_sums
from trueup.plan.shapes import shapes
from trueup.release.boxes import stacked


def test_shapes_are_what_they_are_called_and_grow_with_the_noise() -> None:
    one, ten = shapes([4096], Fraction(1)), shapes([4096], Fraction(1, 10))
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


def test_a_grid_has_the_same_shapes_and_its_clusters_are_boxes() -> None:
    made = shapes([60, 50], Fraction(1))
    assert made["dense"].min() > 0
    assert (made["sparse"] == 0).mean() == pytest.approx(0.98, abs=0.005)
    table = made["clustered"].reshape(60, 50) > 0
    rows, columns = table.any(axis=1), table.any(axis=0)
    np.testing.assert_array_equal(table, np.outer(rows, columns))
    assert 0.05 < table.mean() < 0.15
    assert [(np.diff(side.astype(int)) == 1).sum() for side in (rows, columns)] == [2, 3]


def test_boxes_hold_what_their_cells_hold() -> None:
    cells = np.random.default_rng(5).integers(-9, 9, (7, 5, 4))
    ends = [np.sort(np.random.default_rng(6).integers(0, size + 1, (30, 2))) for size in (7, 5, 4)]
    spans = stacked([(each[:, 0], each[:, 1]) for each in ends])
    found = box_sums(box_prefix(cells), *spans)
    for number, total in enumerate(found.tolist()):
        box = tuple(slice(*each[number].tolist()) for each in ends)
        assert total == cells[box].sum()


def test_an_adaptive_quadtree_buys_much_where_cells_are_empty() -> None:
    found = tu.plan([64, 64], 1, nonnegative=True)
    assert str(found).endswith("shown_errors() simulates the first.")
    errors = found.shown_errors(draws=80)  # 0.71 with a standard error of 0.04: 0.95 is six away
    ratios = {k: e["adaptive quadtree"] / e["for non-negative counts"] for k, e in errors.items()}
    assert list(ratios) == ["dense", "sparse", "clustered"]
    assert ratios["clustered"] < 0.95
    assert max(ratios.values()) < 2


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(tu.InputError, match="nonnegative=True"):
        tu.plan(100, 1).shown_errors()
    with pytest.raises(tu.InputError, match="at least 1"):
        tu.plan(100, 1, nonnegative=True).shown_errors(draws=0)
