"""Homes of a ledger: where one is kept, and what can be done to it behind its back.

The same tests are run in every home.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from postgres_server import Postgres

from trueup.cost import Cost
from trueup.owner.account import Entry
from trueup.owner.ledger import Ledger

ASKED = {"question": {"kind": "unit-counts"}, "neighbours": "add-remove", "unit": "row"}


class RhoLedger(Ledger):
    """A ledger that counts ρ, made with `limit` and charged as those that count ε are in tests."""

    def __init__(self, path: Any, limit: object = None, **options: Any) -> None:
        super().__init__(path, rho=limit, **options)

    def spend(self, request: Any, rho: object = None, **options: Any) -> bytes:  # type: ignore[override]
        if isinstance(rho, Cost):
            return super().spend(request, rho, **options)
        return super().spend(request, rho=rho, **options)


LEDGERS: dict[str, type[Ledger]] = {"epsilon": Ledger, "rho": RhoLedger}


def never() -> bytes:
    """A draw that must not happen."""
    raise AssertionError("noise was drawn")


def fresh() -> bytes:
    """Noise: different each time."""
    return os.urandom(16)


class Home(Protocol):
    """A ledger's place, its anchor, and other hands than ours."""

    anchor: Path
    refusal: type[Exception]  # what the database says to a change of an entry
    notion: str  # what its ledger counts: epsilon or rho

    @property
    def address(self) -> str: ...

    def ledger(self, limit: object = None, **options: Any) -> Ledger:
        """The ledger, opened afresh."""

    def is_empty(self) -> bool:
        """Whether nothing at all was left behind."""

    def copied(self, name: str) -> Home:
        """A copy in another place, with an anchor path of its own, and no anchor."""

    def restore(self, copy: Home) -> None:
        """Put the entries of a copy in the place of these."""

    def snapshot(self) -> bytes:
        """A backup of the ledger as it is now."""

    def put(self, snapshot: bytes) -> None:
        """Restore a backup in the place of the ledger."""

    def execute(self, *statements: str) -> None:
        """Run SQL on the ledger."""

    def edit(self, *statements: str) -> None:
        """Run SQL on the ledger, its guards set aside for the moment."""

    def drop_guard(self) -> None:
        """Take its guard away."""

    def entries(self) -> list[Entry]:
        """What the database says, read without our code."""

    def answers(self) -> list[tuple[int, str]]:
        """The stored answers: entry and hash."""

    def overwrite_answer(self, content: bytes | None) -> None:
        """Put other bytes in the place of the only answer, or nothing."""

    def rewrite(self, entries: list[Entry]) -> None:
        """Put other entries in the place of these."""

    def remove(self) -> None:
        """Remove the ledger, but not its anchor."""


@dataclass
class SqliteHome:
    """A file."""

    path: Path
    anchor: Path
    refusal: type[Exception] = sqlite3.IntegrityError
    notion: str = "epsilon"

    @staticmethod
    def made(folder: Path, notion: str = "epsilon") -> SqliteHome:
        path = folder / "trips.ledger"
        return SqliteHome(path, path.with_name("trips.ledger.anchor"), notion=notion)

    @property
    def address(self) -> str:
        return str(self.path)

    def ledger(self, limit: object = None, **options: Any) -> Ledger:
        return LEDGERS[self.notion](self.path, limit, **{"anchor": self.anchor} | options)

    def is_empty(self) -> bool:
        return not list(self.path.parent.iterdir())

    def copied(self, name: str) -> SqliteHome:
        to = self.path.parent / name
        to.mkdir()
        for part in (self.path.name, self.path.name + "-wal"):
            if (self.path.parent / part).exists():
                shutil.copy(self.path.parent / part, to / part)
        return SqliteHome(to / self.path.name, to / self.anchor.name, notion=self.notion)

    def restore(self, copy: Home) -> None:
        assert isinstance(copy, SqliteHome)
        for part in (self.path.name, self.path.name + "-wal"):
            if (copy.path.parent / part).exists():
                shutil.copy(copy.path.parent / part, self.path.parent / part)

    def snapshot(self) -> bytes:
        return self.path.read_bytes()  # nobody is at it: its log was folded in

    def put(self, snapshot: bytes) -> None:
        for ending in ("-wal", "-shm"):
            self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
        self.path.write_bytes(snapshot)

    def execute(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.path, isolation_level=None)) as database:
            for statement in statements:
                database.execute(statement)

    def edit(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.path, isolation_level=None)) as database:
            guards = database.execute(
                "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid"
            ).fetchall()
            for name, _ in guards:
                database.execute(f"DROP TRIGGER {name}")
            for statement in statements:
                database.execute(statement)
            for _, sql in guards:
                database.execute(sql)

    def drop_guard(self) -> None:
        self.execute("DROP TRIGGER never_dropped")

    def entries(self) -> list[Entry]:
        if not self.path.exists():
            return []
        with closing(sqlite3.connect(self.path)) as database:
            rows = database.execute("SELECT * FROM entries ORDER BY number")
            return [Entry(*row) for row in rows]

    def answers(self) -> list[tuple[int, str]]:
        folder = self.path.with_name(self.path.name + ".answers")
        names = (file.name.split("-") for file in folder.iterdir())
        return [(int(entry), sha256) for entry, sha256 in names]

    def overwrite_answer(self, content: bytes | None) -> None:
        (file,) = self.path.with_name(self.path.name + ".answers").iterdir()
        file.unlink()
        if content is not None:
            file.write_bytes(content)

    def rewrite(self, entries: list[Entry]) -> None:
        self.edit("DELETE FROM entries", *map(_insert, entries))

    def remove(self) -> None:
        self.path.unlink()


