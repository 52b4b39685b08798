"""The server's own file: tokens, sessions, requests for more budget, links that are public.

SQLite, readable by its owner alone. Several processes share it; each keeps a copy of what every
request needs, and reads it again as soon as anybody has changed the file.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from trueup.errors import FileError

_APPLICATION = 0x7472746B  # "trtk"
_TOKENS = (
    "CREATE TABLE tokens (number INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, "
    "name TEXT NOT NULL, role TEXT NOT NULL, created TEXT NOT NULL, expires TEXT, revoked TEXT)"
)
_TABLES = (
    _TOKENS,
    "CREATE TABLE uses (token INTEGER PRIMARY KEY, last TEXT NOT NULL)",
    "CREATE TABLE sessions (hash BLOB PRIMARY KEY, token INTEGER NOT NULL, "
    "created TEXT NOT NULL, expires TEXT NOT NULL)",
    "CREATE TABLE requests (number INTEGER PRIMARY KEY, dataset TEXT NOT NULL, name TEXT NOT NULL, "
    "wanted TEXT NOT NULL, reason TEXT NOT NULL, created TEXT NOT NULL, state TEXT NOT NULL, "
    "decided TEXT, note TEXT NOT NULL)",
    "CREATE TABLE links (release TEXT PRIMARY KEY, link TEXT NOT NULL UNIQUE, "
    "created TEXT NOT NULL)",
)


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


class Store:
    """The file, and a copy of what is looked up at every request."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        self._start()
        with self.writing() as database:
            application = database.execute("PRAGMA application_id").fetchone()[0]
            tables = database.execute("SELECT sql FROM sqlite_master WHERE type = 'table'")
            found = [sql for (sql,) in tables]
            ours = application == _APPLICATION and _TOKENS in found and set(found) <= set(_TABLES)
            if not ours and (found or application != 0):
                raise FileError(f"{path} is not a file of tokens made by trueup.")
            database.execute(f"PRAGMA application_id={_APPLICATION}")
            for table in _TABLES:  # one made by an earlier version has tokens alone
                if table not in found:
                    database.execute(table)

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._seen: tuple[int, int, int] | None = None
        self._reader: sqlite3.Connection | None = None
        self._known = Known()

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A connection within one transaction, all other processes kept from writing."""
        try:
            with contextlib.closing(
                sqlite3.connect(self.path, timeout=30, isolation_level=None)
            ) as database:
                database.execute("PRAGMA journal_mode=DELETE")
                database.execute("BEGIN IMMEDIATE")
                yield database
                database.execute("COMMIT")
        except sqlite3.Error:
            raise FileError(f"{self.path} cannot be read or written as a file of tokens.") from None

    def known(self) -> Known:
        """What the file says at this moment, read again only if anybody has changed it."""
        with self._lock:
            if self._process != os.getpid():
                self._start()
            try:
                seen = self._changes()
                if seen != self._seen:
                    self._known = self._read()
                    self._seen = seen
            except (sqlite3.Error, OSError):
                self._known, self._seen = Known(), None
                raise FileError(f"{self.path} cannot be read as a file of tokens.") from None
            return self._known

    def _read(self) -> Known:
        assert self._reader is not None
        tokens = self._reader.execute(
            "SELECT hash, number, name, role, created, expires, revoked FROM tokens"
        )
        by_hash = {row[0]: tuple(row[1:]) for row in tokens}
        sessions = self._reader.execute("SELECT hash, token, expires FROM sessions")
        signed_in = {hashed: (token, expires) for hashed, token, expires in sessions}
        links = self._reader.execute("SELECT link, release FROM links")
        return Known(by_hash, signed_in, dict(links.fetchall()))

    def _changes(self) -> tuple[int, int, int]:
        """Which file it is, and a number that changes whenever anybody else commits to it.

        Read before the rows are: what changes in between is noticed the next time. SQLite's
        number is of one connection, which is kept; a file put in its place is another file.
        """
        found = os.stat(self.path)
        if self._reader is None or self._seen is None or self._seen[:2] != _place(found):
            if self._reader is not None:
                self._reader.close()
            self._reader = sqlite3.connect(self.path, timeout=30, check_same_thread=False)
        (version,) = self._reader.execute("PRAGMA data_version").fetchone()
        return (*_place(found), version)


def _place(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
