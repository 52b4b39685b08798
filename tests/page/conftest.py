"""A real server over DuckDB and a real browser before it."""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from trueup.config import read_config
from trueup.server.auth import Tokens, create
from trueup.server.settings import read_settings
from trueup.standing import publish_due, read_series

# A busy machine is slow, not wrong.
PATIENCE = int(os.environ.get("TRUEUP_PATIENCE", "120000"))
expect.set_options(timeout=PATIENCE)
BOROUGHS = ["Bronx", "Brooklyn", "Queens <i>West</i>", "Staten Island"]
LONG = "Donaudampfschifffahrtsgesellschaft" + "W" * 30  # 64 letters, the longest name
SOURCE = Path(__file__).parents[2] / "src"
_CONFIG = """
[server]
deadline = {deadline}
[datasets.trips]
title = "Taxi trips"
description = "One row a trip."
source = "trips.parquet"
ledger = "trips.ledger"
limit = "4"
columns = {{ borough = "text" }}
axes.fare = {{ kind = "regular", low = 0, high = 128, bins = 1024 }}
axes.day = {{ kind = "dates", first = "2013-01-01", last = "2013-12-31", unit = "day" }}
axes.borough = {{ kind = "categories", labels = {boroughs} }}
axes.metres = {{ kind = "regular", low = 0, high = 1000000, bins = 1000000 }}
[datasets.friends]
title = "Friendships"
source = "friends.parquet"
ledger = "friends.ledger"
limit = "4"
edges = ["a", "b"]
nodes = 500
"""

_SERIES = """
[datasets.words]
title = "Searches"
source = "words.parquet"
ledger = "words.ledger"
limit = "4"
columns = {age = "integer"}
keys.word = {universe = "text:a-z:6", title = "Search terms"}
keys.hosts = {universe = "ipv4", column = "host", tree = true, step = 8}
[datasets.riders]
title = "Riders"
source = "riders.parquet"
ledger = "riders.ledger"
limit = "4"
unit = "rider"
columns = {tip = "integer", fare = "integer"}
people.trips = {count = "*", where = "tip >= 2"}
people.dearest = {max = "fare"}
axes.trips = {kind = "integers", first = 0, last = 99, title = "Trips"}
axes.dearest = {kind = "integers", first = 0, last = 63}
[datasets.daily]
title = "Taxi trips, day by day"
source = "daily.parquet"
ledger = "daily.ledger"
limit = "2"
per = "day"
date = "day"
axes.fare = {kind = "integers", first = 0, last = 63, title = "Fare", units = "dollars"}
axes.tip = {kind = "integers", first = 0, last = 7}
[publish.fares]
dataset = "daily"
title = "Fares of each day"
column = "fare"
epsilon = 1
first = "2026-01-01"
[publish.both]
dataset = "daily"
columns = ["fare", "tip"]
epsilon = 1
first = "2026-01-14"
"""


