"""DuckDB: tables of a database file, and relations. It hands over columns, and computes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trueup.owner.columns import Storage
from trueup.owner.counting import BATCH, Piece, arrow_batches
from trueup.owner.distinct import without_progress
from trueup.owner.lazily import duckdb
from trueup.owner.readers.reader import Reader, check_names, check_unchanged

_INTEGERS = {f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG")}
_INTEGERS |= {"INTEGER", "UINTEGER", "HUGEINT"}  # a UHUGEINT has no form in Arrow
_TIMES = {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"}
_ZONED = {"TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS"}


def of_relation(relation: Any) -> Reader:
    """A reader of a relation."""
    return _reader(lambda: relation)


def of_database(place: str, table: str) -> Reader:
    """A reader of a table in a database file."""
    return _reader(lambda: _connect(place).table(table))


def _reader(relation: Any) -> Reader:
    then = _schema(relation())

    def pieces(columns: Sequence[str]) -> list[Piece]:
        found = relation()
        check_unchanged(_schema(found), then, columns)
        some = found.project(", ".join('"' + name.replace('"', '""') + '"' for name in columns))
        return [lambda: arrow_batches(some.to_arrow_reader(BATCH))]

    return Reader(then, pieces)


def _connect(place: str) -> Any:
    """A connection to a file that is read, and to nothing else: no extension is fetched."""
    off: Any = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    connection = duckdb.connect(place, read_only=True, config=off)
    without_progress(connection)
    connection.execute("SET GLOBAL preserve_insertion_order = false")
    return connection


def _schema(relation: Any) -> dict[str, Storage]:
    check_names(relation.columns)
    kinds = [str(kind) for kind in relation.types]
    return dict(zip(relation.columns, map(_storage, kinds), strict=True))


def _storage(kind: str) -> Storage:
    """How a type of DuckDB is stored, in our words."""
    if kind in _INTEGERS:
        return "integer"
    if kind in ("FLOAT", "DOUBLE"):
        return "float"
    if kind.startswith("DECIMAL"):
        return "decimal"
    if kind in ("VARCHAR", "UUID", "BLOB") or kind.startswith("ENUM"):
        return "text"
    if kind in _TIMES:
        return "time"
    if kind in _ZONED:
        return "zoned"
    return {"DATE": "date", "BOOLEAN": "boolean"}.get(kind, "something else")  # type: ignore[return-value]
