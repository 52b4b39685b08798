"""The client against a real server, and against wires that break."""

from __future__ import annotations

import datetime as dt
import socket
import threading
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup.client import Client

from .server.conftest import Running, running, write_config


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(write_config(tmp_path_factory.mktemp("served"))) as found:
        yield found


@pytest.fixture(scope="module")
def client(server: Any) -> Client:
    return tu.connect(server.url, token=server.secrets["ana"])


def test_datasets_are_described(client: Client) -> None:
    found = client.datasets()
    assert found["trips"].axes["fare"] == tu.Axis.regular("fare", 0, 128, 256)
    assert found["trips"].limit == 100
    assert found["friends"].nodes == 300


def test_a_quote_costs_nothing(client: Client) -> None:
    before = client.datasets()["trips"].spent
    quote = client.quote("trips", "fare", epsilon="1/10")
    assert (quote.cost, quote.allowed) == (Fraction(1, 10), True)
    assert quote.strategy == "adaptive"  # what tu.publish asks
    assert "shown" in quote.errors  # and what it asks with adaptive=False
    assert min(quote.errors, key=quote.errors.__getitem__) == "hats"
    assert str(quote).startswith("epsilon 1/10 by ")
    assert client.datasets()["trips"].spent == before


def test_a_measurement_is_inferred_here(client: Client) -> None:
    before = client.datasets()["trips"].spent
    measured = client.measure("trips", "fare", epsilon=1, strategy="tree", key="over-the-wire")
    release = tu.infer(measured)
    assert isinstance(release, tu.Release)
    total = release.total()
    assert release.range(0, 20).value + release.range(20, 128).value == total.value
    assert abs(total.value - 3000) < 40 * total.std_error
    again = client.measure("trips", "fare", epsilon=1, strategy="tree", key="over-the-wire")
    assert again == measured
    assert client.datasets()["trips"].spent == before + 1


def test_a_part_and_a_filter_may_be_asked(client: Client) -> None:
    measured = client.measure(
        "trips", "age", epsilon=5, range=(20, 60), cells=4, where="borough = 'Queens'"
    )
    assert tu.infer(measured).axis == tu.Axis.regular("age", 20, 60, 4)


def test_the_range_on_the_wire_is_the_range_inferred_here(client: Client, server: Any) -> None:
    client.measure("trips", "fare", epsilon=1, key="the-same-range")
    listed = [found for found in client.releases() if found.dataset == "trips"][-1]
    release = client.release(listed.id)
    said = server().get(f"/api/v1/releases/{listed.id}/range?low=0&high=64").json()
    assert isinstance(release, tu.Release)
    assert release.range(0, 64).value == said["count"]
    assert release.range(0, 64).interval() == (said["low"], said["high"])
    whole = client.release(listed.id, nonnegative=True, integers=True)
    assert np.all(whole.counts() >= 0)
    assert listed.epsilon == 1


def test_a_graph_s_degrees(client: Client) -> None:
    release = tu.infer(client.measure("friends", epsilon=1))
    assert isinstance(release, tu.SortedRelease)
    assert len(release.counts()) == 300


def test_errors_are_the_library_s_own(client: Client, server: Any) -> None:
    with pytest.raises(tu.BudgetError, match="is left"):
        client.measure("trips", "fare", epsilon=99)
    with pytest.raises(tu.InputError, match="Declared axes"):
        client.measure("trips", "tip", epsilon=1)
    with pytest.raises(tu.ServerError, match="no such dataset"):
        client.quote("nothing", "fare", epsilon=1)
    with pytest.raises(tu.ServerError, match="Your token does not allow this"):
        tu.connect(server.url, token="wrong").datasets()
    with pytest.raises(tu.InputError, match="positive"):
        client.quote("trips", "fare", epsilon=0)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://counts.example", "not encrypted"),
        ("ftp://counts.example", "address"),
        ("counts.example", "address"),
        ("", "address"),
    ],
)
def test_a_token_is_not_sent_in_the_clear(url: str, says: str) -> None:
    with pytest.raises(tu.InputError, match=says):
        tu.connect(url, token="x")
    with pytest.raises(tu.InputError, match="token"):
        tu.connect("https://counts.example", token="")


def test_a_token_may_end_in_a_line_break_and_a_wrong_one_is_not_repeated(server: Any) -> None:
    assert tu.connect(server.url, token=f" {server.secrets['ana']}\n").datasets()
    for wrong in ("", " ", "secret\nInjected: yes", "secr€t", None, b"secret"):
        with pytest.raises(tu.InputError, match="as its owner gave it") as refused:
            tu.connect(server.url, token=wrong)  # type: ignore[arg-type]
        assert "secr" not in str(refused.value)


