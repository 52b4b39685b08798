"""What several machines keep together in PostgreSQL: what is its own; the rest is in test_store."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

import trueup as tu
from trueup.config import read_config
from trueup.server.auth import Tokens
from trueup.server.settings import read_settings
from trueup.server.shared_store import SharedStore


@pytest.fixture
def place(durable: Callable[[], Any]) -> str:
    return f"{durable().address}#t{secrets.token_hex(8)}"


def test_a_connection_that_was_lost_is_made_again(durable: Callable[[], Any], place: str) -> None:
    tokens = Tokens(place)
    secret = tokens.create("ana", "analyst")

    def lose() -> None:
        with psycopg.connect(durable().address, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid != pg_backend_pid() AND backend_type = 'client backend'"
            )

    lose()
    assert tokens.holder(secret) is not None
    lose()
    tokens.revoke("ana")
    assert tokens.holder(secret) is None


def test_no_other_user_of_the_database_may_look(durable: Callable[[], Any], place: str) -> None:
    """Also where its owner has opened all new tables to everybody."""
    schema, role = place.rpartition("#")[2], f"r{secrets.token_hex(8)}"
    opened = "ALTER DEFAULT PRIVILEGES {} ALL ON TABLES {} PUBLIC"
    with psycopg.connect(durable().address, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role}".encode())
        owner.execute(opened.format("GRANT", "TO").encode())
        try:
            Tokens(place).create("ana", "analyst")
        finally:
            owner.execute(opened.format("REVOKE", "FROM").encode())
        asked = "SELECT tablename FROM pg_tables WHERE schemaname = %s"
        tables = [table for (table,) in owner.execute(asked, (schema,))]
        assert {"tokens", "sessions", "links", "requests", "uses", "changes"} <= set(tables)
        for table in tables:
            may = "SELECT has_table_privilege(%s, %s, 'SELECT, INSERT, UPDATE, DELETE')"
            assert owner.execute(may, (role, f"{schema}.{table}")).fetchone() == (False,), table
        owner.execute(f"DROP ROLE {role}".encode())


def test_a_fork_has_connections_of_its_own(place: str) -> None:
    tokens = Tokens(place)
    secret = tokens.create("ana", "analyst")
    assert tokens.holder(secret) is not None
    child = os.fork()
    if not child:
        code = 1
        try:
            if tokens.holder(secret) is not None and tokens.revoke("ana") == 1:
                code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert tokens.holder(secret) is None


def test_many_who_make_it_at_once_make_one(place: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda name: Tokens(place).create(name, "reader"), "abcdefgh"))
    assert sorted(one.name for one in Tokens(place).list()) == list("abcdefgh")
    assert len(set(made)) == 8


def test_another_s_tables_and_a_server_that_is_not_there_are_refused_without_the_address(
    durable: Callable[[], Any], place: str, tmp_path: Path
) -> None:
    schema = place.rpartition("#")[2]
    with psycopg.connect(durable().address, autocommit=True) as other:
        other.execute(f"CREATE SCHEMA {schema}".encode())
        other.execute(f"CREATE TABLE {schema}.tokens (number int)".encode())
    with pytest.raises(tu.FileError, match="not trueup's"):
        SharedStore(place)
    with pytest.raises(tu.FileError, match="cannot be read or written") as refused:
        SharedStore(f"postgresql://ana:hushhush@/x?host={tmp_path}")
    assert "hushhush" not in str(refused.value)
    assert refused.value.__suppress_context__


def test_an_address_of_tokens_is_taken_as_it_is_and_never_repeated(
    config_of: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = read_config(config_of(tmp_path))
    address = "postgresql://ana:hushhush@db.example/x#tokens"
    assert read_settings(config, tokens=address).tokens == address
    monkeypatch.setenv("TRUEUP_SERVER_TOKENS", address)
    monkeypatch.setenv("TRUEUP_SERVER_PORT", "-1")
    with pytest.raises(tu.FileError, match="port cannot be") as refused:
        read_settings(config)
    assert "hushhush" not in str(refused.value)


def test_what_cannot_be_asked_lets_nobody_in(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token may have been revoked on another machine since: what was known is no answer."""
    tokens, other = Tokens(place), Tokens(place)
    secret = tokens.create("ana", "analyst")
    holder = tokens.holder(secret)
    assert holder is not None
    session = tokens.sign_in(holder, 60)
    assert tokens.signed_in(session) is not None

    def unreachable(*_: Any) -> Any:
        raise psycopg.OperationalError("cut")

    with monkeypatch.context() as during:
        during.setattr(tokens.store, "_look", unreachable)
        for ask in (lambda: tokens.holder(secret), lambda: tokens.signed_in(session)):
            with pytest.raises(tu.FileError, match="cannot be read or written"):
                ask()
        other.revoke("ana")
    assert tokens.holder(secret) is None
    assert tokens.signed_in(session) is None
