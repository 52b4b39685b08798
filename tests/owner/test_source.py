"""Sources: formats, types and accidents of their own."""

from __future__ import annotations

import dataclasses
import datetime as dt
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trueup as tu
from trueup.ask import Space
from trueup.errors import InputError, SourceError
from trueup.owner import source as sources
from trueup.owner import where as filters
from trueup.owner.source import open_source

HOUR = tu.Axis.integers("hour", 0, 3)


@pytest.fixture
def ledger(tmp_path: Path) -> tu.Ledger:
    return tu.Ledger(tmp_path / "ledger", limit=10**6)


def counts(owner: tu.Owner, axis: tu.Axis = HOUR, where: str | None = None) -> list[int]:
    part = None if where is None else filters.parse(where)
    return owner.prepared(tu.CellCounts(axis), part, False)().tolist()


# CSV and lines of JSON: a bad line is lost, and nothing else with it.


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("plain.csv", b"hour,name\n1,a\n2,b\n", [0, 1, 1, 0]),
        ("windows.csv", b"\xef\xbb\xbfhour,name\r\n1,a\r\n2,b\r\n", [0, 1, 1, 0]),
        ("tabs.tsv", b"name\thour\na\t1\nb\t2\n", [0, 1, 1, 0]),
        ("packed.csv.gz", gzip.compress(b"hour,name\n1,a\n2,b\n", mtime=0), [0, 1, 1, 0]),
        ("headed.csv", b"hour\n", [0, 0, 0, 0]),
        ("utf8.csv", b"hour,name\n1,a\n\xff,b\n2,\xff\xfe\n3,d\n", [0, 1, 1, 1]),
        ("ragged.csv", b"hour,name\n1,a\n2\n3,x,y\n1,c\n", [0, 2, 0, 1]),
        ("long.csv", b"hour,name\n1,a\n2," + b"x" * 3_000_000 + b"\n3,c\n", [0, 1, 1, 1]),
        ("zero.csv", b"hour,name\n1,\x00\n2,b\n", [0, 1, 1, 0]),
        (
            "text.csv",
            b"hour\n1\nnoon\n2.5\n2.0\n 3 \n1e0\n\n-1\n9e99\nnan\ninf\n0x1\n",
            [0, 2, 1, 1],
        ),
        ("quoted.csv", b'hour,name\n"1","a,b"\n2,"c ""d"""\n3,"e\nf"\n', [0, 1, 1, 1]),
        ("plain.jsonl", b'{"hour":1}\n{"hour":2}\n', [0, 1, 1, 0]),
        ("plain.ndjson", b'{"hour":1}\n{"hour":2}\n', [0, 1, 1, 0]),
        ("packed.jsonl.gz", gzip.compress(b'{"hour":1}\n{"hour":2}\n', mtime=0), [0, 1, 1, 0]),
        ("empty.jsonl", b"", [0, 0, 0, 0]),
        (
            "mixed.jsonl",
            b'{"hour":1}\n{"hour":2\n{"hour":3}\n[1]\n7\n{"hour":"1"}\n{"hour":null}\n{}\n'
            b'{"hour":{"a":1}}\n{"hour":2.0}\n{"hour":true}\n{"hour":1,"n":"\xff"}\nhour\n',
            [0, 2, 1, 1],
        ),
    ],
)
def test_a_bad_line_is_lost_and_no_other(
    name: str, data: bytes, expected: list[int], tmp_path: Path, ledger: tu.Ledger
) -> None:
    (tmp_path / name).write_bytes(data)
    assert counts(tu.Owner(tmp_path / name, ledger)) == expected


def test_one_odd_value_does_not_change_how_the_others_are_read(
    tmp_path: Path, ledger: tu.Ledger
) -> None:
    whole = tu.Axis.integers("id", 2**53, 2**53 + 2)
    for odd in ("", "x", "2.5", "nan"):
        lines = ["id", *["9007199254740993"] * 3, odd, "9007199254740992"]
        (tmp_path / "ids.csv").write_text("\n".join(lines) + "\n")
        assert counts(tu.Owner(tmp_path / "ids.csv", ledger), whole) == [1, 3, 0]


def test_names_of_columns_may_hold_anything(tmp_path: Path, ledger: tu.Ledger) -> None:
    name = 'it\'s "a" `col`/um~n; drop'
    table = pa.table({name: [0, 1, 1], "x": [1, 1, 2]})
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(r) + "\n" for r in table.to_pylist()))
    import polars as pl

    axis = tu.Axis.integers(name, 0, 1)
    quoted = '"' + name.replace('"', '""') + '"'
    for source in (table, pl.from_arrow(table), tmp_path / "t.jsonl"):
        owner = tu.Owner(source, ledger, columns={name: "integer"})
        assert counts(owner, axis, f"{quoted} <= 1") == [1, 2]


