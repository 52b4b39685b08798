"""Categories against plain lists."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup import Axis, InputError
from trueup.axis import written

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/"), min_size=1)
labels = st.one_of(words, st.integers(-(2**63), 2**63 - 1))


def read_whole(value):
    return value if isinstance(value, int) else written.integer(value.encode())


def objects(values):
    return np.fromiter(values, dtype=object, count=len(values))


@given(st.lists(labels, min_size=1, max_size=12, unique=True), st.lists(labels, max_size=6))
def test_a_label_is_in_its_own_cell_and_no_other(known, others):
    axis = Axis.categories("kind", known)
    for cell, label in enumerate(known):
        assert axis.locate([label])[0] == cell
        low, high = axis.interval(cell)
        assert low == label
        assert axis.span(low, high) == (cell, cell + 1)
        assert axis.node(label) == (cell, cell + 1)
    mixed = [*known, *others]
    # In a column of Python objects a number is the digits that a file would have for it.
    texts = {str(v): i for i, v in enumerate(known) if isinstance(v, int)}
    texts |= {v: i for i, v in enumerate(known) if isinstance(v, str)}
    expected = [texts.get(str(v), -1) for v in mixed]
    if not any(isinstance(v, str) for v in known):
        expected = [known.index(whole) if (whole := read_whole(v)) in known else -1 for v in mixed]
    assert axis.locate(mixed).tolist() == expected
    assert axis.locate(objects(mixed)).tolist() == expected


def test_one_as_text_and_one_as_number_are_different_labels():
    axis = Axis.categories("kind", ["1", 1, "A"])
    assert axis.locate(["A", 1, "1"]).tolist() == [2, 0, 0]  # as in a file, which has no types
    assert axis.locate(np.array([1, 1])).tolist() == [1, 1]
    assert axis.locate(["1"]).tolist() == [0]


def test_whole_numbers_that_came_with_missing_ones_are_found():
    axis = Axis.categories("code", [1, 2, 3])
    assert axis.locate(pd.Series([1, None, 3, 2.5])).tolist() == [0, -1, 2, -1]
    assert axis.locate(pl.Series([1, None, 3])).tolist() == [0, -1, 2]
    assert axis.locate(np.full(2000, 3.0)).tolist() == [2] * 2000


def test_what_is_missing_or_no_label_is_in_no_cell():
    axis = Axis.categories("kind", ["A", 1, 0, "None", "nan", ""])
    values = [None, np.nan, pd.NA, pd.NaT, True, False, b"a", ("A",), ["A"], 1.5, "a", "A "]
    assert axis.locate(objects(values)).tolist() == [-1] * len(values)
    with pytest.raises(InputError, match="holds true or false"):
        axis.locate(np.array([True, False]))
    assert axis.locate(np.ma.array(["A", "A"], mask=[True, False])).tolist() == [-1, 0]


def test_long_columns_give_the_same_cells_as_short_ones():
    values = np.random.default_rng(1).integers(0, 31, 2000)
    axis = Axis.categories("kind", [3, 1, 4, 15, 9, 26])
    expected = [axis.locate([v])[0] for v in range(31)]
    assert axis.locate(values).tolist() == np.take(expected, values).tolist()
    text = Axis.categories("kind", ["3", "1", "4", "15", "9", "26"])
    assert text.locate(values.astype(str)).tolist() == np.take(expected, values).tolist()


@pytest.mark.parametrize(
    ("given_labels", "told"),
    [
        ([], "has no cells"),
        (["A", "B", "A"], "names 'A' twice"),
        ([1, np.int64(1)], "names 1 twice"),
        ("AB", "needs a list of labels, got 'AB'"),
        (5, "needs a list of labels, got 5"),
        (["A", None], "must be text or a whole number, got None"),
        (["A", True], "must be text or a whole number, got a bool"),
        (["A", 1.5], "must be text or a whole number, got a float"),
        (["A", "\ud800"], "must be text or a whole number"),
    ],
)
def test_labels_that_make_no_sense_are_refused(given_labels, told):
    with pytest.raises(InputError) as refusal:
        Axis.categories("kind", given_labels)
    assert told in str(refusal.value)
    assert "'kind'" in str(refusal.value)


@pytest.mark.parametrize("kind", [int, float, Decimal, np.int8])
def test_a_label_that_is_a_number_is_a_range_end_of_any_type(kind: Any) -> None:
    axis = Axis.categories("k", [5, 3, 8])
    ends = np.array([kind(5), kind(8), kind(3)])
    assert axis.spans(ends[:1], ends[1:2]) == (0, 2)
    assert [at.tolist() for at in axis.spans(ends, ends)] == [[0, 2, 1], [0, 2, 1]]


def test_an_unknown_category_is_refused_with_the_known_ones_named():
    axis = Axis.categories("grade", list("ABCDEFGHIJ"))
    told = "'Z' is not a label of axis 'grade'. Labels: 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', …"
    for ask in (
        lambda: axis.span("Z", None),
        lambda: axis.node("Z"),
        lambda: axis.spans(["A", "Z"], ["B", "B"]),
    ):
        with pytest.raises(InputError, match=told):
            ask()
    with pytest.raises(InputError, match="is not a label"):
        axis.node("A", "B")
    with pytest.raises(InputError, match="reversed"):
        axis.span("C", "B")
    assert [a.tolist() for a in axis.spans(["A", "C"], ["B", "J"])] == [[0, 2], [1, 9]]