def test_ends_and_keys_are_what_a_person_would_give(client: Client) -> None:
    days = {"column": "day", "epsilon": "1/10"}
    first, last = dt.date(2013, 2, 1), dt.datetime(2013, 3, 1)
    wanted = client.quote("trips", **days, range=("2013-02-01", "2013-03-01")).axis
    assert wanted is not None
    assert wanted.size == 28
    for ends in ((first, last), (np.datetime64(first), np.datetime64("2013-03-01", "ns"))):
        assert client.quote("trips", **days, range=ends).axis == wanted
    fares = client.quote("trips", "fare", epsilon=1, range=(np.int64(0), np.float32(64))).axis
    assert fares == tu.Axis.regular("fare", 0, 64, 128)
    for wrong in (5, (1,), (0, [1])):
        with pytest.raises(tu.InputError, match="range"):
            client.quote("trips", "fare", epsilon=1, range=wrong)  # type: ignore[arg-type]
    for key in ("short", "with a space", "new\nline-key", "x" * 201, 12345678):
        with pytest.raises(tu.InputError, match="A key has 8 to 200 plain characters"):
            client.measure("trips", "fare", epsilon=1, key=key)  # type: ignore[arg-type]


def test_a_token_is_not_shown(client: Client) -> None:
    assert client.token not in repr(client)


class Breaking:
    """A wire to a server that is cut after so many bytes, the first few times."""

    def __init__(self, target: tuple[str, int], cuts: list[int]) -> None:
        self.target, self.cuts = target, cuts
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self.listening.accept()
            except OSError:
                return
            most = self.cuts.pop(0) if self.cuts else None
            with near, socket.create_connection(self.target) as far:
                # One request of a few hundred bytes, one answer, then the connection closes.
                request = near.recv(65536)
                while b"\r\n\r\n" not in request:
                    request += near.recv(65536)
                head, _, body = request.partition(b"\r\n\r\n")
                length = [h for h in head.split(b"\r\n") if h.lower().startswith(b"content-length")]
                while length and len(body) < int(length[0].split(b":")[1]):
                    body += near.recv(65536)
                head = head.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
                far.sendall(head + b"\r\n\r\n" + body)
                sent = 0
                while data := far.recv(65536):
                    part = data if most is None else data[: most - sent]
                    near.sendall(part)
                    sent += len(part)
                    if most is not None and sent >= most:
                        break


@pytest.mark.parametrize("cut", [0, 1, 20, 150, 400])
def test_a_wire_that_breaks_is_tried_again_and_paid_once(server: Any, cut: int) -> None:
    port = int(server.url.rsplit(":", 1)[1])
    wire = Breaking(("127.0.0.1", port), [cut, cut])
    client = tu.connect(f"http://127.0.0.1:{wire.port}", token=server.secrets["ana"])
    before = server.spent("trips")
    measured = client.measure("trips", "age", epsilon="1/10", key=f"broken-at-{cut}")
    assert server.spent("trips") == before + Fraction(1, 10)
    straight = tu.connect(server.url, token=server.secrets["ana"])
    assert straight.measure("trips", "age", epsilon="1/10", key=f"broken-at-{cut}") == measured
    wire.listening.close()


def test_nobody_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trueup.client.time.sleep", lambda _: None)
    free = socket.create_server(("127.0.0.1", 0))
    port = free.getsockname()[1]
    free.close()
    client = tu.connect(f"http://127.0.0.1:{port}", token="x")
    with pytest.raises(tu.ServerError, match="under the key 'mine-alone'"):
        client.measure("trips", epsilon=1, key="mine-alone")


def test_another_server_is_noticed() -> None:
    other = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        near, _ = other.accept()
        with near:
            near.recv(65536)
            near.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")

    threading.Thread(target=answer, daemon=True).start()
    client = tu.connect(f"http://127.0.0.1:{other.getsockname()[1]}", token="x")
    with pytest.raises(tu.ServerError, match="not from a trueup server"):
        client.datasets()
    other.close()


def test_the_command_measures_at_a_server(
    server: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from trueup.cli import main

    saved = tmp_path / "ages.parquet"
    words = [
        "trueup",
        "measure",
        f"{server.url}/trips",
        "--column",
        "age",
        "--integers",
        "20",
        "59",
    ]
    words += ["--epsilon", "1", "--yes", "--json", "-o", str(saved)]
    monkeypatch.setenv("TRUEUP_TOKEN", server.secrets["ana"])
    monkeypatch.setattr("sys.argv", words)
    main_ended = None
    try:
        main()
    except SystemExit as end:
        main_ended = end.code
    assert main_ended in (None, 0)
    assert '"epsilon": "1"' in capsys.readouterr().out
    release = tu.infer(tu.load(saved))  # type: ignore[arg-type]
    assert release.axis == tu.Axis.integers("age", 20, 59)


def test_a_measurement_that_failed_is_the_library_s_own_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Looked at until it is done or has failed, and no longer."""
    states = iter(["running", "running", "failed"])
    asked: list[str] = []

    def answer(self: Client, path: str, body: Any = None, key: str | None = None) -> Any:
        asked.append(path)
        if body is not None:
            return {"job": "trips.1"}
        error = {"code": "source", "detail": "The table could not be read."}
        return {"state": next(states), "error": error, "release": None}

    monkeypatch.setattr(Client, "_json", answer)
    monkeypatch.setattr("trueup.client.time.sleep", lambda _: None)
    with pytest.raises(tu.SourceError, match="could not be read"):
        tu.connect("http://127.0.0.1:1", token="x").measure("trips", "fare", epsilon=1)
    assert asked == ["/datasets/trips/measure", *["/jobs/trips.1"] * 3]
