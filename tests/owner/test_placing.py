"""Placing: the cell of a value is the axis's own, and counting is numpy's, on both of its paths."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueup as tu
from trueup.axis.numbers import COMPILED
from trueup.owner.columns import Wanted
from trueup.owner.placing import SPARE, CellTally, combined, placer
from trueup.owner.plain import Plain


@pytest.mark.parametrize("rows", [10, COMPILED - 1, COMPILED, COMPILED + 1, 3 * COMPILED])
@pytest.mark.parametrize("size", [1, 7, 1000, 1 << 17])
def test_rows_are_counted_and_what_is_no_cell_is_dropped(rows, size):
    made = np.random.default_rng(rows + size)
    counts = CellTally(size)
    cells = made.integers(-3, size + SPARE + 3, rows)
    cells[: rows // 2] = made.integers(0, size, rows // 2)
    cells[0], cells[-1] = size, size - 1
    counts.add(cells)
    counts.add(cells[: rows // 2])
    both = np.concatenate([cells, cells[: rows // 2]])
    expected = np.bincount(both[(both >= 0) & (both < size)], minlength=size)
    assert counts.cells.tolist() == expected.tolist()


@given(
    st.lists(
        st.tuples(st.integers(-1, 3), st.integers(-1, 4), st.integers(-1, 1), st.booleans()),
        min_size=1,
    )
)
def test_the_cell_of_a_grid_runs_fastest_along_the_last_axis(rows):
    axes = [tu.Axis.integers(name, 0, size - 1) for name, size in (("a", 4), ("b", 5), ("c", 2))]
    a, b, c, keep = (np.array(column) for column in zip(*rows, strict=True))
    sizes = [axis.size for axis in axes]
    found = combined([a, b, c], sizes, keep)
    for (i, j, k, kept), cell in zip(rows, found.tolist(), strict=True):
        inside = kept and min(i, j, k) >= 0
        assert cell == (np.ravel_multi_index((i, j, k), (4, 5, 2)) if inside else -1)
    assert combined([a], sizes[:1], None).tolist() == a.tolist()


def test_labels_of_text_are_bytes_and_others_are_in_no_cell():
    axis = tu.Axis.categories("c", ["é", "e", 7, 1 << 80])
    column = pa.array(["é".encode(), b"e", b"e ", None, b"\xff", b"7"], pa.large_binary())
    known = np.array([True, True, True, False, True, True])
    place = placer(axis, Wanted("c", "text", "text", "0"))
    assert place(Plain(column, known)).tolist() == [0, 1, -1, -1, -1, -1]
    numbers = placer(axis, Wanted("c", "integer", "integer", "0"))
    values, known = np.array([7, 7, 8]), np.array([True, False, True])
    assert numbers(Plain(values, known)).tolist() == [2, -1, -1]


def test_an_unknown_whole_number_is_in_no_cell_whatever_stands_in_its_place():
    place = placer(tu.Axis.integers("a", 0, 3), Wanted("a", "integer", "integer", "0"))
    column = Plain(np.array([0, 3, 3, 4]), np.array([False, True, False, True]))
    assert place(column).tolist() == [-1, 3, -1, -1]


@given(st.lists(st.floats(), min_size=1))
def test_a_number_lies_in_the_bin_that_numpy_puts_it_in(values):
    place = placer(tu.Axis.edges("x", [-1.5, 0, 0.1, 8]), Wanted("x", "float", "number", "0"))
    x = np.array(values)
    for value, cell in zip(values, place(Plain(x, ~np.isnan(x))).tolist(), strict=True):
        inside = -1.5 <= value < 8
        assert cell == (np.digitize(value, [-1.5, 0, 0.1, 8]) - 1 if inside else -1)
