"""Tables of every library: each type of column that they have, and what is refused by its type."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import trueup as tu
from trueup.errors import InputError, SourceError
from trueup.owner import where as filters

LETTERS = tu.Axis.categories("x", ["a", "b"])
SMALL = tu.Axis.integers("x", 0, 3)
DAYS = tu.Axis.dates("x", "2020-01-01", "2020-01-02")


@pytest.fixture
def ledger(tmp_path: Path) -> tu.Ledger:
    return tu.Ledger(tmp_path / "ledger", limit=10**6)


def counts(source: Any, ledger: tu.Ledger, axis: tu.Axis, where: str | None = None) -> list[int]:
    part = None if where is None else filters.parse(where)
    return tu.Owner(source, ledger)._prepare(tu.CellCounts(axis), part, False)().tolist()


def test_every_type_of_pandas_is_read_or_refused(ledger: tu.Ledger) -> None:
    import pandas as pd

    moments = [dt.datetime(2020, 1, 1, 12), dt.datetime(2020, 1, 2), None]
    texts = ["a", "b", "a", None]
    for axis, column, expected in [
        (SMALL, pd.array([0, 3, None, 9], dtype="Int64"), [1, 0, 0, 1]),
        (SMALL, pd.array([0, 3, None, 9], dtype="UInt8"), [1, 0, 0, 1]),
        (SMALL, pd.array([0, 3, None, 2.5], dtype="Float32"), [1, 0, 0, 1]),
        (SMALL, np.array([0, 3, np.nan, 2.5], np.float16), [1, 0, 0, 1]),
        (SMALL, pd.Categorical([1, 2, None, 1]), [0, 2, 1, 0]),
        (SMALL, pd.Series([1, "2", Decimal("3.0"), None], dtype=object), [0, 1, 1, 1]),
        (LETTERS, pd.Series(texts, dtype="string[python]"), [2, 1]),
        (LETTERS, pd.Series(texts, dtype="string[pyarrow]"), [2, 1]),
        (LETTERS, pd.Series(texts, dtype="str"), [2, 1]),
        (LETTERS, pd.Series(texts, dtype=object), [2, 1]),
        (LETTERS, pd.Categorical(texts), [2, 1]),
        (LETTERS, pd.Categorical(pd.Series(["a", "b", "\ud800", None], dtype=object)), [1, 1]),
        (DAYS, pd.Series(moments, dtype="datetime64[ns]"), [1, 1]),
        (DAYS, pd.Series(moments, dtype="datetime64[s]"), [1, 1]),
        (DAYS, pd.Series(moments).dt.tz_localize("Asia/Tokyo"), [2, 0]),
        (DAYS, pd.Series(moments, dtype=object), [1, 1]),
        (DAYS, pd.Series(moments, dtype=pd.ArrowDtype(pa.timestamp("ms"))), [1, 1]),
    ]:
        assert counts(pd.DataFrame({"x": column}), ledger, axis) == expected, str(column.dtype)
    for column in (
        pd.Series(pd.to_timedelta([1, 2], unit="s")),
        pd.Series(pd.period_range("2020", periods=2)),
        pd.Series(pd.interval_range(0, 2)),
        pd.Series([1j, 2j]),
    ):
        for axis in (SMALL, LETTERS, DAYS):
            with pytest.raises(SourceError, match="holds something else, where"):
                counts(pd.DataFrame({"x": column}), ledger, axis)


def test_every_type_of_polars_is_read_or_refused(ledger: tu.Ledger) -> None:
    import polars as pl

    texts = ["a", "b", "a", None]
    day = dt.date(2020, 1, 2)
    for axis, column, expected in [
        (SMALL, pl.Series([0, 3, None, 9], dtype=pl.UInt64), [1, 0, 0, 1]),
        (
            SMALL,
            pl.Series([Decimal("3.00"), Decimal("2.5")], dtype=pl.Decimal(38, 2)),
            [0, 0, 0, 1],
        ),
        (LETTERS, pl.Series(texts), [2, 1]),
        (LETTERS, pl.Series(texts, dtype=pl.Categorical), [2, 1]),
        (LETTERS, pl.Series(texts, dtype=pl.Enum(["b", "a"])), [2, 1]),
        (LETTERS, pl.Series([b"a", b"\xff", None]), [1, 0]),
        (DAYS, pl.Series([day, None]), [0, 1]),
        (DAYS, pl.Series([day, None]).cast(pl.Datetime("ns", "Asia/Tokyo")), [0, 1]),
    ]:
        frame = pl.DataFrame({"x": column})
        assert counts(frame, ledger, axis) == expected, str(column.dtype)
        assert counts(frame.lazy(), ledger, axis) == expected, str(column.dtype)
    for column in (
        pl.Series([1], dtype=pl.Int128),
        pl.Series([dt.timedelta(1)]),
        pl.Series([object()], dtype=pl.Object),
        pl.Series([[1]]),
        pl.Series([dt.time(1)]),
    ):
        with pytest.raises(SourceError, match="holds something else, where"):
            counts(pl.DataFrame({"x": column}), ledger, SMALL)


def test_every_type_of_duckdb_is_read_or_refused(ledger: tu.Ledger) -> None:
    import duckdb

    connection = duckdb.connect()
    uuid = "00000000-0000-0000-0000-00000000000a"
    large = tu.Axis.integers("x", 2**62 - 1, 2**62)
    for axis, kind, values, expected in [
        (SMALL, "HUGEINT", ["3", str(2**127 - 1), str(-(2**127) + 1), str(2**64)], [0, 0, 0, 1]),
        (large, "HUGEINT", [str(2**62), str(2**64 + 2**62)], [0, 1]),
        (SMALL, "DECIMAL(38, 3)", ["3", "2.5", "2.000"], [0, 0, 1, 1]),
        (SMALL, "UBIGINT", ["3", str(2**64 - 1)], [0, 0, 0, 1]),
        (tu.Axis.ipv4("x", "0.0.0.0/30", 32), "HUGEINT", ["3", str(2**64 + 3)], [0, 0, 0, 1]),
        (LETTERS, "ENUM('z', 'b', 'a')", ["a", "b", "a"], [2, 1]),
        (LETTERS, "BLOB", ["a", "\\xFF"], [1, 0]),
        (tu.Axis.categories("x", [uuid]), "UUID", [uuid], [1]),
        (DAYS, "TIMESTAMP_NS", ["2020-01-02"], [0, 1]),
    ]:
        listed = ", ".join(f"('{value}'::{kind})" for value in values)
        relation = connection.sql(f"SELECT * FROM (VALUES {listed}, (NULL)) AS v(x)")
        assert counts(relation, ledger, axis) == expected, kind
    for kind, value in [("UHUGEINT", "'1'"), ("TIME", "'10:00'"), ("INTEGER[]", "[1]")]:
        with pytest.raises(SourceError, match="holds something else, where"):
            counts(connection.sql(f"SELECT {value}::{kind} AS x"), ledger, SMALL)


def test_old_times_in_parquet_are_times(ledger: tu.Ledger, tmp_path: Path) -> None:
    moments = [dt.datetime(2020, 1, 1, 12), None, dt.datetime(2020, 1, 2)]
    table = pa.table({"x": pa.array(moments, pa.timestamp("ns"))})
    pq.write_table(table, tmp_path / "t.parquet", use_deprecated_int96_timestamps=True)
    assert counts(tmp_path / "t.parquet", ledger, DAYS) == [1, 1]


def test_parquet_columns_go_by_their_whole_names(ledger: tu.Ledger, tmp_path: Path) -> None:
    inner = pa.StructArray.from_arrays([pa.array([0, 0])], ["b"])
    table = pa.table({"a": inner, "a.b": [1, 1], "x": [3, 3], "x.y": [2, 2]})
    pq.write_table(table, tmp_path / "t.parquet")
    for name, cell in (("a.b", 1), ("x", 3), ("x.y", 2)):
        found = counts(tmp_path / "t.parquet", ledger, tu.Axis.integers(name, 0, 3))
        assert found == [2 * (cell == i) for i in range(4)]


def test_a_dataset_is_counted_with_its_partitions_and_without_filters(
    ledger: tu.Ledger, tmp_path: Path
) -> None:
    table = pa.table({"x": [0, 1, 1, 2, None], "part": ["a", "a", "b", "b", "b"]})
    ds.write_dataset(
        table, tmp_path / "d", format="parquet", partitioning=["part"], partitioning_flavor="hive"
    )
    whole = ds.dataset(tmp_path / "d", partitioning="hive")
    assert counts(whole, ledger, SMALL) == [1, 2, 1, 0]
    assert counts(whole, ledger, SMALL, "part = 'b'") == [0, 1, 1, 0]
    with pytest.raises(InputError, match="without its filter"):
        tu.Owner(whole.filter(pc.field("x") > 0), ledger)
    assert counts(ds.dataset(table), ledger, SMALL) == [1, 2, 1, 0]


def test_a_dataset_that_would_have_to_cast_values_is_refused(
    ledger: tu.Ledger, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"x": pa.array([1], pa.int32()), "y": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": pa.array([2**40]), "y": [2]}), tmp_path / "b.parquet")
    mixed = ds.dataset([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    with pytest.raises(SourceError, match="holds something else"):
        counts(mixed, ledger, SMALL)
    assert counts(mixed, ledger, tu.Axis.integers("y", 0, 3)) == [0, 1, 1, 0]
    # As files of one table they are read, each in its own type.
    assert counts(str(tmp_path / "?.parquet"), ledger, SMALL) == [0, 1, 0, 0]
    (tmp_path / "t.csv").write_text("x\n1\n")
    with pytest.raises(InputError, match="by their path"):
        tu.Owner(ds.dataset(tmp_path / "t.csv", format="csv"), ledger)


def test_tables_without_one_name_a_column_are_refused(ledger: tu.Ledger, tmp_path: Path) -> None:
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"])
    with pytest.raises(SourceError, match="Two columns of the table have one name"):
        tu.Owner(twice, ledger)
    reader = pa.RecordBatchReader.from_batches(pa.schema([]), [])
    with pytest.raises(InputError, match="Give an Arrow table or dataset"):
        tu.Owner(reader, ledger)
    assert counts(pa.RecordBatch.from_pydict({"x": [1]}), ledger, SMALL) == [0, 1, 0, 0]


def test_a_source_that_has_changed_is_refused_before_the_charge(
    ledger: tu.Ledger, tmp_path: Path
) -> None:
    import duckdb
    import pandas as pd

    def kept(values: Any) -> pa.Table:
        return pa.table({"x": values, "y": [1, 2]})

    frame = pd.DataFrame({"x": [1, 2]})
    pq.write_table(kept([1, 2]), tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("x,y\n1,2\n")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS x")
    places: list[Any] = [frame, tmp_path / "t.parquet", tmp_path / "t.csv"]
    owners = [tu.Owner(place, ledger) for place in places]
    owners.append(tu.Owner(tmp_path / "t.duckdb", ledger, table="t"))
    question = tu.CellCounts(SMALL)
    for owner in owners:
        owner.measure(question, 1)
    frame["x"] = ["a", "b"]
    pq.write_table(kept(["a", "b"]), tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("y,x\n1,2\n")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE OR REPLACE TABLE t AS SELECT 'a' AS x")
    before = ledger.spent
    for owner in owners:
        with pytest.raises(SourceError, match="cannot be opened, or is no longer as it was"):
            owner.measure(question, 1)
    assert ledger.spent == before


def test_a_database_is_read_only_and_fetches_nothing(tmp_path: Path) -> None:
    import duckdb

    from trueup.owner.readers.duckdb import _connect

    with duckdb.connect(str(tmp_path / "t.duckdb")) as made:
        made.execute("CREATE TABLE t AS SELECT 1 AS x")
    connection = _connect(str(tmp_path / "t.duckdb"))
    for setting in ("autoinstall_known_extensions", "autoload_known_extensions"):
        assert connection.execute(f"SELECT current_setting('{setting}')").fetchone() == (False,)
    with pytest.raises(duckdb.Error):
        connection.execute("INSERT INTO t VALUES (2)")
