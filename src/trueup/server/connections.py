"""Connections that are cut when they are slow: one client must not hold a place for ever.

uvicorn waits without end for the headers of a request, and for a client to take its answer. Around
each of its connections stands one of these, which looks at it once in a while. It sees bytes come
and writing pause, as every protocol of asyncio does; what has become of the bytes it is told by
the `Guard`, which finds the connection of its request in a context variable.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from functools import partial
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from trueup.server.settings import Settings

CONNECTION: ContextVar[Connection | None] = ContextVar("connection", default=None)
_LOOKS = 4  # times in the patience for one client


class Connection(asyncio.Protocol):
    """A connection around one of uvicorn's, with an end to its patience."""

    def __init__(self, inner: asyncio.Protocol, settings: Settings, others: set[Any]) -> None:
        self._inner, self._settings, self._others = inner, settings, others
        self._transport: asyncio.Transport | None = None
        self._late = 0  # looks in a row that found the client owing us something
        self._look: asyncio.TimerHandle | None = None
        self._full = False  # what we write is not being taken
        self._half = True  # a request is owed: the first, or one of which some bytes came
        self._at_work = 0  # requests that are being answered

    # What the guard tells.

    def begins(self, has_body: bool) -> None:
        """A request came to the end of its headers."""
        self._at_work += 1
        self._half = has_body

    def is_read(self) -> None:
        """A request came to the end of its body."""
        self._half = False

    def ends(self) -> None:
        """A request is answered."""
        self._at_work -= 1
        self._late = 0

    # What asyncio tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Lets a client in, unless there are too many."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._others.add(self)
        self._inner.connection_made(transport)
        if len(self._others) > self._settings.most_connections:
            transport.abort()
            return
        self._later()

    def _later(self) -> None:
        loop = asyncio.get_running_loop()
        self._look = loop.call_later(self._settings.patience / _LOOKS, self._check)

    def _check(self) -> None:
        """Cuts a client that has owed us something for long: the rest of a request, or to read.

        Looks are counted, not seconds: a server that was slow itself has looked seldom. A body is
        waited for by the guard, while its request is at work.
        """
        owing = self._full or (self._half and not self._at_work)
        self._late = self._late + 1 if owing else 0
        if self._late > _LOOKS:
            assert self._transport is not None
            self._transport.abort()
            return
        self._later()

    def data_received(self, data: bytes) -> None:
        """Hands on what came; the task of a request that it completes knows its connection."""
        self._half = True
        CONNECTION.set(self)
        self._inner.data_received(data)

    def eof_received(self) -> None:
        """The client will send no more."""
        self._inner.eof_received()

    def pause_writing(self) -> None:
        """The client does not take what it is sent."""
        self._full, self._late = True, 0
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """It does again."""
        self._full, self._late = False, 0
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        if self._look is not None:
            self._look.cancel()
        self._others.discard(self)
        self._inner.connection_lost(exc)


def patient(settings: Settings) -> Any:
    """What uvicorn makes for each connection, in place of its own class."""
    return partial(_connection, settings, set())


def _connection(settings: Settings, others: set[Any], **given: Any) -> Connection:
    return Connection(H11Protocol(**given), settings, others)
