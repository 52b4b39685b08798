"""Two servers, each with files of its own, on one ledger in PostgreSQL."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "owner"))
from postgres_server import Postgres

from trueup.errors import LedgerError
from trueup.owner.ledger import Ledger


@pytest.fixture
def servers() -> Iterator[list[Postgres]]:
    """A PostgreSQL server for the ledger, and another for its anchor."""
    started: list[Postgres] = []
    try:
        for _ in range(2):
            started.append(Postgres.made(durable=True))
        yield started
    except FileNotFoundError:
        pytest.skip("NOT TESTED: PostgreSQL, which is not installed. Run `make system`.")
    finally:
        for one in started:
            one.remove()


def test_two_machines_share_one_ledger_one_anchor_and_every_answer(
    servers: list[Postgres],
    config_of: Callable[..., Path],
    running_at: Callable[[Path], Any],
    tmp_path: Path,
) -> None:
    ledger, anchor = (f"{one.address}#trips" for one in servers)
    machines = []
    with ExitStack() as up:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            config = config_of(tmp_path / name, limit=1)
            text = config.read_text()
            place = 'ledger = "trips.ledger"'
            assert text.count(place) == 1
            config.write_text(text.replace(place, f'ledger = "{ledger}"\nanchor = "{anchor}"'))
            machines.append(up.enter_context(running_at(config)))
        one, two = machines
        asked = {"column": "fare", "epsilon": "1/10"}
        release = one.measured("a-key-of-ana", **asked)
        # The same key on the other machine: the same bytes, one charge.
        assert two.measured("a-key-of-ana", **asked) == release
        path = f"/api/v1/releases/{release}/measurement"
        assert one().get(path).content == two().get(path).content
        assert one.spent("trips") == two.spent("trips") == Fraction(1, 10)
        # One limit for both.
        two.measured("another-key-1", column="fare", epsilon="9/10")
        said = one().post(
            "/api/v1/datasets/trips/measure",
            json=asked,
            headers={"Idempotency-Key": "a-third-key-1"},
        )
        assert said.status_code == 409
        assert said.json()["code"] == "budget"
        # Neither wrote a file of the ledger; an old dump is refused by both.
        assert not list(tmp_path.rglob("trips*.a*"))
        assert Ledger(ledger, anchor=anchor).verify() > 4
    dump = servers[0].dump("postgres", "trips")
    book = Ledger(ledger, anchor=anchor)
    book.allow("ana", 70)
    with psycopg.connect(servers[0].address, autocommit=True) as connection:
        connection.execute("DROP SCHEMA trips CASCADE")
    servers[0].restore("postgres", dump)
    with pytest.raises(LedgerError, match="an older copy"), running_at(config):
        pass