def test_files_of_a_glob_are_one_table(tmp_path: Path, ledger: tu.Ledger) -> None:
    for number in range(3):
        (tmp_path / f"{number}.csv").write_text(f"hour,name\n{number},a\n")
    assert counts(tu.Owner(str(tmp_path / "*.csv"), ledger)) == [1, 1, 1, 0]
    (tmp_path / "3.csv").write_text("name,hour\n3,3\n")
    with pytest.raises(SourceError, match="different first lines"):
        tu.Owner(str(tmp_path / "*.csv"), ledger)
    # A column may be missing from a Parquet file, or be of another type there.
    pq.write_table(pa.table({"hour": pa.array([1], pa.int8())}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"hour": pa.array([2.0])}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"other": pa.array([3])}), tmp_path / "c.parquet")
    assert counts(tu.Owner(str(tmp_path / "*.parquet"), ledger)) == [0, 1, 1, 0]


def test_what_cannot_be_opened_is_refused_by_its_public_facts(
    tmp_path: Path, ledger: tu.Ledger
) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"no parquet")
    (tmp_path / "bad.arrow").write_bytes(b"no arrow")
    (tmp_path / "bad.duckdb").write_bytes(b"no database" * 1000)
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "twice.csv").write_bytes(b"hour,hour\n1,1\n")
    (tmp_path / "table.xlsx").write_bytes(b"")
    for name, options, words in [
        ("none.parquet", {}, "There is no file"),
        ("no*.parquet", {}, "There is no file"),
        ("bad.parquet", {}, "cannot be read as parquet"),
        ("bad.arrow", {}, "cannot be read as arrow"),
        ("bad.duckdb", {"table": "t"}, "There is no table 't'"),
        ("empty.csv", {}, "must name its columns"),
        ("twice.csv", {}, "each one once"),
    ]:
        with pytest.raises(SourceError, match=words) as refusal:
            tu.Owner(str(tmp_path / name), ledger, **options)
        assert refusal.value.__context__ is None
    with pytest.raises(InputError, match="does not end as a file that is read"):
        tu.Owner(tmp_path / "table.xlsx", ledger)
    with pytest.raises(InputError, match="name the table"):
        tu.Owner(tmp_path / "bad.duckdb", ledger)
    with pytest.raises(InputError, match="goes with a database"):
        tu.Owner(tmp_path / "bad.parquet", ledger, table="t")
    with pytest.raises(InputError, match="Name the table"):
        tu.Owner("postgresql://user:secret@localhost/db", ledger)
    with pytest.raises(SourceError) as refusal:
        tu.Owner("postgresql://user:secret@localhost:1/db", ledger, table="t")
    assert "secret" not in str(refusal.value)
    assert refusal.value.__context__ is None


def test_a_database_without_the_table_is_refused(tmp_path: Path, ledger: tu.Ledger) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE TABLE trips AS SELECT 1 AS hour")
    assert counts(tu.Owner(tmp_path / "d.duckdb", ledger, table="trips")) == [0, 1, 0, 0]
    with pytest.raises(SourceError, match="no table 'trip' in"):
        tu.Owner(tmp_path / "d.duckdb", ledger, table="trip")


# Types that only some engines have.


def narrow(engine: str, table: pa.Table) -> Any:
    import polars as pl

    return pl.from_arrow(table) if engine == "polars" else table


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_every_width_of_number_counts_the_same(engine: str, ledger: tu.Ledger) -> None:
    axis = tu.Axis.integers("x", -1, 3)
    for kind in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                 "float32", "float64"):  # fmt: skip
        values = [0, 1, 1, 3, 100, None]
        if not kind.startswith("u"):
            values += [-1, -2]
        if kind == "uint64":
            values += [2**64 - 1, 2**63]
        if kind.startswith("float"):
            values += [float("nan"), float("inf"), 1.5]
        table = pa.table({"x": pa.array(values, getattr(pa, kind)())})
        owner = tu.Owner(narrow(engine, table), ledger)
        signed = 0 if kind.startswith("u") else 1
        assert counts(owner, axis) == [signed, 1, 2, 0, 1], kind
        assert counts(owner, tu.Axis.regular("x", 0.5, 1.5, 1)) == [2], kind


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_every_precision_of_time_counts_the_same(engine: str, ledger: tu.Ledger) -> None:
    day = tu.Axis.dates("t", "1969-12-31", "1970-01-01")
    for unit, before in [("s", -1), ("ms", -1), ("us", -1), ("ns", -1)]:
        for zone in (None, "UTC", "America/New_York"):
            kind = pa.timestamp(unit, tz=zone)
            extremes = [2**63 - 1, -(2**63) + 1] if unit == "ns" else [2**40]
            table = pa.table({"t": pa.array([before, 0, 1, None, *extremes], kind)})
            owner = tu.Owner(narrow(engine, table), ledger)
            assert counts(owner, day) == [1, 2], str(kind)


