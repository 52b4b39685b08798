"""Who asks: a token, or a cookie, which another site could make a browser send."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

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
