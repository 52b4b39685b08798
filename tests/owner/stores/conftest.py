"""A home in PostgreSQL, and wires to it that can be cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from homes import PostgresHome
from postgres_server import Postgres
from wire import Wire, wired

from trueup.owner.stores import postgres_server


@pytest.fixture
def home(durable: Callable[[int], Postgres], tmp_path: Path) -> PostgresHome:
    """A home for a ledger that does not exist yet."""
    return PostgresHome.made(durable(0), tmp_path)


@pytest.fixture
def wire(durable: Callable[[int], Postgres]) -> Iterator[Wire]:
    """A wire to its server."""
    with wired(durable(0).folder) as made:
        yield made


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is lost is given up soon."""
    monkeypatch.setattr(postgres_server, "_PAUSES", (0.01, 0.02, 0.05))
