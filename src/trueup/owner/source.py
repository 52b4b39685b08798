"""Sources: tables wherever they are, opened by the engine that suits them."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from trueup.ask.question import Space
from trueup.errors import InputError, SourceError, TrueupError
from trueup.facts import Features
from trueup.owner import counting, keyed
from trueup.owner.columns import Schema, Wanted
from trueup.owner.counting import Batch, Piece
from trueup.owner.engines import connection, postgres, snapshot, spark
from trueup.owner.engines.connection import ADDRESS, is_address
from trueup.owner.readers import arrow, duckdb, frames, lines, parquet
from trueup.owner.readers.reader import Reader
from trueup.owner.request import Count, Counts, Passes, Request, Spread

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
_PAUSES = (0.1, 1.0, 4.0)  # seconds before a count that failed is tried again


@dataclass(frozen=True)
class Source:
    """A table that can be counted: its public schema, its public description, and its counting.

    `prepare` gives the count of a request, ready to run: what can be wrong with the source is found
    there, and no row is read. `pieces` gives the rows themselves, wanted columns by their new
    names, for what is put together in this process; it reads no row until a piece is gone through.
    `shared` says that measurements must take turns, because they use one connection. `windows` says
    that some of the cells can be counted by themselves. `stamp` is another once files have changed.
    """

    schema: Schema
    prepare: Callable[[Request], Count]
    about: Mapping[str, str]
    pieces: Callable[[Sequence[Wanted]], list[Piece]]
    shared: bool = True
    features: Features = ()
    together: Callable[[Sequence[Request]], Counts] | None = None  # one pass for several requests
    windows: bool = False
    spread: Callable[[Request], Spread] | None = None  # a cluster that also draws and fits
    stamp: Callable[[], object] | None = None
    passes: Callable[[Sequence[Request]], Passes] | None = None  # over one state of the table

    def features_in(self, space: Space) -> Features:
        """The features of people that a question is about, where rows are people."""
        names = {axis.name for axis in space.axes} | {space.by}
        return tuple(one for one in self.features if one[0] in names) or self.features

    def prepare_all(self, requests: Sequence[Request]) -> Counts:
        """The counts of several requests: in one pass where that can be, or one by one."""
        if self.together is not None:
            return self.together(requests)
        each = [self.prepare(request) for request in requests]
        return lambda: [count() for count in each]

    def prepare_passes(self, requests: Sequence[Request]) -> Passes:
        """The counts of several requests that are run one after the other, ready to run."""
        if self.passes is not None and len(requests) > 1:
            return self.passes(requests)
        return Passes([self.prepare(request) for request in requests])


def _read_here(reader: Reader, about: Mapping[str, str], shared: bool = False) -> Source:
    """A source whose columns are read into this process and counted in it."""

    def prepare(asked: Request) -> Count:
        prepared = counting.prepared if asked.universe is None else keyed.prepared
        return prepared(reader.pieces(_columns([asked])), asked)

    def together(asked: Sequence[Request]) -> Counts:
        return counting.prepared_together(reader.pieces(_columns(asked)), asked)

    def pieces(wanted: Sequence[Wanted]) -> list[Piece]:
        columns = list(dict.fromkeys(one.column for one in wanted))
        return [_renamed(piece, wanted) for piece in reader.pieces(columns)]

    return Source(reader.schema, prepare, about, pieces, shared, (), together, windows=True)


def _columns(asked: Sequence[Request]) -> list[str]:
    """The columns that some requests read, each once."""
    return list(dict.fromkeys(one.column for each in asked for one in each.wanted))


def _renamed(piece: Piece, wanted: Sequence[Wanted]) -> Piece:
    """A piece whose columns go by their new names."""

    def batches() -> Iterator[Batch]:
        for batch in piece():
            there = [one for one in wanted if one.column in batch.columns]
            yield Batch(batch.rows, {one.name: batch.columns[one.column] for one in there})

    return batches


CLOSED = "The source cannot be opened, or is no longer as it was."


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


def retried(count: Callable[[], T]) -> T:
    """What a count gives, tried again where the world failed it: a connection, a disk."""
    for pause in _PAUSES:
        try:
            return count()
        except Exception:
            time.sleep(pause)
    return count()


def open_source(source: object, table: str | None = None) -> Source:
    """The source that was given, with its public schema read."""
    if isinstance(source, Source):
        return source
    if isinstance(source, (str, os.PathLike)):
        place = os.fspath(source)
        if is_address(place):
            return _postgres(place, table)
        if ADDRESS.match(place):  # it may hold a password, and so is not told
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
    known: dict[str, Callable[[Any], Source]] = {
        **{name: partial(_in_memory, name) for name in ("duckdb", "pandas", "polars")},
        "pyarrow": _arrow,
        "pyspark": _spark,
    }
    opened = known.get(kind)
    if opened is None:
        raise InputError(
            f"A source is a path, a postgresql:// address, or a table of DuckDB, pandas, Polars, "
            f"Arrow or Spark; got {name}."
        )
    return quietly(lambda: opened(source), f"The {kind} {name} is not a table that can be read.")


# Tables in memory and in other hands.


def _in_memory(kind: str, table: Any) -> Source:
    """A table whose one word tells it from whatever else its library has."""
    word, read, words = {
        "duckdb": (
            "project",
            duckdb.of_relation,
            "Give a DuckDB relation, such as connection.table('trips').",
        ),
        "pandas": ("columns", frames.of_pandas, "Give a pandas DataFrame."),
        "polars": ("lazy", frames.of_polars, "Give a Polars DataFrame or LazyFrame."),
    }[kind]
    if not hasattr(table, word):
        raise InputError(words)
    return _read_here(read(table), {"kind": kind}, shared=kind == "duckdb")


def _arrow(table: Any) -> Source:
    if hasattr(table, "get_fragments"):
        return _read_here(arrow.of_dataset(table), {"kind": "arrow"})
    if not hasattr(table, "select") or not hasattr(table, "schema"):
        raise InputError("Give an Arrow table or dataset.")
    return _read_here(arrow.of_table(table), {"kind": "arrow"})


def _spark(frame: Any) -> Source:
    if not hasattr(frame, "sparkSession"):
        raise InputError("Give a Spark DataFrame.")
    about = {"kind": "spark"}
    return Source(
        spark.schema(frame),
        lambda asked: spark.prepare(frame, asked),
        about,
        lambda wanted: spark.pieces(frame, wanted),
        shared=False,
        spread=lambda asked: spark.spread(frame, asked),
    )


def _postgres(address: str, table: str | None) -> Source:
    if not table:
        raise InputError('Name the table as well: table="trips".')
    host = connection.host(address)
    opened = quietly(
        lambda: postgres.open_table(address, table),
        f"The table {table!r} cannot be opened on the PostgreSQL server at {host}.",
    )
    about = {"kind": "postgresql", "name": table.rpartition(".")[2]}
    return Source(
        opened.schema,
        opened.prepare,
        about,
        opened.pieces,
        shared=False,
        windows=True,
        passes=partial(snapshot.passes, opened),
    )


# Files.


def _files(place: str, table: str | None) -> Source:
    bare = Path(place)
    if bare.suffix in _PACKED:
        bare = bare.with_suffix("")
    kind = _FORMATS.get(bare.suffix.lower())
    if kind is None:
        raise InputError(
            f"{place!r} does not end as a file that is read: {', '.join(_FORMATS)}, and .gz or "
            f".zst after .csv, .tsv and .jsonl. Read others with pandas, and give the DataFrame."
        )
    # A path that is there is taken as it stands, whatever signs it holds.
    found = [place] if Path(place).exists() else sorted(glob.glob(place, recursive=True))
    if not found:
        raise SourceError(f"There is no file {place!r}.")
    if (kind == "database") != (table is not None):
        raise InputError(
            "table= goes with a database file or a postgresql:// address only."
            if table is not None
            else f'{place!r} is a database; name the table as well: table="trips".'
        )
    about = {"kind": kind, "name": bare.name} | ({"table": table} if table else {})
    opened: dict[str, Callable[[], Reader]] = {
        "parquet": lambda: parquet.opened(found),
        "csv": lambda: lines.of_csv(found, "\t" if bare.suffix.lower() == ".tsv" else ","),
        "json": lambda: lines.of_json(found),
        "arrow": lambda: arrow.opened(found),
        "database": lambda: duckdb.of_database(place, str(table)),
    }
    reader = quietly(
        opened[kind],
        f"There is no table {table!r} in {place!r} that can be read."
        if table
        else f"{place!r} cannot be read as {kind}.",
    )
    return replace(_read_here(reader, about), stamp=lambda: [_stamp(name) for name in found])


def _stamp(name: str) -> tuple[int, ...]:
    seen = os.stat(name)
    return seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns
