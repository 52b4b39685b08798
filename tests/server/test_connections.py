"""Clients that are slow, or too many, are cut; the server lives on."""

from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, serving_in: Callable[..., Any]
) -> Iterator[Any]:
    """A server that soon loses its patience."""
    with serving_in(tmp_path_factory.mktemp("impatient"), patience=1.0) as found:
        yield found


def raw(server: Any, data: bytes) -> bytes:
    """What comes back for bytes sent as they are, until the server ends the connection."""
    port = int(server.url.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port), timeout=60) as wire:
        wire.sendall(data)
        got = b""
        try:
            while part := wire.recv(65536):
                got += part
        except ConnectionResetError:
            pass
    return got


def alive(server: Any) -> bool:
    return bool(server(None).get("/health").json()["status"] == "ok")


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /health HT",
        b"GET /health HTTP/1.1\r\nHost: x\r\n",
        b"POST /api/v1/datasets/trips/quote HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\n"
        b"Content-Length: 50\r\n\r\n{",
    ],
    ids=["nothing", "half a line", "half the headers", "half a body"],
)
def test_a_slow_client_is_cut(server: Any, sent: bytes) -> None:
    # Its patience is one second here; without an end to it, this would time out.
    said = raw(server, sent.replace(b"TOKEN", server.secrets["ana"].encode()))
    assert not said or said.startswith(b"HTTP/1.1 408")
    assert alive(server)


def cut(server: Any, parts: Iterable[bytes], pause: float) -> bool:
    """Whether the server ends a connection over which these parts are sent, and nothing is read."""
    port = int(server.url.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port), timeout=20) as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        try:
            for part in parts:
                wire.sendall(part)
                time.sleep(pause)
        except ConnectionError:
            return True
    return False


def test_a_client_that_drips_is_cut(server: Any) -> None:
    slowly = (bytes([letter]) for letter in b"GET /health HTTP/1.1\r\nHost: " + b"x" * 100)
    assert cut(server, slowly, 0.05)
    assert alive(server)


def test_a_client_that_does_not_read_is_cut(server: Any) -> None:
    request = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
    assert cut(server, (request for _ in range(20_000)), 0.001)
    assert alive(server)


def test_many_connections_are_let_go(serving: Any) -> None:
    server = serving(server="most_connections = 50\nmost_requests = 20")
    port = int(server.url.rsplit(":", 1)[1])
    held = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(200)]
    closed: set[int] = set()
    until = time.monotonic() + 60  # a machine at work on other things takes its time
    while len(closed) < 140 and time.monotonic() < until:
        for place, wire in enumerate(held):
            wire.settimeout(0.01)
            try:
                closed |= {place} if wire.recv(1) == b"" else set()
            except TimeoutError:
                pass
            except ConnectionResetError:
                closed.add(place)
    assert len(closed) >= 140
    for wire in held:
        wire.close()
    assert alive(server)


def test_a_client_between_requests_is_left_alone(serving: Any) -> None:
    """Idle connections are uvicorn's to close, in its own time: nothing is owed over them."""
    server = serving(patience=0.4)
    wire = http.client.HTTPConnection("127.0.0.1", int(server.url.rsplit(":", 1)[1]), timeout=20)
    wire.connect()
    wire.auto_open = False  # a connection that was cut is not made again unnoticed
    head = {"Authorization": f"Bearer {server.secrets['ana']}", "Content-Type": "application/json"}
    body = '{"column": "fare", "epsilon": 1}'
    for sent in (None, body, None):
        path = "/health" if sent is None else "/api/v1/datasets/trips/quote"
        wire.request("GET" if sent is None else "POST", path, sent, head)
        said = wire.getresponse()
        assert (said.status, bool(said.read())) == (200, True)
        time.sleep(1.2)  # three times the patience
    wire.close()
