"""The ledger's database: SQLite, opened one way only, and its failures in our words."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import time
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from trueup.errors import LedgerError
from trueup.files.atomic import sync_folder

T = TypeVar("T")

_PATIENCE = 60.0  # seconds to wait for another process's transaction, each of which takes a few ms
_PAUSE = 0.008  # seconds between two tries, at most
APPLICATION = 0x74727570  # "trup": marks the file as ours
SCHEMA = (
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TRIGGER never_changed BEFORE UPDATE ON entries"
    " BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END",
    "CREATE TRIGGER never_dropped BEFORE DELETE ON entries"
    " BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END",
)


def connect(path: Path, journal: str = "WAL") -> sqlite3.Connection:
    """A connection that never creates a file and starts no transaction of its own.

    With a write-ahead log and FULL a commit has been synced when it returns; NORMAL loses some.
    """
    name = urllib.parse.quote(os.fspath(path.absolute()))
    address = f"file:{name}?mode=rw"
    database = sqlite3.connect(address, uri=True, timeout=0, isolation_level=None)

    def prepared() -> str:
        database.execute("PRAGMA synchronous=FULL")
        return str(database.execute(f"PRAGMA journal_mode={journal}").fetchone()[0])

    try:
        if patiently(prepared) != journal.lower():
            raise LedgerError(f"The disk of {path} cannot hold a write-ahead log.")
    except BaseException:
        database.close()
        raise
    return database


def begin(database: sqlite3.Connection) -> None:
    """Start a transaction that keeps all other processes from writing."""
    patiently(lambda: database.execute("BEGIN IMMEDIATE"))


def patiently(step: Callable[[], T]) -> T:
    """Do a step that another process may keep from being done just now.

    SQLite's own patience does not do. It gives up at once where two processes change a new ledger
    to a write-ahead log, and whoever has waited long looks less and less often.
    """
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            return step()
        except sqlite3.OperationalError as error:
            if not _busy(error) or time.monotonic() > end:
                raise
        time.sleep(_PAUSE * (1 + secrets.randbelow(8)) / 8)  # not all at the same moment


def create(path: Path, first: tuple[int, str, str]) -> None:
    """A new ledger with its first entry, unless another process has just made it.

    It is whole before it has its name, so that a crash cannot leave half of one.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        # In SQLite's first mode a commit is in the file itself, not in a log beside it.
        with contextlib.closing(connect(draft, "DELETE")) as database:
            begin(database)
            database.execute(f"PRAGMA application_id={APPLICATION}")
            for statement in SCHEMA:
                database.execute(statement)
            database.execute("INSERT INTO entries VALUES (?, ?, ?)", first)
            database.execute("COMMIT")
        with contextlib.suppress(FileExistsError):  # another process was first: its ledger
            os.link(draft, path)
        sync_folder(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def check_ours(database: sqlite3.Connection, path: Path) -> None:
    """Refuse a database that is not a ledger, or whose append-only guards were taken away."""
    statements = database.execute("SELECT sql FROM sqlite_master ORDER BY rowid").fetchall()
    application = database.execute("PRAGMA application_id").fetchone()[0]
    if application != APPLICATION or [sql for (sql,) in statements] != list(SCHEMA):
        raise LedgerError(f"{path} is not a ledger made by trueup.")


def check_whole(database: sqlite3.Connection) -> None:
    """Refuse a database whose pages do not hold together."""
    if database.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
        raise sqlite3.DatabaseError("integrity check failed")


@contextlib.contextmanager
def in_our_words(path: Path) -> Iterator[None]:
    """Turn a failing disk or database into a LedgerError; nothing is released after one."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:  # damage may show in the message itself
        name = str(getattr(error, "sqlite_errorname", ""))
        if _busy(error):
            words = f"has been locked by another process for {_PATIENCE:.0f} s"
        elif name.startswith("SQLITE_FULL"):
            words = "could not be written: the disk is full"
        elif name.startswith("SQLITE_READONLY"):
            words = "could not be written: it is read-only"
        elif name.startswith(("SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_NOMEM")):
            words = "could not be read or written: the disk reports an error"
        else:
            words = "is truncated, damaged or not a ledger: restore the newest copy"
        raise LedgerError(f"The ledger {path} {words}. Nothing was released.") from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "failed"
        raise LedgerError(
            f"A file of the ledger {path} could not be read or written: {reason}. "
            f"Nothing was released."
        ) from None


def _busy(error: Exception) -> bool:
    return str(getattr(error, "sqlite_errorname", "")).startswith("SQLITE_BUSY")
