"""A ledger in PostgreSQL: cut wires, other hands, tables that are not as we made them."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from homes import ASKED, PostgresHome, fresh, never
from postgres_server import Postgres
from wire import Wire

import trueup as tu
from trueup.budget import Budget
from trueup.errors import LedgerError
from trueup.owner.anchor import Anchor
from trueup.owner.ledger import Ledger
from trueup.owner.stores import postgres

Servers = Callable[[int], Postgres]


def charged(home: PostgresHome) -> Counter[str]:
    """How often each key was charged."""
    charges = [entry for entry in home.entries() if '"kind":"charge"' in entry.body]
    return Counter(entry.fact("key") for entry in charges)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("key", ["k", None])
def test_a_wire_cut_at_any_message_of_a_spend_charges_once_and_answers(
    home: PostgresHome, wire: Wire, after: bool, key: str | None, quick: None
) -> None:
    """Where the outcome of a commit is unknown, it is read; it is not made again blindly."""
    home.ledger(1000)
    address = f"{wire.address('postgres')}#{home.schema}"
    ledger = Ledger(address, anchor=home.anchor)
    wire.arm(0, False)
    ledger.spend(ASKED, 1, draw=fresh)
    messages = wire.messages
    assert messages > 12
    for turn, cut_at in enumerate(range(1, messages + 1), start=2):
        wire.arm(cut_at, after)
        drawn: list[bytes] = []

        def draw(drawn: list[bytes] = drawn) -> bytes:
            drawn.append(fresh())
            return drawn[-1]

        answer = ledger.spend(ASKED, 1, draw=draw, key=key and f"{key}{cut_at}")
        assert wire.cuts == 1
        assert drawn == [answer]
        assert ledger.spent == turn
        last = ledger.history()[-1]
        assert ledger.spend(ASKED, 1, draw=never, key=last.key) == answer
    assert set(charged(home).values()) == {1}
    assert ledger.verify() == len(home.entries())


@pytest.mark.parametrize("after", [False, True])
def test_a_wire_cut_while_a_ledger_is_made_leaves_a_ledger_or_none(
    durable: Servers, wire: Wire, tmp_path: Path, after: bool, quick: None
) -> None:
    def made() -> tuple[PostgresHome, Ledger]:
        home = PostgresHome.made(durable(0), tmp_path)
        address = f"{wire.address('postgres')}#{home.schema}"
        home.anchor = tmp_path / home.schema
        return home, Ledger(address, 1, anchor=home.anchor)

    wire.arm(0, False)
    made()
    for cut_at in range(1, wire.messages + 1):
        wire.arm(cut_at, after)
        home, ledger = made()
        assert wire.cuts == 1
        ledger.allow("ana", 1)
        assert len(home.entries()) == 2
        assert home.ledger().verify() == 2


def test_a_ledger_that_another_made_while_we_waited_is_found(home: PostgresHome) -> None:
    """We had looked before, and PostgreSQL remembers what it did not find."""
    from trueup.owner.account import opening
    from trueup.owner.anchor import FileAnchor

    made: list[Ledger] = []
    maker = threading.Thread(target=lambda: made.append(home.ledger(1)))
    key = f"hashtextextended('trueup {home.schema}', 0)"
    first = opening("a" * 32, Budget("epsilon", Fraction(1)), "2026-01-01T00:00:00+00:00")
    with home.connected() as other:
        other.execute(f"BEGIN; SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.{key})".encode())
        maker.start()
        waits = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        for _ in range(1000):
            if other.execute(waits).fetchone() is not None:
                break
            time.sleep(0.01)
        else:
            raise AssertionError("it did not wait")
        other.execute(f"CREATE SCHEMA {home.schema}".encode())
        other.execute(postgres._SCHEMA.format(home.schema).encode())
        row = (first.number, first.body, first.hash)
        other.execute("INSERT INTO entries VALUES (%s, %s, %s)", row)
        FileAnchor(home.anchor).write(Anchor("a" * 32, 0, first.hash))
        other.execute("COMMIT")
    maker.join()
    assert made[0].spent == 0
    assert home.entries() == [first]


def test_an_entry_added_past_the_lock_is_read_and_followed(home: PostgresHome) -> None:
    """The lock keeps writers apart; the number of an entry is the second guard."""
    ledger, other = home.ledger(1), home.ledger()
    taken: list[bytes] = []
    inside = ledger._append

    def overtaken(entries: Any, entry: Any) -> None:
        if not taken:
            with home.connected() as connection:
                twin = other._account.allowance("ana", Fraction(1, 2), "2026-01-01T00:00:00+00:00")
                row = (twin.number, twin.body, twin.hash)
                connection.execute("INSERT INTO entries VALUES (%s, %s, %s)", row)
            taken.append(b"x")
        inside(entries, entry)

    ledger._append = overtaken  # type: ignore[method-assign]
    ledger.spend(ASKED, "1/2", draw=fresh, key="k")
    assert ledger.allowed("ana") == (Fraction(1, 2), 0)
    assert ledger.verify() == 4
    assert charged(home) == {"k": 1}


def test_answers_of_many_parts_are_one(home: PostgresHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "_PART", 10)
    ledger = home.ledger(1)
    for size in (0, 1, 9, 10, 11, 35):
        answer = bytes(range(size))
        assert ledger.spend(ASKED, "1/100", draw=lambda a=answer: a, key=str(size)) == answer
        assert home.ledger().spend(ASKED, "1/100", draw=never, key=str(size)) == answer
    with home.connected() as connection:
        parts = connection.execute("SELECT count(*) FROM answers").fetchone()
    assert parts == (1 + 1 + 1 + 1 + 2 + 4,)


def test_a_ledger_that_was_never_committed_gives_way_and_a_lost_one_does_not(
    home: PostgresHome,
) -> None:
    home.ledger(1)
    home.remove()  # nothing was charged: the anchor is that of the opening
    ledger = home.ledger(1)
    ledger.spend(ASKED, "1/2", draw=fresh)
    home.remove()
    with pytest.raises(LedgerError, match="the ledger is lost"):
        home.ledger(1)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("COMMENT ON TABLE entries IS 'trueup ledger, layout 2'", "made by a newer trueup"),
        ("COMMENT ON TABLE entries IS 'shopping'", "not a ledger made by trueup"),
        ("ALTER TABLE entries DISABLE TRIGGER never_changed", "not a ledger made by trueup"),
        ("DROP TRIGGER never_changed ON entries", "not a ledger made by trueup"),
        (
            "CREATE OR REPLACE FUNCTION append_only() RETURNS trigger LANGUAGE plpgsql AS "
            "$$BEGIN RETURN NULL; END$$",
            "not a ledger made by trueup",
        ),
        ("ALTER TABLE entries ADD more text", "not a ledger made by trueup"),
        ("DROP TABLE answers", "damaged or not ours"),
    ],
)
def test_tables_that_are_not_as_we_made_them_are_refused(
    home: PostgresHome, statement: str, words: str
) -> None:
    ledger = home.ledger(1)
    ledger.spend(ASKED, "1/2", draw=fresh, key="k")
    home.execute(statement)
    with pytest.raises(LedgerError, match=words):
        home.ledger().spend(ASKED, "1/2", draw=never, key="k")


def test_a_user_who_may_only_append_is_enough(home: PostgresHome) -> None:
    """A server of ours needs no right to change or delete an entry, nor to lock the table."""
    home.ledger(1)
    role = f"r{home.schema}"
    with home.connected() as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN".encode())
        try:
            for granted in (
                f"USAGE ON SCHEMA {home.schema}",
                f"SELECT, INSERT ON {home.schema}.entries",
                f"SELECT, INSERT, DELETE ON {home.schema}.answers",
            ):
                connection.execute(f"GRANT {granted} TO {role}".encode())
            ledger = Ledger(home.address.replace("trueup@", f"{role}@"), anchor=home.anchor)
            answer = ledger.spend(ASKED, "1/2", draw=fresh, key="k")
            assert ledger.spend(ASKED, "1/2", draw=never, key="k") == answer
            with pytest.raises(KeyboardInterrupt):
                ledger.spend(ASKED, "1/4", draw=_interrupted, key="again")
            assert ledger.spend(ASKED, "1/4", draw=lambda: b"x", key="again") == b"x"
            assert ledger.verify() == 6
            del ledger
        finally:
            connection.execute(f"DROP OWNED BY {role}".encode())
            connection.execute(f"DROP ROLE {role}".encode())


def _interrupted() -> bytes:
    raise KeyboardInterrupt


def test_nobody_else_may_read_what_the_ledger_writes(home: PostgresHome) -> None:
    import psycopg

    home.ledger(1).spend(ASKED, "1/2", draw=fresh)
    role = f"r{home.schema}"
    with home.connected() as connection:
        connection.execute(f"GRANT USAGE ON SCHEMA {home.schema} TO PUBLIC".encode())
        connection.execute(f"CREATE ROLE {role}".encode())
        connection.execute(f"SET ROLE {role}".encode())
        for table in ("entries", "answers"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"SELECT 1 FROM {table}".encode())
        connection.execute("RESET ROLE")
        connection.execute(f"DROP ROLE {role}".encode())


def test_an_owner_counts_and_charges_without_a_file_of_the_ledger(
    home: PostgresHome, durable: Servers, tmp_path: Path
) -> None:
    import pyarrow as pa

    anchor = f"{durable(1).address}#{home.schema}"
    owner = tu.Owner(pa.table({"x": [1, 1, 2]}), home.ledger(2000, anchor=anchor))
    question = tu.CellCounts(tu.Axis.integers("x", 1, 2))
    first = owner.measure(question, 1000, key="k")
    assert first.noisy.tolist() == [2, 1]
    assert owner.measure(question, 1000, key="k") == first
    assert owner.ledger.remaining == 1000
    assert "hunter2" not in repr(owner)
    assert not list(tmp_path.iterdir())
