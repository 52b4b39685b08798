"""PostgreSQL: one read-only statement a count, on a connection of its own.

A count is planned once before the charge, which finds whatever the server could object to, and run
after it, each time over a new connection.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trueup.errors import InputError, SourceError
from trueup.owner.columns import Storage, Wanted
from trueup.owner.counting import BATCH, Batch, Piece
from trueup.owner.engines.connection import connected, pin
from trueup.owner.engines.plainly import plain_batch, plain_rows
from trueup.owner.engines.spelling import ADDRESS, whole
from trueup.owner.engines.statements import answer, counted
from trueup.owner.lazily import psycopg
from trueup.owner.request import Count, Request

_STORAGE: dict[str, Storage] = {
    "int2": "integer",
    "int4": "integer",
    "int8": "integer",
    "float4": "float",
    "float8": "float",
    "numeric": "decimal",
    "text": "text",
    "varchar": "text",
    "bpchar": "text",
    "name": "text",
    "citext": "text",
    "uuid": "text",
    "enum": "text",
    "date": "date",
    "timestamp": "time",
    "timestamptz": "zoned",
    "bool": "boolean",
}
# The table of that name; without a schema, the one that the connection's search path finds. Its
# columns by their base types. A column computed as it is read might fail, and is none of ours.
_TABLE = """
SELECT c.oid::bigint, n.nspname, c.relkind::text FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = %s AND CASE WHEN %s = '' THEN pg_catalog.pg_table_is_visible(c.oid)
ELSE n.nspname = %s END AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
"""
_COLUMNS = """
WITH RECURSIVE kind AS (
  SELECT a.attnum, a.attname, a.attgenerated::text AS made, a.atttypid AS type
  FROM pg_catalog.pg_attribute a WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT k.attnum, k.attname, k.made, t.typbasetype FROM kind k
  JOIN pg_catalog.pg_type t ON t.oid = k.type WHERE t.typtype = 'd'
)
SELECT k.attname, CASE WHEN k.made = 'v' THEN 'computed' WHEN t.typtype = 'e' THEN 'enum'
  WHEN n.nspname = 'pg_catalog' OR t.typname = 'citext' THEN t.typname ELSE 'other' END
