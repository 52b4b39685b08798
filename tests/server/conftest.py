"""A real server on a free port, over Parquet files of a few thousand rows."""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
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

import trueup as tu
from trueup.config import Config, read_config
from trueup.server.app import create_app
from trueup.server.auth import Tokens, create, open_ledger
from trueup.server.run import bound, configured
from trueup.server.settings import read_settings

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
) -> Path:
    """A configuration and the tables that it names."""
    pq.write_table(trips() if rows is None else rows, folder / "trips.parquet")
    ends = np.random.default_rng(8).integers(0, 300, (900, 2))
    pq.write_table(pa.table({"src": ends[:, 0], "dst": ends[:, 1]}), folder / "edges.parquet")
    (folder / "boroughs.geojson").write_text(json.dumps(BOROUGHS))
    path = folder / "trueup.toml"
    text = DATASETS.format(limit=limit)
    usual = f"port = 0\ndeadline = {deadline}\npatience = {patience}\nwarm = false"
    path.write_text(f"[server]\n{usual}\n{server}\n{text}")
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
    secrets = {
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
    found = Running(f"http://127.0.0.1:{port}", config, secrets, guard)
    try:
        yield found
    finally:
        for client in found.clients.values():
            client.close()
        server.should_exit = True
        thread.join(30)
        listening.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One server for the tests of a module."""
    with running(write_config(tmp_path_factory.mktemp("served"))) as found:
        yield found


@pytest.fixture
def config_of() -> Callable[..., Path]:
    """A configuration in a folder, with its tables."""
    return write_config


@pytest.fixture
def running_at() -> Callable[[Path], Any]:
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
