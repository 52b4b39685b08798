"""What a server keeps for itself, in a schema of PostgreSQL that several machines share."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from trueup.errors import FileError, LedgerError
from trueup.owner.lazily import psycopg
from trueup.owner.stores.postgres_server import PostgresServer, exists, make_schema
from trueup.server.store import Known, read_known

T = TypeVar("T")

_LAYOUT = "trueup tokens, layout 1"
_SCHEMA = f"""
CREATE TABLE tokens (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash bytea NOT NULL UNIQUE, name text NOT NULL, role text NOT NULL, created text NOT NULL,
  expires text, revoked text);
CREATE TABLE uses (token bigint PRIMARY KEY, last text NOT NULL);
CREATE TABLE sessions (hash bytea PRIMARY KEY, token bigint NOT NULL, created text NOT NULL,
  expires text NOT NULL, rowid bigint GENERATED ALWAYS AS IDENTITY);
CREATE TABLE requests (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  dataset text NOT NULL, name text NOT NULL, wanted text NOT NULL, reason text NOT NULL,
  created text NOT NULL, state text NOT NULL, decided text, note text NOT NULL);
CREATE TABLE links (release text PRIMARY KEY, link text NOT NULL UNIQUE, created text NOT NULL);
CREATE TABLE changes (number bigint NOT NULL);
INSERT INTO changes VALUES (0);
REVOKE ALL ON tokens, uses, sessions, requests, links, changes FROM PUBLIC;
COMMENT ON TABLE tokens IS '{_LAYOUT}'
"""
_OURS = """
SELECT pg_catalog.obj_description(c.oid, 'pg_class') FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = 'tokens' AND c.relkind = 'r'
"""


class SharedStore:
    """A schema of PostgreSQL. A number in it changes with every transaction that writes."""

    def __init__(self, address: str) -> None:
        self.place = address
        # Whoever looks does not wait for whoever writes: each has a connection.
        self._server, self._reader = (PostgresServer(address, "store of tokens") for _ in range(2))
        self._start()
        self._run(self._make)

    def _start(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._seen = -1
        self._known = Known()

    def _make(self) -> None:
        server = self._server
        with server.transaction() as connection:
            if not exists(connection, server.schema, "tokens"):
                make_schema(connection, server.schema)
                self._enter(connection)
                connection.execute(_SCHEMA.encode())
            found = connection.execute(_OURS, (server.schema,)).fetchone()
        if found != (_LAYOUT,):
            raise FileError(f"The schema {server.name} has a table of tokens that is not trueup's.")

    def _enter(self, connection: Any) -> None:
        """Names without a schema are those of ours, until the transaction ends."""
        connection.execute(f"SET LOCAL search_path = {self._server.quoted}, pg_catalog".encode())

    @contextlib.contextmanager
    def writing(self) -> Iterator[_Translated]:
        """One transaction, all other processes of all machines kept from writing.

        It is not done again where the connection was lost: its caller may have read already.
        """
        self._run(self._awake)
        failed = False
        try:
            with self._server.transaction() as connection:
                self._enter(connection)
                yield _Translated(connection)
                connection.execute("UPDATE changes SET number = number + 1")
        except _database_errors():
            failed = True
        if failed:
            raise self._refusal() from None

    def _awake(self) -> None:
        """A connection that is there: one that was lost while nothing was done is made again."""
        with self._server.connected() as connection:
            connection.execute("SELECT 1")

    def known(self) -> Known:
        """What it says at this moment, read again only if anybody has changed it."""
        if self._process != os.getpid():
            self._start()
        with self._lock:
            try:
                return self._run(self._look)
            except FileError:
                self._known, self._seen = Known(), -1
                raise

    def _look(self) -> Known:
        changes = f"SELECT number FROM {self._server.quoted}.changes".encode()
        with self._reader.connected() as connection:
            (number,) = connection.execute(changes).fetchone()
            if number != self._seen:
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                self._enter(connection)
                (number,) = connection.execute("SELECT number FROM changes").fetchone()
                self._known = read_known(_Translated(connection))
                connection.execute("COMMIT")
                self._seen = number
        return self._known

    def _run(self, work: Callable[[], T]) -> T:
        """What the work gives, tried twice: a connection may be lost between two requests."""
        for _ in range(2):
            try:
                return work()
            except LedgerError as refused:  # a server that is too old, or not safe
                words = str(refused)
            except _database_errors():
                words = ""
        raise (FileError(words) if words else self._refusal()) from None

    def _refusal(self) -> FileError:
        return FileError(f"The store of tokens {self._server.name} cannot be read or written.")


class _Translated:
    """A connection that takes a ? for each value."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, statement: str, values: tuple[Any, ...] = ()) -> Any:
        """A cursor over the rows found."""
        return self._connection.execute(statement.replace("?", "%s").encode(), values)


def _database_errors() -> tuple[type[Exception], ...]:
    return psycopg.Error, OSError
