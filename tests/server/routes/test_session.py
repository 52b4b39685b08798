"""Signing in with a token, and out: a session in a cookie."""

from __future__ import annotations

import time
from http.cookies import SimpleCookie
from typing import Any

import httpx
import pytest


def test_a_session_is_known_until_it_is_ended(server: Any) -> None:
    client = server.browser()
    assert client.get("/api/v1/session").json()["signed_in"] is True
    assert client.get("/api/v1/me").json()["name"] == "ana"
    kept = dict(client.cookies)
    assert client.delete("/api/v1/session").json()["signed_in"] is False
    assert not dict(client.cookies)
    client.cookies.update(kept)  # a copy of the cookie is of no more use
    assert client.get("/api/v1/me").status_code == 401
    assert client.get("/api/v1/session").json() == {
        "signed_in": False,
        "name": None,
        "role": None,
        "expires": None,
    }


def test_no_script_can_read_the_cookie_and_no_other_site_can_use_it(server: Any) -> None:
    said = httpx.post(f"{server.url}/api/v1/session", json={"token": server.secrets["ana"]})
    (morsel,) = SimpleCookie(said.headers["set-cookie"]).values()
    assert morsel["httponly"] is True
    assert morsel["samesite"].lower() == "strict"
    assert (morsel["path"], morsel["domain"], morsel["max-age"]) == ("/", "", "")
    assert not morsel["secure"]
    assert server.secrets["ana"] not in said.headers["set-cookie"]


def test_a_page_that_came_by_https_has_a_cookie_for_https_alone(server: Any) -> None:
    host = server.url.removeprefix("http://")
    said = httpx.post(
        f"{server.url}/api/v1/session",
        json={"token": server.secrets["ana"]},
        headers={"Origin": f"https://{host}"},
    )
    (morsel,) = SimpleCookie(said.headers["set-cookie"]).values()
    assert morsel["secure"] is True


@pytest.mark.parametrize("token", ["not-a-token", "x" * 200])
def test_a_wrong_token_begins_no_session(server: Any, token: str) -> None:
    said = httpx.post(f"{server.url}/api/v1/session", json={"token": token})
    assert said.status_code == 401
    assert "set-cookie" not in said.headers
    assert said.content == server(None).get("/api/v1/me").content


def test_without_a_token_little_is_read(server: Any) -> None:
    said = httpx.post(f"{server.url}/api/v1/session", json={"token": "x" * 5_000})
    assert said.status_code == 413


def test_a_session_ends_with_its_token(serving: Any) -> None:
    server = serving()
    client = server.browser()
    assert client.get("/api/v1/me").status_code == 200
    assert server("boss").delete("/api/v1/tokens?name=ana").json() == {"revoked": 1}
    assert client.get("/api/v1/me").status_code == 401


def test_a_session_ends_at_its_time(serving: Any) -> None:
    client = serving(server="session = 1").browser()
    until = time.monotonic() + 60
    while client.get("/api/v1/session").json()["signed_in"] and time.monotonic() < until:
        time.sleep(0.05)
    assert client.get("/api/v1/me").status_code == 401
