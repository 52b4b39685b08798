"""Running the server: uvicorn, in one process or several."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from trueup.config import Config, read_config
from trueup.errors import InputError
from trueup.server.app import create_app
from trueup.server.connections import patient
from trueup.server.limits import Guard
from trueup.server.metrics import FOLDER
from trueup.server.settings import Settings, read_settings

_CONFIG = "TRUEUP_CONFIG"
_PARENT = "TRUEUP_PARENT"  # which workers ask for: it may be gone when they begin
_LOOK = 0.5  # seconds between looks at whether the parent of a worker lives
_HEALTHY = 60  # seconds in which a worker must start and answer; 5 are few on a busy machine
_HEADERS = 16 << 10  # bytes of a request's line and headers


def configured(settings: Settings) -> dict[str, Any]:
    """uvicorn as we want it: no log of its own, limits on headers and on idle connections."""
    return {
        "host": settings.host,
        "port": settings.port,
        "workers": settings.workers,
        "http": patient(settings),
        "ws": "none",
        "loop": "asyncio",
        "access_log": False,
        "log_level": "warning",
        "server_header": False,
        "proxy_headers": False,
        "timeout_keep_alive": 5,
        "timeout_graceful_shutdown": 30,
        "timeout_worker_healthcheck": _HEALTHY,
        "h11_max_incomplete_event_size": _HEADERS,
    }


def log_to_stderr() -> None:
    """One line a request, on standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%dT%H:%M:%S"))
    logger = logging.getLogger("trueup.server")
    logger.handlers[:] = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False
    # Nothing that a line is not made of is looked up for it: see "Optimization" in the docs of
    # logging.
    logging.logThreads = logging.logMultiprocessing = logging.logProcesses = False


def from_environment() -> Guard:
    """The application of a worker process, which finds its configuration by $TRUEUP_CONFIG."""
    log_to_stderr()
    threading.Thread(target=_end_with, args=(int(os.environ[_PARENT]),), daemon=True).start()
    return create_app(read_config())


def _end_with(parent: int) -> None:
    """Ends this worker when the process that began it is gone, however that ended."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os.kill(os.getpid(), signal.SIGTERM)


def bound(settings: Settings) -> socket.socket:
    """The socket that the server listens on; a port that is taken is said to be."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        place = (settings.host, settings.port)
        found = socket.create_server(place, family=family, backlog=2048)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "no such host"
        raise InputError(
            f"The server cannot listen on {settings.host}, port {settings.port}: {reason}. "
            f"Choose another with --port or --host."
        ) from None
    # asyncio does so by itself only for sockets that it made. Without it the body of an answer,
    # sent after the headers, waits 40 ms for the client to say that it has those.
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    found.set_inheritable(True)
    return found


def serve(
    config: Config, settings: Settings | None = None, ready: Callable[[int], None] | None = None
) -> None:
    """Serves until it is told to stop; `ready` hears the port once all is open and bound."""
    settings = read_settings(config) if settings is None else settings
    if config.path is None:
        raise InputError("A server needs a configuration file.")
    app = create_app(config)  # what is wrong with the configuration is said before all else
    with contextlib.closing(bound(settings)) as place:
        if ready is not None:
            ready(place.getsockname()[1])
        _run(app, config.path, settings, place)


def _run(app: Guard, path: Path, settings: Settings, place: socket.socket) -> None:
    if settings.workers == 1:
        logger = logging.getLogger("trueup.server")
        before = logger.handlers[:], logger.level, logger.propagate
        log_to_stderr()
        try:
            uvicorn.Server(uvicorn.Config(app, **configured(settings))).run([place])
        finally:  # the stream may be gone before this process is
            logger.handlers[:], level, logger.propagate = before
            logger.setLevel(level)
        return
    os.environ[_CONFIG] = str(path.absolute())
    os.environ[_PARENT] = str(os.getpid())
    worker = "trueup.server.run:from_environment"
    made = uvicorn.Config(worker, factory=True, **configured(settings))
    with tempfile.TemporaryDirectory(prefix="trueup-metrics-") as folder:
        os.environ[FOLDER] = folder
        Multiprocess(made, [place]).run()