def test_infinite_moments_are_not_counted(ledger: tu.Ledger) -> None:
    import duckdb

    connection = duckdb.connect()
    for kind in ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"):
        values = ", ".join(f"('{v}'::{kind})" for v in ("infinity", "-infinity", "1970-01-01"))
        relation = connection.sql(f"SELECT * FROM (VALUES {values}, (NULL)) AS v(t)")
        owner = tu.Owner(relation, ledger)
        assert counts(owner, tu.Axis.dates("t", "1970-01-01", "1970-01-02")) == [1, 0], kind
    far = connection.sql("SELECT '290000-01-01'::DATE AS t UNION ALL SELECT '5000000-01-01'::DATE")
    assert counts(tu.Owner(far, ledger), tu.Axis.dates("t", "1970", "1971")) == [0] * 730


def test_postgresql_extremes_stop_no_query(postgres: Callable[[], str], ledger: tu.Ledger) -> None:
    import psycopg

    far = ["infinity", "-infinity", "4713-01-01 BC", "0001-01-01", "1970-01-01"]
    rows = {
        "n numeric": ["1e400", "-1e400", "1e-400", "0", "1", "1.5", "NaN", "Infinity"],
        "ts timestamp": [*far, "294276-12-31 23:59:59"],
        "tz timestamptz": [*far, "294276-12-31 23:59:59+00"],
        "d date": [*far, "5874897-12-31"],
    }
    with psycopg.connect(postgres()) as connection:
        connection.execute(f"CREATE TABLE extremes ({', '.join(rows)})")
        for column, values in rows.items():
            for value in values:
                name = column.split()[0]
                connection.execute(f"INSERT INTO extremes ({name}) VALUES ('{value}')")
    owner = tu.Owner(postgres(), ledger, table="extremes")
    assert counts(owner, tu.Axis.regular("n", 0, 2, 4)) == [2, 0, 1, 1]
    # Whole to the last digit: 1e-400 is not 0.
    assert counts(owner, tu.Axis.integers("n", 0, 2)) == [1, 1, 0]
    assert counts(owner, tu.Axis.integers("n", 0, 2), "n <= 1 or n > 1e250") == [1, 1, 0]
    for name in ("ts", "tz", "d"):
        days = tu.Axis.dates(name, "1970-01-01", "1970-01-02")
        assert counts(owner, days) == [1, 0], name
        assert counts(owner, days, f"{name} < '2000-01-01'") == [1, 0], name


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_dictionaries_and_enums_are_text(engine: str, ledger: tu.Ledger) -> None:
    import pandas as pd

    axis = tu.Axis.categories("x", ["a", "c"])
    table = pa.table({"x": pa.array(["a", "b", "a", None]).dictionary_encode()})
    assert counts(tu.Owner(narrow(engine, table), ledger), axis) == [2, 0]
    frame = pd.DataFrame({"x": pd.Categorical(["a", "b", None, "c"])})
    assert counts(tu.Owner(frame, ledger), axis) == [1, 1]


def test_a_pandas_column_of_objects_is_read_value_by_value(ledger: tu.Ledger) -> None:
    import pandas as pd

    class Rude:
        def __str__(self) -> str:
            raise ValueError("canary")

    strange = [
        1,
        2.0,
        "1",
        " 2 ",
        None,
        np.nan,
        pd.NA,
        pd.NaT,
        b"1",
        [1],
        True,
        2.5,
        Rude(),
        10**30,
    ]
    frame = pd.DataFrame({"hour": pd.Series(strange, dtype=object)})
    assert counts(tu.Owner(frame, ledger)) == [0, 3, 2, 0]
    moments = [dt.date(2020, 1, 1), dt.datetime(2020, 1, 2, tzinfo=dt.UTC), "2020-01-02", 7, None]
    frame = pd.DataFrame({"hour": pd.Series(moments, dtype=object)})
    owner = tu.Owner(frame, ledger)
    assert counts(owner, tu.Axis.dates("hour", "2020-01-01", "2020-01-02")) == [1, 2]


@pytest.mark.parametrize("values", ["(1)", "(1), (-2147483648), (2147483647)", "(NULL)"])
def test_a_parquet_file_that_some_values_make_unreadable_is_refused_whatever_it_holds(
    values: str, tmp_path: Path, ledger: tu.Ledger
) -> None:
    import duckdb

    path = tmp_path / "t.parquet"
    for kind, version, readable in [
        ("INTEGER", "V2", False),
        ("INTEGER", "V1", True),
        ("BIGINT", "V2", True),
    ]:
        query = f"SELECT x::{kind} AS hour FROM (VALUES {values}) AS v(x)"
        duckdb.sql(f"COPY ({query}) TO '{path}' (FORMAT parquet, PARQUET_VERSION {version})")
        if readable:
            assert counts(tu.Owner(path, ledger)) == [0, int("1" in values[1]), 0, 0]
            continue
        with pytest.raises(SourceError, match="with PARQUET_VERSION V1, DuckDB's default"):
            tu.Owner(path, ledger)


