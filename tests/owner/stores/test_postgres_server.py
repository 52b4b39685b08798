"""The connection to PostgreSQL: lost and found again, synced, and refused without a password."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from homes import ASKED, PostgresHome, fresh, never
from postgres_server import Postgres

import trueup as tu
from trueup.errors import BudgetError, InputError, LedgerError
from trueup.owner.ledger import Ledger
from trueup.owner.stores import postgres_server

Servers = Callable[[int], Postgres]


def test_a_server_started_again_is_found_again_and_one_that_stays_away_is_told(
    tmp_path: Path, quick: None
) -> None:
    server = Postgres.made(durable=True)
    try:
        home = PostgresHome.made(server, tmp_path)
        ledger = home.ledger(10)
        first = ledger.spend(ASKED, 1, draw=fresh, key="k")
        server.kill()
        server.start()
        assert ledger.spend(ASKED, 1, draw=never, key="k") == first
        ledger.spend(ASKED, 1, draw=fresh)

        def dies() -> bytes:
            server.stop("immediate")
            return b"drawn"

        with pytest.raises(LedgerError, match=r"lost its connection.*Nothing was released") as told:
            ledger.spend(ASKED, 1, draw=dies, key="cut")
        assert told.value.__context__ is None
        with pytest.raises(LedgerError, match="cannot be reached"):
            home.ledger()
        server.start()
        assert ledger.spent == 3
        assert ledger.spend(ASKED, 1, draw=lambda: b"again", key="cut") == b"again"
        assert home.ledger().spent == 3
    finally:
        server.remove()


def test_a_refused_charge_keeps_the_connection_and_frees_the_lock(home: PostgresHome) -> None:
    ledger, other = home.ledger(1), home.ledger()
    backend = "SELECT pg_backend_pid()"
    with ledger._store.connected() as entries:  # type: ignore[attr-defined]
        before = entries.connection.execute(backend).fetchone()
    with pytest.raises(BudgetError):
        ledger.spend(ASKED, 2, draw=never)
    assert other.spend(ASKED, 1, draw=fresh)
    with ledger._store.connected() as entries:  # type: ignore[attr-defined]
        assert entries.connection.execute(backend).fetchone() == before


def test_whoever_holds_the_ledger_for_too_long_is_not_waited_for(
    home: PostgresHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = home.ledger(1)
    monkeypatch.setattr(postgres_server, "_PATIENCE", 1)
    with home.connected() as held:
        key = f"hashtextextended('trueup {home.schema}', 0)"
        held.execute(f"BEGIN; SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.{key})".encode())
        begun = time.monotonic()
        with pytest.raises(LedgerError, match="has been locked by another process"):
            ledger.spend(ASKED, "1/2", draw=never)
        assert time.monotonic() - begun < 45  # its own patience is a minute
    assert ledger.spend(ASKED, "1/2", draw=fresh)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_does_not_end_its_parents_connection(home: PostgresHome) -> None:
    ledger = home.ledger(1)
    with ledger._store.connected() as entries:  # type: ignore[attr-defined]
        mine = entries.connection.info.backend_pid
    child = os.fork()
    if child == 0:
        try:
            ledger.spend(ASKED, "1/4", draw=fresh)
            del ledger
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ledger.spent == Fraction(1, 4)
    with ledger._store.connected() as entries:  # type: ignore[attr-defined]
        assert entries.connection.info.backend_pid == mine


def test_commits_are_synced_whatever_the_role_is_set_to(home: PostgresHome) -> None:
    ledger = home.ledger(1)
    with home.connected() as connection:
        role = f"r{home.schema}"
        connection.execute(f"CREATE ROLE {role} LOGIN SUPERUSER".encode())
        try:
            for said, kept in (("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")):
                connection.execute(f"ALTER ROLE {role} SET synchronous_commit = {said}".encode())
                again = Ledger(home.address.replace("trueup@", f"{role}@"), anchor=home.anchor)
                with again._store.connected() as entries:  # type: ignore[attr-defined]
                    entries.begin()
                    shown = entries.connection.execute("SHOW synchronous_commit").fetchone()
                    entries.roll_back()
                assert shown == (kept,)
                del again, entries
        finally:
            connection.execute(f"DROP ROLE {role}".encode())
    assert ledger.spent == 0


def test_a_server_that_does_not_sync_is_refused(
    postgres: Callable[[], str], tmp_path: Path
) -> None:
    with pytest.raises(LedgerError, match="with fsync and full_page_writes on"):
        Ledger(postgres() + "#unsafe", limit=1, anchor=tmp_path / "anchor")


def refusal(address: str, tmp_path: Path) -> str:
    with pytest.raises((LedgerError, InputError)) as told:
        Ledger(address, limit=1, anchor=tmp_path / "anchor")
    assert told.value.__context__ is None
    said = str(told.value) + repr(told.value)
    assert "hunter2" not in said
    assert "Traceback" not in said
    return said


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("postgresql://ana:hunter2@127.0.0.1:1/db", "at 127.0.0.1 cannot be reached"),
        ("postgresql://ana:hunter2@nowhere.invalid/db#trips", "at nowhere.invalid cannot be"),
        ("postgresql://ana:hunter2@[::1/db", "address cannot be read"),
        ("postgresql://ana:hunter2@localhost/db?nonsense=1", "address cannot be read"),
        ("postgresql+psycopg://ana:hunter2@localhost/db", "begins with postgresql://"),
        ("mysql://ana:hunter2@localhost/db", "begins with postgresql://"),
        ("host=localhost password=hunter2", "begins with postgresql://"),
    ],
)
def test_a_wrong_address_is_told_without_its_password(
    address: str, words: str, tmp_path: Path
) -> None:
    assert words in refusal(address, tmp_path)
    with pytest.raises(InputError, match="begins with postgresql://"):
        Ledger(Path(address), limit=1, anchor=tmp_path / "anchor")
    with pytest.raises((InputError, LedgerError)) as told:
        Ledger(tmp_path / "file", limit=1, anchor=address)
    assert "hunter2" not in str(told.value)


def test_a_refused_login_says_what_to_check(durable: Servers, tmp_path: Path) -> None:
    server = durable(0)
    rules = server.folder / "data" / "pg_hba.conf"
    before = rules.read_text()
    role = "p" + os.urandom(4).hex()
    with PostgresHome.made(server, tmp_path).connected() as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'right'".encode())
        try:
            rules.write_text(f"local all {role} scram-sha-256\n{before}")
            connection.execute("SELECT pg_catalog.pg_reload_conf()")
            wrong = server.address.replace("trueup@", f"{role}:hunter2@")
            for _ in range(300):  # until the server has read its rules again
                if "refuses this user and password" in (said := refusal(wrong, tmp_path)):
                    break
                time.sleep(0.1)
            assert "refuses this user and password" in said
            none = server.address.replace("trueup@", f"{role}@")
            assert "asks for a password" in refusal(none, tmp_path)
            # The right password: the user may connect, and not make a ledger.
            right = server.address.replace("trueup@", f"{role}:right@")
            assert "may not be read, written or made by this user" in refusal(right, tmp_path)
        finally:
            rules.write_text(before)
            connection.execute("SELECT pg_catalog.pg_reload_conf()")
            connection.execute(f"DROP ROLE {role}".encode())
    nobody = server.address.replace("trueup@", "no_such_user:hunter2@")
    assert "check that the user and the database exist" in refusal(nobody, tmp_path)
    missing = server.database("no_such_database")
    assert "check that the user and the database exist" in refusal(missing, tmp_path)


def test_a_password_with_a_hash_sign_is_no_name_of_a_ledger() -> None:
    split = postgres_server._split
    assert split("postgresql://u:p#a@h/db") == ("postgresql://u:p#a@h/db", "trueup")
    assert split("postgresql://u:p#a@h/db#trips") == ("postgresql://u:p#a@h/db", "trips")


def test_threads_of_several_ledgers_on_one_server_do_not_wait_for_each_other(
    durable: Servers, tmp_path: Path
) -> None:
    """The lock is the ledger's, not the server's."""
    homes = [PostgresHome.made(durable(0), tmp_path) for _ in range(2)]
    ledgers = [one.ledger(1, anchor=tmp_path / one.schema) for one in homes]
    done = threading.Event()
    with ledgers[0]._store.connected() as entries:
        entries.begin()
        other = threading.Thread(
            target=lambda: (ledgers[1].spend(ASKED, "1/2", draw=fresh), done.set())
        )
        other.start()
        assert done.wait(60)
        other.join()
        entries.roll_back()


def test_without_psycopg_the_words_say_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "import trueup as tu\n"
        "try:\n    tu.Ledger('postgresql://ana:hunter2@db.example/x', 1, anchor='a')\n"
        "except tu.errors.InputError as error:\n    print(error)"
    )
    words = [sys.executable, "-c", code]
    source = str(Path(tu.__file__).parents[1])
    seen = subprocess.run(
        words, capture_output=True, text=True, cwd=tmp_path, env={"PYTHONPATH": source}
    )
    assert "pip install 'trueup[postgres]'" in seen.stdout, seen.stderr
    assert "hunter2" not in seen.stdout + seen.stderr
