"""The same value is in the same cell, whoever counts it: `Axis.count`, and every reader.

Or both refuse the column, for its type alone.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup import Axis, CellCounts, InputError, SourceError
from trueup.publishing import _count_table

AXES = [
    Axis.integers("x", -3, 12),
    Axis.regular("x", -2, 10, 24),
    Axis.edges("x", [0, 0.5, 7, 8]),
    Axis.edges("x", [float("-inf"), 0, 7, float("inf")]),
    Axis.dates("x", "2013-01-01", "2013-01-31"),
    Axis.ipv4("x", "10.0.0.0/8", 12),
    Axis.categories("x", ["7", "A", "", "7.0", "True", "nan", "é"]),
    Axis.categories("x", [7, 1, 0, -2]),
    Axis.categories("x", ["A", 7, "B", 1]),
    Axis.hierarchy("x", {"A": ["B", "C"], "7": ["1"]}),
    Axis.codes("x", [1, 7, 12], {"ten": 1, "one": 2}),
]
NAMES = [
    "integers",
    "regular",
    "edges",
    "open",
    "dates",
    "ipv4",
    "text",
    "numbers",
    "mixed",
    "tree",
    "codes",
]
axes = pytest.mark.parametrize("axis", AXES, ids=NAMES)

texts = st.sampled_from(
    ["7", " 7", "7.0", "7e0", "0x7", "seven", "unknown", "", "A", "a", "B", "A/B", "C", "é", "nan",
     "inf", "-2", "1", "True", "2013-01-07", "07/01/2013", "2013-01-07T12:30Z", "10.1.2.3",
     "10.1.2", "167837696", "9" * 30, "1" * 5000, "\x00"]
)  # fmt: skip
numbers = st.one_of(st.integers(-4, 13), st.sampled_from([0.5, 7.0, 7.5, -0.0, 1e300]))
strangers = st.sampled_from(
    [None, float("nan"), float("inf"), pd.NA, pd.NaT, True, False, Decimal("7"), Decimal("7.00"),
     Decimal("1e400"), dt.date(2013, 1, 7), dt.datetime(2013, 1, 7, 5), 1j, b"7", 10**5000, 2**70,
     np.int8(7), np.float32(0.5), np.datetime64("2013-01-07"), pd.Timestamp("2013-01-07T23:00Z")]
)  # fmt: skip


def counted(data: Any, axis: Axis) -> list[int] | str:
    """What a reader counts in column x of a table, or that it refuses."""
    try:
        return _count_table(data, CellCounts(axis), "row", 1).tolist()
    except SourceError:
        return "refused"


def own(column: Any, axis: Axis) -> list[int] | str:
    """What the axis counts, or that it refuses."""
    try:
        return axis.count(column).tolist()
    except InputError:
        return "refused"


def objects(values: list[Any]) -> np.ndarray:
    return np.fromiter(values, object, len(values))


@axes
@given(values=st.lists(st.one_of(texts, numbers, strangers), max_size=12))
def test_python_objects_are_in_the_cells_of_their_text(axis: Axis, values: list[Any]) -> None:
    column = pd.Series(objects(values), dtype=object, name="x")
    expected = counted(column.to_frame(), axis)
    assert own(column, axis) == expected
    assert own(objects(values), axis) == expected
    assert own(list(values), axis) == expected
    known = list(dict.fromkeys(value for value in values if isinstance(value, str)))
    codes = [known.index(value) if isinstance(value, str) else -1 for value in values]
    named = pd.Series(pd.Categorical.from_codes(codes, objects(known)), name="x")
    assert own(named, axis) == counted(named.to_frame(), axis)


@axes
@given(values=st.lists(texts, max_size=12))
def test_a_column_of_a_csv_is_in_the_cells_of_its_text(axis: Axis, values: list[str]) -> None:
    import tempfile

    written = [value for value in values if value not in ("", "\x00")]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.csv"
        path.write_text("x\n" + "".join(f'"{value}"\n' for value in written))
        assert own(list(written), axis) == counted_file(path, axis)


def counted_file(path: Path, axis: Axis) -> list[int] | str:
    from trueup.owner.columns import Columns
    from trueup.owner.request import Request
    from trueup.owner.source import open_source

    try:
        source = open_source(str(path))
        wanted = Columns(source.schema, None).counted(axis, "value")
    except SourceError:
        return "refused"
    return source.prepare(Request(axis.size, (wanted,), (axis,)))().tolist()


whole = st.one_of(st.none(), st.integers(-4, 13), st.sampled_from([167837696, 2**53 + 1]))
TYPED: list[tuple[Any, Any]] = [
    (pa.int64(), whole),
    (pa.uint64(), st.one_of(st.none(), st.integers(0, 13), st.just(2**63 + 7))),
    (pa.int8(), st.one_of(st.none(), st.integers(-4, 13))),
    (pa.float64(), st.one_of(st.none(), st.floats(-4, 13), st.sampled_from([7.0, np.nan, np.inf]))),
    (pa.float32(), st.one_of(st.none(), st.floats(-4, 13, width=32))),
    (pa.decimal128(10, 2), st.one_of(st.none(), st.decimals(-4, 13, places=2))),
    (pa.bool_(), st.one_of(st.none(), st.booleans())),
    (pa.string(), st.one_of(st.none(), texts)),
    (pa.date32(), st.one_of(st.none(), st.dates(dt.date(2012, 12, 1), dt.date(2013, 2, 9)))),
    (
        pa.timestamp("us"),
        st.one_of(st.none(), st.datetimes(dt.datetime(2012, 12, 30), dt.datetime(2013, 2, 2))),
    ),
    (pa.time32("s"), st.none()),
    (pa.duration("s"), st.none()),
    (pa.null(), st.none()),
]


@axes
@pytest.mark.parametrize(("kind", "values"), TYPED, ids=lambda each: str(each)[:12])
@settings(max_examples=12)
@given(data=st.data())
def test_typed_columns_are_in_the_same_cells_everywhere(
    axis: Axis, kind: Any, values: Any, data: st.DataObject
) -> None:
    column = pa.array(data.draw(st.lists(values, max_size=8)), kind)
    table = pa.table({"x": column})
    expected = counted(table, axis)
    assert own(column, axis) == expected
    assert own(table["x"], axis) == expected
    if not pa.types.is_null(kind):
        assert own(pl.from_arrow(table)["x"], axis) == counted(pl.from_arrow(table), axis)
        assert counted(pl.from_arrow(table), axis) == expected
        frame = table.to_pandas(types_mapper=pd.ArrowDtype)
        assert own(frame["x"], axis) == counted(frame, axis) == expected
        assert counted(duckdb.from_arrow(table), axis) == expected
    plain = table.to_pandas()
    assert own(plain["x"], axis) == counted(plain, axis)


@axes
@pytest.mark.parametrize(
    "column",
    [
        pd.Series([7, None, 1], dtype="Int64"),
        pd.Series([7.5, None, 1], dtype="Float64"),
        pd.Series([True, None], dtype="boolean"),
        pd.Series(["7", None, "A"], dtype="string"),
        pd.Series(["7", None, "A"], dtype="category"),
        pd.Series([7, None, 1], dtype="category"),
        pd.Series(["2013-01-07"], dtype="period[D]"),
        pd.Series(pd.to_datetime(["2013-01-07", None], utc=True)),
        pd.Series(pd.to_datetime(["2013-01-07T23:30", None])).dt.tz_localize("America/Lima"),
        pd.Series(pd.to_timedelta([7, 1], "h")),
        pd.Series(pd.arrays.SparseArray([7, 0, 1])),
        pd.Series([1 + 2j]),
        pd.Series(pd.interval_range(0, 3)),
    ],
    ids=lambda column: str(column.dtype),
)
def test_pandas_own_types_are_read_alike_or_refused_alike(axis: Axis, column: pd.Series) -> None:
    assert own(column, axis) == counted(column.to_frame("x"), axis)


def test_parquet_and_a_database_count_as_the_axis_does(tmp_path: Path) -> None:
    ages = pa.table({"x": pa.array([7, None, 1, 99, 7])})
    path = tmp_path / "x.parquet"
    pyarrow.parquet.write_table(ages, path)
    axis = AXES[0]
    assert counted_file(path, axis) == own(ages["x"], axis)


def test_integer_labels_over_text_are_refused_before_anything_is_charged(tmp_path: Path) -> None:
    from trueup import Ledger, Owner

    ledger = Ledger(tmp_path / "ledger", limit=1)
    owner = Owner(pa.table({"grade": ["1", "2"]}), ledger)
    with pytest.raises(SourceError, match="'grade' holds text, where whole numbers are needed"):
        owner.measure(CellCounts(Axis.categories("grade", [1, 2])), epsilon=1)
    assert ledger.remaining == 1
