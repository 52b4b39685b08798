"""The server's own file: older ones are taken over, others are refused."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import trueup as tu
from trueup.server import file_store
from trueup.server.auth import Tokens
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
