"""The ledger's database: opened while others are at it."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from pathlib import Path

import pytest

from trueup.owner.database import begin, connect, create


@pytest.mark.parametrize(
    "held", ["BEGIN; SELECT * FROM entries", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"]
)
def test_a_new_ledger_that_another_process_holds_is_waited_for(tmp_path: Path, held: str) -> None:
    """It changes to a write-ahead log once, and SQLite does not wait for that by itself."""
    path = tmp_path / "ledger"
    create(path, (0, "{}", "hash"))
    with contextlib.closing(
        sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    ) as other:
        for statement in held.split(";"):
            other.execute(statement).fetchall()
        release = threading.Timer(0.3, other.execute, ["COMMIT"])
        release.start()
        with contextlib.closing(connect(path)) as database:
            begin(database)
            assert database.execute("SELECT number FROM entries").fetchall() == [(0,)]
        release.join()
