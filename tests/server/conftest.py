"""A real server on a free port, over Parquet files of a few thousand rows."""

from __future__ import annotations

import contextlib
import json
import secrets
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import anyio._backends._asyncio  # noqa: F401  not first in a thread: see test_fuzz.py
import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import uvicorn

sys.path.insert(0, str(Path(__file__).parents[1] / "owner"))
from postgres_server import Postgres

import trueup as tu
from trueup.config import Config, read_config
from trueup.server.app import create_app
from trueup.server.auth import Tokens, create, open_ledger
from trueup.server.run import bound, configured
from trueup.server.settings import read_settings
from trueup.standing import publish_due, read_series

_PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # never used: making the usual one is slow

DATASETS = """
[datasets.trips]
title = "Taxi trips"
source = "trips.parquet"
ledger = "trips.ledger"
limit = "{limit}"
columns = {{borough = "text", age = "integer"}}
[datasets.trips.axes.fare]
title = "Fare"
units = "dollars"
description = "What was paid."
kind = "regular"
low = 0
high = 128
bins = 256
[datasets.trips.axes.age]
kind = "integers"
first = 0
last = 99
[datasets.trips.axes.borough]
kind = "categories"
labels = ["Queens", "Bronx", "Kings"]
regions = {{file = "boroughs.geojson", key = "name"}}
[datasets.trips.axes.day]
kind = "dates"
first = "2013-01-01"
last = "2013-12-31"
unit = "day"
[datasets.friends]
source = "edges.parquet"
ledger = "friends.ledger"
limit = "{limit}"
edges = ["src", "dst"]
nodes = 300
"""


SERIES = """
[datasets.riders]
source = "daily.parquet"
ledger = "riders.ledger"
limit = 100
unit = "user"
people.trips = {count = "*", where = "tip >= 2"}
people.top = {max = "fare"}
columns = {tip = "integer", fare = "integer"}
axes.trips = {kind = "integers", first = 0, last = 199}
axes.top = {kind = "integers", first = 0, last = 39, title = "Dearest trip"}
[datasets.capped]
source = "daily.parquet"
ledger = "capped.ledger"
limit = 100
unit = "user"
rows_per_unit = "auto"
at_most = 1000
axes.tip = {kind = "integers", first = 0, last = 9}
[datasets.words]
title = "Searches"
source = "words.parquet"
ledger = "words.ledger"
limit = 100
delta_limit = "1e-3"
unit = "user"
rows_per_unit = 2
columns = {age = "integer"}
axes.age = {kind = "integers", first = 0, last = 9}
keys.word = {universe = "text:a-z:6", title = "Search terms", number = "1/10"}
keys.hosts = {universe = "ipv4", column = "host", tree = true, step = 8}
[datasets.daily]
title = "Taxi trips, day by day"
source = "daily.parquet"
ledger = "daily.ledger"
limit = "3"
per = "day"
date = "day"
unit = "user"
rows_per_unit = 2
keys.tips = {universe = "integers:0:9", column = "tip"}
[datasets.daily.axes.fare]
kind = "integers"
first = 0
last = 39
[datasets.daily.axes.tip]
kind = "integers"
first = 0
last = 9
[publish.fares]
dataset = "daily"
title = "Fares of each day"
column = "fare"
strategy = "tree"
epsilon = 1
first = "2026-01-01"
[publish.both]
dataset = "daily"
columns = ["fare", "tip"]
epsilon = 1
first = "2026-01-01"
[publish.riders]
dataset = "daily"
by = "user"
groups = 50
epsilon = 1
first = "2026-01-01"
"""
LAST = "2026-01-07"


def words(rows: int = 6000) -> pa.Table:
    """Searches: four words that many have, and some that few have."""
    made = np.random.default_rng(10)
    some = np.array(["fig", "pear", "apple", "quince", *(f"w{chr(97 + n)}" for n in range(20))])
    often = np.array([0.4, 0.3, 0.2, 0.08, *[0.001] * 20])
    return pa.table(
        {
            "word": made.choice(some, rows, p=often),
            "host": [f"10.{n % 3}.{n % 7}.{n % 11}" for n in range(rows)],
            "user": np.arange(rows),
            "age": made.integers(0, 10, rows),
        }
    )


