"""Races and kills of servers in processes of their own: never more spent than allowed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx

import trueup as tu
from trueup.server.auth import Tokens, create, open_ledger

SOURCE = str(Path(tu.__file__).parents[1])
SERVE = "from trueup.cli import main; main()"
# Between the charge and the answer: says so, and waits to be killed.
STUCK = """
import pathlib, sys, time
import trueup.owner.owner as owner
drawn = owner.measure_all
def stuck(*given, **more):
    flag = pathlib.Path("stuck")
    if not flag.exists():
        flag.touch()
        time.sleep(1000)
    return drawn(*given, **more)
owner.measure_all = stuck
from trueup.cli import main
main()
"""


@contextlib.contextmanager
def process(config: Path, code: str = SERVE, workers: int = 1) -> Iterator[tuple[str, Any]]:
    """A server in a process of its own, which may be killed."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [sys.executable, "-W", "ignore", "-c", code, "serve", "--config", str(config)]
    words += ["--port", str(port), "--workers", str(workers)]
    with (config.parent / "log").open("ab") as log:
        running = subprocess.Popen(
            words, cwd=config.parent, stdout=log, stderr=log,
            env={**os.environ, "PYTHONPATH": SOURCE}, start_new_session=True,
        )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(1200):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            assert running.poll() is None, (config.parent / "log").read_text()
            time.sleep(0.05)
        yield url, running
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()


def test_killed_between_charge_and_answer_then_restarted(
    config_of: Callable[..., Path], tmp_path: Path
) -> None:
    path = config_of(tmp_path)
    tokens, datasets = Tokens(tmp_path / "trueup.tokens"), tu_config(path)
    secret = create(tokens, datasets, "ana", "analyst", 1)
    sent = {
        "json": {"column": "fare", "epsilon": "1/4"},
        "headers": {"Idempotency-Key": "killed-midway", "Authorization": f"Bearer {secret}"},
    }
    ledger = open_ledger(datasets["trips"])
    with process(path, STUCK) as (url, running):
        said = httpx.post(f"{url}/api/v1/datasets/trips/measure", timeout=60, **sent)
        assert said.status_code == 202
        until = time.monotonic() + 60
        while not (tmp_path / "stuck").exists():  # charged already, and not drawn yet
            assert time.monotonic() < until
            time.sleep(0.01)
        running.kill()
        running.wait()
    (charge,) = ledger.history()
    assert charge.answer is None
    with process(path) as (url, _):
        # Looking at the job is enough to have it taken up again.
        job = said.json()["url"]
        for _ in range(1200):
            state = httpx.get(url + job, headers=sent["headers"], timeout=60).json()["state"]
            if state == "done":
                break
            time.sleep(0.05)
        assert state == "done"
        answer = httpx.post(f"{url}/api/v1/datasets/trips/measure", timeout=60, **sent)
        assert answer.status_code == 200
    (charge,) = ledger.history()
    assert ledger.spent == Fraction(1, 4)
    assert charge.answer is not None
    assert ledger.verify() == 5  # opening, allowance, charge, taken up again, answer


def test_two_hundred_clients_race_and_spend_exactly_the_limit(
    config_of: Callable[..., Path], tmp_path: Path
) -> None:
    path = config_of(tmp_path, limit=1, server="most_measurements = 8")
    tokens, datasets = Tokens(tmp_path / "trueup.tokens"), tu_config(path)
    people = {"ana": "1/4", "bo": "2", "cy": "1/2"}
    secrets = {name: create(tokens, datasets, name, "analyst", own) for name, own in people.items()}

    async def one(client: httpx.AsyncClient, url: str, number: int) -> Any:
        who = list(people)[number % 3]
        sent = {
            "json": {"column": "borough", "epsilon": "1/40", "strategy": "flat"},
            "headers": {
                "Idempotency-Key": f"race-{number:04}",
                "Authorization": f"Bearer {secrets[who]}",
            },
        }
        while True:
            try:
                said = await client.post(f"{url}/api/v1/datasets/trips/measure", **sent)
            except httpx.TransportError:
                continue
            if said.status_code not in (202, 408, 429):  # not yet; slow to send; too many at once
                return who, said
            await asyncio.sleep(0.2)

    async def race(url: str) -> list[Any]:
        limits = httpx.Limits(max_connections=200)
        async with httpx.AsyncClient(timeout=120, limits=limits, verify=False) as client:
            return await asyncio.gather(*(one(client, url, number) for number in range(200)))

    with process(path, workers=2) as (url, _):
        said = asyncio.run(race(url))
        given = [answer.json()["release"] for _, answer in said if answer.status_code == 200]
        refused = [answer for _, answer in said if answer.status_code != 200]
        assert {answer.status_code for answer in refused} == {409}
        assert {answer.json()["code"] for answer in refused} == {"budget"}
        head = {"Authorization": f"Bearer {secrets['bo']}"}
        listed = httpx.get(f"{url}/api/v1/releases", headers=head, timeout=60).json()["releases"]
    ledger = open_ledger(datasets["trips"])
    assert ledger.spent == ledger.limit == 1
    charged = {f"trips.{charge.entry}" for charge in ledger.history() if charge.answer}
    assert set(given) == charged == {line["id"] for line in listed}
    assert len(given) == len(set(given)) == 40
    limit, spent = ledger.allowed("ana")
    assert spent <= Fraction(1, 4) == limit
    ledger.verify()


def tu_config(path: Path) -> Any:
    from trueup.config import read_config

    return read_config(path).datasets
