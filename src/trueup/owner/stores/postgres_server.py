"""One connection to a PostgreSQL server, made again when it is lost; failures in our words.

The address, which may hold a password, is shown nowhere, and no message of the server passes.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from trueup.errors import LedgerError
from trueup.owner.engines.connection import CONNECTING, host
from trueup.owner.engines.postgres import quoted
from trueup.owner.lazily import psycopg

T = TypeVar("T")

_PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0)  # seconds before work is done again
_PATIENCE = 60  # seconds to wait for another process's transaction, each of which takes a few ms
_OLDEST = 140_000
_WITH_TRANSACTION_TIMEOUT = 170_000
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_DEFAULT = "trueup"
_LASTING = {
    **CONNECTING,
    "tcp_user_timeout": "30000",  # milliseconds until a server that is gone is given up
    "target_session_attrs": "read-write",
}
_IDLE = 0  # libpq's number for a connection that is open, and in no transaction
# Nothing was committed, or nobody knows; the connection is gone, or another may do better.
_AGAIN = ("08", "40", "57P")
_REFUSALS = {
    "55P03": f"has been locked by another process for {_PATIENCE} s",
    "57014": f"has not answered for {2 * _PATIENCE} s",
    "53100": "could not be written: the disk is full",
    "25006": "could not be written: the server is a standby, or read-only",
    "42501": "may not be read, written or made by this user of the database",
    "53300": "could not be opened: the server has too many connections",
}
_LEFT_TO_THE_PARENT: list[Any] = []  # closing one would end the parent's session


class PostgresServer:
    """A server, and the part of a database (a schema) that one ledger or anchor has to itself.

    One connection is kept open and used by one thread at a time. A fork makes its own.
    """

    def __init__(self, address: str, what: str) -> None:
        address, self.schema = _split(address)
        self._host = host(address)
        self._address = address
        self.what, self.name = what, f"'{self.schema}' (PostgreSQL, {self._host})"
        self._reached = False
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._open: list[Any] = []  # one connection or none; a list, which the finalizer can hold
        weakref.finalize(self, _close, self._open, self._process)

    @property
    def quoted(self) -> str:
        """The schema's name, safe inside a statement."""
        return quoted(self.schema)

    @contextlib.contextmanager
    def connected(self) -> Iterator[Any]:
        """The connection, for one step of one thread; closed where the step left it unready."""
        if self._process != os.getpid():
            _LEFT_TO_THE_PARENT.extend(self._open)
            self._start()
        with self._lock:
            if not self._open:
                self._open.append(self._connect())
            try:
                yield self._open[0]
            finally:
                # In the middle of anything, the server ends its transaction and frees its lock.
                if self._open[0].info.transaction_status != _IDLE:
                    _close(self._open, self._process)

    @contextlib.contextmanager
    def transaction(self, alone: bool = True) -> Iterator[Any]:
        """The connection inside a transaction, with all others of this schema kept out."""
        with self.connected() as connection:
            begin(connection, self.schema if alone else None)
            yield connection
            connection.execute("COMMIT")

    def run(self, work: Callable[[], T]) -> T:
        """What the work gives, done again where a connection that there was has been lost.

        Nothing is raised inside a handler, so that no error carries the server's own with it.
        """
        for pause in (*_PAUSES, None):
            try:
                return work()
            except (psycopg.Error, OSError) as error:
                refusal, again = self._worded(error), self._reached and _may_do_again(error)
            if pause is None or not again:
                break
            time.sleep(pause)
        raise refusal

    def identity(self) -> str:
        """What tells this server, its standbys and its restored copies from all others."""
        with self.connected() as connection:
            asked = "SELECT system_identifier::text FROM pg_catalog.pg_control_system()"
            return str(connection.execute(asked).fetchone()[0])

    def _connect(self) -> Any:
        """A connection that begins and ends its transactions when told to."""
        settings: dict[str, Any] = {**_LASTING, **psycopg.conninfo.conninfo_to_dict(self._address)}
        connection = psycopg.connect(
            **settings | {"client_encoding": "UTF8"}, autocommit=True, prepare_threshold=None
        )
        self._reached = True
        try:
            asked = "SELECT current_setting('fsync'), current_setting('full_page_writes')"
            safe = connection.execute(asked).fetchone() == ("on", "on")
            if connection.info.server_version < _OLDEST or not safe:
                raise LedgerError(
                    f"The PostgreSQL server at {self._host} cannot keep the {self.what}: it must "
                    f"be of version 14 or later, with fsync and full_page_writes on."
                )
        except BaseException:
            connection.close()
            raise
        return connection

    def _worded(self, error: Exception) -> LedgerError:
        """What is said of a failure: what happened, in our words."""
        state = getattr(error, "sqlstate", None)
        if isinstance(error, OSError):
            reason = os.strerror(error.errno) if error.errno else "failed"
            return LedgerError(
                f"A file of the {self.what} {self.name} could not be read or written: {reason}. "
                f"Nothing was released."
            )
        elif state in _REFUSALS:
            words = _REFUSALS[state]
        elif state is None and not self._reached:
            return LedgerError(f"{_unreached(error, self._host)} Nothing was released.")
        elif _may_do_again(error):
            words = (
                "has lost its connection, which could not be made again. Nothing was released; "
                "if something was charged, asking again under the same key costs nothing more"
            )
            return LedgerError(f"The {self.what} {self.name} {words}.")
        else:
            words = "is damaged or not ours: restore the newest copy"
        return LedgerError(f"The {self.what} {self.name} {words}. Nothing was released.")