FROM kind k JOIN pg_catalog.pg_type t ON t.oid = k.type
JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE t.typtype <> 'd' ORDER BY k.attnum
"""


@dataclass(frozen=True, repr=False)
class PostgresTable:
    """A table on a server: where it is, and the base types of its columns."""

    address: str
    name: str  # with its schema, quoted
    oid: int
    types: Mapping[str, str]

    @property
    def schema(self) -> dict[str, Storage]:
        """The columns and how they are stored."""
        return {name: _STORAGE.get(kind, "something else") for name, kind in self.types.items()}

    def plan(self, *statements: str) -> None:
        """Has the server plan statements, over a table that is still as it was."""
        with connected(self.address) as connection:
            pin(connection)
            if _columns(connection, self.oid) != self.types:
                raise SourceError("The columns of the table are no longer as they were.")
            for statement in statements:
                _plan(connection, statement)

    def statement(self, request: Request) -> str:
        """The statement that counts a request."""
        rows = counted(Query(f"SELECT * FROM {self.name}"), request, Postgres(self.types))
        assert isinstance(rows, Query)
        return rows.statement

    def prepare(self, request: Request) -> Count:
        """The count of a request: planned by the server now, and run when it is called."""
        statement = self.statement(request)
        self.plan(statement)
        return lambda: _answered(self.address, statement, request)

    def pieces(self, wanted: Sequence[Wanted]) -> list[Piece]:
        """All rows as one piece, some at a time: planned by the server now, read when asked for."""
        rows = plain_rows(Query(f"SELECT * FROM {self.name}"), wanted, Postgres(self.types))
        assert isinstance(rows, Query)
        self.plan(rows.statement)
        return [lambda: _batches(self.address, rows.statement, wanted)]


def _batches(address: str, statement: str, wanted: Sequence[Wanted]) -> Iterator[Batch]:
    with connected(address) as connection:
        pin(connection)
        with connection.cursor(name="rows", binary=True) as cursor:
            cursor.execute(statement.encode())
            while found := cursor.fetchmany(BATCH):
                columns = zip(*found, strict=True)
                by_name = dict(zip((one.name for one in wanted), columns, strict=True))
                yield plain_batch(by_name, len(found), wanted)


def open_table(address: str, table: str) -> PostgresTable:
    """The table of that name, perhaps with its schema in front: "public.trips"."""
    schema, _, name = table.rpartition(".")
    with connected(address) as connection:
        if connection.info.server_version < 140_000:  # whose times are floats
            raise SourceError("The PostgreSQL server must be of version 14 or later.")
        found = connection.execute(_TABLE, (name, schema, schema)).fetchone()
        if found is None:
            raise SourceError(f"There is no table {table!r} in the PostgreSQL database.")
        oid, schema, kind = found
        if kind == "f":
            raise SourceError(
                f"{table!r} is a foreign table, which another server reads. Give that server's "
                f"table, or a copy of it."
            )
        return PostgresTable(
            address, f"{quoted(schema)}.{quoted(name)}", oid, _columns(connection, oid)
        )


def _plan(connection: Any, statement: str) -> None:
    """Refuses what the server objects to, before anything is charged."""
    with contextlib.suppress(psycopg.errors.UntranslatableCharacter):
        connection.execute(f"EXPLAIN {statement}".encode())
        return
    raise InputError(
        "A label or a text of the filter holds a letter that the database cannot: its text is "
        "not UTF-8. Leave it out of the request."
    )


def _columns(connection: Any, oid: int) -> dict[str, str]:
    return dict(connection.execute(_COLUMNS, (oid,)).fetchall())


def _answered(address: str, statement: str, request: Request) -> Any:
    """The counts, over a connection of their own: tried again, they are asked for over another."""
    with connected(address) as connection:
        pin(connection)
        found = connection.execute(statement.encode())
        names = [column.name for column in found.description]
        columns = list(zip(*found.fetchall(), strict=True)) or [() for _ in names]
    return answer(request, dict(zip(names, columns, strict=True)))


def quoted(name: str) -> str:
    """A name, safe inside a statement."""
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True)
class Query:
    """Rows as the statement that gives them."""

    statement: str

    def select(self, columns: Mapping[str, str]) -> Query:
        listed = ", ".join(f"{expression} AS {name}" for name, expression in columns.items())
        return Query(f"SELECT {listed} FROM ({self.statement}) AS q")

    def adding(self, name: str, expression: str) -> Query:
        return Query(f"SELECT *, {expression} AS {name} FROM ({self.statement}) AS q")

    def where(self, condition: str) -> Query:
        return Query(f"SELECT * FROM ({self.statement}) AS q WHERE {condition}")

    def sizes(self, by: Sequence[str]) -> Query:
        listed, grouped = ", ".join([*by, "count(*) AS rows"]), ", ".join(by)
        ending = f" GROUP BY {grouped}" if by else ""
        return Query(f"SELECT {listed} FROM ({self.statement}) AS q{ending}")

    def located(self, column: str, edges: Sequence[float], name: str) -> Query:
        listed = ",".join(map(repr, edges))
        low, high = (f"CAST('{edge!r}' AS double precision)" for edge in (edges[0], edges[-1]))
        place = f"pg_catalog.width_bucket({column}, CAST('{{{listed}}}' AS double precision[])) - 1"
        return self.adding(
            name, f"CASE WHEN {column} >= {low} AND {column} < {high} THEN {place} END"
        )


@dataclass(frozen=True)
class Postgres:
    """How PostgreSQL writes what SQL leaves to it."""

    types: Mapping[str, str]
    number: str = "double precision"
    searched: int = 1 << 14

    def plain(self, wanted: Wanted) -> str:
        column, kind = quoted(wanted.column), self.types[wanted.column]
        return _PLAIN[wanted.kind](column, wanted.storage, kind)

    def text(self, value: str) -> str:
        if "\0" in value:
            raise InputError(
                f"{value!r} holds the character NUL, which no text in PostgreSQL does. Leave it "
                f"out of the request."
            )
        # Read as it is parsed, so that a letter the database lacks is found before the charge.
        written = value.replace("\\", "\\\\").replace("'", "''")
        return f"CAST(E'{written}' AS text)"

    def digest(self, value: str) -> str:
        # Into its own encoding: bytes as they are, which is never an error.
        return f"sha256(convert_to({value}, getdatabaseencoding()))"

    def raw(self, value: str, longest: int) -> str:
        written = f"convert_to({value}, getdatabaseencoding())"
        return f"CASE WHEN octet_length({value}) <= {longest} THEN {written} END"

    def mixed(self, key: str, wholes: Sequence[str], digests: Sequence[str]) -> str:
        parts = [f"decode('{key}', 'hex')", *(f"int8send({one})" for one in wholes), *digests]
        return f"sha256({' || '.join(parts)})"

    def remainder(self, digest: str, size: int, by: int) -> str:
        places = (
            f"CAST(get_byte({digest}, {place}) AS bigint) * {whole(256 ** (size - 1 - place))}"
            for place in range(size)
        )
        return f"({' + '.join(places)}) % {by}"

    def quotient(self, whole: str, width: int) -> str:
        return f"{whole} / {width}"

    def both(self, first: str, second: str) -> str:
        return f"pg_catalog.unnest(ARRAY[{first}, {second}])"


def _text(column: str, storage: Storage, kind: str) -> str:
    return f'CAST({column} AS text) COLLATE "C"'  # bytes, whatever the column's own collation


def _number(column: str, storage: Storage, kind: str) -> str:
    real = f"CAST({column} AS double precision)"
    if storage == "integer":
        return real
    if storage == "float":
        return f"CASE WHEN {real} <> CAST('NaN' AS double precision) THEN {real} END"
    # A numeric too large or too small for a float would stop the query.
    exact, limit = f"CAST({column} AS numeric)", (1 << 1024) - (1 << 970)
    return (
        f"CASE WHEN {exact} = CAST('NaN' AS numeric) THEN NULL "
        f"WHEN {exact} >= {limit} THEN CAST('Infinity' AS double precision) "
        f"WHEN {exact} <= -{limit} THEN CAST('-Infinity' AS double precision) "
        f"WHEN abs({exact}) <= CAST('2.4703282292062327e-324' AS numeric) "
        f"THEN CAST('0' AS double precision) ELSE {real} END"
    )


def _integer(column: str, storage: Storage, kind: str) -> str:
    if storage == "integer":
        return f"CAST({column} AS bigint)"
    if storage == "float":
        value = f"CAST({column} AS double precision)"
        ends = [f"CAST('{end!r}' AS double precision)" for end in (-(2.0**63), 2.0**63)]
        rounded = f"floor({value})"
    else:
        value = f"CAST({column} AS numeric)"
        ends = [f"CAST('{end}' AS numeric)" for end in (-(2**63), 2**63)]
        rounded = f"trunc({value})"
    inside = f"{value} >= {ends[0]} AND {value} < {ends[1]} AND {value} = {rounded}"
    return f"CASE WHEN {inside} THEN CAST({value} AS bigint) END"


def _time(column: str, storage: Storage, kind: str) -> str:
    """Microseconds since 1970. The last years of PostgreSQL's do not fit."""
    if storage == "date":
        value, name = f"CAST({column} AS date)", "date"
        since = f"CAST({value} - CAST('1970-01-01' AS date) AS bigint) * {whole(86_400_000_000)}"
    else:
        name = "timestamp with time zone" if kind == "timestamptz" else "timestamp"
        value = f"CAST({column} AS {name})"
        since = f"CAST(extract(epoch FROM {value}) * 1000000 AS bigint)"
    end = f"CAST('294247-01-01 00:00:00+00' AS {name})"
    return f"CASE WHEN isfinite({value}) AND {value} < {end} THEN {since} END"


def _address(column: str, storage: Storage, kind: str) -> str:
    if storage == "integer":
        return f"CAST({column} AS bigint)"
    text = _text(column, storage, kind)
    octets = " + ".join(
        f"CAST(split_part({text}, '.', {place + 1}) AS bigint) * {1 << (24 - 8 * place)}"
        for place in range(4)
    )
    # A long text is not searched: it would take more memory than a query may.
    return (
        f"CASE WHEN octet_length({text}) <= 15 "
        f"THEN CASE WHEN ({text}) ~ '^{ADDRESS}$' THEN {octets} END END"
    )


_PLAIN: dict[str, Callable[[str, Storage, str], str]] = {
    "integer": _integer,
    "number": _number,
    "text": _text,
    "time": _time,
    "address": _address,
    "boolean": lambda column, storage, kind: f"CAST({column} AS boolean)",
}
