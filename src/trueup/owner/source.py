"""Sources: tables wherever they are, opened by the engine that suits them."""

from __future__ import annotations

import csv
import glob
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from trueup.axis.numbers import Ints
from trueup.errors import InputError, SourceError, TrueupError
from trueup.owner.columns import Engine, Schema, Storage, Wanted
from trueup.owner.engines import duckdb as duck
from trueup.owner.engines.duckdb import DuckDb
from trueup.owner.engines.inside import prepared
from trueup.owner.engines.polars import Polars
from trueup.owner.request import Count, Request

T = TypeVar("T")

_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".duckdb": "database",
    ".ddb": "database",
    ".db": "database",
}
_PACKED = (".gz", ".zst")
_ADDRESS = re.compile(r"\s*[a-z][\w+.-]+:/|.*\bpassword\s*=", re.IGNORECASE | re.DOTALL)
_PAUSES = (0.1, 1.0)  # seconds before a count that failed is tried again


@dataclass(frozen=True)
class Source:
    """A table that can be counted: its public schema, its public description, and its counting.

    `prepare` gives the count of a request, ready to run: what can be wrong with the source is found
    there, and no row is read. `shared` says that measurements must take turns, because they use
    one connection.
    """

    schema: Schema
    prepare: Callable[[Request], Count]
    about: Mapping[str, str]
    shared: bool = True


def _inside(
    engine: Engine,
    schema: Schema,
    frame: Callable[[list[Wanted]], Any],
    about: Mapping[str, str],
    shared: bool = True,
) -> Source:
    """A source that counts in its own engine; `frame` gives its frame with the wanted columns."""
    return Source(schema, lambda asked: prepared(engine, frame(asked.wanted), asked), about, shared)


def quietly(action: Callable[[], T], words: str) -> T:
    """What an engine returns, or our own words: none of its messages passes, for they quote data.

    The error is raised outside the handler, so that it does not carry the engine's with it.
    """
    try:
        return action()
    except TrueupError:
        raise
    except Exception:
        pass
    raise SourceError(words)


def retried(count: Count) -> Ints:
    """What a count gives, tried again where the world failed it: a connection, a disk."""
    for pause in _PAUSES:
        try:
            return count()
        except Exception:
            time.sleep(pause)
    return count()


def open_source(source: object, table: str | None = None) -> Source:
    """The source that was given, with its public schema read."""
    if isinstance(source, (str, os.PathLike)):
        place = os.fspath(source)
        if place.startswith(("postgresql://", "postgres://")):
            return _postgres(place, table)
        if _ADDRESS.match(place):  # it may hold a password, and so is not told
            raise InputError(
                "Of sources with an address, only PostgreSQL is read. Give the address as text "
                "that begins with postgresql://, such as postgresql://user@host:5432/database."
            )
        return _files(place, table)
    if table is not None:
        raise InputError("table= goes with a database file or a postgresql:// address only.")
    if type(source).__module__.partition(".")[0] == "narwhals":
        source = source.to_native()  # type: ignore[attr-defined]
    kind = type(source).__module__.partition(".")[0].lstrip("_")
    name = type(source).__name__
    opened = {
        "duckdb": _relation,
        "pandas": _pandas,
        "polars": _polars,
        "pyarrow": _arrow,
        "pyspark": _spark,
    }.get(kind)
    if opened is None:
        raise InputError(
            f"A source is a path, a postgresql:// address, or a table of DuckDB, pandas, Polars, "
            f"Arrow or Spark; got {name}."
        )
    return quietly(lambda: opened(source), f"The {kind} {name} is not a table that can be read.")


# Tables in memory and in other hands.


def _relation(relation: Any) -> Source:
    if not hasattr(relation, "project"):
        raise InputError("Give a DuckDB relation, such as connection.table('trips').")
    return _inside(DuckDb(), duck.schema(relation), lambda _: relation, {"kind": "duckdb"})


def _polars(frame: Any) -> Source:
    from trueup.owner.engines import polars

    if not hasattr(frame, "lazy"):
        raise InputError("Give a Polars DataFrame or LazyFrame.")
    lazy = frame.lazy()
    return _inside(Polars(), polars.schema(lazy), lambda _: lazy, {"kind": "polars"}, shared=False)