@dataclass(eq=False)
class Site:
    """A server in a folder of its own, with the tokens of those who may ask it."""

    folder: Path
    port: int
    tokens: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(
        self, program: list[str] | None = None, environment: dict[str, str] | None = None
    ) -> None:
        words = program or [sys.executable, "-m", "trueup", "serve", "--port", str(self.port)]
        path = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                words,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=environment or {**os.environ, "PYTHONPATH": path},
            )
        until = time.monotonic() + 60
        while time.monotonic() < until and self.process.poll() is None:
            try:
                urllib.request.urlopen(f"{self.address}/health", timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError((self.folder / "log").read_text())

    def kill(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def call(self, path: str, body: object = None, who: str = "ann", **headers: str) -> Any:
        """What the API answers, read as JSON."""
        return json.loads(self.bytes(path, body, who, **headers))

    def bytes(self, path: str, body: object = None, who: str = "ann", **headers: str) -> bytes:
        request = urllib.request.Request(
            f"{self.address}/api/v1{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self.tokens[who]}",
                "Content-Type": "application/json",
                **{name.replace("_", "-"): value for name, value in headers.items()},
            },
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            return bytes(response.read())

    def refused(self, path: str, body: object = None, who: str = "ann") -> str:
        """The words that the API refuses a call with."""
        with pytest.raises(urllib.error.HTTPError) as wrong:
            self.bytes(path, body, who)
        return str(json.loads(wrong.value.read())["detail"])

    def measure(self, dataset: str, **body: object) -> str:
        """The release of a measurement made without the page."""
        key = f"test-{time.monotonic_ns()}"
        answer = self.call(f"/datasets/{dataset}/measure", body, Idempotency_Key=key)
        job = answer.get("job")
        while not answer.get("release"):
            time.sleep(0.1)
            answer = self.call(f"/jobs/{job}")
        return str(answer["release"])

    def charges(self, dataset: str) -> list[dict[str, Any]]:
        return list(self.call(f"/datasets/{dataset}/history", who="olga")["charges"])

    def session(self, who: str) -> Any:
        """The cookie of somebody who has signed in."""
        body = json.dumps({"token": self.tokens[who]}).encode()
        request = urllib.request.Request(f"{self.address}/api/v1/session", data=body)
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=60) as response:
            name, _, value = response.headers["Set-Cookie"].partition(";")[0].partition("=")
        return {
            "name": name,
            "value": value,
            "url": self.address,
            "httpOnly": True,
            "sameSite": "Strict",
        }

    def token(
        self,
        name: str,
        role: str,
        limit: str | None = None,
        expires: str | None = None,
        rho: str | None = None,
    ) -> None:
        """Lets someone in, as `trueup token create` does."""
        config = read_config(self.folder / "trueup.toml")
        kept = Tokens(read_settings(config).tokens)
        self.tokens[name] = create(kept, config.datasets, name, role, limit, None, expires, rho)


def publish(folder: Path) -> None:
    """Adds series of two weeks to a site that is not yet started."""
    draws = np.random.default_rng(12)
    days = np.datetime64("2026-01-01") + draws.integers(0, 20, 20_000)
    fares = np.minimum(draws.gamma(3, 5, 20_000), 63).astype(int)
    tips, riders = draws.integers(0, 8, 20_000), draws.integers(0, 500, 20_000)
    table = pa.table({"day": days, "fare": fares, "tip": tips, "rider": riders})
    pq.write_table(table, folder / "daily.parquet")
    pq.write_table(table, folder / "riders.parquet")
    often = np.array([1 / (n + 1) for n in range(60)])
    some = [f"{a}{b}" for a in "abcdef" for b in "klmnopqrst"]
    words = {
        "word": draws.choice(some, 20_000, p=often / often.sum()),
        "host": [f"10.{n % 3}.{n % 7}.1" for n in range(20_000)],
        "age": draws.integers(0, 99, 20_000),
    }
    pq.write_table(pa.table(words), folder / "words.parquet")
    with (folder / "trueup.toml").open("a", encoding="utf-8") as config:
        config.write(_SERIES)
    series = read_series(read_config(folder / "trueup.toml"))
    publish_due(series, dt.datetime(2026, 2, 1, tzinfo=dt.UTC), "2026-01-14")


def make_site(folder: Path, deadline: float, rho: str | None = None) -> Site:
    """A site over data of our own making, not yet started; with `rho`, its ledgers count it."""
    draws = np.random.default_rng(11)
    rows = 20_000
    trips = {
        "fare": draws.gamma(3, 5, rows),
        "day": np.datetime64("2013-01-01") + draws.integers(0, 365, rows),
        "borough": draws.choice(BOROUGHS, rows, p=[0.2, 0.4, 0.3, 0.1]),
        "metres": draws.lognormal(11, 1, rows),
    }
    pq.write_table(pa.table(trips), folder / "trips.parquet")
    ends = np.minimum(draws.zipf(1.8, (2, 3_000)) - 1, 499)
    pq.write_table(pa.table({"a": ends[0], "b": ends[1]}), folder / "friends.parquet")
    config = _CONFIG.format(deadline=deadline, boroughs=json.dumps(BOROUGHS))
    if rho is not None:
        config = config.replace('limit = "4"', f'rho = "{rho}"')
    (folder / "trueup.toml").write_text(config, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        site = Site(folder, free.getsockname()[1])
    site.token("olga", "owner")
    site.token("ann", "analyst", "3" if rho is None else None, rho=rho)
    return site


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = make_site(tmp_path_factory.mktemp("site"), deadline=0.3)
    publish(made.folder)
    made.token("ann", "analyst", "3")
    made.start()
    yield made
    made.kill()


@pytest.fixture
def fragile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server to be killed: its answers leave a second and a half after they are asked for."""
    made = make_site(tmp_path_factory.mktemp("fragile"), deadline=1.5)
    made.start()
    yield made
    made.kill()


@pytest.fixture
def wordy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server whose names, titles and words are as long as they may be, without a space."""
    made = make_site(tmp_path_factory.mktemp("wordy"), deadline=0.3)
    config = made.folder / "trueup.toml"
    said = config.read_text(encoding="utf-8").replace("[datasets.trips]", f"[datasets.{LONG}]")
    said = said.replace('"Taxi trips"', f'"{LONG * 3}"').replace(
        '"One row a trip."', f'"{LONG * 3}"'
    )
    said = said.replace("axes.fare = {", f'axes.fare = {{ title = "{LONG * 2}", units = "{LONG}",')
    config.write_text(said.replace('"Bronx"', f'"{LONG * 2}"'), encoding="utf-8")
    for name in (LONG, LONG.lower()):
        made.token(name, "analyst", "1/700000000000007")
    made.start()
    yield made
    made.kill()


@pytest.fixture(scope="module")
def windows(browser: Browser) -> Iterator[Callable[[str | None], BrowserContext]]:
    """A window of each person for a module: what was fetched once is not fetched again."""
    made: dict[str | None, BrowserContext] = {}

    def window(who: str | None) -> BrowserContext:
        if who not in made:
            size: Any = {"width": 1280, "height": 900}
            made[who] = browser.new_context(viewport=size, accept_downloads=True)
            made[who].set_default_timeout(PATIENCE)
        return made[who]

    yield window
    for each in made.values():
        each.close()


@pytest.fixture
def opened(
    windows: Callable[[str | None], BrowserContext], site: Site
) -> Iterator[Callable[..., Page]]:
    """Opens the page, signed in; fails on a console error that was not announced.

    `refused` names the statuses that the browser may complain about: what the server is meant to
    refuse in the test.
    """
    troubles: list[str] = []
    pages: list[Page] = []

    def opening(
        view: str = "",
        who: str | None = "ann",
        at: Site = site,
        refused: tuple[str, ...] = (),
    ) -> Page:
        window = windows(who)
        page = window.new_page()
        pages.append(page)

        def heard(words: str) -> None:
            if not any(status in words for status in refused):
                troubles.append(words)

        page.on("console", lambda m: heard(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda wrong: heard(str(wrong)))
        window.clear_cookies()
        if who:
            window.add_cookies([at.session(who)])
        page.goto(f"{at.address}/{view}")
        return page

    yield opening
    for page in pages:
        page.close()
    assert troubles == []
