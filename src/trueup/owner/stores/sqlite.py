"""A ledger in a file of SQLite, its answers in files beside it; failures in our words."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import time
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from trueup.errors import LedgerError
from trueup.files.atomic import sync_folder, write_whole
from trueup.owner.account import Entry
from trueup.owner.anchor import AnchorPlace, lost

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


@dataclass(frozen=True)
class SqliteStore:
    """A ledger in one file, its answers in a folder beside it.

    A connection lasts for one step. So none crosses a fork, and a ledger that is replaced under a
    running process is noticed at the next step.
    """

    path: Path
    first_anchored = 1  # the opening is written before its anchor, and a crash may come between

    @property
    def name(self) -> str:
        """The path."""
        return str(self.path)

    @property
    def label(self) -> str:
        """The file's name."""
        return f"'{self.path.name}'"

    @property
    def beside(self) -> Path:
        """The anchor beside it, if nobody says where."""
        return self.path.with_name(self.path.name + ".anchor")

    @property
    def answers(self) -> Path:
        """The folder of the answers."""
        return self.path.with_name(self.path.name + ".answers")

    def server(self) -> None:
        """None: a file is on no server."""
        return

    def exists(self) -> bool:
        """Whether the file is there."""
        return self.path.exists()

    def make(self, opening: Entry, anchor: AnchorPlace) -> None:
        """A new ledger, whole or not at all; one that another process has just made is left."""
        if anchor.read() is not None:
            if self.exists():  # another process has just made it
                return
            raise lost(self.name, anchor.name)
        create(self.path, opening)

    @contextlib.contextmanager
    def connected(self) -> Iterator[SqliteEntries]:
        """The entries, over a connection of this step."""
        with contextlib.closing(connect(self.path)) as database:
            yield SqliteEntries(database, self.path)

    def run(self, work: Callable[[], T]) -> T:
        """What the work gives, its failures in our words."""
        with in_our_words(self.path):
            return work()

    def keep(self, entry: int, sha256: str, answer: bytes) -> None:
        """Write a file of its own for the answer.

        The hash is in the name, so that two processes completing one charge cannot overwrite each
        other: the ledger says which of the two files is the answer.
        """
        self.answers.mkdir(mode=0o700, exist_ok=True)
        sync_folder(self.answers.parent)
        write_whole(self._file(entry, sha256), answer)

    def kept(self, entry: int, sha256: str) -> bytes | None:
        """What the file holds, None if it is not there."""
        file = self._file(entry, sha256)
        return file.read_bytes() if file.exists() else None

    def kept_at(self, entry: int, sha256: str) -> float:
        """When the file was written, in seconds since 1970."""
        return self._file(entry, sha256).stat().st_mtime

    def keep_only(self, entry: int, sha256: str) -> None:
        """Remove the files of all other answers to the charge."""
        for file in self.answers.glob(f"{entry}-*"):
            if file.name != self._file(entry, sha256).name:
                file.unlink(missing_ok=True)

    def _file(self, entry: int, sha256: str) -> Path:
        return self.answers / f"{entry}-{sha256}"


@dataclass(frozen=True)
class SqliteEntries:
    """The entries, over one connection."""

    database: sqlite3.Connection
    path: Path

    def begin(self) -> None:
        """Start a transaction that keeps all other processes from writing."""
        begin(self.database)

    def commit(self) -> None:
        """Write and sync."""
        self.database.execute("COMMIT")

    def roll_back(self) -> None:
        """End the transaction, if there is one, with nothing appended."""
        if self.database.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self.database.execute("ROLLBACK")

    def since(self, number: int) -> list[Entry]:
        """The entry of this number and all after it, in order."""
        rows = self.database.execute(
            "SELECT number, body, hash FROM entries WHERE number >= ? ORDER BY number", (number,)
        )
        return [Entry(*row) for row in rows]

    def append(self, entry: Entry) -> None:
        """Add one entry."""
        self.database.execute("INSERT INTO entries VALUES (?, ?, ?)", _row(entry))

    def check_ours(self) -> None:
        """Refuse a database that is not a ledger, or whose guards were taken away."""
        listed = "SELECT sql FROM sqlite_master ORDER BY rowid"
        statements = self.database.execute(listed).fetchall()
        application = self.database.execute("PRAGMA application_id").fetchone()[0]
        if application != APPLICATION or [sql for (sql,) in statements] != list(SCHEMA):
            raise LedgerError(f"{self.path} is not a ledger made by trueup.")

    def check_whole(self) -> None:
        """Refuse a database whose pages do not hold together."""
        if self.database.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
            raise sqlite3.DatabaseError("integrity check failed")


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


def create(path: Path, first: Entry) -> None:
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
            database.execute("INSERT INTO entries VALUES (?, ?, ?)", _row(first))
            database.execute("COMMIT")
        with contextlib.suppress(FileExistsError):  # another process was first: its ledger
            os.link(draft, path)
        sync_folder(path.parent)
    finally:
        draft.unlink(missing_ok=True)


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


def _row(entry: Entry) -> tuple[int, str, str]:
    return entry.number, entry.body, entry.hash
