"""Running the server in processes of its own, until it is told to stop."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

import trueup as tu


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_answer_and_stop_when_told(
    config_of: Callable[..., Path], tmp_path: Path, workers: int
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    path = config_of(tmp_path)
    words = ["serve", "--config", path, "--port", str(port), "--workers", str(workers)]
    run = subprocess.Popen(
        [sys.executable, "-m", "trueup", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        said = None
        for _ in range(600):
            with contextlib.suppress(httpx.TransportError):
                said = httpx.get(f"http://127.0.0.1:{port}/health", timeout=30).json()
                break
            assert run.poll() is None
            time.sleep(0.1)
        assert said == {"status": "ok", "version": tu.__version__}
    finally:
        run.send_signal(signal.SIGINT)
        _, log = run.communicate(timeout=60)
    # One line a request: who, what and what came of it; no duration, no size.
    assert re.search(r"^\S+ - GET /health 200$", log, re.MULTILINE)
    assert "Traceback" not in log
