"""Whole numbers, equal bins and given edges, against plain comparisons in exact arithmetic."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from trueup import Axis, InputError

from .drawn_edges import edged, edges_of, finite, weird

missing = [math.nan, math.inf, -math.inf, None, pd.NA, pd.NaT, "three", b"x", True, 1j, [1]]


def objects(values):
    return np.fromiter(values, dtype=object, count=len(values))


@st.composite
def regular(draw):
    low = draw(st.one_of(finite, st.integers(-1000, 1000).map(float)))
    high = draw(st.one_of(finite, st.integers(-1000, 1000).map(float)))
    bins = draw(st.integers(1, 5000))
    assume(low < high)
    try:
        return Axis.regular("x", low, high, bins)
    except InputError:
        assume(False)


# ---- whole numbers


@given(st.integers(-(2**62), 2**62), st.integers(0, 2**31), st.data())
@example(2**60 + 3, 10, None)
def test_a_whole_number_is_in_the_cell_that_begins_with_it(first, more, data):
    last = min(first + more, 2**62)
    axis = Axis.integers("n", first, last)
    near = range(first - 3, first + 4), range(last - 3, last + 4)
    values = {v for span in near for v in span} | {0, -1, 1, 2**63 - 1, -(2**63)}
    if data is not None:
        values.add(data.draw(st.integers(-(2**63), 2**63 - 1)))
    values = [v for v in values if -(2**63) <= v < 2**63]
    expected = [v - first if first <= v <= last else -1 for v in values]
    assert axis.locate(np.array(values, np.int64)).tolist() == expected
    assert axis.locate(objects(values)).tolist() == expected
    positive = [(v, e) for v, e in zip(values, expected, strict=True) if v >= 0]
    unsigned = np.array([v for v, _ in positive], np.uint64)
    assert axis.locate(unsigned).tolist() == [e for _, e in positive]
    floats = np.array(values, np.float64)
    exactly = [int(v) - first if first <= int(v) <= last else -1 for v in floats.tolist()]
    assert axis.locate(floats).tolist() == exactly


@given(st.integers(-1000, 1000), st.integers(0, 100))
def test_the_interval_of_a_whole_number_gives_its_cell_back(first, more):
    axis = Axis.integers("n", first, first + more)
    for cell in range(axis.size):
        low, high = axis.interval(cell)
        assert (low, high) == (first + cell, first + cell + 1)
        assert axis.locate([low])[0] == cell
        assert axis.span(low, high) == (cell, cell + 1)
    assert axis.locate([first - 1, first + more + 1]).tolist() == [-1, -1]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.float16, np.float32])
@pytest.mark.parametrize(("first", "last"), [(-200, 300), (250, 70_000), (-70_000, -1), (5, 9)])
def test_narrow_columns_are_compared_as_the_numbers_they_hold(kind, first, last):
    axis = Axis.integers("n", first, last)
    values = np.array([0, 5, 9, 10, 100, 127]).astype(kind)
    expected = [int(v) - first if first <= v <= last else -1 for v in values.tolist()]
    assert axis.locate(values).tolist() == expected


def test_numbers_that_are_not_whole_are_in_no_cell():
    axis = Axis.integers("n", 0, 9)
    assert axis.locate([2.5, -0.0, 0.0, 9.0, 9.000001, math.nextafter(3, 0)]).tolist() == [
        -1, 0, 0, 9, -1, -1,
    ]  # fmt: skip
    assert axis.locate(objects([Decimal("2.5"), Decimal("2.0"), "7"])).tolist() == [
        -1,
        2,
        7,
    ]


@pytest.mark.parametrize(
    "axis",
    [Axis.integers("x", 0, 9), Axis.regular("x", 0, 10, 4), Axis.edges("x", [0, 1, 5])],
    ids=["integers", "regular", "edges"],
)
def test_what_is_missing_infinite_or_no_number_is_in_no_cell(axis):
    assert axis.locate(objects(missing)).tolist() == [-1] * len(missing)
    assert axis.locate([math.nan, math.inf, -math.inf]).tolist() == [-1, -1, -1]
    assert axis.locate(pd.array([None, 2], dtype="Int64")).tolist()[0] == -1
    assert axis.locate(pd.Series([None, 2.0])).tolist()[0] == -1
    assert axis.locate(pa.array([None, 2])).tolist()[0] == -1
    assert axis.locate(np.ma.array([2, 2], mask=[True, False])).tolist()[0] == -1
    assert axis.locate([10**400, -(10**400)]).tolist() == [-1, -1]
    assert axis.count(objects(missing)).sum() == 0


@pytest.mark.parametrize("values", [["a"], [True], np.array(["2013"], "M8[D]"), [1j]])
def test_a_column_of_another_type_is_refused(values):
    for axis in (Axis.integers("x", 0, 9), Axis.regular("x", 0, 9, 3), Axis.edges("x", [0, 9])):
        with pytest.raises(InputError, match=r"Axis 'x' takes (whole )?numbers, but this column"):
            axis.locate(np.array(values))


# ---- bins


@given(regular(), st.lists(st.one_of(finite, weird), max_size=20), st.data())
def test_a_value_is_in_the_bin_whose_left_edge_is_the_last_not_above_it(axis, values, data):
    edges = edges_of(axis) if axis.size < 50 else None
    picked = data.draw(st.lists(st.integers(0, axis.size - 1), max_size=10))
    for cell in picked:
        low, high = axis.interval(cell)
        values += [low, math.nextafter(low, -math.inf), math.nextafter(high, -math.inf), high]
    cells = axis.locate(np.array(values)).tolist()
    start, stop = axis.interval(0)[0], axis.interval(axis.size - 1)[1]
    for value, cell in zip(values, cells, strict=True):
        if not start <= value < stop:
            assert cell == -1
        else:
            low, high = axis.interval(cell)
            assert low <= value < high
            if edges:
                assert cell == int(np.searchsorted(edges, value, side="right")) - 1


@given(regular())
def test_regular_edges_are_the_formula_s_and_rise(axis):
    spec = axis.to_json()
    low, high, bins = spec["low"], spec["high"], spec["bins"]
    for i in {0, bins // 3, bins // 2, bins - 1}:
        left, right = axis.interval(i)
        assert left < right
        assert left == low + (float(i) * (high - low)) / bins
    assert axis.interval(0)[0] == low
    assert axis.interval(bins - 1)[1] == high


@given(st.one_of(regular(), edged()), st.data())
def test_edges_belong_to_the_cell_on_their_right_and_are_range_ends(axis, data):
    cell = data.draw(st.integers(0, axis.size - 1))
    low, high = axis.interval(cell)
    assert axis.locate([low])[0] == cell
    assert axis.locate([high])[0] == (cell + 1 if cell + 1 < axis.size else -1)
    assert axis.span(low, high) == (cell, cell + 1)
    assert [a.tolist() for a in axis.spans([low], [high])] == [[cell], [cell + 1]]
    assert axis.span(None, high) == (0, cell + 1)
    assert axis.span(low, None) == (cell, axis.size)


def test_counts_are_numpy_s_but_for_the_last_edge():
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(5, 3, 10_000), np.linspace(0, 10, 81)])
    for bins in (7, 64, 1000):
        axis = Axis.regular("x", 0, 10, bins)
        expected, edges = np.histogram(x[x != 10], bins=bins, range=(0, 10))
        assert np.array_equal(axis.count(x), expected)
        assert np.array_equal(Axis.edges("x", edges).count(x), expected)
    assert (
        Axis.integers("n", 0, 10).count([0, 0, 3, 11, -1, 2.5]).tolist() == [2, 0, 0, 1] + [0] * 7
    )


# ---- bad input


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Axis.integers("n", 5, 4), "ends at 4, before it begins at 5"),
        (lambda: Axis.integers("n", 0.5, 4), "first value of axis 'n' must be a whole number"),
        (lambda: Axis.integers("n", 0, True), "must be a whole number, got True"),
        (lambda: Axis.integers("n", 0, "9"), "must be a whole number, got '9'"),
        (lambda: Axis.integers("n", 0, 2**63), "reaches past"),
        (lambda: Axis.integers("n", 0, 2**40), "Use wider bins"),
        (lambda: Axis.regular("x", 0, 1, 0), "needs at least 1 bin, got 0"),
        (lambda: Axis.regular("x", 0, 1, 2.0), "bins of axis 'x' must be a whole number, got 2.0"),
        (lambda: Axis.regular("x", 1, 1, 4), "the high end must be above the low one"),
        (lambda: Axis.regular("x", 2, 1, 4), "runs from 2.0 to 1.0"),
        (lambda: Axis.regular("x", math.nan, 1, 4), "must be finite, got nan"),
        (lambda: Axis.regular("x", 0, math.inf, 4), "must be finite, got inf"),
        (lambda: Axis.regular("x", -1.7e308, 1.7e308, 4), "Use a narrower axis"),
        (lambda: Axis.regular("x", 0, 1e308, 1000), "Use a narrower axis"),
        (lambda: Axis.regular("x", 1, 1 + 1e-15, 100), "Use fewer bins"),
        (lambda: Axis.regular("x", "0", 1, 4), "must be a number, got '0'"),
        (lambda: Axis.regular("x", True, 2, 4), "must be a number, got True"),
        (lambda: Axis.edges("x", []), "needs at least 2 edges, got 0"),
        (lambda: Axis.edges("x", [1]), "needs at least 2 edges, got 1"),
        (lambda: Axis.edges("x", [0, 2, 1]), "must rise: edge number 3"),
        (lambda: Axis.edges("x", [0, 1, 1]), "must rise: edge number 3"),
        (lambda: Axis.edges("x", [0, math.nan, 1]), "must be finite, got nan"),
        (lambda: Axis.edges("x", [0, math.inf, 9]), "must be finite, got inf"),
        (lambda: Axis.edges("x", [-0.0, 0.0]), "must rise"),
        (lambda: Axis.edges("x", [-1.7e308, 0, 1.7e308]), "wider than a float can hold"),
        (lambda: Axis.edges("x", "012"), "needs a list of edges, got '012'"),
        (lambda: Axis.edges("x", 5), "needs a list of edges, got 5"),
        (lambda: Axis.edges("x", [[0, 1], [2, 3]]), "must be a number"),
    ],
)  # fmt: skip
def test_an_axis_that_makes_no_sense_is_refused(make, told):
    with pytest.raises(InputError) as refusal:
        make()
    assert told in str(refusal.value)


@pytest.mark.parametrize(
    ("axis", "end", "told"),
    [
        (
            Axis.integers("n", 0, 9),
            2.5,
            "2.5 is not an edge of axis 'n'. The nearest edges are 2 and 3",
        ),
        (Axis.integers("n", 0, 9), 11, "11 is outside axis 'n', which runs from 0 to 10"),
        (Axis.integers("n", 0, 9), -1, "-1 is outside"),
        (Axis.integers("n", 2**60, 2**60 + 1), 2**60 + 3, "1152921504606846979 is outside"),
        (Axis.integers("n", 0, 9), "3", "must be a number, got '3'"),
        (Axis.integers("n", 0, 9), math.nan, "must be finite, got nan"),
        (
            Axis.regular("x", 0, 9, 3),
            4,
            "4.0 is not an edge of axis 'x'. The nearest edges are 3.0 and 6.0",
        ),
        (Axis.regular("x", 0, 9, 3), 9.1, "9.1 is outside axis 'x', which runs from 0.0 to 9.0"),
        (Axis.regular("x", 0, 10, 4), True, "must be a number, got True"),
        (
            Axis.edges("x", [0, 1, 5]),
            2,
            "2.0 is not an edge of axis 'x'. The nearest edges are 1.0 and 5.0",
        ),
        (Axis.edges("x", [0, 1, 5]), -0.5, "-0.5 is outside axis 'x', which runs from 0.0 to 5.0"),
        (Axis.edges("x", [0, 1, 5]), math.inf, "must be finite, got inf"),
    ],
)
def test_a_range_end_off_the_grid_is_refused_and_the_nearest_edges_named(axis, end, told):
    with pytest.raises(InputError) as refusal:
        axis.span(end, None)
    assert told in str(refusal.value)
    if not isinstance(end, (str, bool)) and math.isfinite(end):
        with pytest.raises(InputError) as refusal:
            axis.spans(np.array([end]), np.array([end]))
        assert told.split(" is ")[1] in str(refusal.value)


@pytest.mark.parametrize(
    ("axis", "near", "off"),
    [
        (Axis.regular("x", 0, 8, 8), 0.99e-9, 1.01e-9),  # a billionth of a cell
        # Two steps of floats, where those are wider.
        (
            Axis.regular("x", 2.0**40, 2.0**40 + 1, 2**8),
            2 * math.ulp(2.0**40),
            3 * math.ulp(2.0**40),
        ),
    ],
)
def test_an_end_as_near_to_an_edge_as_sums_of_floats_are_is_that_edge(axis, near, off):
    for cell in (1, 3, 7):
        edge = axis.interval(cell)[0]
        assert axis.span(edge - near, edge + near) == (cell, cell)
        for wrong in (edge - off, edge + off):
            with pytest.raises(InputError, match="is not an edge"):
                axis.span(wrong, None)


def test_an_end_a_billionth_of_a_cell_beyond_the_axis_is_its_end():
    axis = Axis.regular("x", 0, 8, 8)
    assert axis.span(-1e-9, 8 + 0.99e-9) == (0, 8)
    for wrong in (math.nextafter(-1e-9, -1), 8 + 1.01e-9):
        with pytest.raises(InputError, match="is outside"):
            axis.span(wrong, wrong)


def test_a_part_of_equal_bins_keeps_its_own_cells():
    axis = Axis.regular("x", 0, 10, 10)
    assert axis.part((2, 7), 5) == axis.part((2, 7), None) == Axis.regular("x", 2, 7, 5)
    assert axis.part((2, 7), 1) == Axis.regular("x", 2, 7, 1)
    for wrong in (0, 2, 10):
        with pytest.raises(InputError, match="Choose a number that divides 5"):
            axis.part((2, 7), wrong)


def test_range_ends_of_any_numeric_type_mean_the_same():
    axis = Axis.integers("n", -5, 5)
    for kind in (np.int8, np.int64, np.float32, np.float64, object):
        ends = np.array([[-5, 0], [3, 6]]).astype(kind)
        assert axis.spans(ends, ends)[0].tolist() == [[0, 5], [8, 11]]
    assert axis.spans(np.array([0, 3], np.uint8), 6)[1].tolist() == [11, 11]
    assert axis.spans(0, 6)[0].item() == 5


def test_a_reversed_range_is_refused():
    for axis in (Axis.integers("n", 0, 9), Axis.regular("n", 0, 9, 9), Axis.edges("n", [0, 3, 5])):
        with pytest.raises(InputError, match="The range from 5 to 3 on 'n' is reversed"):
            axis.span(5, 3)
        with pytest.raises(InputError, match="Range number 1 on 'n' is reversed"):
            axis.spans([0, 5], [3, 3])
        with pytest.raises(InputError, match="2 low ends but 3 high ends"):
            axis.spans([0, 3], [3, 3, 5])
