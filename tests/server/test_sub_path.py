"""Behind a proxy that strips a sub-path, the page, the API and the client work as at the root."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest

import trueup as tu

PREFIX = "/counts"


@pytest.fixture
def proxied(server: Any) -> Iterator[str]:
    """The address of the server behind a proxy, as `handle_path /counts/*` of Caddy makes it."""

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not self.path.startswith(PREFIX + "/"):
                self.send_error(404)
                return
            sent = {name: value for name, value in self.headers.items() if name != "Connection"}
            length = int(self.headers.get("Content-Length", 0))
            said = httpx.request(
                self.command,
                server.url + self.path.removeprefix(PREFIX),
                headers=sent,
                content=self.rfile.read(length),
            )
            self.send_response(said.status_code)
            for name, value in said.headers.items():
                if name not in ("content-length", "content-encoding", "transfer-encoding"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(said.content)))
            self.end_headers()
            self.wfile.write(said.content)

        do_POST = do_DELETE = do_GET  # noqa: N815

        def log_message(self, *said: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{proxy.server_port}{PREFIX}"
        proxy.shutdown()
        thread.join()


def test_every_file_of_the_page_is_found_from_where_the_page_is(proxied: str) -> None:
    seen, waiting = set(), [f"{proxied}/"]
    while waiting:
        address = waiting.pop()
        if address in seen:
            continue
        seen.add(address)
        said = httpx.get(address, timeout=60)
        assert said.status_code == 200, address
        kind = said.headers["content-type"]
        if "html" in kind:
            named = re.findall(r'(?:src|href)="([^"#]+)"', said.text)
        elif "javascript" in kind:
            named = re.findall(r'from "(\.[^"]+)"', said.text)
        else:
            named = []
        assert not [one for one in named if one.startswith("/")], address
        waiting += [urljoin(address, one) for one in named]
    assert len(seen) > 5


def test_a_client_asks_behind_a_sub_path(proxied: str, server: Any) -> None:
    owner = tu.connect(proxied, token=server.secrets["ana"])
    assert "trips" in owner.datasets()
    measured = owner.measure("trips", "fare", epsilon="1/10", key="behind-a-sub-path")
    assert owner.measure("trips", "fare", epsilon="1/10", key="behind-a-sub-path") == measured


def test_somebody_signs_in_behind_a_sub_path(proxied: str, server: Any) -> None:
    with httpx.Client() as browser:
        entered = browser.post(
            f"{proxied}/api/v1/session",
            json={"token": server.secrets["ana"]},
            headers={"Sec-Fetch-Site": "same-origin"},
        )
        assert entered.status_code == 200, entered.text
        me = browser.get(f"{proxied}/api/v1/me", headers={"Sec-Fetch-Site": "same-origin"})
        assert me.json()["name"] == "ana"
