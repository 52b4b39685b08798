"""An answer that is read piece by piece: whole, or refused in the server's words."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

import trueup as tu
from trueup.wire import Wire


@contextmanager
def answering(status: int, length: int, body: bytes) -> Iterator[Wire]:
    """A server that says so once, whatever it is asked."""

    class Once(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(length))
            self.send_header("X-Asked", f"{self.path} {self.headers['Authorization']}")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *said: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Once)
    thread = threading.Thread(target=server.handle_request)
    thread.start()
    try:
        yield Wire("http", "127.0.0.1", server.server_port, "/sub", "secret", 30)
    finally:
        thread.join()
        server.server_close()


def test_an_answer_is_read_piece_by_piece() -> None:
    with answering(200, 5, b"hello") as wire, wire.streamed("/x") as sent:
        assert sent.headers["X-Asked"] == "/sub/api/v1/x Bearer secret"
        assert (sent.read(2), sent.read()) == (b"he", b"llo")
        assert "secret" not in f"{wire} {wire!r}"


def test_a_refusal_is_the_library_s_own_error() -> None:
    said = b'{"code": "bad_request", "detail": "No such thing."}'
    with (
        answering(400, len(said), said) as wire,
        pytest.raises(tu.InputError, match="No such thing"),
        wire.streamed("/x"),
    ):
        pass


def test_an_answer_that_is_cut_is_refused() -> None:
    with (
        answering(200, 10, b"hello") as wire,
        pytest.raises(tu.ServerError, match="did not arrive whole"),
        wire.streamed("/x") as sent,
    ):
        sent.read()


def test_nobody_there_is_said() -> None:
    with answering(200, 0, b"") as wire, wire.streamed("/x") as sent:
        sent.read()
    with pytest.raises(tu.ServerError), wire.streamed("/x"):
        pass


@pytest.mark.parametrize(
    ("status", "tries"),
    [(s, 1) for s in (400, 401, 404, 408, 409, 413, 500)] + [(s, 5) for s in (429, 502, 503, 504)],
)
def test_what_may_pass_is_tried_again_and_a_refusal_is_not(
    status: int, tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Always under the key that it had at first."""
    sent: list[Any] = []

    def once(self: Wire, *given: Any) -> tuple[int, bytes]:
        sent.append(given)
        return status, b'{"code": "budget", "detail": "No."}'

    monkeypatch.setattr(Wire, "_once", once)
    monkeypatch.setattr("trueup.wire.time.sleep", lambda _: None)
    wire = Wire("http", "127.0.0.1", 1, "", "secret", 1)
    with pytest.raises(tu.BudgetError, match="No"):
        wire.send("POST", "/x", b"{}", "the-same-key")
    assert len(sent) == tries
    assert {given[3]["Idempotency-Key"] for given in sent} == {"the-same-key"}
