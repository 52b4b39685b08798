"""Who asks: a token, or a cookie, which another site could make a browser send."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import httpx
import pytest

from trueup.server.auth import NotAllowedError, Tokens
from trueup.server.entrance import Entrance, Sso
from trueup.server.errors import NotFoundError
from trueup.server.links import PUBLIC, Links

HEADERS = {"Idempotency-Key": "test-entrance"}
BODY = {"column": "fare", "epsilon": "1/10", "strategy": "tree"}


@pytest.fixture
def browser(server: Any) -> httpx.Client:
    found: httpx.Client = server.browser()
    return found


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "cross-site"}, 401),
        ({"Sec-Fetch-Site": "same-site"}, 401),
        ({"Origin": "OUR OWN"}, 200),
        ({"Origin": "https://evil.example"}, 401),
        ({"Origin": "null"}, 401),
        ({"Origin": "http://["}, 401),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "OUR OWN"}, 401),
        ({}, 401),
    ],
)
def test_a_cookie_changes_nothing_unless_the_browser_says_that_our_page_asked(
    server: Any, browser: httpx.Client, said: dict[str, str], status: int
) -> None:
    sent = {name: server.url if value == "OUR OWN" else value for name, value in said.items()}
    before = server.spent("trips")
    quoted = browser.post("/api/v1/datasets/trips/quote", json=BODY, headers=sent)
    assert quoted.status_code == status
    if status == 401:
        measured = browser.post(
            "/api/v1/datasets/trips/measure", json=BODY, headers={**sent, **HEADERS}
        )
        assert measured.status_code == 401
        assert server.spent("trips") == before


def test_a_cookie_reads_without_more(browser: httpx.Client) -> None:
    assert browser.get("/api/v1/datasets").status_code == 200


def test_a_token_needs_no_word_of_a_browser(server: Any) -> None:
    said = server("ana").post("/api/v1/datasets/trips/quote", json=BODY)
    assert said.status_code == 200


def test_a_wrong_token_is_refused_whatever_cookie_comes_with_it(browser: httpx.Client) -> None:
    said = browser.get("/api/v1/me", headers={"Authorization": "Bearer wrong"})
    assert said.status_code == 401


def test_another_site_signs_nobody_in_or_out(server: Any, browser: httpx.Client) -> None:
    foreign = {"Origin": "https://evil.example"}
    token = {"token": server.secrets["ana"]}
    said = httpx.post(f"{server.url}/api/v1/session", json=token, headers=foreign)
    assert said.status_code == 401
    assert browser.delete("/api/v1/session", headers=foreign).status_code == 401
    assert browser.get("/api/v1/me").status_code == 200


AUTHORIZATION = ["none", "Bearer good", "bearer  good ", "Bearer bad", "Basic good", "good", ""]
COOKIES = ["", "{ours}=good", "x=1; {ours}=good; y=2", "{ours}=bad", "trueup_0=good", "{ours}good"]
SITES = [None, "same-origin", "none", "same-site", "cross-site"]
ORIGINS = [None, "https://us.example", "https://evil.example", "null"]
PROXIES = [((), "9.9.9.9"), (("bo",), "1.1.1.1"), (("bo",), "9.9.9.9"), (("nobody",), "1.1.1.1"),
           (("bo", "bo"), "1.1.1.1")]  # fmt: skip


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST", "DELETE"])
def test_who_is_let_in_is_the_table_of_all_that_a_request_may_say(
    tmp_path: Path, method: str, trusted: bool
) -> None:
    """All combinations, against the rules: a token by itself; else a session, or a trusted proxy's
    word, and to change something the browser's word that our own page asked."""
    tokens = Tokens(tmp_path / "trueup.tokens")
    good = tokens.create("ana", "analyst")
    tokens.create("bo", "reader")
    session = tokens.sign_in(tokens.list()[0], 1000)
    sso = Sso(b"x-user", ("1.1.1.1", "2.2.2.2")) if trusted else None
    door = Entrance(tokens, Links(tokens.store), sso)
    for token, cookie, site, origin, (names, client) in itertools.product(
        AUTHORIZATION, COOKIES, SITES, ORIGINS, PROXIES
    ):
        sent = [(b"host", b"us.example"), *((b"x-user", name.encode()) for name in names)]
        if token != "none":
            sent.append((b"authorization", token.replace("good", good).encode()))
        if cookie:
            said = cookie.format(ours=door.cookie).replace("good", session)
            sent.append((b"cookie", said.encode()))
        sent += [(b"sec-fetch-site", site.encode())] if site is not None else []
        sent += [(b"origin", origin.encode())] if origin is not None else []
        scope = {"method": method, "path": "/api/v1/me", "headers": sent, "client": (client, 5)}
        if token != "none":
            who = "ana" if token in ("Bearer good", "bearer  good ") else None
        else:
            ours = site in ("same-origin", "none") if site else origin == "https://us.example"
            who = "ana" if "{ours}=good" in cookie else None
            if who is None and trusted and names == ("bo",) and client == "1.1.1.1":
                who = "bo"
            who = who if ours or method in ("GET", "HEAD", "OPTIONS") else None
        try:
            door.admit(scope)
            found = scope["holder"].name
        except NotAllowedError:
            found = None
            assert "holder" not in scope
        assert found == who, (token, cookie, site, origin, names, client)


@pytest.mark.parametrize(("site", "origin"), [*itertools.product(SITES, ORIGINS)])
def test_who_is_not_known_signs_in_or_out_unless_another_site_asks(
    tmp_path: Path, site: str | None, origin: str | None
) -> None:
    tokens = Tokens(tmp_path / "trueup.tokens")
    door = Entrance(tokens, Links(tokens.store))
    told = ((b"host", "us.example"), (b"sec-fetch-site", site), (b"origin", origin))
    sent = [(name, value.encode()) for name, value in told if value is not None]
    foreign = site in ("same-site", "cross-site") if site else origin not in (None, ORIGINS[1])
    for method in ("GET", "POST", "DELETE"):
        scope = {"method": method, "path": "/api/v1/session", "headers": sent}
        if foreign and method != "GET":
            with pytest.raises(NotAllowedError):
                door.admit(scope)
        else:
            door.admit(scope)
        assert "holder" not in scope


def test_a_link_leads_to_its_release_and_nowhere_else(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "trueup.tokens")
    links = Links(tokens.store)
    door, link = Entrance(tokens, links), links.publish("trips.1")
    for rest in ("", "/ranges"):
        scope: Any = {"method": "GET", "path": f"/api/v1/public/{link}{rest}", "headers": []}
        door.admit(scope)
        assert scope["holder"] is PUBLIC
        assert scope["path"] == f"/api/v1/releases/trips.1{rest}" == scope["raw_path"].decode()
    links.publish("trips.2")
    links.withdraw("trips.1")
    wrong = [link, link[:-1], f"{link}x", "x" * 22, "", f"{link}/", f"{link}/../x", f"{link}/a/b"]
    for asked in wrong:
        scope = {"method": "GET", "path": f"/api/v1/public/{asked}", "headers": []}
        with pytest.raises(NotFoundError):
            door.admit(scope)