def _spark(frame: Any) -> Source:
    from trueup.owner.engines import spark

    if not hasattr(frame, "sparkSession"):
        raise InputError("Give a Spark DataFrame.")
    about = {"kind": "spark"}
    return Source(
        spark.schema(frame), lambda asked: spark.prepare(frame, asked), about, shared=False
    )


def _postgres(address: str, table: str | None) -> Source:
    from trueup.owner.engines import postgres

    if not table:
        raise InputError('Name the table as well: table="trips".')
    host = postgres.host(address)
    opened = quietly(
        lambda: postgres.open_table(address, table),
        f"The table {table!r} cannot be opened on the PostgreSQL server at {host}.",
    )
    about = {"kind": "postgresql", "name": table.rpartition(".")[2]}
    return Source(opened.schema, opened.prepare, about, shared=False)


def _arrow(table: Any) -> Source:
    if not hasattr(table, "schema"):
        raise InputError("Give an Arrow table or dataset.")
    return _inside(
        DuckDb(),
        duck.schema(_connection().from_arrow(table)),
        lambda _: _connection().from_arrow(table),
        {"kind": "arrow"},
        shared=False,
    )


def _pandas(frame: Any) -> Source:
    """pandas by way of Arrow. A column of Python objects is read value by value, as asked for."""
    import pyarrow as pa

    if not hasattr(frame, "columns"):
        raise InputError("Give a pandas DataFrame.")
    names = [name for name in frame.columns if isinstance(name, str)]
    if len(set(names)) < len(names):
        raise InputError("Two columns of the DataFrame have one name: rename one.")
    objects = [name for name in names if frame[name].dtype == object]
    schema: dict[str, Storage] = dict.fromkeys(objects, "raw")
    if plain := [name for name in names if name not in objects]:
        empty = pa.Table.from_pandas(frame[plain].head(0), preserve_index=False)
        schema |= duck.schema(_connection().from_arrow(empty))

    def opened(wanted: list[Wanted]) -> Any:
        columns = {}
        for one in {one.column: one for one in wanted}.values():
            values = frame[one.column]
            if one.column not in objects:
                columns[one.column] = pa.array(values, from_pandas=True)
            else:
                texts = map(_text, values, values.isna())
                columns[one.column] = pa.array(texts, pa.string())
        return _connection().from_arrow(pa.table(columns))

    return _inside(DuckDb(), schema, opened, {"kind": "pandas"}, shared=False)


def _text(value: object, missing: bool) -> str | None:
    """A Python object as the text of a file would have it; what has no such text is null."""
    try:
        return None if missing else str(value)
    except Exception:  # a stranger's __str__ may raise what it likes
        return None


# Files, all opened by DuckDB.


def _connection() -> Any:
    """A connection of our own to DuckDB in memory, of which a process has one."""
    return _quiet(_memory(os.getpid()).cursor())


@cache
def _memory(process: int) -> Any:
    return _connect(":memory:")


def _connect(path: str, **settings: Any) -> Any:
    """DuckDB as we want it: it fetches no extensions, and thinks in UTC."""
    import duckdb

    connection = duckdb.connect(
        path,
        config={"autoinstall_known_extensions": False, "autoload_known_extensions": False},
        **settings,
    )
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    connection.execute("SET GLOBAL preserve_insertion_order = false")
    return _quiet(connection)


def _quiet(connection: Any) -> Any:
    connection.execute("SET enable_progress_bar = false")
    return connection


