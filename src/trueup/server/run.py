"""Running the server: uvicorn, in one process or several."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Any

import uvicorn

from trueup.config import Config, read_config
from trueup.errors import InputError
from trueup.server.app import create_app
from trueup.server.connections import patient
from trueup.server.limits import Guard
from trueup.server.settings import Settings, read_settings

_CONFIG = "TRUEUP_CONFIG"
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


def from_environment() -> Guard:
    """The application of a worker process, which finds its configuration by $TRUEUP_CONFIG."""
    log_to_stderr()
    return create_app(read_config())


def serve(config: Config, settings: Settings | None = None) -> None:
    """Serves until it is told to stop."""
    settings = read_settings(config) if settings is None else settings
    if config.path is None:
        raise InputError("A server needs a configuration file.")
    if settings.workers == 1:
        logger = logging.getLogger("trueup.server")
        before = logger.handlers[:], logger.level, logger.propagate
        log_to_stderr()
        try:
            uvicorn.run(create_app(config), **configured(settings))
        finally:  # the stream may be gone before this process is
            logger.handlers[:], level, logger.propagate = before
            logger.setLevel(level)
        return
    os.environ[_CONFIG] = str(Path(config.path).absolute())
    create_app(config)  # what is wrong with the configuration is said once, before any process
    uvicorn.run("trueup.server.run:from_environment", factory=True, **configured(settings))
