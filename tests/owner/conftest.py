"""Engines to put a table into: one way each, the real thing every time."""

from __future__ import annotations

import csv
import datetime as dt
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from homes import Home, PostgresHome, SqliteHome
from postgres_server import Postgres

collect_ignore = ["cluster.py", "disk.py", "homes.py", "tampering.py", "torture.py", "wire.py"]
collect_ignore += ["postgres_server.py"]
collect_ignore += [path.name for path in Path(__file__).parent.glob("neighbour_*.py")]

IN_CI = "CI" in os.environ
KINDS = {"int64": "bigint", "double": "double precision", "string": "text", "bool": "boolean"}
KINDS |= {"date32[day]": "date", "timestamp[us]": "timestamp"}
KINDS |= {"timestamp[us, tz=UTC]": "timestamptz", "decimal128(12, 4)": "numeric(12, 4)"}


@dataclass
class Placed:
    """A table in an engine, as an owner is given it; `raw` where all of it is text."""

    source: object
    options: dict[str, Any] = field(default_factory=dict)
    raw: bool = False
    close: Callable[[], None] = lambda: None


def missing(what: str) -> None:
    """Skips loudly, or fails where everything must be there."""
    words = f"NOT TESTED: {what}. Run `make system`."
    if IN_CI:
        pytest.fail(words)
    pytest.skip(words)


def _text(value: object) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def _csv(table: pa.Table, folder: Path) -> Placed:
    with open(folder / "table.csv", "w", newline="", encoding="utf-8") as file:
        # Text is quoted and the rest is not, so that empty text and nothing at all differ.
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow(table.column_names)
        file.flush()
        for row in table.to_pylist():
            cells = [
                '"' + v.replace('"', '""') + '"' if isinstance(v, str) else _text(v)
                for v in row.values()
            ]
            file.write(",".join(cells) + "\n")
    return Placed(folder / "table.csv", raw=True)


def _jsonl(table: pa.Table, folder: Path) -> Placed:
    def plain(value: object) -> object:
        strange = isinstance(value, float) and not -1e300 < value < 1e300
        return str(value) if strange or isinstance(value, (dt.date, dt.datetime)) else value

    with open(folder / "table.jsonl", "w", encoding="utf-8") as file:
        for row in table.to_pylist():
            kept = {name: plain(value) for name, value in row.items()}
            file.write(json.dumps(kept, default=str) + "\n")
    return Placed(folder / "table.jsonl", raw=True)


def _parquet(table: pa.Table, folder: Path) -> Placed:
    import pyarrow.parquet as pq

    # Two files and an empty one: a glob, with an empty part.
    half = len(table) // 2
    for number, part in enumerate((table[:half], table[:0], table[half:])):
        pq.write_table(part, folder / f"part{number}.parquet")
    return Placed(str(folder / "part*.parquet"))