def daily(rows: int = 4000) -> pa.Table:
    """Rows of ten days."""
    made = np.random.default_rng(9)
    return pa.table(
        {
            "day": np.datetime64("2026-01-01") + made.integers(0, 10, rows).astype("m8[D]"),
            "user": made.integers(0, 50, rows),
            "fare": made.integers(0, 40, rows),
            "tip": made.integers(0, 10, rows),
        }
    )


BOROUGHS = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature",
            "properties": {"name": name, "mayor": "nobody's business"},
            "geometry": {
                "type": "Polygon",
                "coordinates": [[[x, 0], [x + 1, 0], [x + 1, 1.5], [x, 0]]],
            },
        }
        for x, name in enumerate(["Queens", "Bronx", "Kings", "Atlantis"])
    ],
}


def trips(rows: int = 3000) -> pa.Table:
    """The rows that are protected."""
    made = np.random.default_rng(7)
    days = np.datetime64("2013-01-01") + made.integers(0, 365, rows).astype("timedelta64[D]")
    return pa.table(
        {
            "fare": np.round(made.gamma(2, 8, rows), 2),
            "age": made.integers(0, 100, rows),
            "borough": made.choice(["Queens", "Bronx", "Kings"], rows),
            "day": days.astype("datetime64[us]"),
        }
    )


def write_config(
    folder: Path,
    limit: object = 100,
    server: str = "",
    rows: Any = None,
    deadline: float = 0.15,
    patience: float = 60,
    series: bool = False,
) -> Path:
    """A configuration and the tables that it names."""
    pq.write_table(trips() if rows is None else rows, folder / "trips.parquet")
    ends = np.random.default_rng(8).integers(0, 300, (900, 2))
    pq.write_table(pa.table({"src": ends[:, 0], "dst": ends[:, 1]}), folder / "edges.parquet")
    (folder / "boroughs.geojson").write_text(json.dumps(BOROUGHS))
    path = folder / "trueup.toml"
    text = DATASETS.format(limit=limit)
    usual = f"port = 0\ndeadline = {deadline}\npatience = {patience}\nwarm = false"
    path.write_text(f"[server]\n{usual}\n{server}\n{text}{SERIES if series else ''}")
    if series:  # published through the first week
        pq.write_table(words(), folder / "words.parquet")
        pq.write_table(daily(), folder / "daily.parquet")
        publish_due(read_series(read_config(path)), datetime(2026, 2, 1, tzinfo=UTC), LAST)
    return path


@dataclass
class Running:
    """A server that is up: where it is, and a client for each token."""

    url: str
    config: Config
    secrets: dict[str, str]
    guard: Any
    clients: dict[str | None, httpx.Client] = field(default_factory=dict)

    def __call__(self, who: str | None = "ana") -> httpx.Client:
        """A client with somebody's token, or with any other text in its place."""
        if who not in self.clients:
            sent = (
                {}
                if who is None
                else {"Authorization": f"Bearer {self.secrets.get(who, who)}".encode()}
            )
            self.clients[who] = httpx.Client(
                base_url=self.url, headers=sent, timeout=60, verify=_PLAIN
            )
        return self.clients[who]

    def browser(self, who: str = "ana") -> httpx.Client:
        """A client that has signed in: it holds a cookie, and no token."""
        client = httpx.Client(base_url=self.url, timeout=60, verify=_PLAIN)
        self.clients[f"browser {len(self.clients)}"] = client
        said = client.post("/api/v1/session", json={"token": self.secrets[who]})
        assert said.status_code == 200, said.text
        return client

    def spent(self, dataset: str) -> Fraction:
        """What the ledger says."""
        return open_ledger(self.config.datasets[dataset]).spent

    def measured(self, key: str, who: str = "ana", dataset: str = "trips", **asked: Any) -> str:
        """The name of a release that is there by now."""
        body = {"column": "fare", "epsilon": "1/10", **asked}
        return measure(self(who), dataset, key, body)