@dataclass
class PostgresHome:
    """A schema of a database of a server."""

    server: Postgres
    database: str
    schema: str
    anchor: Path
    refusal: type[Exception] = Exception
    notion: str = "epsilon"

    @staticmethod
    def made(server: Postgres, folder: Path, notion: str = "epsilon") -> PostgresHome:
        import psycopg

        name = "t" + os.urandom(6).hex()
        anchor, refusal = folder / "trips.anchor", psycopg.errors.RaiseException
        return PostgresHome(server, "postgres", name, anchor, refusal, notion)

    @property
    def address(self) -> str:
        return f"{self.server.database(self.database)}#{self.schema}"

    def ledger(self, limit: object = None, **options: Any) -> Ledger:
        return LEDGERS[self.notion](self.address, limit, **{"anchor": self.anchor} | options)

    @contextmanager
    def connected(self) -> Iterator[Any]:
        import psycopg

        with psycopg.connect(self.server.database(self.database), autocommit=True) as connection:
            connection.execute(f"SET search_path = {self.schema}".encode())
            yield connection

    def is_empty(self) -> bool:
        asked = "SELECT 1 FROM pg_namespace WHERE nspname = %s"
        with self.connected() as connection:
            return (
                connection.execute(asked, (self.schema,)).fetchone() is None
                and not self.anchor.exists()
            )

    def copied(self, name: str) -> PostgresHome:
        database = f"{name}_{self.schema}"
        with self.connected() as connection:
            connection.execute(f"CREATE DATABASE {database}".encode())
        self.server.restore(database, self.server.dump(self.database, self.schema))
        anchor = self.anchor.with_name(f"{name}.anchor")
        return PostgresHome(self.server, database, self.schema, anchor, self.refusal, self.notion)

    def restore(self, copy: Home) -> None:
        assert isinstance(copy, PostgresHome)
        self.put(copy.snapshot())

    def snapshot(self) -> bytes:
        return self.server.dump(self.database, self.schema)

    def put(self, snapshot: bytes) -> None:
        self.execute(f"DROP SCHEMA IF EXISTS {self.schema} CASCADE")
        self.server.restore(self.database, snapshot)

    def execute(self, *statements: str) -> None:
        with self.connected() as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def edit(self, *statements: str) -> None:
        self.execute(
            "ALTER TABLE entries DISABLE TRIGGER never_changed",
            *statements,
            "ALTER TABLE entries ENABLE TRIGGER never_changed",
        )

    def drop_guard(self) -> None:
        self.execute("DROP TRIGGER never_changed ON entries")

    def entries(self) -> list[Entry]:
        with self.connected() as connection:
            if connection.execute("SELECT to_regclass('entries')").fetchone() == (None,):
                return []
            rows = connection.execute("SELECT * FROM entries ORDER BY number")
            return [Entry(*row) for row in rows]

    def answers(self) -> list[tuple[int, str]]:
        with self.connected() as connection:
            return connection.execute("SELECT DISTINCT entry, sha256 FROM answers").fetchall()

    def overwrite_answer(self, content: bytes | None) -> None:
        with self.connected() as connection:
            if content is None:
                connection.execute("DELETE FROM answers")
            else:
                connection.execute("UPDATE answers SET content = %s", (content,))

    def rewrite(self, entries: list[Entry]) -> None:
        self.edit("DELETE FROM entries", *map(_insert, entries))

    def remove(self) -> None:
        self.execute(f"DROP SCHEMA {self.schema} CASCADE")


def _insert(entry: Entry) -> str:
    body, text = (value.replace("'", "''") for value in (entry.body, entry.hash))
    return f"INSERT INTO entries VALUES ({entry.number}, '{body}', '{text}')"