def _arrow_file(table: pa.Table, folder: Path) -> Placed:
    with (
        pa.OSFile(str(folder / "table.arrow"), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as writer,
    ):
        writer.write_table(table, max_chunksize=7)
    return Placed(folder / "table.arrow")


def _relation(table: pa.Table, folder: Path) -> Placed:
    import duckdb

    connection = duckdb.connect()
    connection.register("arrow", table)
    connection.execute("CREATE TABLE made AS SELECT * FROM arrow")
    connection.execute("SET TimeZone = 'Asia/Kathmandu'")  # which must not matter
    return Placed(connection.table("made"))


def _database(table: pa.Table, folder: Path) -> Placed:
    import duckdb

    with duckdb.connect(str(folder / "table.duckdb")) as connection:
        connection.register("arrow", table)
        connection.execute("CREATE TABLE made AS SELECT * FROM arrow")
    return Placed(folder / "table.duckdb", {"table": "made"})


def _polars(table: pa.Table, folder: Path) -> Placed:
    import polars as pl

    return Placed(pl.from_arrow(table))


def _polars_lazy(table: pa.Table, folder: Path) -> Placed:
    import polars as pl

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    frame.write_parquet(folder / "lazy.parquet", row_group_size=7)
    return Placed(pl.scan_parquet(folder / "lazy.parquet"))


def _address(table: pa.Table, folder: Path, server: Callable[[], str]) -> Placed:
    return Placed(server(), {"table": "public." + _into_postgres(table, server())})


def _into_postgres(table: pa.Table, address: str) -> str:
    import psycopg

    name = "t" + os.urandom(6).hex()
    columns = ", ".join(f'"{f.name}" {KINDS[str(f.type)]}' for f in table.schema)
    with psycopg.connect(address) as connection:
        connection.execute(f"CREATE TABLE {name} ({columns})")
        with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
            for row in table.to_pylist():
                copy.write_row(list(row.values()))
    return name


def _spark(table: pa.Table, folder: Path, session: Callable[[], Any]) -> Placed:
    kinds = {"int64": "bigint", "date32[day]": "date", "bool": "boolean"}
    kinds |= {"timestamp[us]": "timestamp_ntz", "timestamp[us, tz=UTC]": "timestamp"}
    kinds |= {"decimal128(12, 4)": "decimal(12, 4)"}
    schema = ", ".join(f"`{f.name}` {kinds.get(str(f.type), str(f.type))}" for f in table.schema)
    # Three parts, which leaves some of them empty where the table is small.
    return Placed(session().createDataFrame(table, schema).repartition(3))


LOADERS: dict[str, Callable[..., Placed]] = {
    "parquet": _parquet,
    "csv": _csv,
    "jsonl": _jsonl,
    "arrow file": _arrow_file,
    "duckdb relation": _relation,
    "duckdb file": _database,
    "arrow": lambda table, folder: Placed(table),
    "pandas": lambda table, folder: Placed(table.to_pandas(integer_object_nulls=True), raw=True),
    "pandas arrow": lambda table, folder: Placed(table.to_pandas(types_mapper=_arrow_kind)),
    "polars": _polars,
    "polars lazy": _polars_lazy,
    "postgresql": _address,
    "spark": _spark,
}


def _arrow_kind(kind: pa.DataType) -> Any:
    import pandas as pd

    return pd.ArrowDtype(kind)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Callable[[], str]]:
    """The address of a PostgreSQL server, started as an ordinary user when first asked for."""
    started: list[Postgres] = []

    def address() -> str:
        if not started:
            started.append(_started())
        return started[0].address

    yield address
    for one in started:
        one.remove()


@pytest.fixture(scope="session")
def durable() -> Iterator[Callable[[int], Postgres]]:
    """PostgreSQL servers that sync what they write, as ledgers need: the first, the second."""
    started: dict[int, Postgres] = {}

    def server(number: int) -> Postgres:
        if number not in started:
            started[number] = _started(durable=True)
        return started[number]

    yield server
    for one in started.values():
        one.remove()


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """A PostgreSQL server of the test's own, to be stopped and started."""
    made = _started()
    yield made
    made.remove()


def _started(durable: bool = False) -> Postgres:
    try:
        return Postgres.made(durable)
    except FileNotFoundError:
        missing("PostgreSQL, which is not installed")
        raise


@pytest.fixture(params=["sqlite", "sqlite, rho", "postgresql"])
def home(
    request: pytest.FixtureRequest, tmp_path: Path, durable: Callable[[int], Postgres]
) -> Home:
    """A home for a ledger that does not exist yet: one test, every store and every notion."""
    if request.param != "postgresql":
        return SqliteHome.made(tmp_path, "rho" if "rho" in request.param else "epsilon")
    return PostgresHome.made(durable(0), tmp_path)


@pytest.fixture(scope="session")
def spark() -> Iterator[Callable[[], Any]]:
    """A Spark session, started once when first asked for."""
    started: list[Any] = []

    def session() -> Any:
        if not started:
            started.append(_start_spark())
        return started[0]

    yield session
    for one in started:
        one.stop()


def _start_spark() -> Any:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        missing("Spark, which is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        missing("Spark, which needs Java")
    master = os.environ.get("TRUEUP_SPARK", "local[2]")
    # Many small queries: a quick compiler beats a clever one by half.
    java = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    os.environ["PYSPARK_PYTHON"] = sys.executable  # else the first python3 of the path
    os.environ["PYSPARK_SUBMIT_ARGS"] = f'--driver-java-options "{java}" pyspark-shell'
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "America/New_York",  # which must not matter
    }
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


@pytest.fixture
def placed(
    tmp_path: Path, postgres: Callable[[], str], spark: Callable[[], Any]
) -> Iterator[Callable[[str, pa.Table], Placed]]:
    """Puts a table into an engine."""
    made: list[Placed] = []

    def put(engine: str, table: pa.Table) -> Placed:
        folder = tmp_path / os.urandom(4).hex()
        folder.mkdir()
        servers = {"postgresql": postgres, "spark": spark}
        with_server = [servers[engine]] if engine in servers else []
        made.append(LOADERS[engine](table, folder, *with_server))
        return made[-1]

    yield put
    for one in made:
        one.close()
