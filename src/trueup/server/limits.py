"""What every request goes through: size, time and number limits, a token, a line in the log."""

from __future__ import annotations

import asyncio
import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trueup.errors import InputError, TrueupError
from trueup.server import errors, sharing
from trueup.server.auth import NotAllowedError
from trueup.server.connections import CONNECTION
from trueup.server.entrance import Entrance
from trueup.server.metrics import Metrics
from trueup.server.settings import Settings

log = logging.getLogger("trueup.server")
REFUSAL = 0.02  # seconds after which every refusal of a token leaves, whatever was wrong with it
_PAGE = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'"
)
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", _PAGE.encode()),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
]
_OWN = [(b"cross-origin-resource-policy", b"same-origin")]
_OF_A_BODY = (b"content-length", b"transfer-encoding")
_MOST_HEADERS = 16 << 10
_SIGN_IN = 4 << 10  # bytes of a body that is read before anybody is known
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT")


class Guard:
    """The outermost layer: refuses what is too large, too slow, too much, or without a token.

    Bodies are read here, whole and within a time, before anything else looks at them; requests
    without a good token are refused before their body is read.
    """

    def __init__(
        self, app: ASGIApp, settings: Settings, entrance: Entrance, metrics: Metrics
    ) -> None:
        self.app, self.settings, self.entrance = app, settings, entrance
        self.metrics = metrics
        self.at_work = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope["arrived"] = time.monotonic()
        sharing.strip(scope, self.settings.root_path)
        shared = sharing.allowed(scope, self.settings.cors_origins)
        connection = CONNECTION.get()
        has_body = any(name in _OF_A_BODY for name, _ in scope["headers"])
        if connection is not None:
            connection.begins(has_body)
        told = 0

        async def sending(message: Message) -> None:
            nonlocal told
            if message["type"] == "http.response.start":
                told = message["status"]
                message["headers"] = [*message.get("headers", ()), *_HEADERS, *(shared or _OWN)]
            await send(message)

        if self.at_work >= self.settings.most_requests:
            busy = errors.BusyError("Too many requests at once. Ask again shortly.")
            await errors.response(busy)(scope, receive, sending)
        elif shared and sharing.is_preflight(scope):
            await sharing.preflight()(scope, receive, sending)
        else:
            self.at_work += 1
            try:
                await self._serve(scope, receive, sending, has_body)
            except Exception as error:
                errors.log_internal(error)
                if not told:
                    await errors.response(error)(scope, receive, sending)
            finally:
                self.at_work -= 1
        if connection is not None:
            connection.ends()
        self._record(scope, told)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, has_body: bool) -> None:
        try:
            _check_headers(scope)
            _check_query(scope["query_string"])
            if scope["path"].startswith("/api/") or scope["path"] == "/metrics":
                self.entrance.admit(scope)
            whole = await self._body(scope, receive) if has_body else receive
        except TrueupError as error:
            await refuse(scope, error)
            await errors.response(error)(scope, receive, send)
            return
        await self.app(scope, whole, send)

    async def _body(self, scope: Scope, receive: Receive) -> Receive:
        """The whole body, as something to receive; without a token, no more than a token has."""
        most = (
            self.settings.most_body if "holder" in scope else min(_SIGN_IN, self.settings.most_body)
        )
        large = errors.TooLargeError(f"A request may have {most:,} bytes. Ask for less at once.")
        for name, value in scope["headers"]:
            if name == b"content-length" and (not value.isdigit() or int(value[:20]) > most):
                raise large
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self.settings.patience):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise errors.SlowError("The request was not sent to its end.")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > most:
                        raise large
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            raise errors.SlowError(
                f"The request was not sent within {self.settings.patience:g} seconds."
            ) from None
        connection = CONNECTION.get()
        if connection is not None:
            connection.is_read()
        return _once(b"".join(parts), receive)

    def _record(self, scope: Scope, status: int) -> None:
        """A line in the log and a number in the metrics: who asked for what, and what came of it.

        No duration and no size: they would tell of the data.
        """
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        self.metrics.count(method, route, status)
        holder = scope.get("holder")
        who = "-" if holder is None else holder.name
        if holder is not None and holder.number and self.entrance.tokens.is_news(holder):
            asyncio.get_running_loop().run_in_executor(None, self.entrance.note_use, holder)
        log.info("%s %s %s %d", who, method, _printable(scope["path"])[:200], status)


def _printable(text: str) -> str:
    """Text for a log: what is no printable character of ASCII is written as its number."""
    if text.isascii() and text.isprintable():
        return text
    known = text.encode("ascii", "backslashreplace").decode()
    return "".join(each if " " <= each <= "~" else f"\\x{ord(each):02x}" for each in known)


def _check_headers(scope: Scope) -> None:
    size = len(scope["query_string"]) + len(scope.get("raw_path") or b"")
    for name, value in scope["headers"]:
        size += len(name) + len(value) + 4
    if size > _MOST_HEADERS:
        raise errors.TooLargeError(f"A request's headers may have {_MOST_HEADERS:,} bytes.")


def _check_query(query: bytes) -> None:
    """Refuses a parameter that is given twice: which of the two is meant, nobody can tell."""
    names = [part.partition(b"=")[0] for part in query.split(b"&")] if b"&" in query else []
    if len(set(names)) < len(names):
        raise InputError("A parameter of the address is given twice: give each once.")


def _once(body: bytes, receive: Receive) -> Receive:
    """The body in one message, then whatever comes after it."""
    given = False

    async def receiving() -> Message:
        nonlocal given
        if not given:
            given = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return receiving


async def refuse(scope: Scope, error: Exception) -> None:
    """Holds a refused token back until a fixed time after its request, the same for all."""
    if isinstance(error, NotAllowedError):
        left = REFUSAL - (time.monotonic() - scope["arrived"])
        if left > 0:
            await asyncio.sleep(left)