def begin(connection: Any, schema: str | None) -> None:
    """Start a transaction that keeps out all others of the schema, whatever the server is set to.

    The lock is freed after the commit is visible, also where the client is gone by then. So
    whoever has the lock sees all that was ever committed. A process that was killed is noticed by
    its closed connection; a machine that is gone, within a minute.
    """
    now = "pg_catalog.current_setting('synchronous_commit')"
    settings = {
        "search_path": "pg_catalog",
        "lock_timeout": f"{_PATIENCE}s",
        "statement_timeout": f"{2 * _PATIENCE}s",
        "idle_in_transaction_session_timeout": "0",
        "tcp_keepalives_idle": "30",
        "tcp_keepalives_interval": "10",
        "tcp_keepalives_count": "3",
    }
    if connection.info.server_version >= _WITH_TRANSACTION_TIMEOUT:
        settings["transaction_timeout"] = "0"
    statements = [
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
        *(f"SET LOCAL {name} = '{value}'" for name, value in settings.items()),
        # A commit is on disk when it returns; a server that waits for its standbys goes on so.
        f"SELECT pg_catalog.set_config('synchronous_commit', "
        f"CASE WHEN {now} IN ('off', 'local') THEN 'on' ELSE {now} END, true)",
    ]
    if schema is not None:
        key = f"pg_catalog.hashtextextended('trueup {schema}', 0)"
        statements.append(f"SELECT pg_catalog.pg_advisory_xact_lock({key})")
    connection.execute("; ".join(statements).encode())


def exists(connection: Any, schema: str, table: str) -> bool:
    """Whether there is a table of that name in the schema.

    The catalog is asked as any table is. to_regclass would answer from a cache, which may be older
    than the lock that we have just been given.
    """
    asked = (
        "SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n "
        "ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s"
    )
    return connection.execute(asked, (schema, table)).fetchone() is not None


def make_schema(connection: Any, schema: str) -> None:
    """Make the schema, unless it is there, which is all that some users may use."""
    asked = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = %s"
    if connection.execute(asked, (schema,)).fetchone() is None:
        connection.execute(f"CREATE SCHEMA {quoted(schema)}".encode())


def _split(address: str) -> tuple[str, str]:
    """The address proper, and the name after its last #, if one stands there."""
    rest, sign, name = address.rpartition("#")
    return (rest, name) if sign and _NAME.fullmatch(name) else (address, _DEFAULT)


def _may_do_again(error: Exception) -> bool:
    """Whether the work may succeed when it is done once more from its start."""
    state = getattr(error, "sqlstate", None)
    lost = isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)) and state is None
    # Another writer's entry of the same number: read again, and follow it.
    return (
        lost
        or isinstance(error, psycopg.errors.UniqueViolation)
        or (state is not None and state.startswith(_AGAIN))
    )


def _unreached(error: Exception, server: str) -> str:
    """Why there is no connection, as far as can be told without repeating the server's words."""
    wire = getattr(error, "pgconn", None)
    if wire is not None and wire.needs_password:
        return (
            f"The PostgreSQL server at {server} asks for a password. Put it in the address, in "
            f"PGPASSWORD or in the file .pgpass."
        )
    if wire is not None and wire.used_password:
        return f"The PostgreSQL server at {server} refuses this user and password."
    if "FATAL" in str(error):
        return (
            f"The PostgreSQL server at {server} refuses the connection: check that the user and "
            f"the database exist, that pg_hba.conf lets this user in, and that it has started."
        )
    return f"The PostgreSQL server at {server} cannot be reached."


def _close(connections: list[Any], process: int) -> None:
    if process == os.getpid():
        while connections:
            with contextlib.suppress(Exception):
                connections.pop().close()
