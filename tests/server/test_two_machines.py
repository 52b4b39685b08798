"""Two servers, each with files of its own, on one ledger in PostgreSQL."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
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


def test_two_machines_share_tokens_sessions_links_and_requests(
    servers: list[Postgres],
    config_of: Callable[..., Path],
    running_at: Callable[..., Any],
    tmp_path: Path,
) -> None:
    """Whoever is let in, or no longer, on one machine is so on the other, from the next request."""
    tokens, ledger, anchor = (
        f"{server.address}#{name}"
        for server, name in ((servers[0], "tokens"), (servers[0], "trips"), (servers[1], "trips"))
    )
    machines = []
    with ExitStack() as up:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            config = config_of(tmp_path / name, limit=1, server=f'tokens = "{tokens}"')
            shared = f'ledger = "{ledger}"\nanchor = "{anchor}"'
            config.write_text(config.read_text().replace('ledger = "trips.ledger"', shared))
            people = {f"boss-{name}": ("owner", None), f"ana-{name}": ("analyst", "1/2")}
            machines.append(up.enter_context(running_at(config, people)))
        one, two = machines
        ana = one.secrets["ana-one"]
        assert two(ana).get("/api/v1/me").json()["name"] == "ana-one"
        # A browser that signed in on one machine is sent to the other.
        browser = one.browser("ana-one")
        assert browser.get("/api/v1/me").status_code == 200
        cookies = dict(browser.cookies)
        elsewhere = httpx.get(f"{two.url}/api/v1/me", cookies=cookies)
        assert elsewhere.json()["name"] == "ana-one"
        # A request that is made on one machine is granted on the other.
        asked = {"more": "1/4", "reason": "a second map"}
        said = one("ana-one").post("/api/v1/datasets/trips/requests", json=asked)
        assert said.status_code == 200, said.text
        listed = two("boss-two").get("/api/v1/requests").json()["requests"]
        assert [(each["name"], each["wanted"]) for each in listed] == [("ana-one", "3/4")]
        # A public link of one is a public link of the other.
        release = one.measured("a-key-of-ana", who="ana-one")
        two.secrets["ana-one"] = ana
        assert two.measured("a-key-of-ana", who="ana-one") == release  # by now it is shown here
        link = two("boss-two").put(f"/api/v1/releases/{release}/public").json()["link"]
        assert httpx.get(f"{one.url}/api/v1/public/{link}").status_code == 200
        # Revoked on one, refused on the other.
        two("boss-two").delete("/api/v1/tokens", params={"name": "ana-one"})
        assert one("ana-one").get("/api/v1/me").status_code == 401
        assert browser.get("/api/v1/me").status_code == 401
        assert not list(tmp_path.rglob("trueup.tokens"))
