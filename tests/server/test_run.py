"""Running the server in processes of its own, until it is told to stop."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx

import trueup as tu
from trueup.server.run import bound
from trueup.server.settings import Settings


def test_a_body_does_not_wait_until_its_headers_are_acknowledged(tmp_path: Path) -> None:
    with bound(Settings(host="127.0.0.1", port=0, tokens=tmp_path / "tokens")) as place:
        client = socket.create_connection(place.getsockname())
        taken, _ = place.accept()
        with client, taken:
            assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def checked_log(log: str) -> None:
    """One line a request: who, what and what came of it; no duration, no size."""
    assert re.search(r"^\S+ - GET /health 200$", log, re.MULTILINE)
    assert "Traceback" not in log


def test_a_server_tells_its_address_once_it_is_bound_answers_and_stops_when_told(
    config_of: Callable[..., Path], tmp_path: Path
) -> None:
    words = [sys.executable, "-m", "trueup", "serve", "--config", str(config_of(tmp_path))]
    log = tmp_path / "log"
    with (
        log.open("w") as told,
        subprocess.Popen(
            [*words, "--port", "0", "--json"], stdout=subprocess.PIPE, stderr=told, text=True
        ) as run,
    ):
        try:
            assert run.stdout is not None
            address = json.loads(run.stdout.readline())["address"]
            port = int(address.rpartition(":")[2])
            with socket.create_connection(("127.0.0.1", port), 5):  # at once: it is bound
                pass
            said = httpx.get(f"{address}/health", timeout=60).json()
            assert said == {"status": "ok", "version": tu.__version__}
            taken = subprocess.run([*words, "--port", str(port)], capture_output=True, text=True)
        finally:
            run.send_signal(signal.SIGINT)
            run.wait(60)
    checked_log(log.read_text())
    assert taken.returncode == 1
    assert f"cannot listen on 127.0.0.1, port {port}: Address already in use" in taken.stderr
    assert "serves on" not in taken.stdout + taken.stderr


def test_workers_end_when_their_parent_is_killed(
    config_of: Callable[..., Path], tmp_path: Path
) -> None:
    words = ["serve", "--config", str(config_of(tmp_path)), "--port", "0", "--workers", "2"]
    with subprocess.Popen(
        [sys.executable, "-m", "trueup", *words, "--json"], stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        address = json.loads(run.stdout.readline())["address"]
        assert httpx.get(f"{address}/health", timeout=60).json()["status"] == "ok"
        workers = _children(run.pid)
        run.kill()
    for _ in range(300):
        if not any(map(_runs, workers)):
            return
        time.sleep(0.1)
    raise AssertionError("workers outlive the process that began them")


def _children(process: int) -> list[Path]:
    """The processes that a server has begun: two workers, and one that keeps count of what is
    shared."""
    listed = Path(f"/proc/{process}/task/{process}/children").read_text()
    found = [Path("/proc") / number for number in listed.split()]
    assert len(found) >= 2
    return found


def _runs(process: Path) -> bool:
    """Whether a process is there and has not ended: who waits for orphans is not ours to say."""
    try:
        return process.joinpath("stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_workers_are_counted_together_and_restarted_without_a_lost_request(
    config_of: Callable[..., Path], tmp_path: Path
) -> None:
    from trueup.config import read_config
    from trueup.server.auth import Tokens, create

    path = config_of(tmp_path)
    boss = create(Tokens(tmp_path / "trueup.tokens"), read_config(path).datasets, "boss", "owner")
    words = [sys.executable, "-m", "trueup", "serve", "--config", str(path), "--workers", "2"]
    log = tmp_path / "log"
    with (
        log.open("w") as said_there,
        subprocess.Popen(
            [*words, "--port", "0", "--json"], stdout=subprocess.PIPE, stderr=said_there, text=True
        ) as run,
    ):
        assert run.stdout is not None
        address = json.loads(run.stdout.readline())["address"]
        try:
            asked, after, until = 0, 0, time.monotonic() + 120
            assert httpx.get(f"{address}/health", timeout=60).status_code == 200
            workers = _children(run.pid)
            run.send_signal(signal.SIGHUP)
            while after < 10:  # some more once both workers are others
                assert httpx.get(f"{address}/health", timeout=60).status_code == 200
                asked += 1
                assert time.monotonic() < until
                after += sum(not _runs(one) for one in workers) >= 2
                time.sleep(0.02)
            asked += 1
            headers = {"Authorization": f"Bearer {boss}"}
            until, told = time.monotonic() + 30, 0
            while told < asked and time.monotonic() < until:
                said = httpx.get(f"{address}/metrics", headers=headers, timeout=60).text
                found = re.search(r'route="/health",status="200"\} (\d+)', said)
                told = int(found[1]) if found else 0
                time.sleep(0.2)
            assert told == asked
        finally:
            run.send_signal(signal.SIGINT)
            run.wait(60)
    checked_log(log.read_text())
