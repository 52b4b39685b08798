"""A ledger in PostgreSQL, for an owner with several server machines.

A ledger is a schema of its own with two tables: the entries, which a trigger keeps append-only,
and the answers in parts. Every transaction holds one lock, as SQLite's do. A commit whose outcome
is unknown, because the connection was lost, is never repeated blindly: the whole step is done
again, and reads first.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from trueup.errors import LedgerError
from trueup.owner.account import Entry
from trueup.owner.anchor import Anchor, AnchorPlace, lost
from trueup.owner.stores.postgres_server import PostgresServer, begin, exists, make_schema

T = TypeVar("T")

_LAYOUT = "trueup ledger, layout 1"
_PART = 1 << 24  # bytes of an answer in one row: far below what one can hold
_COLUMNS = "number bigint, body text, hash text"
_RAISE = "BEGIN RAISE EXCEPTION 'a ledger is append-only'; END"
_GUARDS = f"never_changed 58 O {_RAISE}"  # before update, delete or truncate; not switched off
_SCHEMA = f"""
CREATE TABLE {{0}}.entries (number bigint PRIMARY KEY, body text NOT NULL, hash text NOT NULL);
CREATE TABLE {{0}}.answers (entry bigint, sha256 text, part integer, content bytea NOT NULL,
  stored_at double precision NOT NULL, PRIMARY KEY (entry, sha256, part));
ALTER TABLE {{0}}.answers ALTER content SET STORAGE EXTERNAL;
CREATE FUNCTION {{0}}.append_only() RETURNS trigger LANGUAGE plpgsql AS $${_RAISE}$$;
CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON {{0}}.entries
  FOR EACH STATEMENT EXECUTE FUNCTION {{0}}.append_only();
REVOKE ALL ON {{0}}.entries, {{0}}.answers FROM PUBLIC;
COMMENT ON TABLE {{0}}.entries IS '{_LAYOUT}'
"""
_ANSWER = "entry = %s AND sha256 = %s"
_OURS = """
SELECT pg_catalog.obj_description(c.oid, 'pg_class'),
  (SELECT pg_catalog.string_agg(a.attname || ' ' || pg_catalog.format_type(a.atttypid, a.atttypmod),
    ', ' ORDER BY a.attnum) FROM pg_catalog.pg_attribute a
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
  (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', t.tgname, t.tgtype, t.tgenabled,
    p.prosrc), ', ' ORDER BY t.tgname) FROM pg_catalog.pg_trigger t
    JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid WHERE t.tgrelid = c.oid)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = 'entries' AND c.relkind = 'r'
