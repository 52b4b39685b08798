"""Bins and folds, against exact arithmetic and numpy."""

from __future__ import annotations

import bisect
import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import trueup as tu
from trueup._kernels.cells.place import SPARE, fold, regular

STRANGE = [math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, 1.7e308, -1.7e308]


@given(
    low=st.one_of(st.integers(-1000, 1000), st.floats(-1e6, 1e6), st.just(1e15)),
    width=st.one_of(st.integers(1, 1000), st.floats(1e-3, 1e6)),
    bins=st.integers(1, 300),
    more=st.lists(st.floats(), max_size=20),
)
def test_a_value_is_in_the_bin_between_whose_edges_it_lies(
    low: float, width: float, bins: int, more: list[float]
) -> None:
    try:
        axis = tu.Axis.regular("x", low, low + width, bins)
    except tu.errors.InputError:
        return
    edges = axis.cells.edges_at(np.arange(bins + 1))
    x = np.array([*edges, *np.nextafter(edges, -np.inf), *np.nextafter(edges, np.inf)])
    x = np.concatenate([x, STRANGE, more])
    exact = [Fraction(edge) for edge in edges.tolist()]
    expected = [
        bisect.bisect_right(exact, Fraction(value)) - 1
        if math.isfinite(value) and exact[0] <= Fraction(value) < exact[-1]
        else -1
        for value in x.tolist()
    ]
    cells = np.empty(len(x), np.int64)
    regular(x, float(axis.cells.low), float(axis.cells.high), bins, cells)
    assert cells.tolist() == expected
    # As arrays too short for a compiled kernel have them, and as long ones do.
    assert axis.locate(x).tolist() == expected
    long = np.resize(x, 1 << 14)
    assert axis.locate(long).tolist() == np.resize(expected, 1 << 14).tolist()
    assert axis.locate(long[:-1]).tolist() == axis.locate(long)[:-1].tolist()


@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.lists(st.integers(-2, 6)))
def test_a_fold_drops_what_is_no_cell(strange: list[int], cells: list[int]) -> None:
    both = [*strange, *cells]
    counts = np.zeros(5 + SPARE, np.int64)
    fold(np.array(both, np.int64), counts, 5)
    assert counts[:5].tolist() == [both.count(cell) for cell in range(5)]
    assert counts.sum() == len(both)
