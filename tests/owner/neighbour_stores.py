"""Odd values in memory, in databases and on servers; and the list of all engines."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import neighbour_files as files
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from neighbour_tables import Job, Placed, Rows, arrow_array, arrow_table, arrow_type
from neighbour_values import Form, Value


def _arrow(job: Job) -> list[Placed]:
    pieces = job.random.choice([None, 1, 3])
    made = []
    for rows in job.tables:
        table = arrow_table(job.columns, rows)
        if pieces:
            table = pa.Table.from_batches(table.to_batches(pieces), table.schema)
        made.append(Placed(table))
    return made


def spark_kind(form: Form) -> str:
    """The Spark type of a form."""
    match form.family:
        case "integer":
            return {8: "tinyint", 16: "smallint", 32: "int", 64: "bigint"}[form.bits]
        case "float":
            return "float" if form.bits == 32 else "double"
        case "decimal":
            return f"decimal({form.bits}, {form.scale})"
        case "time":
            return "timestamp" if form.zone else "timestamp_ntz"
        case _:
            return {"text": "string", "date": "date"}.get(form.family, "boolean")


def _all_in_spark(job: Job) -> Any:
    """One Spark frame of all the tables, with their numbers in the column `which`."""
    rows = [(*row, number) for number, table in enumerate(job.tables) for row in table]
    columns = {**job.columns, "which": Form("integer", 32)}
    schema = ", ".join(f"`{name}` {spark_kind(form)}" for name, form in columns.items())
    return job.servers.spark().createDataFrame(arrow_table(columns, rows), schema)


def _spark(job: Job) -> list[Placed]:
    union = spark_union(job)
    frame: Any = union.source
    parts = [frame.filter(f"which = {number}").drop("which") for number in range(len(job.tables))]
    return [
        Placed(part, close=union.close if number == 0 else lambda: None)
        for number, part in enumerate(parts)
    ]


def spark_union(job: Job) -> Placed:
    """One Spark frame of all the tables."""
    frame = _all_in_spark(job).repartition(job.random.choice([1, 3]), "which").cache()
    return Placed(frame, close=frame.unpersist)


def _parquet_spark(job: Job) -> list[Placed]:
    spark = job.servers.spark()
    spark.conf.set(
        "spark.sql.parquet.outputTimestampType",
        job.random.choice(["INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"]),
    )
    for mode in ("datetimeRebaseModeInWrite", "int96RebaseModeInWrite"):
        spark.conf.set(f"spark.sql.parquet.{mode}", "CORRECTED")
    place = job.folder / "written"
    frame = _all_in_spark(job).coalesce(1)
    frame.write.partitionBy("which").parquet(str(place))
    schema = arrow_table(job.columns, []).schema
    made = []
    for number in range(len(job.tables)):
        folder = place / f"which={number}"
        if not folder.exists():  # a table without rows
            folder.mkdir()
            pq.write_table(schema.empty_table(), folder / "part-0.parquet")
        made.append(Placed(str(folder / "*.parquet")))
    return made


# Databases.


def duckdb_kind(form: Form) -> str:
    """The DuckDB type of a form."""
    match form.family:
        case "integer":
            name = {8: "TINYINT", 16: "SMALLINT", 32: "INTEGER", 64: "BIGINT", 128: "HUGEINT"}
            return ("" if form.signed else "U") + name[form.bits]
        case "float":
            return "FLOAT" if form.bits == 32 else "DOUBLE"
        case "decimal":
            return f"DECIMAL({form.bits}, {form.scale})"
        case "text":
            return f"VARCHAR {form.spelled}"
        case "time":
            if form.zone:
                return "TIMESTAMPTZ"
            return {"s": "TIMESTAMP_S", "ms": "TIMESTAMP_MS", "ns": "TIMESTAMP_NS"}.get(
                form.step, "TIMESTAMP"
            )
        case _:
            return form.family.upper()


def _fill_duckdb(connection: Any, job: Job, name: str, rows: Rows) -> None:
    kinds = ", ".join(f'"{column}" {duckdb_kind(form)}' for column, form in job.columns.items())
    connection.execute(f"CREATE TABLE {name} ({kinds})")
    connection.register("arrow", arrow_table(job.columns, rows))
    connection.execute(f"INSERT INTO {name} SELECT * FROM arrow")
    connection.unregister("arrow")


def _duckdb_file(job: Job) -> list[Placed]:
    import duckdb

    made = []
    for number, rows in enumerate(job.tables):
        path = job.folder / f"t{number}.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            _fill_duckdb(connection, job, "made", rows)
        made.append(Placed(path, {"table": "made"}))
    return made


def _duckdb_relation(job: Job) -> list[Placed]:
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for number, rows in enumerate(job.tables):
        _fill_duckdb(connection, job, f"t{number}", rows)
    connection.execute(f"SET TimeZone = '{job.random.choice(['UTC', 'Asia/Kathmandu'])}'")
    query = job.random.random() < 0.5
    if query and job.random.random() < 0.5:
        connection.execute("SET default_collation = 'NOCASE'")
    made = [
        Placed(connection.sql(f"SELECT * FROM t{n}") if query else connection.table(f"t{n}"))
        for n in range(len(job.tables))
    ]
    made[-1].close = connection.close
    return made


def postgres_kind(form: Form) -> str:
    """The PostgreSQL type of a form."""
    match form.family:
        case "integer":
            return {16: "smallint", 32: "integer", 64: "bigint"}[form.bits]
        case "float":
            return "real" if form.bits == 32 else "double precision"
        case "decimal":
            return "numeric" if form.bits == 38 else f"numeric({form.bits}, {form.scale})"
        case "text":
            return form.spelled or "text"
        case "time":
            return "timestamptz" if form.zone else "timestamp"
        case _:
            return form.family


def _postgres_value(value: Value, form: Form) -> str:
    if value is None:
        return "NULL"
    match form.family:
        case "text":
            return "'" + value.decode().replace("'", "''") + "'"
        case "date":
            far = {2**31 - 1: "'infinity'", -(2**31): "'-infinity'"}
            return far.get(value, f"date '1970-01-01' + ({value})")
        case "time":
            if abs(value) > 2**63 - 3:
                return "'infinity'" if value > 0 else "'-infinity'"
            start = f"{postgres_kind(form)} '1970-01-01 00:00:00+00'"
            whole, rest = divmod(value, 86_400_000_000)
            return f"{start} + interval '{whole} days' + interval '{rest} microseconds'"
        case "float":
            return f"'{value!r}'"
        case "decimal":
            return f"'{value}'" if isinstance(value, Decimal) else str(value)
        case _:
            return f"'{str(value).lower()}'"


POSTGRES_TEXT = ("text", "citext", "text COLLATE loose", "varchar(1000)")
PREPARE = [
    "CREATE EXTENSION IF NOT EXISTS citext",
    "CREATE COLLATION IF NOT EXISTS loose "
    "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
]


def _postgres(job: Job) -> list[Placed]:
    import psycopg

    kinds = ", ".join(f'"{column}" {postgres_kind(form)}' for column, form in job.columns.items())
    names = [f"t{os.urandom(6).hex()}" for _ in job.tables]
    with psycopg.connect(job.servers.postgres(), autocommit=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for statement in PREPARE:
            connection.execute(statement.encode())
        for name, rows in zip(names, job.tables, strict=True):
            connection.execute(f"CREATE UNLOGGED TABLE {name} ({kinds})".encode())
            lines = ", ".join(
                "(" + ", ".join(map(_postgres_value, row, job.columns.values())) + ")"
                for row in rows
            )
            if lines:
                connection.execute(f"INSERT INTO {name} VALUES {lines}".encode())
        if job.random.random() < 0.3:
            connection.execute(("ANALYZE " + ", ".join(names)).encode())

    def drop() -> None:
        with psycopg.connect(job.servers.postgres(), autocommit=True) as connection:
            connection.execute(("DROP TABLE " + ", ".join(names)).encode())

    made = [Placed(job.servers.postgres(), {"table": name}) for name in names]
    made[-1].close = drop
    return made


# Data frames.


def _pandas(job: Job) -> list[Placed]:
    import pandas as pd

    as_arrow = job.random.random() < 0.4
    objects = job.random.random() < 0.5

    def series(values: Sequence[Value], form: Form) -> Any:
        if form.family == "text":
            texts = [None if v is None else v.decode("utf-8", "surrogateescape") for v in values]
            return pd.Series(texts, dtype=object)
        if form.family == "time" and form.zone is None:
            steps = [-(2**63) if v is None else v for v in values]
            return pd.Series(np.array(steps, np.int64).view(f"datetime64[{form.step}]"))
        if form.family == "float" and not objects:
            return pd.Series(np.array([np.nan if v is None else v for v in values], float))
        if form.family == "integer" and not objects:
            name = f"{'' if form.signed else 'U'}Int{form.bits}"
            return pd.Series(pd.array(values, dtype=name))
        if form.family in ("integer", "float", "decimal", "boolean"):
            return pd.Series(list(values), dtype=object)
        return pd.Series(arrow_array(values, form), dtype=pd.ArrowDtype(arrow_type(form)))

    made = []
    for rows in job.tables:
        table = arrow_table(job.columns, rows)
        if as_arrow:
            frame = pd.DataFrame(
                {n: pd.Series(table[n], dtype=pd.ArrowDtype(table[n].type)) for n in job.columns}
            )
        else:
            by_column = zip(*rows, strict=True) if rows else ((),) * len(job.columns)
            columns = map(series, by_column, job.columns.values())
            frame = pd.DataFrame(dict(zip(job.columns, columns, strict=True)))
        made.append(Placed(frame))
    return made


def _polars(job: Job) -> list[Placed]:
    import polars as pl

    kind = job.random.choice([None, None, pl.Categorical()])
    lazy = job.random.choice(["no", "yes", "scan"])
    made = []
    for number, rows in enumerate(job.tables):
        table = arrow_table(job.columns, rows)
        frame: Any = pl.from_arrow(table)
        if kind is not None:
            frame = frame.with_columns(pl.col(pl.String).cast(kind))
        if lazy == "scan":
            path = job.folder / f"t{number}.parquet"
            frame.write_parquet(path, row_group_size=4)
            frame = pl.scan_parquet(path)
        made.append(Placed(frame.lazy() if lazy == "yes" else frame))
    return made


ENGINES: dict[str, Callable[[Job], list[Placed]]] = {
    "parquet-pyarrow": files.parquet_pyarrow,
    "parquet-polars": files.parquet_polars,
    "parquet-duckdb": files.parquet_duckdb,
    "parquet-spark": _parquet_spark,
    "csv": files.csv,
    "jsonl": files.json_lines,
    "arrow": _arrow,
    "arrow-file": files.arrow_file,
    "duckdb-file": _duckdb_file,
    "duckdb-relation": _duckdb_relation,
    "pandas": _pandas,
    "polars": _polars,
    "postgresql": _postgres,
    "spark": _spark,
}
