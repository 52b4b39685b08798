"""Connections to PostgreSQL: settings are ours, and no error tells an address."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import trueup as tu
from trueup.errors import InputError, SourceError
from trueup.owner.engines.connection import PINNED, connected, pin

from .postgres_tables import Server, run


def test_a_timeout_too_short_to_be_lifted_does_not_stop_a_count(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The role's timeout cancels the statement that lifts it, as it may on a busy server."""
    import psycopg

    name = "r" + os.urandom(4).hex()
    run(postgres(), f"CREATE ROLE {name} LOGIN", f"ALTER ROLE {name} SET statement_timeout = '1ms'")
    made_with, connect = [], psycopg.connect

    class Slow(psycopg.Connection[object]):
        def execute(self, query, *rest, **more):  # type: ignore[no-untyped-def]
            if "statement_timeout" in str(query) and "options" not in made_with[-1]:
                query = "SELECT pg_sleep(10)"
            return super().execute(query, *rest, **more)

    def slowly(**settings: str) -> object:
        made_with.append(settings)
        return connect(**settings) if "options" in settings else Slow.connect(**settings)

    monkeypatch.setattr(psycopg, "connect", slowly)
    with connected(postgres().replace("//trueup@", f"//{name}@")) as connection:
        assert connection.execute("SHOW statement_timeout").fetchone() == ("0",)
    assert ["options" in settings for settings in made_with] == [False, True]


def test_every_setting_that_might_matter_is_ours_while_we_count(postgres: Server) -> None:
    name = "r" + os.urandom(4).hex()
    other = {"timezone": "Asia/Kathmandu", "jit": "on", "lock_timeout": "7ms"}
    other |= {"transform_null_equals": "on", "constraint_exclusion": "on", "array_nulls": "off"}
    odd = (f"ALTER ROLE {name} SET {key} = '{value}'" for key, value in other.items())
    run(postgres(), f"CREATE ROLE {name} LOGIN", *odd)
    with connected(postgres().replace("//trueup@", f"//{name}@")) as connection:
        pin(connection)
        known = dict(connection.execute("SELECT lower(name), setting FROM pg_settings").fetchall())
    assert {key: known[key] for key in PINNED if key in known} == {
        key: value for key, value in PINNED.items() if key in known
    }
    assert set(other) <= set(PINNED)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ana:hunter2@localhost:1/db",
        "postgresql://ana:hunter2@localhost:port/db",
        "postgresql://ana:hunter2@[::1/db",
        "postgresql://ana:hun/ter2@localhost/db",
        "postgresql://ana:%zzhunter2@localhost/db",
        "postgresql://localhost:1/db?password=hunter2&user=ana",
        "postgresql://localhost:1/db?pass=hunter2",
        "postgres://ana:hunter2@localhost:1/db?connect_timeout=hunter2",
        "POSTGRESQL://ana:hunter2@localhost:1/db",
        "postgresql+psycopg://ana:hunter2@localhost:1/db",
        "mysql://ana:hunter2@localhost:1/db",
        " postgresql://ana:hunter2@localhost:1/db",
        "host=localhost port=1 password=hunter2",
    ],
)
def test_no_error_tells_a_password(address: str, ledger: tu.Ledger) -> None:
    for table in (None, "trips"):
        for source in (address, Path(address)):
            with pytest.raises((InputError, SourceError)) as refusal:
                tu.Owner(source, ledger, table=table)
            told = str(refusal.value) + repr(refusal.value)
            assert "hunter2" not in told
            assert "ter2" not in told
            assert refusal.value.__context__ is None