"""


class PostgresStore:
    """A ledger and its answers in a schema of a PostgreSQL database."""

    beside = None  # nothing is beside it that a restored backup would not bring back, too
    # Its anchor is written before its opening is committed: another machine that has no anchor, or
    # a second one of its own, is refused from the start.
    first_anchored = 0

    def __init__(self, address: str) -> None:
        self._server = PostgresServer(address, "ledger")
        self.name = self.label = self._server.name  # no user, no password
        self._answers = f"{self._server.quoted}.answers"

    def server(self) -> str:
        """What tells its server from others."""
        return self._server.identity()

    def exists(self) -> bool:
        """Whether there is a ledger of this name."""
        with self._server.connected() as connection:
            return exists(connection, self._server.schema, "entries")

    def make(self, opening: Entry, anchor: AnchorPlace) -> None:
        """A new ledger, whole or not at all; one that another process has just made is left.

        An anchor at the opening is that of a ledger that has given nothing out: one that was not
        committed, after all. A new ledger may take its place.
        """
        with self._server.transaction() as connection:
            if exists(connection, self._server.schema, "entries"):
                return
            anchored = anchor.read()
            if anchored is not None and anchored.entry > 0:
                raise lost(self.name, anchor.name)
            make_schema(connection, self._server.schema)
            connection.execute(_SCHEMA.format(self._server.quoted).encode())
            PostgresEntries(connection, self._server).append(opening)
            name = opening.fact("ledger")
            anchor.write(Anchor(name, opening.number, opening.hash))

    @contextlib.contextmanager
    def connected(self) -> Iterator[PostgresEntries]:
        """The entries, for one step."""
        with self._server.connected() as connection:
            yield PostgresEntries(connection, self._server)

    def run(self, work: Callable[[], T]) -> T:
        """What the work gives, done again where the connection was lost; failures in our words."""
        return self._server.run(work)

    def keep(self, entry: int, sha256: str, answer: bytes) -> None:
        """Store an answer in parts, all of them or none."""
        parts = [answer[start : start + _PART] for start in range(0, max(len(answer), 1), _PART)]
        row = f"INSERT INTO {self._answers} VALUES (%s, %s, %s, %b, %s) ON CONFLICT DO NOTHING"
        with self._server.transaction(alone=False) as connection:
            for number, part in enumerate(parts):
                values = (entry, sha256, number, part, time.time())
                connection.execute(row.encode(), values)

    def kept(self, entry: int, sha256: str) -> bytes | None:
        """The parts put together, None if there is none."""
        asked = f"SELECT content FROM {self._answers} WHERE {_ANSWER} ORDER BY part"
        with self._server.connected() as connection:
            rows = connection.execute(asked.encode(), (entry, sha256), binary=True).fetchall()
        return b"".join(part for (part,) in rows) if rows else None

    def kept_at(self, entry: int, sha256: str) -> float:
        """When an answer was stored, in seconds since 1970, by the clock of who stored it."""
        asked = f"SELECT stored_at FROM {self._answers} WHERE {_ANSWER} AND part = 0"
        with self._server.connected() as connection:
            row = connection.execute(asked.encode(), (entry, sha256)).fetchone()
        if row is None:
            raise LedgerError(f"The stored answer of entry {entry} of {self.name} is missing.")
        return float(row[0])

    def keep_only(self, entry: int, sha256: str) -> None:
        """Drop all other answers to the charge."""
        asked = f"DELETE FROM {self._answers} WHERE entry = %s AND sha256 <> %s"
        with self._server.transaction(alone=False) as connection:
            connection.execute(asked.encode(), (entry, sha256))


@dataclass(frozen=True)
class PostgresEntries:
    """The entries, over the connection of one step."""

    connection: Any
    server: PostgresServer

    def begin(self) -> None:
        """Start a transaction that keeps all other processes from writing."""
        begin(self.connection, self.server.schema)

    def commit(self) -> None:
        """Returns once the server has synced; an error leaves the outcome unknown."""
        self.connection.execute("COMMIT")

    def roll_back(self) -> None:
        """End the transaction; where that fails, the connection is closed, which does the same."""
        with contextlib.suppress(Exception):
            self.connection.execute("ROLLBACK")

    def since(self, number: int) -> list[Entry]:
        """The entry of this number and all after it, in order."""
        table = f"{self.server.quoted}.entries"
        asked = f"SELECT number, body, hash FROM {table} WHERE number >= %s ORDER BY number"
        return [Entry(*row) for row in self.connection.execute(asked.encode(), (number,))]

    def append(self, entry: Entry) -> None:
        """Add one entry."""
        asked = f"INSERT INTO {self.server.quoted}.entries VALUES (%s, %s, %s)"
        self.connection.execute(asked.encode(), (entry.number, entry.body, entry.hash))

    def check_ours(self) -> None:
        """Refuse tables that are not a ledger, or whose append-only guards were taken away."""
        found = self.connection.execute(_OURS, (self.server.schema,)).fetchone()
        if found is None:
            raise LedgerError(f"There is no ledger at {self.server.name}.")
        layout, columns, guards = found
        if columns != _COLUMNS or guards != _GUARDS or not str(layout).startswith("trueup ledger"):
            raise LedgerError(f"{self.server.name} is not a ledger made by trueup.")
        if layout != _LAYOUT:
            raise LedgerError(
                f"The ledger {self.server.name} was made by a newer trueup. Open it with that."
            )

    def check_whole(self) -> None:
        """Nothing to do: PostgreSQL checks its pages as it reads them, and the chain is read."""
