"""The application: routes, and nothing that they could share with the library."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from trueup import __version__
from trueup.config import Config, read_config
from trueup.errors import InputError, TrueupError
from trueup.server import errors, openapi
from trueup.server.limits import Guard, refuse
from trueup.server.metrics import FOLDER, Metrics
from trueup.server.page import serve_page
from trueup.server.routes import (
    asking,
    budgets,
    combining,
    keyed,
    owner,
    quoting,
    ranges,
    releases,
    series,
    session,
    told,
)
from trueup.server.service import Service, open_service

log = logging.getLogger("trueup.server")
# FastAPI would send durations, messages of errors and their stacks to whomever the environment
# names: they can tell of the data.
_NO_TELEMETRY: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}


def create_app(config: Config | None = None) -> Guard:
    """The server of a configuration, by default of the one that $TRUEUP_CONFIG names."""
    service = open_service(read_config() if config is None else config)

    folder = os.environ.get(FOLDER)
    metrics = Metrics(Path(folder) if folder else None)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if service.settings.warm:
            threading.Thread(target=service.warm, daemon=True).start()
        yield
        await asyncio.to_thread(service.jobs.close)
        metrics.write()

    app = FastAPI(
        title="trueup",
        version=__version__,
        description="Differentially private counts that add up.",
        lifespan=lifespan,
        routes=[ranges.route],
        telemetry=_NO_TELEMETRY,
        docs_url=None,  # its page is fetched from elsewhere
        redoc_url=None,
        openapi_url="/openapi.json",
        servers=[{"url": service.settings.root_path or "/"}],
        separate_input_output_schemas=False,
        responses={400: {"model": told.Problem, "description": "It cannot be answered."}},
    )
    straight = ranges.Straight(app, service)
    guard = Guard(straight, service.settings, service.entrance, metrics)
    app.state.service, app.state.guard = service, guard
    app.add_exception_handler(TrueupError, _told)
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(HTTPException, _routing)
    app.add_exception_handler(Exception, _internal)
    for each in (session, releases, combining, keyed, series, asking, quoting, budgets, owner):
        app.include_router(each.router)
    app.get("/health", tags=["server"], response_model=told.Health)(_health)
    app.get("/ready", tags=["server"], response_model=told.Ready)(_ready)
    serve_page(app)
    describe = app.openapi
    app.openapi = lambda: openapi.described(describe())  # type: ignore[method-assign]
    return guard


def _health() -> dict[str, str]:
    """Whether the server is up, and which it is."""
    return {"status": "ok", "version": __version__}


def _ready(request: Request) -> dict[str, str]:
    """Whether requests can be answered: every ledger and the file of tokens can be read."""
    service: Service = request.app.state.service
    service.tokens.store.known()
    for table in service.tables.values():
        table.ledger.limit  # noqa: B018
    return {"status": "ready"}


async def _told(request: Request, error: Exception) -> Response:
    await refuse(request.scope, error)
    return errors.response(error)


async def _unreadable(_: Request, error: Exception) -> Response:
    """A body or a parameter that does not fit: the first thing that is wrong with it."""
    assert isinstance(error, RequestValidationError)
    first: dict[str, Any] = dict(error.errors()[0])
    names = _named(first, error.body)
    place = ".".join(names) or str(first["loc"][0])
    said = plainly(place[:100], str(first["msg"]))
    return errors.response(errors.FieldError(said, errors.pointer(names)))


_PLAIN = {
    "dictionary": "an object",
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "boolean": "true or false",
    "list": "a list",
}


def plainly(place: str, said: str) -> str:
    """What is wrong with a field, from pydantic's words about its input.

    >>> plainly("columns.0", "Input should be a valid dictionary or object to extract fields from")
    'columns.0 must be an object.'
    >>> plainly("epsilon", "Field required"), plainly("key", "String should have at least 8 items")
    ('epsilon is missing.', 'key must have at least 8 items.')
    >>> plainly("cells", "Input should be a valid integer, unable to parse string as an integer")
    'cells must be a whole number.'
    """
    if said == "Field required":
        return f"{place} is missing."
    if said == "Extra inputs are not permitted":
        return f"{place} is no field of this request."
    what, should, rest = said.partition(" should ")
    if not should or " " in what:
        return f"{place}: {said}."
    for long, short in _PLAIN.items():
        if rest.startswith(f"be a valid {long}"):
            rest = f"be {short}"
    return f"{place} must {rest}."


def _named(wrong: dict[str, Any], body: Any) -> list[str]:
    """The field that is wrong, without the types that were tried for it."""
    where, *names = wrong["loc"]
    if where != "body":
        return [str(name)[:100] for name in names[:1]]
    found, at = [], body
    for name in names:
        try:
            at = at[name]
        except (TypeError, KeyError, IndexError):
            if wrong["type"] == "missing":
                found.append(str(name))
            break
        found.append(str(name)[:100])
    return found


async def _routing(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return errors.response(errors.NotFoundError("There is nothing at this address."))
    if error.status_code == 405:
        body = errors.body("no_such_method", "Ask by another method: see the header Allow.", 405)
        return errors.problem(body, 405, dict(error.headers or {}))
    return errors.response(InputError(str(error.detail)))


async def _internal(_: Request, error: Exception) -> Response:
    return errors.response(error)
