"""What a server keeps for itself: tokens, sessions, requests for more budget, public links.

A file of SQLite, readable by its owner alone; or a schema in PostgreSQL, for several machines.
Several processes share it. Each keeps a copy of what every request needs, and reads it again as
soon as anybody has changed something.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Protocol


def moment(later: timedelta = timedelta()) -> str:
    """Now, or later, in UTC: texts that sort as their moments do."""
    return (datetime.now(UTC) + later).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Known:
    """What the file says: rows of tokens and of sessions by their hash, releases by their link."""

    tokens: Mapping[bytes, tuple[Any, ...]] = field(default_factory=dict)
    sessions: Mapping[bytes, tuple[int, str]] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def numbered(self) -> Mapping[int, tuple[Any, ...]]:
        """The rows of tokens by their numbers."""
        return {row[0]: row for row in self.tokens.values()}


class Statements(Protocol):
    """One transaction: statements in SQL that both databases know, with a ? for each value."""

    def execute(self, statement: str, values: tuple[Any, ...] = ..., /) -> Any:
        """A cursor over the rows found."""


class Store(Protocol):
    """What keeps it, and a copy of what is looked up at every request."""

    @property
    def place(self) -> str:
        """Where it is kept: the same on every machine that shares it. It may hold a password."""

    def writing(self) -> AbstractContextManager[Statements]:
        """One transaction, all other processes kept from writing."""

    def known(self) -> Known:
        """What it says at this moment, read again only if anybody has changed it."""


def read_known(read: Statements) -> Known:
    """All that is looked up at every request."""
    tokens = read.execute("SELECT hash, number, name, role, created, expires, revoked FROM tokens")
    by_hash = {bytes(row[0]): tuple(row[1:]) for row in tokens.fetchall()}
    sessions = read.execute("SELECT hash, token, expires FROM sessions").fetchall()
    signed_in = {bytes(hashed): (token, expires) for hashed, token, expires in sessions}
    links = read.execute("SELECT link, release FROM links")
    return Known(by_hash, signed_in, dict(links.fetchall()))
