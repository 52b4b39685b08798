"""A ledger in SQLite: opened while others are at it, synced in full, refused where damaged."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest
from homes import ASKED, fresh

from trueup.errors import LedgerError
from trueup.owner.account import Entry
from trueup.owner.ledger import Ledger
from trueup.owner.stores.sqlite import begin, connect, create


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trips.ledger"


@pytest.mark.parametrize(
    "held", ["BEGIN; SELECT * FROM entries", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"]
)
def test_a_new_ledger_that_another_process_holds_is_waited_for(tmp_path: Path, held: str) -> None:
    """It changes to a write-ahead log once, and SQLite does not wait for that by itself."""
    path = tmp_path / "ledger"
    create(path, Entry(0, "{}", "hash"))
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        for statement in held.split(";"):
            other.execute(statement).fetchall()
        release = threading.Timer(0.3, other.execute, ["COMMIT"])
        release.start()
        with closing(connect(path)) as database:
            begin(database)
            assert database.execute("SELECT number FROM entries").fetchall() == [(0,)]
        release.join()


def test_only_the_owner_may_read_what_the_ledger_writes(path: Path) -> None:
    ledger = Ledger(path, limit=1)
    ledger.spend(ASKED, 0.1, draw=fresh)
    for file in path.parent.rglob("*"):
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file


def test_the_database_writes_ahead_and_syncs_in_full(path: Path) -> None:
    Ledger(path, limit=1)
    with closing(connect(path)) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database.execute("PRAGMA synchronous").fetchone() == (2,)
        ledger_file = path.read_bytes()
    assert ledger_file[18:20] == b"\2\2"  # the file format's own mark of a write-ahead log


def test_a_truncated_file_is_refused(path: Path) -> None:
    Ledger(path, limit=1).spend(ASKED, 0.1, draw=fresh)
    os.truncate(path, path.stat().st_size - 4096)
    with pytest.raises(LedgerError, match="truncated, damaged or not a ledger"):
        Ledger(path)


def test_a_file_that_is_not_a_ledger_is_refused_and_left_alone(path: Path) -> None:
    path.write_bytes(b"my holiday photos")
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger(path, limit=1)
    assert path.read_bytes() == b"my holiday photos"
    path.unlink()
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE entries (number, body, hash)")
    with pytest.raises(LedgerError, match="not a ledger made by trueup"):
        Ledger(path, limit=1)


def test_a_folder_that_is_not_there_is_an_error_in_our_words(path: Path) -> None:
    with pytest.raises(LedgerError, match="No such file or directory"):
        Ledger(path.parent / "nowhere" / "trips.ledger", limit=1)


def test_pages_that_do_not_hold_together_are_refused_on_opening(path: Path) -> None:
    """Every entry can be read, and yet the file is damaged: its list of free pages is too long."""
    ledger = Ledger(path, limit=1)
    ledger.spend(ASKED, 0.1, draw=fresh)
    content = bytearray(path.read_bytes())
    content[36:40] = (1).to_bytes(4, "big")
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="truncated, damaged or not a ledger"):
        Ledger(path)
    with pytest.raises(LedgerError, match="truncated, damaged or not a ledger"):
        ledger.verify()