def _files(place: str, table: str | None) -> Source:
    bare = Path(place)
    if bare.suffix in _PACKED:
        bare = bare.with_suffix("")
    kind = _FORMATS.get(bare.suffix.lower())
    if kind is None:
        raise InputError(
            f"{place!r} has no ending that says what it is. Known endings: {', '.join(_FORMATS)}, "
            f"and .gz or .zst after .csv, .tsv and .jsonl."
        )
    found = sorted(glob.glob(place, recursive=True)) if not Path(place).exists() else [place]
    if not found:
        raise SourceError(f"There is no file {place!r}.")
    if (kind == "database") != (table is not None):
        raise InputError(
            "table= goes with a database file or a postgresql:// address only."
            if table is not None
            else f'{place!r} is a database; name the table as well: table="trips".'
        )
    about = {"kind": kind, "name": bare.name} | ({"table": table} if table else {})
    opened: dict[str, Callable[[], tuple[Schema, Callable[[list[Wanted]], Any]]]] = {
        "parquet": lambda: _parquet(found),
        "csv": lambda: _csv(found, "\t" if bare.suffix.lower() == ".tsv" else ","),
        "json": lambda: _json(found),
        "arrow": lambda: _arrow_files(found),
        "database": lambda: _database(place, str(table)),
    }
    schema, frame = quietly(
        opened[kind],
        f"There is no table {table!r} in {place!r} that can be read."
        if table
        else f"{place!r} cannot be read as {kind}.",
    )
    return _inside(DuckDb(), schema, frame, about, shared=False)


def _parquet(found: list[str]) -> tuple[Schema, Callable[[list[Wanted]], Any]]:
    def frame(_: list[Wanted]) -> Any:
        return _connection().read_parquet(
            found, union_by_name=len(found) > 1, hive_partitioning=False
        )

    return duck.schema(frame([])), frame


def _csv(found: list[str], comma: str) -> tuple[Schema, Callable[[list[Wanted]], Any]]:
    """Every value is text; the names are the first line of the file, the same in all files."""
    headers = {tuple(_header(path, comma)) for path in found}
    if len(headers) > 1:
        raise SourceError("The CSV files have different first lines; they must name one table.")
    (names,) = headers
    if len(set(names)) < len(names) or not all(names):
        raise SourceError("The first line of a CSV file must name each column, and each one once.")

    def frame(_: list[Wanted]) -> Any:
        return _connection().read_csv(
            found,
            header=True,
            delimiter=comma,
            quotechar='"',
            escapechar='"',
            columns=dict.fromkeys(names, "VARCHAR"),
            auto_detect=False,
            allow_quoted_nulls=False,
            ignore_errors=True,
            strict_mode=False,
        )

    frame([])
    return dict.fromkeys(names, "raw"), frame


def _header(path: str, comma: str) -> list[str]:
    import pyarrow as pa

    with pa.input_stream(path, compression="detect") as stream:
        line = b""
        while b"\n" not in line and (more := stream.read(65536)):
            line += more
    text = line.partition(b"\n")[0].decode("utf-8-sig").rstrip("\r")
    return next(csv.reader([text], delimiter=comma), [])


def _json(found: list[str]) -> tuple[Schema, Callable[[list[Wanted]], Any]]:
    """One object a line; which columns a line has is data, so the schema names none.

    Lines are parsed one by one: read as a table, one bad line would spoil the lines around it.
    """

    def field(one: Wanted) -> str:
        pointer = "/" + one.column.replace("~", "~0").replace("/", "~1")
        return f"json ->> '{_apostrophes(pointer)}' AS {duck.quoted(one.column)}"

    def frame(wanted: list[Wanted]) -> Any:
        paths = ", ".join(f"'{_apostrophes(path)}'" for path in found)
        fields = ", ".join(dict.fromkeys(map(field, wanted)))
        return _connection().sql(
            f"SELECT {fields} FROM read_ndjson_objects([{paths}], ignore_errors = true)"
        )

    return None, frame


def _apostrophes(text: str) -> str:
    return text.replace("'", "''")


def _arrow_files(found: list[str]) -> tuple[Schema, Callable[[list[Wanted]], Any]]:
    import pyarrow.dataset as dataset

    def frame(_: list[Wanted]) -> Any:
        return _connection().from_arrow(dataset.dataset(found, format="ipc"))

    return duck.schema(frame([])), frame


def _database(place: str, table: str) -> tuple[Schema, Callable[[list[Wanted]], Any]]:
    def frame(_: list[Wanted]) -> Any:
        return _connect(place, read_only=True).table(table)

    return duck.schema(frame([])), frame
