"""PostgreSQL in several passes, each over some of the cells, and all over one state of the table.

A row that was moved between two passes would count in both, or in none. So one transaction reads in
all of them: it sees the table as it was when the first pass began. It locks the table before it
sees anything: TRUNCATE and ALTER TABLE wait for it, because what they leave behind looks empty to a
transaction that saw the table before. If its connection is lost after a pass, the others cannot see
that state any more. Then nothing else is counted: who asks the same again begins anew, and what was
stored of the first passes is compared with the table as it is then.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from trueup.arrays import Ints
from trueup.errors import SourceError
from trueup.owner.counting import BATCH
from trueup.owner.engines.connection import connected, pin
from trueup.owner.engines.postgres import PostgresTable
from trueup.owner.engines.statements import add_groups
from trueup.owner.request import Passes, Request

_LOST = (
    "The connection to PostgreSQL was lost between two passes over the table. Ask the same again, "
    "at no further cost."
)


def passes(table: PostgresTable, requests: Sequence[Request]) -> Passes:
    """The counts of requests, each with a window: planned by the server now, and run later."""
    statements = [table.statement(request) for request in requests]
    table.plan(*statements)
    held = Snapshot(table)
    both = zip(statements, requests, strict=True)
    return Passes([partial(held.count, *each) for each in both], closing(held))


@dataclass(repr=False)
class Snapshot:
    """One state of a database: that of the moment in which the first count begins."""

    table: PostgresTable
    _open: Any = field(default=None, init=False)
    _seen: bool = field(default=False, init=False)

    def count(self, statement: str, request: Request) -> Ints:
        """The counts of a window, its groups read some at a time. Before the first pass is done, it
        may be tried again over another connection."""
        if self._open is None:
            if self._seen:
                raise SourceError(_LOST)
            self._open = _held(self.table)
        try:
            counts = _counted(self._open, statement, request)
        except BaseException:  # the transaction is over
            self._disconnect()
            raise
        self._seen = True
        return counts

    def close(self) -> None:
        """Lets go of that state: the next count begins with another."""
        self._disconnect()
        self._seen = False

    def _disconnect(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None


def _held(table: PostgresTable) -> Any:
    """A connection in a transaction that sees one state of the table as long as it is open."""
    connection = connected(table.address)
    try:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        _lock(connection, table.name)
        pin(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _lock(connection: Any, table: str) -> None:
    """Nobody empties or rewrites the table until the transaction ends; everybody may write to it.

    The server locks no foreign table and no materialized view, and nothing for a role that may read
    single columns only. These are read without a lock.
    """
    from psycopg import errors

    unlocked = errors.WrongObjectType, errors.InsufficientPrivilege
    with suppress(*unlocked), connection.transaction():
        connection.execute(f"LOCK TABLE {table} IN ACCESS SHARE MODE".encode())


def _counted(connection: Any, statement: str, request: Request) -> Ints:
    assert request.window is not None
    first, stop = request.window
    counts = np.zeros(stop - first, np.int64)
    with connection.cursor(name="groups", binary=True) as cursor:
        cursor.execute(statement.encode())
        names = [column.name for column in cursor.description]
        while found := cursor.fetchmany(BATCH):
            add_groups(counts, request, dict(zip(names, zip(*found, strict=True), strict=True)))
    return counts
