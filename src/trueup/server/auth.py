"""Tokens: who may ask. Hashed at rest, revoked at once, refused all alike."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import re
import secrets
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, get_args

from trueup.config import Dataset
from trueup.epsilon import positive
from trueup.errors import FileError, InputError, TrueupError, shown
from trueup.owner import Ledger

Role = Literal["reader", "analyst", "owner"]
ROLES: tuple[Role, ...] = get_args(Role)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}", re.ASCII)
_SPAN = re.compile(r"(\d{1,6})([hd])", re.ASCII)
_APPLICATION = 0x7472746B  # "trtk"
_SCHEMA = (
    "CREATE TABLE tokens (number INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, "
    "name TEXT NOT NULL, role TEXT NOT NULL, created TEXT NOT NULL, expires TEXT, revoked TEXT)"
)


class NotAllowedError(TrueupError):
    """A token that is missing, wrong, expired, revoked or of another role: always the same."""


@dataclass(frozen=True)
class Holder:
    """Whoever holds a token: their name, what they may do, and until when."""

    number: int
    name: str
    role: Role
    created: str
    expires: str | None
    revoked: str | None

    def valid(self) -> bool:
        """Whether the token may be used at this moment."""
        return self.revoked is None and (self.expires is None or moment() < self.expires)


def moment(later: timedelta = timedelta()) -> str:
    """Now, or later, in UTC: texts that sort as their moments do."""
    return (datetime.now(UTC) + later).strftime("%Y-%m-%dT%H:%M:%SZ")


def expiry(text: str | None) -> str | None:
    """The moment at which "30d" or "12h" from now, or a given moment, has come; None is never."""
    if text is None:
        return None
    span = _SPAN.fullmatch(text)
    try:
        if span:
            number = int(span[1])
            return moment(timedelta(hours=number) if span[2] == "h" else timedelta(days=number))
        end = datetime.fromisoformat(text)
        end = end.replace(tzinfo=UTC) if end.tzinfo is None else end.astimezone(UTC)
        return end.strftime("%Y-%m-%dT%H:%M:%SZ") if end.year >= 1000 else moment()
    except (ValueError, OverflowError):
        raise InputError(
            f"expires must be such as 30d, 12h or 2026-12-31, got {shown(text)}."
        ) from None


class Tokens:
    """The tokens kept in a file, which several processes may share.

    >>> from tempfile import mkdtemp
    >>> tokens = Tokens(Path(mkdtemp()) / "trueup.tokens")
    >>> secret = tokens.create("ana", "analyst")
    >>> tokens.holder(secret).name, tokens.holder(secret + "x")
    ('ana', None)
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        self._start()
        with self._writing() as database:
            application = database.execute("PRAGMA application_id").fetchone()[0]
            tables = database.execute("SELECT sql FROM sqlite_master WHERE type = 'table'")
            found = [sql for (sql,) in tables]
            if not found and application == 0:
                database.execute(f"PRAGMA application_id={_APPLICATION}")
                database.execute(_SCHEMA)
            elif application != _APPLICATION or found != [_SCHEMA]:
                raise FileError(f"{path} is not a file of tokens made by trueup.")

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._seen: tuple[int, int, int] | None = None
        self._reader: sqlite3.Connection | None = None
        self._holders: dict[bytes, Holder] = {}

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
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

    def create(self, name: str, role: str, expires: str | None = None) -> str:
        """A new token, told this once; only its hash is kept. Given `expires`, as `expiry` has it.

        High-entropy and random, so that a plain hash keeps it as well as a slow one would.
        """
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InputError(
                f"A name has up to 64 letters, digits, or any of . - _ @, got {shown(name)}."
            )
        if role not in ROLES:
            raise InputError(f"A role is one of {', '.join(ROLES)}, got {shown(role)}.")
        end = expiry(expires)
        secret = "trueup_" + secrets.token_urlsafe(32)
        with self._writing() as database:
            other = database.execute(
                "SELECT role FROM tokens WHERE name = ? AND role != ? AND revoked IS NULL",
                (name, role),
            ).fetchone()
            if other:
                raise InputError(f"'{name}' has a token as {other[0]} already: revoke that first.")
            database.execute(
                "INSERT INTO tokens (hash, name, role, created, expires) VALUES (?, ?, ?, ?, ?)",
                (_hash(secret), name, role, moment(), end),
            )
        return secret

    def revoke(self, name: str) -> int:
        """How many tokens of this name were revoked, from this moment on."""
        with self._writing() as database:
            return database.execute(
                "UPDATE tokens SET revoked = ? WHERE name = ? AND revoked IS NULL", (moment(), name)
            ).rowcount

    def list(self) -> list[Holder]:
        """Every token that was ever made, without the token."""
        with self._writing() as database:
            rows = database.execute(
                "SELECT number, name, role, created, expires, revoked FROM tokens ORDER BY number"
            )
            return [Holder(*row) for row in rows]

    def holder(self, secret: str) -> Holder | None:
        """Who holds this token, None if nobody may use it: wrong, expired and revoked alike.

        The same steps are taken for every token: a hash, a look for it, a comparison.
        """
        digest = _hash(secret)
        with self._lock:
            self._refresh()
            found = self._holders.get(digest)
        same = hmac.compare_digest(digest, digest if found is not None else bytes(32))
        valid = found is not None and found.valid()
        return found if same and valid else None

    def _refresh(self) -> None:
        """Read the tokens again if another process, or another connection, has changed them."""
        if self._process != os.getpid():
            self._start()
        try:
            seen = self._changes()
            if seen != self._seen:
                assert self._reader is not None
                rows = self._reader.execute(
                    "SELECT hash, number, name, role, created, expires, revoked FROM tokens"
                )
                self._holders = {row[0]: Holder(*row[1:]) for row in rows}
                self._seen = seen
        except (sqlite3.Error, OSError):
            self._holders, self._seen = {}, None
            raise FileError(f"{self.path} cannot be read as a file of tokens.") from None

    def _changes(self) -> tuple[int, int, int]:
        """Which file it is, and a number that changes whenever anybody else commits to it.

        Read before the tokens are: what changes in between is noticed the next time. SQLite's
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


def create(
    tokens: Tokens,
    datasets: Mapping[str, Dataset],
    name: str,
    role: str,
    limit: object = None,
    chosen: Iterable[str] | None = None,
    expires: str | None = None,
) -> str:
    """A new token and, for an analyst, the limit that goes with it, in the ledgers chosen or all.

    The limit stands in the ledger by name: another token of the name spends from the same.
    """
    if (limit is None) != (role != "analyst"):
        raise InputError("An analyst has a limit, such as 1/10; others have none.")
    chosen = list(datasets) if chosen is None else list(chosen)
    for other in chosen:
        if other not in datasets:
            raise InputError(f"There is no dataset {other[:64]!r}.")
    most = None if limit is None else positive(limit, "limit")
    secret = tokens.create(name, role, expires)
    if most is not None:
        for other in chosen:
            open_ledger(datasets[other]).allow(name, most)
    return secret


def open_ledger(dataset: Dataset) -> Ledger:
    """The ledger of a dataset, made with its limit if it is not there yet.

    One that was charged for another unit or neighbour relation than the configuration names is
    refused: the server does not start.
    """
    return Ledger(
        dataset.ledger,
        dataset.limit,
        anchor=dataset.anchor,
        unit=dataset.protects,
        neighbours=dataset.neighbours,
    )


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
