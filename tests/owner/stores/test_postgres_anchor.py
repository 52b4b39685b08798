"""An anchor in PostgreSQL: one for all machines, outside the ledger's server, never back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from homes import ASKED, PostgresHome, fresh, never
from postgres_server import Postgres

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
