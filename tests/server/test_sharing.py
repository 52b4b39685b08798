"""A path under a proxy, pages of other sites, a proxy that says who asks: off unless set."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from trueup.server.sharing import strip

OURS = "https://counts.example"
ASKS = {
    "Origin": OURS,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization,content-type",
}


def test_no_other_site_reads_anything_unless_it_is_named(server: Any) -> None:
    said = server("rea").get("/api/v1/me", headers={"Origin": OURS})
    assert "access-control-allow-origin" not in said.headers
    assert said.headers["cross-origin-resource-policy"] == "same-origin"
    assert server(None).options("/api/v1/me", headers=ASKS).status_code == 401


def test_a_site_that_is_named_may_send_a_token_and_never_a_cookie(serving: Any) -> None:
    server = serving(server=f'cors_origins = ["{OURS}"]')
    asked = httpx.options(f"{server.url}/api/v1/datasets/trips/quote", headers=ASKS)
    assert (asked.status_code, asked.content) == (204, b"")
    assert asked.headers["access-control-allow-origin"] == OURS
    assert "Authorization" in asked.headers["access-control-allow-headers"]
    assert "access-control-allow-credentials" not in asked.headers
    said = server("rea").get("/api/v1/me", headers={"Origin": OURS})
    assert said.headers["access-control-allow-origin"] == OURS
    assert said.headers["vary"] == "Origin"
    refused = httpx.get(f"{server.url}/api/v1/me", headers={"Origin": OURS})
    assert refused.status_code == 401
    for other in ("https://evil.example", "null", OURS + ".evil", OURS.upper()):
        said = server("rea").get("/api/v1/me", headers={"Origin": other})
        assert "access-control-allow-origin" not in said.headers
    body = {"column": "fare", "epsilon": 1}
    foreign = {"Origin": OURS, "Sec-Fetch-Site": "cross-site"}
    browser = server.browser()
    said = browser.post("/api/v1/datasets/trips/quote", json=body, headers=foreign)
    assert said.status_code == 401


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("/counts", "/"),
        ("/counts/", "/"),
        ("/counts/api/v1/me", "/api/v1/me"),
        ("/counts/counts", "/counts"),
        ("/countsapi/v1/me", "/countsapi/v1/me"),  # another path, which begins alike
        ("/api/counts/x", "/api/counts/x"),
        ("/api/v1/me", "/api/v1/me"),
    ],
)
def test_a_path_is_taken_off_where_it_is_one(path: str, left: str) -> None:
    scope = {"path": path, "raw_path": path.encode()}
    strip(scope, "/counts")
    assert (scope["path"], scope["raw_path"]) == (left, left.encode())
    strip(scope, "")
    assert scope["path"] == left


def test_a_server_under_a_path_answers_with_and_without_it(serving: Any) -> None:
    server = serving(server='root_path = "/counts"')
    for path in ("/health", "/counts/health", "/", "/counts/", "/counts/openapi.json"):
        assert httpx.get(f"{server.url}{path}").status_code == 200, path
    document = httpx.get(f"{server.url}/counts/openapi.json").json()
    assert document["servers"] == [{"url": "/counts"}]
    assert server("rea").get("/counts/api/v1/me").json()["name"] == "rea"
    assert httpx.get(f"{server.url}/counts/api/v1/me").status_code == 401
    assert httpx.get(f"{server.url}/countsapi/v1/me").status_code == 404
    said = httpx.post(f"{server.url}/counts/api/v1/session", json={"token": server.secrets["ana"]})
    assert "Path=/counts;" in said.headers["set-cookie"]
    body = {"column": "fare", "epsilon": "1/10"}
    headers = {"Idempotency-Key": "under-a-path"}
    address = "/counts/api/v1/datasets/trips/measure"
    for _ in range(100):
        made = server().post(address, json=body, headers=headers)
        if made.status_code == 200:
            break
    assert server().get(made.json()["measurement"]).status_code == 200
    assert made.json()["measurement"].startswith("/counts/")


SSO = "X-Remote-User"


def test_a_proxy_s_word_is_nothing_unless_it_is_trusted(server: Any) -> None:
    assert server(None).get("/api/v1/me", headers={SSO: "boss"}).status_code == 401


def test_a_trusted_proxy_says_who_asks(serving: Any) -> None:
    server = serving(server=f'sso_header = "{SSO}"')
    address = f"{server.url}/api/v1/me"
    assert httpx.get(address, headers={SSO: "ana"}).json()["role"] == "analyst"
    signed = httpx.get(f"{server.url}/api/v1/session", headers={SSO: "ana"}).json()
    assert (signed["signed_in"], signed["name"]) == (True, "ana")
    for wrong in ([(SSO, "nobody")], [(SSO, "")], [(SSO, "ana"), (SSO, "boss")], []):
        assert httpx.get(address, headers=wrong).status_code == 401, wrong
    body = {"column": "fare", "epsilon": 1}
    quote = f"{server.url}/api/v1/datasets/trips/quote"
    own = {SSO: "ana", "Sec-Fetch-Site": "same-origin"}
    assert httpx.post(quote, json=body, headers={SSO: "ana"}).status_code == 401
    assert httpx.post(quote, json=body, headers=own).status_code == 200
    server("boss").delete("/api/v1/tokens?name=ana")
    assert httpx.get(address, headers={SSO: "ana"}).status_code == 401


def test_a_proxy_at_another_address_is_not_believed(serving: Any) -> None:
    server = serving(server=f'sso_header = "{SSO}"\nsso_proxies = ["10.0.0.7"]')
    assert httpx.get(f"{server.url}/api/v1/me", headers={SSO: "ana"}).status_code == 401


@pytest.mark.parametrize(
    "wrong",
    [
        'root_path = "counts"',
        'root_path = "/counts/"',
        'cors_origins = ["*"]',
        'cors_origins = ["https://counts.example/"]',
        'sso_header = "X User"',
    ],
)
def test_what_makes_no_sense_stops_the_server(serving: Any, wrong: str) -> None:
    import trueup as tu

    with pytest.raises(tu.FileError):
        serving(server=wrong)