def test_a_narwhals_frame_is_its_native_one(ledger: tu.Ledger) -> None:
    import narwhals as nw
    import polars as pl

    frame = nw.from_native(pl.DataFrame({"hour": [1, 1, 3]}))
    assert counts(tu.Owner(frame, ledger)) == [0, 2, 0, 1]


def test_a_frame_that_cannot_be_a_table_is_refused_with_a_reason(ledger: tu.Ledger) -> None:
    import pandas as pd
    import polars as pl

    twice = pd.DataFrame([[1, 2]], columns=["hour", "hour"])
    with pytest.raises(InputError, match="Two columns of the DataFrame have one name"):
        tu.Owner(twice, ledger)
    with pytest.raises(InputError, match="Give a Polars DataFrame or LazyFrame"):
        tu.Owner(pl.Series("hour", [1]), ledger)


@pytest.mark.parametrize(
    "address",
    [
        "mysql://me:canary-word@host/db",
        "jdbc:postgresql://host/db?user=me&password=canary-word",
        "host=h dbname=d password=canary-word",
        "postgresql://me:canary-word@nowhere.invalid/db",
        "POSTGRESQL://me:canary-word@nowhere.invalid/db",
        "https://me:canary-word@host/people.parquet",
        "s3://key:canary-word@bucket/people.parquet",
        "people.duckdb?password=canary-word",
    ],
)
@pytest.mark.parametrize("table", [None, "people"])
def test_no_message_repeats_a_password(
    address: str, table: str | None, ledger: tu.Ledger, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(tu.TrueupError) as refused:
        tu.Owner(address, ledger, table=table)
    chain: BaseException | None = refused.value
    while chain is not None:
        assert "canary-word" not in f"{chain!s}{chain!r}"
        chain = chain.__cause__ or chain.__context__
    assert "canary-word" not in repr(ledger)
    assert "canary-word" not in "".join(capfd.readouterr())


def test_a_file_whose_name_has_brackets_is_read_as_it_is(tmp_path: Path) -> None:
    """As a pattern its name would be that of another file, or of none."""
    for name, rows in (("rows[1].parquet", [1, 2]), ("rows1.parquet", [3])):
        pl.DataFrame({"x": rows}).write_parquet(tmp_path / name)
    axis = tu.Axis.integers("x", 0, 3)
    for name, counts in (("rows[1].parquet", [0, 1, 1, 0]), ("rows[0-9].parquet", [0, 0, 0, 1])):
        owner = tu.Owner(str(tmp_path / name), tu.Ledger(tmp_path / f"{name} ledger", limit=1000))
        assert owner.measure(tu.CellCounts(axis), 1000).noisy.tolist() == counts


def test_a_change_of_any_file_is_seen(tmp_path: Path) -> None:
    for name in "abc":
        pl.DataFrame({"x": [1]}).write_parquet(tmp_path / f"{name}.parquet")
    stamp = open_source(str(tmp_path / "*.parquet")).stamp
    assert stamp is not None
    for name in "abc":
        before = stamp()
        assert before == stamp()
        pl.DataFrame({"x": [2, 3]}).write_parquet(tmp_path / f"{name}.parquet")
        assert stamp() != before


@pytest.mark.parametrize("failures", [0, 1, 3, 4])
def test_a_count_that_fails_is_tried_four_times_in_all(
    failures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_PAUSES", (0, 0, 0))
    tried: list[int] = []

    def count() -> str:
        tried.append(1)
        if len(tried) <= failures:
            raise OSError("the connection is gone")
        return "counted"

    if failures < 4:
        assert sources.retried(count) == "counted"
    else:
        with pytest.raises(OSError, match="gone"):
            sources.retried(count)
    assert len(tried) == min(failures + 1, 4)


def test_a_question_is_about_the_features_it_names_or_else_about_all() -> None:
    features = (("visits", "count of rows"), ("first", "least place"))
    made = dataclasses.replace(open_source(pl.DataFrame({"x": [1]})), features=features)
    for names, wanted in (
        (["visits"], features[:1]),
        (["first", "town"], features[1:]),
        (["town"], features),
    ):
        axes = tuple(tu.Axis.integers(name, 0, 9) for name in names)
        assert made.features_in(Space("cells", axes, axes)) == wanted
    assert made.features_in(Space("ranks", groups=3, by="first")) == features[1:]
