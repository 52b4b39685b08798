"""What becomes of the values of a column: counted one by one, and told to the owner alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from trueup import Axis, InputError
from trueup.axis.column import column_of
from trueup.axis.reading import group_sizes

AGE = Axis.integers("age", 0, 99)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([34, "35", 150, None, "unknown"], (2, 1, 1, 1)),
        (np.array([34, 150, -1]), (1, 2, 0, 0)),
        (np.array([34, np.nan, np.inf, 2.5]), (1, 2, 1, 0)),
        (pd.Series([34, None, 150], dtype="Int64"), (1, 1, 1, 0)),
        (pl.Series([34, None]), (1, 0, 1, 0)),
        (pa.chunked_array([[34], [None, 150]]), (1, 1, 1, 0)),
        (np.ma.array([34, 35], mask=[True, False]), (1, 0, 1, 0)),
        ([True, 1j, 2**70], (0, 0, 0, 3)),
        ([34, None, float("nan"), np.nan, pd.NA, pd.NaT], (1, 0, 5, 0)),
        ([], (0, 0, 0, 0)),
    ],
)
def test_every_value_is_on_the_axis_off_it_missing_or_unreadable(
    values: Any, expected: tuple[int, int, int, int]
) -> None:
    found = AGE.check(values)
    assert (found.on, found.off, found.missing, found.unreadable) == expected
    assert sum(expected) == len(values)
    assert AGE.count(values).sum() == found.on


@pytest.mark.parametrize(
    ("axis", "values", "cells"),
    [
        (Axis.categories("k", ["1", "2"]), [2, 1], [1, 0]),
        (Axis.categories("k", [1, 2]), [2.0, 1.0], [1, 0]),
        (Axis.categories("k", ["1", "2"]), [2.0, 1.0], [-1, -1]),
        (Axis.codes("c", ["001", "012"], {"s": 1, "b": 3}), [12, 1], [1, 0]),
        (Axis.ipv4("h"), [10 << 24, 5], [2560, 0]),
        (Axis.ipv4("h"), [1.0, 5.0], [-1, -1]),
        (Axis.dates("d", "2013", "2014"), [5, 6], [-1, -1]),
        (AGE, [34.0, 2.5], [34, -1]),
    ],
)
def test_a_value_of_a_list_means_the_same_whatever_stands_beside_it(
    axis: Axis, values: list[Any], cells: list[int]
) -> None:
    assert axis.locate(values).tolist() == cells
    assert axis.locate([*values, "a stranger"]).tolist() == [*cells, -1]


def test_a_check_says_that_it_is_for_the_owner_s_eyes() -> None:
    found = AGE.check([34])
    for text in (repr(found), str(found), Axis.check.__doc__ or "", type(found).__doc__ or ""):
        assert "owner's eyes only" in text.lower()


def test_a_column_is_refused_by_its_type_whatever_it_holds() -> None:
    for values in ([], ["34"], ["unknown"], ["34", None]):
        with pytest.raises(InputError, match="holds text"):
            AGE.check(pd.Series(values, dtype="str"))
        AGE.check(pd.Series(values, dtype=object))


def test_groups_are_those_that_occur_and_what_is_missing_is_none() -> None:
    for values in (["a", "b", "a", None], pd.Series(["a", "b", "a", None]), [1, "2", 1, np.nan]):
        assert sorted(group_sizes(column_of(values, "groups")).tolist()) == [1, 2]
    with pytest.raises(InputError, match=r"period\[M\] cannot be told apart"):
        group_sizes(column_of(pd.Series(["2013-01"], dtype="period[M]"), "groups"))
