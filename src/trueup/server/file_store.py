"""What a server keeps for itself, in a file of SQLite that its owner alone can read."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

from trueup.errors import FileError
from trueup.server.store import Known, read_known

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


class FileStore:
    """A file of SQLite."""

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

    @property
    def place(self) -> str:
        """The path, the same however it is written."""
        return str(self.path.resolve())

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
                    assert self._reader is not None
                    self._known = read_known(self._reader)
                    self._seen = seen
            except (sqlite3.Error, OSError):
                self._known, self._seen = Known(), None
                raise FileError(f"{self.path} cannot be read as a file of tokens.") from None
            return self._known

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
