"""Connections that are cut when they are slow: one client must not hold a place for ever.

uvicorn waits without end for a request's headers and body, and for a client to take its answer.
Around each of its connections stands one of these, which looks at it once in a while.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from trueup.server.settings import Settings

_LOOKS = 4  # times in the patience for one client


class Connection(asyncio.Protocol):
    """A connection of uvicorn's, with an end to its patience."""

    def __init__(self, inner: H11Protocol, settings: Settings) -> None:
        self._inner, self._settings = inner, settings
        self._transport: asyncio.Transport | None = None
        self._late = 0  # looks in a row that found the client owing us something
        self._look: asyncio.TimerHandle | None = None
        self._full = False  # what we write is not being taken

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Lets a client in, unless there are too many."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._inner.connection_made(transport)
        if len(self._inner.connections) > self._settings.most_connections:
            transport.abort()
            return
        self._later()

    def _later(self) -> None:
        loop = asyncio.get_running_loop()
        self._look = loop.call_later(self._settings.patience / _LOOKS, self._check)

    def _check(self) -> None:
        """Cuts a client that has been neither waiting for us nor done with its part for long.

        Looks are counted, not seconds: a server that was slow itself has looked seldom.
        """
        self._late = self._late + 1 if self._full or self._sending() else 0
        if self._late > _LOOKS:
            assert self._transport is not None
            self._transport.abort()
            return
        self._later()

    def _sending(self) -> bool:
        """Whether the client has still to send a part of its request, or its first one.

        Between requests there is nothing to send: uvicorn closes such connections in its time.
        """
        state = self._inner.conn.their_state
        if state is h11.IDLE:
            return self._inner.cycle is None or bool(self._inner.conn.trailing_data[0])
        return state is h11.SEND_BODY

    def data_received(self, data: bytes) -> None:
        """Hands on what came."""
        self._inner.data_received(data)
        if not self._sending():
            self._late = 0

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
        self._inner.connection_lost(exc)


def patient(settings: Settings) -> Any:
    """What uvicorn makes for each connection, in place of its own class."""
    return partial(_connection, settings)


def _connection(settings: Settings, **given: Any) -> Connection:
    return Connection(H11Protocol(**given), settings)
