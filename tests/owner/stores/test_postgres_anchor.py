"""An anchor in PostgreSQL: one for all machines, outside the ledger's server, never back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from homes import ASKED, PostgresHome, SqliteHome, fresh, never
from postgres_server import Postgres
from wire import wired

from trueup.errors import InputError, LedgerError
from trueup.owner.anchor import Anchor
from trueup.owner.ledger import Ledger
from trueup.owner.stores.postgres_anchor import PostgresAnchor

Servers = Callable[[int], Postgres]


def test_an_anchor_may_be_on_another_server_and_never_on_the_same(
    home: PostgresHome, durable: Servers
) -> None:
    anchor = f"{durable(1).address}#{home.schema}"
    with pytest.raises(LedgerError, match="on the same server as the ledger"):
        home.ledger(1, anchor=f"{home.server.address}#elsewhere")
    assert home.is_empty()
    one, two = home.ledger(1, anchor=anchor), home.ledger(anchor=anchor)
    one.spend(ASKED, "1/4", draw=fresh, key="a")
    old = home.copied("old")
    two.spend(ASKED, "1/4", draw=fresh, key="b")
    with pytest.raises(LedgerError, match="an older copy"):
        old.ledger(anchor=anchor)
    home.restore(old)
    for machine in (one, two):
        with pytest.raises(LedgerError, match="an older copy"):
            machine.spend(ASKED, "1/4", draw=never)
    with pytest.raises(LedgerError, match="no anchor"):
        home.ledger(anchor=f"{anchor}_elsewhere")


def test_a_machine_with_an_anchor_of_its_own_is_refused_from_the_start(
    home: PostgresHome, tmp_path: Path
) -> None:
    """It would fall behind, and then take an old copy for the true ledger."""
    home.ledger(1)
    with pytest.raises(LedgerError, match="no anchor"):
        home.ledger(1, anchor=tmp_path / "mine.anchor")
    assert not (tmp_path / "mine.anchor").exists()


def test_an_anchor_on_a_server_never_goes_back(home: PostgresHome, durable: Servers) -> None:
    place = PostgresAnchor(f"{durable(1).address}#{home.schema}")
    assert place.read() is None
    newer = Anchor("a" * 32, 7, "b" * 64)
    place.write(newer)
    place.write(Anchor("a" * 32, 6, "c" * 64))
    assert place.read() == newer
    place.write(Anchor("a" * 32, 8, "c" * 64))
    assert place.read() == Anchor("a" * 32, 8, "c" * 64)
    with pytest.raises(LedgerError, match="belongs to another ledger"):
        place.write(Anchor("b" * 32, 9, "c" * 64))
    assert place.read() == Anchor("a" * 32, 8, "c" * 64)


def test_a_ledger_needs_its_anchor_named(home: PostgresHome) -> None:
    with pytest.raises(InputError, match="needs an anchor outside its server"):
        Ledger(home.address, limit=1)


@pytest.mark.parametrize("after", [False, True])
def test_a_wire_to_the_anchor_cut_at_any_message_of_a_spend_charges_once_and_answers(
    home: PostgresHome, durable: Servers, after: bool, quick: None
) -> None:
    with wired(durable(1).folder) as wire:
        anchor = f"{wire.address('postgres')}#{home.schema}"
        ledger = home.ledger(1000, anchor=anchor)
        wire.arm(0, False)
        ledger.spend(ASKED, 1, draw=fresh)
        messages = wire.messages
        assert messages > 12
        for turn, cut_at in enumerate(range(1, messages + 1), start=2):
            wire.arm(cut_at, after)
            ledger.spend(ASKED, 1, draw=fresh)
            assert wire.cuts == 1
            assert ledger.spent == turn
            # What was handed out is anchored.
            anchored = PostgresAnchor(f"{durable(1).address}#{home.schema}").read()
            assert anchored is not None
            assert anchored.entry == len(home.entries()) - 1
    assert home.ledger(anchor=f"{durable(1).address}#{home.schema}").spent == messages + 1


def test_an_anchor_on_a_server_that_was_damaged_removed_or_taken_from_another_is_refused(
    home: PostgresHome, durable: Servers
) -> None:
    anchor = f"{durable(1).address}#{home.schema}"
    home.ledger(1, anchor=anchor).spend(ASKED, "1/2", draw=fresh)
    elsewhere = PostgresHome(durable(1), "postgres", home.schema, home.anchor)
    with elsewhere.connected() as connection:
        (good,) = connection.execute("SELECT said FROM anchor").fetchone()
    for said, words in (
        (good.replace('"entry":2', '"entry":1'), "is damaged"),
        ("", "is damaged"),
        (Anchor("b" * 32, 2, "c" * 64).text, "belongs to another ledger"),
    ):
        with elsewhere.connected() as connection:
            connection.execute("UPDATE anchor SET said = %s", (said,))
        with pytest.raises(LedgerError, match=words):
            home.ledger(anchor=anchor)
    for statement in ("DELETE FROM anchor", "DROP TABLE anchor"):
        elsewhere.execute(statement)
        with pytest.raises(LedgerError, match="no anchor"):
            home.ledger(anchor=anchor)


def test_a_ledger_in_a_file_may_have_its_anchor_on_a_server(
    home: PostgresHome, durable: Servers, tmp_path: Path
) -> None:
    anchor = f"{durable(1).address}#{home.schema}"
    file = SqliteHome.made(tmp_path)
    ledger = file.ledger(1, anchor=anchor)
    old = file.snapshot()
    answer = ledger.spend(ASKED, "1/2", draw=fresh, key="k")
    assert file.ledger(anchor=anchor).spend(ASKED, "1/2", draw=never, key="k") == answer
    file.put(old)
    with pytest.raises(LedgerError, match="an older copy"):
        file.ledger(anchor=anchor)
    assert not list(tmp_path.glob("*.anchor"))
