"""Boxes of cells: the cells that were meant, and sums that plain numpy finds too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueup as tu
from trueup._kernels.display.boxes import box_sums
from trueup.release.boxes import box_of, cut, places, prefix_of, stacked

AGE = tu.Axis.integers("age", 10, 19)
MONTH = tu.Axis.dates("month", "2013-01", "2013-12", "month")
SEX = tu.Axis.categories("sex", ["f", "m"])


@st.composite
def grids(draw: st.DrawFn) -> tuple[Any, Any]:
    """Whole counts over one axis to three, and a range of each."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    counts = np.random.default_rng(draw(st.integers(0, 2**32))).integers(-(2**40), 2**40, sizes)
    ends = [sorted((draw(st.integers(0, n)), draw(st.integers(0, n)))) for n in sizes]
    return counts, ends


@given(grids(), st.booleans())
def test_a_box_is_the_sum_of_its_cells(grid: tuple[Any, Any], whole: bool) -> None:
    counts, ends = grid
    prefix = prefix_of(counts if whole else counts.astype(np.float64))
    assert (prefix.dtype.kind == "i") == whole
    spans = [(np.array([start]), np.array([stop])) for start, stop in ends]
    wanted = counts[tuple(slice(*each) for each in ends)].sum()
    assert box_sums(prefix, *stacked(spans))[0] == wanted


@given(grids(), st.data())
def test_what_is_cut_out_has_the_prefix_sums_of_what_is_left(
    grid: tuple[Any, Any], data: st.DataObject
) -> None:
    counts, ends = grid
    fixed = tuple(tuple(each) if data.draw(st.booleans()) else None for each in ends)
    inside = tuple(slice(None) if span is None else slice(*span) for span in fixed)
    summed = tuple(number for number, span in enumerate(fixed) if span is not None)
    left = counts[inside].sum(axis=summed)
    found = cut(prefix_of(counts), fixed)  # type: ignore[arg-type]
    assert np.array_equal(found, prefix_of(left) if left.ndim else [left])


def test_ends_are_meant_in_order_or_by_name() -> None:
    axes = (AGE, MONTH, SEX)
    assert box_of(axes, (), {}) == [(0, 10), (0, 12), (0, 2)]
    assert box_of(axes, ((12, 15), None), {"sex": ("m", None)}) == [(2, 5), (0, 12), (1, 2)]
    assert box_of(axes, (), {"month": ("2013-03", "2013-05")})[1] == (2, 4)
    assert box_of((AGE,), (12, 15), {}) == box_of((AGE,), (), {"age": (12, 15)}) == [(2, 5)]
    assert box_of((AGE,), (), {"high": 12}) == [(0, 2)]


def test_an_axis_called_low_can_be_named() -> None:
    low = tu.Axis.integers("low", 0, 9)
    assert box_of((low,), (), {"low": (2, 5)}) == [(2, 5)]
    with pytest.raises(tu.InputError, match="There is no axis 'high'"):
        box_of((low,), (), {"low": (2, 5), "high": 3})


def test_every_cell_has_a_row_that_says_where_it_lies() -> None:
    table = places((AGE, SEX))
    lengths = {len(column) for column in table.values()}
    assert lengths == {20}
    assert table["age low"].tolist() == np.repeat(np.arange(10, 20), 2).tolist()
    assert table["sex label"] == ["f", "m"] * 10
    assert places((AGE,)).keys() == AGE.columns(np.arange(1), np.arange(1, 2)).keys()


@pytest.mark.parametrize("one", [{"ends": (18,)}, {"ends": (18,), "named": {}}])
def test_a_range_of_one_end_is_refused_and_says_what_it_could_mean(one: dict[str, Any]) -> None:
    with pytest.raises(tu.InputError, match=r"range\(18, None\) goes .* range\(None, 18\)"):
        box_of([AGE], one["ends"], one.get("named", {}))
    assert box_of([AGE], (18,), {"high": None}) == box_of([AGE], (), {"low": 18}) == [(8, 10)]
