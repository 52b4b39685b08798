"""The server's own file: older ones are taken over, others are refused."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import trueup as tu
from trueup.server import store
from trueup.server.auth import Tokens
from trueup.server.store import Store


def test_a_file_of_tokens_alone_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "trueup.tokens"
    with closing(sqlite3.connect(path)) as old:  # as version 0.1 made it
        old.execute("PRAGMA application_id=0x7472746B")
        old.execute(store._TOKENS)
        old.commit()
    secret = Tokens(path).create("ana", "analyst")
    tokens = Tokens(path)
    holder = tokens.holder(secret)
    assert holder is not None
    assert tokens.signed_in(tokens.sign_in(holder, 60)) == holder


@pytest.mark.parametrize("table", ["CREATE TABLE other (x)", store._TABLES[1]])
def test_another_file_is_refused(tmp_path: Path, table: str) -> None:
    path = tmp_path / "trueup.tokens"
    with closing(sqlite3.connect(path)) as other:
        other.execute(table)
        other.commit()
    with pytest.raises(tu.FileError, match="not a file of tokens"):
        Store(path)


def test_what_another_process_writes_is_known_at_once(tmp_path: Path) -> None:
    one, other = (Tokens(tmp_path / "trueup.tokens") for _ in range(2))
    holder = one.holder(one.create("ana", "analyst"))
    assert holder is not None
    session = one.sign_in(holder, 60)
    assert other.signed_in(session) == holder
    other.sign_out(session)
    assert one.signed_in(session) is None


def test_a_token_has_a_hundred_sessions_and_the_oldest_ends(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "trueup.tokens")
    holder = tokens.holder(tokens.create("ana", "analyst"))
    assert holder is not None
    made = [tokens.sign_in(holder, 60) for _ in range(101)]
    assert [tokens.signed_in(one) is not None for one in made] == [False] + [True] * 100
