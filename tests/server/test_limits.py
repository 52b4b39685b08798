"""What is too large, too slow, too much or out of place is refused, and the server lives on."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trueup.server.auth import NotAllowedError
from trueup.server.limits import _MOST_HEADERS, _SIGN_IN, REFUSAL, Guard, _printable
from trueup.server.settings import Settings


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
    "path",
    [
        "/../../../../etc/passwd",
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/%2e%2e/settings.py",
        "/static//etc/passwd",
        "/api/v1/releases/..%2f..%2ftrips.ledger",
        "/api/v1/releases/../trips.ledger",
        "/api/v1/releases/trips.%2e%2e/measurement",
        "/api/v1/datasets/..%2ftrips",
        "/api/v1/releases/trips.1%00/measurement",
        "/api/v1/jobs/....//trips.1",
        "/%c0%ae%c0%ae/etc/passwd",
        "/static/%00",
        "/static/" + "a" * 3000,
    ],
)
def test_no_path_leads_out(server: Any, path: str) -> None:
    token = server.secrets["boss"]
    said = raw(
        server,
        f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        f"Connection: close\r\n\r\n".encode(),
    )
    status = int(said.split()[1])
    assert status in (400, 404)
    assert b"root:" not in said
    assert b"import " not in said
    assert alive(server)


def test_a_body_too_large_is_refused_before_it_is_sent(server: Any) -> None:
    token = server.secrets["ana"]
    said = raw(
        server,
        f"POST /api/v1/datasets/trips/quote HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}"
        f"\r\nContent-Length: 100000000\r\n\r\n".encode(),
    )
    assert said.startswith(b"HTTP/1.1 413")
    assert b'"too_large"' in said
    assert alive(server)


def test_a_body_too_large_is_refused_as_it_comes(server: Any) -> None:
    chunk = b"a" * 65536

    def endless() -> Any:
        for _ in range(40):
            yield chunk

    said = server().post("/api/v1/datasets/trips/quote", content=endless())
    assert said.status_code == 413
    assert alive(server)


def test_without_a_token_no_body_is_read(server: Any) -> None:
    said = raw(
        server,
        b"POST /api/v1/datasets/trips/quote HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
    )
    assert said.startswith(b"HTTP/1.1 401")


@pytest.mark.parametrize("header", [b"X-Long: " + b"a" * 40_000, b"X: 1\r\n" * 5_000])
def test_headers_too_large_are_refused(server: Any, header: bytes) -> None:
    said = raw(
        server, b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + header + b"\r\n\r\n"
    )
    assert not said or said.startswith((b"HTTP/1.1 400", b"HTTP/1.1 413"))
    assert alive(server)


def test_too_many_requests_at_once_are_told_so(serving: Any) -> None:
    server = serving(server="most_requests = 1", patience=30.0)
    port = int(server.url.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as wire:
        wire.sendall(
            f"POST /api/v1/datasets/trips/quote HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n"
            f"Authorization: Bearer {server.secrets['ana']}\r\n\r\n".encode()
        )
        for _ in range(200):  # until the server has taken the first one in
            said = server().get("/api/v1/me")
            if said.status_code == 429:
                break
            time.sleep(0.05)
        assert said.status_code == 429
        assert said.json()["code"] == "busy"
        assert said.headers["Retry-After"] == "1"
    for _ in range(200):  # until it has seen that the first one is gone
        if server(None).get("/health").status_code == 200:
            break
        time.sleep(0.05)
    assert alive(server)


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET /health HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_what_is_not_http_is_refused(server: Any, data: bytes) -> None:
    said = raw(server, data)
    assert not said or said.startswith(b"HTTP/1.1 4")
    assert alive(server)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("ranges", {"ranges": [[0, 1]] * 10_001}),
        ("ranges", {"ranges": []}),
        ("ranges", {"ranges": [[0]]}),
        ("ranges", {"ranges": [[0, 1]], "level": 1}),
        ("ranges", {"ranges": [[20, 10]]}),
        ("ranges", {"ranges": [["\ud800", 10]]}),
        ("ranges", {"ranges": [[float("nan"), 10]]}),
        ("ranges", {"ranges": [[1e400, 10]]}),
        ("ranges", {"ranges": [[0, True]]}),
        ("quantiles", {"quantiles": [0.5] * 21}),
        ("quantiles", {"quantiles": [-1]}),
        ("difference", {"first": [0, 1]}),
    ],
)
def test_answers_are_asked_for_within_bounds(server: Any, path: str, body: Any) -> None:
    import json

    name = server.measured("bounds-of-answers", column="fare", epsilon=1)
    said = server().post(
        f"/api/v1/releases/{name}/{path}",
        content=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    assert said.status_code == 400
    assert said.json()["code"] == "bad_request"
    assert len(said.content) < 1000


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[" * 100_000, b'{"epsilon":' + b"9" * 5_000 + b"}", b"\xff\xfe", b"null"]
)
def test_a_body_that_cannot_be_read_is_told_so(server: Any, body: bytes) -> None:
    said = server().post(
        "/api/v1/datasets/trips/quote", content=body, headers={"Content-Type": "application/json"}
    )
    assert said.status_code == 400
    assert said.json()["code"] == "bad_request"


def test_every_answer_carries_the_guards_of_a_browser(server: Any) -> None:
    for path in ("/health", "/nothing", "/api/v1/me"):
        said = server(None).get(path)
        assert said.headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'self'" in said.headers["Content-Security-Policy"]
        assert "server" not in said.headers


def test_what_goes_wrong_inside_is_told_in_one_shape_and_no_more(
    serving: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server = serving()

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a secret row")

    monkeypatch.setattr("trueup.server.releases.Releases.all", broken)
    monkeypatch.setattr("trueup.server.releases.Releases.open", broken)
    monkeypatch.setattr("trueup.server.releases.Releases.opened", broken)
    said = [server().get(f"/api/v1/releases{path}") for path in ("", "/trips.1", "/trips.1/range")]
    assert [answer.status_code for answer in said] == [500, 500, 500]
    assert {answer.json()["code"] for answer in said} == {"internal"}
    assert "secret" not in "".join(answer.text for answer in said) + caplog.text
    assert "ZeroDivisionError test_limits.py" in caplog.text
    assert alive(server)


def test_a_parameter_given_twice_is_refused(server: Any, fares: str) -> None:
    for path in (
        "range?low=0&low=5&high=10",
        "view?start=1&stop=5&start=2",
        "cdf?points=5&points=6",
    ):
        said = server().get(f"/api/v1/releases/{fares}/{path}")
        assert said.status_code == 400
        assert "given twice" in said.json()["detail"]
    assert server().get(f"/api/v1/releases/{fares}/range?low=0&high=10").status_code == 200


def test_a_picture_of_no_cells_is_refused(server: Any, fares: str) -> None:
    for start, stop in ((10, 5), (5, 5)):
        said = server().get(f"/api/v1/releases/{fares}/view?start={start}&stop={stop}")
        assert said.status_code == 400
        assert f"start {start} must lie before stop {stop}" in said.json()["detail"]


def test_ranges_may_be_asked_without_intervals(server: Any, fares: str) -> None:
    body = {"ranges": [[0, 20]], "level": None}
    (found,) = server().post(f"/api/v1/releases/{fares}/ranges", json=body).json()["answers"]
    assert found["low"] is None
    assert found["high"] is None
    assert found["standard_error"] > 0


@pytest.mark.parametrize("path", ["\x1b[31m", "a\nb\rc", "\x00\x7f", "é\u202e"])
def test_a_line_of_the_log_has_printable_characters_alone(path: str) -> None:
    found = _printable(path)
    assert found.isascii()
    assert found.isprintable()
    assert _printable("/api/v1/me") == "/api/v1/me"


class Passed:
    """A guard alone, without a network: what of a request comes through, and what is told."""

    def __init__(self, **settings: Any) -> None:
        self.seen: list[bytes] = []
        self.counted: list[int] = []
        entrance = SimpleNamespace(admit=self.admit, tokens=SimpleNamespace(is_news=self.is_news))
        entrance.note_use = lambda holder: None
        metrics = SimpleNamespace(count=lambda method, route, status: self.counted.append(status))
        made = Settings(tokens=Path("x"), **settings)
        self.guard = Guard(self.app, made, entrance, metrics)  # type: ignore[arg-type]

    def is_news(self, holder: Any) -> bool:
        return False

    def admit(self, scope: Any) -> None:
        if scope["path"] == "/api/refused":
            raise NotAllowedError
        if scope["path"] != "/api/v1/session":
            scope["holder"] = SimpleNamespace(name="ana", number=1)

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/api/breaks":
            raise RuntimeError
        self.seen.append((await receive())["body"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})
        if scope["path"] == "/api/breaks late":
            raise RuntimeError

    def ask(self, path: str, parts: list[bytes], **more: Any) -> int:
        """The status of the answer to a request whose body comes in these parts."""
        length = more.pop("length", sum(map(len, parts)))
        headers = [] if length is None else [(b"content-length", str(length).encode())]
        if length is None and parts:
            headers.append((b"transfer-encoding", b"chunked"))
        scope = {"type": "http", "method": "POST", "path": path, "query_string": b"",
                 "headers": headers, **more}  # fmt: skip
        left = [
            {"type": "http.request", "body": part, "more_body": place < len(parts)}
            for place, part in enumerate(parts or [b""], 1)
        ]
        told: list[int] = []

        async def receive() -> Any:
            return left.pop(0)

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                told.append(message["status"])

        asyncio.run(self.guard(scope, receive, send))
        assert len(told) == 1
        assert self.counted[-1] == told[0]
        return told[0]


@pytest.mark.parametrize("most", [1, 100, _SIGN_IN, 2 * _SIGN_IN])
@pytest.mark.parametrize("path", ["/api/v1/me", "/api/v1/session"])
@pytest.mark.parametrize("told", [True, False])
def test_a_body_of_just_so_many_bytes_is_read_and_one_more_is_not(
    most: int, path: str, told: bool
) -> None:
    """However it is cut into parts; without a token, no more than a token has."""
    own = min(most, _SIGN_IN) if path == "/api/v1/session" else most
    for size, parts in ((own - 1, 1), (own, 1), (own, 2), (own + 1, 1), (own + 1, 3)):
        body = bytes(range(256)) * (size // 256 + 1)
        cut = [body[size * k // parts : size * (k + 1) // parts] for k in range(parts)]
        passed = Passed(most_body=most)
        status = passed.ask(path, cut, length=size if told else None)
        assert status == (200 if size <= own else 413)
        assert passed.seen == ([body[:size]] if size <= own else [])


@pytest.mark.parametrize("length", ["x", "-1", "1_0", "+5", "9" * 30, ""])
def test_a_length_that_is_no_number_is_refused(length: str) -> None:
    passed = Passed(most_body=100)
    assert passed.ask("/api/v1/me", [b"x"], length=length) == 413
    assert passed.seen == []


@pytest.mark.parametrize("place", ["query_string", "raw_path", "headers"])
def test_all_of_the_headers_together_have_a_limit(place: str) -> None:
    """Of a header its name, its value and the four bytes between them."""
    for size in (_MOST_HEADERS, _MOST_HEADERS + 1):
        many = {"headers": [(b"a" * (size - 28), b"v" * 10), (b"nam", b"val"), (b"", b"")]}
        given: Any = many if place == "headers" else {place: b"a" * size}
        assert Passed().ask("/api/v1/me", [], length=None, **given) == (
            200 if size <= _MOST_HEADERS else 413
        )


@pytest.mark.parametrize("path", ["/api/v1/me", "/api/refused", "/api/breaks", "/api/breaks late"])
def test_whatever_became_of_a_request_there_is_room_for_the_next(path: str) -> None:
    passed = Passed(most_requests=1)
    wanted = {"/api/refused": 401, "/api/breaks": 500}.get(path, 200)
    assert [passed.ask(path, []) for _ in range(3)] == [wanted] * 3
    passed.guard.at_work = 1
    assert passed.ask(path, []) == 429


def test_refusals_leave_at_one_time_and_answers_when_they_are_ready() -> None:
    """By the clock of the loop, which a refusal waits for and nothing else does.

    The servers of other tests may run in threads of their own: they sleep as they do.
    """
    slept: list[float] = []
    own, as_ever = threading.get_ident(), asyncio.sleep

    async def sleep(seconds: float) -> None:
        if threading.get_ident() == own:
            slept.append(seconds)
        else:
            await as_ever(seconds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio, "sleep", sleep)
        for path in ("/api/v1/me", "/api/breaks"):
            Passed().ask(path, [])
        assert slept == []
        assert Passed().ask("/api/refused", []) == 401
    assert len(slept) == 1
    assert 0 < slept[0] <= REFUSAL