def measure(client: httpx.Client, dataset: str, key: str, body: dict[str, Any]) -> str:
    """Asks, and asks again under the same key until it is there."""
    for _ in range(100):
        said = client.post(
            f"/api/v1/datasets/{dataset}/measure", json=body, headers={"Idempotency-Key": key}
        )
        if said.status_code == 200:
            return str(said.json()["release"])
        assert said.status_code == 202, said.text
    raise AssertionError("the measurement never ended")


@contextlib.contextmanager
def running(path: Path, people: dict[str, tuple[str, object]] | None = None) -> Iterator[Running]:
    """A server of a configuration, in a thread of this process."""
    config = read_config(path)
    settings = read_settings(config)
    tokens = Tokens(settings.tokens)
    people = people or {"boss": ("owner", None), "ana": ("analyst", 50), "rea": ("reader", None)}
    made = {
        name: create(tokens, config.datasets, name, role, limit)
        for name, (role, limit) in people.items()
    }
    guard = create_app(config)
    server = uvicorn.Server(uvicorn.Config(guard, **configured(settings)))
    listening = bound(settings)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    port = listening.getsockname()[1]
    found = Running(f"http://127.0.0.1:{port}", config, made, guard)
    try:
        yield found
    finally:
        for client in found.clients.values():
            client.close()
        server.should_exit = True
        thread.join(30)
        listening.close()


@pytest.fixture(scope="session")
def durable() -> Iterator[Callable[[], Postgres]]:
    """A PostgreSQL server that syncs what it writes, started when first asked for."""
    started: list[Postgres] = []

    def server() -> Postgres:
        if not started:
            try:
                started.append(Postgres.made(durable=True))
            except FileNotFoundError:
                pytest.skip("NOT TESTED: PostgreSQL, which is not installed. Run `make system`.")
        return started[0]

    yield server
    for one in started:
        one.remove()


@pytest.fixture(params=["file", "postgresql"])
def token_place(
    request: pytest.FixtureRequest, tmp_path: Path, durable: Callable[[], Postgres]
) -> str | Path:
    """Where tokens may be kept: a new file, or a new schema."""
    if request.param == "file":
        return tmp_path / "trueup.tokens"
    return f"{durable().address}#t{secrets.token_hex(8)}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One server for the tests of a module."""
    with running(write_config(tmp_path_factory.mktemp("served"))) as found:
        yield found


@pytest.fixture(scope="session")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with series of a week, for the tests of all modules."""
    with running(write_config(tmp_path_factory.mktemp("standing"), series=True)) as found:
        yield found


@pytest.fixture
def config_of() -> Callable[..., Path]:
    """A configuration in a folder, with its tables."""
    return write_config


@pytest.fixture(scope="session")
def config_at() -> Callable[..., Path]:
    """The same, for servers of a module."""
    return write_config


@pytest.fixture(scope="session")
def running_at() -> Callable[..., Any]:
    """A server of a configuration that is there."""
    return running


@pytest.fixture(scope="session")
def serving_in() -> Callable[..., Any]:
    """Servers in folders of a test's own choice, with rows of its own."""

    def start(folder: Path, **given: Any) -> contextlib.AbstractContextManager[Running]:
        return running(write_config(folder, **given))

    return start


@pytest.fixture
def rows_of_trips() -> pa.Table:
    """The rows behind the trips."""
    return trips()


Serving = Callable[..., Running]


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    """Servers of a test's own."""
    with contextlib.ExitStack() as stack:

        def start(people: dict[str, tuple[str, object]] | None = None, **given: Any) -> Running:
            return stack.enter_context(running(write_config(tmp_path, **given), people))

        yield start


@pytest.fixture(scope="module")
def fares(server: Any) -> str:
    """A release of fares, in a tree."""
    return str(server.measured("fares-in-a-tree", strategy="tree", epsilon=1))


@pytest.fixture(scope="module")
def release(server: Any, fares: str) -> tu.Release:
    """The same, inferred here from what the server stored."""
    stored = server("rea").get(f"/api/v1/releases/{fares}/measurement").content
    found = tu.infer(tu.Measurement.from_bytes(stored))
    assert isinstance(found, tu.Release)
    return found
