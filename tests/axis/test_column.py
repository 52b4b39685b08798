"""One column in every library: what it holds is said by its type, and its values are the same."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from trueup.axis.column import Column, column_of
from trueup.errors import InputError

DAY = dt.datetime(2020, 2, 29, 12)
SINCE = (DAY - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)
COLUMNS: dict[str, tuple[str, list[Any], list[Any]]] = {
    "numpy integers": ("integer", [3, -4, 0], [np.array([3, -4, 0], np.int8)]),
    "integers, one missing": (
        "integer",
        [3, None, 2**62],
        [
            pd.Series([3, None, 2**62], dtype="Int64"),
            pd.Series([3, None, 2**62], dtype=pd.ArrowDtype(pa.int64())),
            pl.Series([3, None, 2**62]),
            pa.array([3, None, 2**62]),
            pa.chunked_array([[3], [None, 2**62]]),
            pa.array([3, None, 2**62]).dictionary_encode(),
            pd.Series(pd.Categorical([3, None, 2**62])),
            np.ma.array([3, 7, 2**62], mask=[False, True, False]),
        ],
    ),
    "floats": (
        "float",
        [0.5, None, -1e300],
        [
            np.array([0.5, np.nan, -1e300]),
            [0.5, float("nan"), -1e300],
            pd.Series([0.5, np.nan, -1e300]),
            pd.array([0.5, None, -1e300], dtype="Float64"),
            pl.Series([0.5, None, -1e300]),
            pa.array([0.5, None, -1e300]),
        ],
    ),
    "times": (
        "time",
        [SINCE, None],
        [
            np.array([DAY, "NaT"], "datetime64[us]"),
            pd.Series([DAY, None]),
            pd.Series([DAY, None]).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
            pl.Series([DAY, None]),
            pa.array([DAY, None], pa.timestamp("ms")),
            pa.array([DAY, None], pa.timestamp("ns", "America/New_York")),
        ],
    ),
    "dates": (
        "time",
        [SINCE - 12 * 3600 * 10**6, None],
        [pl.Series([DAY.date(), None]), pa.array([DAY.date(), None], pa.date64())],
    ),
    "booleans": ("boolean", [True, None], [pl.Series([True, None]), pa.array([True, None])]),
    "objects": (
        "raw",
        [1, "b", None],
        [[1, "b", None], np.array([1, "b", None], object), pd.Series([1, "b", None], dtype=object)],
    ),
}
EACH = [
    pytest.param(holds, wanted, one, id=f"{name} {number}")
    for name, (holds, wanted, given) in COLUMNS.items()
    for number, one in enumerate(given)
]


def values_of(column: Column) -> list[Any]:
    both = zip(column.values.tolist(), column.missing.tolist(), strict=True)
    return [None if missing else value for value, missing in both]


@pytest.mark.parametrize(("holds", "wanted", "given"), EACH)
def test_a_column_is_its_values_whatever_library_has_it(
    holds: str, wanted: list[Any], given: Any
) -> None:
    found = column_of(given, "x")
    assert found.holds == holds
    assert values_of(found) == wanted


@pytest.mark.parametrize(
    "given",
    [
        pd.Series(["a", None, "ü"], dtype="str"),
        pd.Series(["a", None, "ü"], dtype="string[pyarrow]"),
        pd.Series(pd.Categorical(["a", None, "ü"])),
        pl.Series(["a", None, "ü"]),
        pl.Series(["a", None, "ü"], dtype=pl.Categorical),
        pa.array(["a", None, "ü"], pa.large_string()),
        pa.array(["a", None, "ü"]).dictionary_encode(),
    ],
    ids=lambda one: f"{type(one).__module__.split('.')[0]} {getattr(one, 'dtype', '')}",
)
def test_text_is_text_of_the_same_bytes(given: Any) -> None:
    found = column_of(given, "x")
    assert found.holds in ("text", "raw")
    plain = [one.encode() if isinstance(one, str) else one for one in values_of(found)]
    assert plain == [b"a", None, "ü".encode()]


@pytest.mark.parametrize("size", [0, 3])
@pytest.mark.parametrize(
    ("kind", "holds"),
    [
        (np.int32, "integer"),
        (np.float32, "float"),
        (bool, "boolean"),
        ("M8[D]", "time"),
        ("U3", "text"),
        (object, "raw"),
        (complex, "something else"),
        ("m8[s]", "something else"),
    ],
)
def test_the_type_says_what_a_column_holds_even_if_it_holds_nothing(
    kind: Any, holds: str, size: int
) -> None:
    assert column_of(np.zeros(size, kind), "x").holds == holds


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (pd.DataFrame({"x": [1]}), 'Name the column: table\\["age"\\]'),
        (pl.DataFrame({"x": [1]}), "counts one column, got a polars DataFrame"),
        (pa.table({"x": [1]}), "counts one column, got a pyarrow Table"),
        (np.zeros((2, 2)), "values in one dimension, got 2"),
        ([[1], [2]], "lists inside a list"),
        ("text", "needs a column"),
        (7, "needs a column, an array or a list of values, got 7"),
    ],
)
def test_what_is_no_column_is_refused(given: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        column_of(given, "Axis 'age'")
