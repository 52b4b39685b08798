"""The server's own file: older ones are taken over, others are refused."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import trueup as tu
from trueup.server import file_store
from trueup.server.auth import Tokens, hashed
from trueup.server.file_store import FileStore


def test_a_file_of_tokens_alone_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "trueup.tokens"
    with closing(sqlite3.connect(path)) as old:  # as version 0.1 made it
        old.execute("PRAGMA application_id=0x7472746B")
        old.execute(file_store._TOKENS)
        old.commit()
    secret = Tokens(path).create("ana", "analyst")
    tokens = Tokens(path)
    holder = tokens.holder(secret)
    assert holder is not None
    assert tokens.signed_in(tokens.sign_in(holder, 60)) == holder


@pytest.mark.parametrize("table", ["CREATE TABLE other (x)", file_store._TABLES[1]])
def test_another_file_is_refused(tmp_path: Path, table: str) -> None:
    path = tmp_path / "trueup.tokens"
    with closing(sqlite3.connect(path)) as other:
        other.execute(table)
        other.commit()
    with pytest.raises(tu.FileError, match="not a file of tokens"):
        FileStore(path)


def test_a_file_that_was_put_in_its_place_is_the_one_that_counts(tmp_path: Path) -> None:
    """A copy that is restored, or a file that is made anew: what it does not know is refused."""
    path, other = tmp_path / "trueup.tokens", tmp_path / "other"
    tokens = Tokens(path)
    old, new = tokens.create("ana", "analyst"), Tokens(other).create("ben", "reader")
    assert tokens.holder(old) is not None
    os.replace(other, path)
    assert tokens.holder(old) is None
    found = tokens.holder(new)
    assert found is not None
    assert found.name == "ben"


def test_a_process_that_was_forked_has_a_connection_of_its_own(tmp_path: Path) -> None:
    """SQLite forbids to carry one over; what it says could be anything."""
    store = FileStore(tmp_path / "trueup.tokens")
    secret = Tokens(tmp_path / "trueup.tokens").create("ana", "analyst")
    store.known()
    parents = store._reader
    child = os.fork()
    if not child:
        known = hashed(secret) in store.known().tokens
        os._exit(0 if known and store._reader is not parents else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    store.known()
    assert store._reader is parents
