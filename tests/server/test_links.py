"""Public links: one release, for anybody, and nothing else."""

from __future__ import annotations

from typing import Any

import httpx
import pytest


@pytest.fixture(scope="module")
def link(server: Any, fares: str) -> str:
    said = server("boss").put(f"/api/v1/releases/{fares}/public").json()
    assert said["release"] == fares
    return str(said["link"])


READ = [
    ("GET", "", None),
    ("GET", "/view?points=50", None),
    ("GET", "/cdf?points=50", None),
    ("GET", "/range?low=0&high=16", None),
    ("POST", "/ranges", {"ranges": [[0, 16]]}),
    ("POST", "/difference", {"first": [0, 16], "second": [16, 32]}),
    ("POST", "/quantiles", {"quantiles": [0.5]}),
    ("GET", "/file?format=csv", None),
    ("GET", "/measurement", None),
]


@pytest.mark.parametrize(("method", "rest", "body"), READ)
def test_whoever_has_the_link_reads_what_a_reader_reads(
    server: Any, fares: str, link: str, method: str, rest: str, body: Any
) -> None:
    public = httpx.request(method, f"{server.url}/api/v1/public/{link}{rest}", json=body)
    own = server("rea").request(method, f"/api/v1/releases/{fares}{rest}", json=body)
    assert public.status_code == own.status_code == 200
    if rest:
        assert public.content == own.content
    else:
        assert {**own.json(), "by": None} == public.json()
        assert own.json()["by"] == "ana"


@pytest.mark.parametrize("rest", ["/public", "/../trips.1", "/..", "/view/", "//view", "/%2e%2e"])
def test_a_link_reaches_nothing_else(server: Any, link: str, rest: str) -> None:
    for method in ("GET", "PUT", "DELETE", "POST"):
        said = httpx.request(method, f"{server.url}/api/v1/public/{link}{rest}")
        assert said.status_code in (401, 404, 405), (method, rest, said.text)
    assert server("boss").get("/api/v1/releases").json()["releases"][0]["link"] == link


def test_only_a_release_s_own_link_opens_it(server: Any, fares: str, link: str) -> None:
    for other in ("A" * 22, link[:-1], link + "A", fares, link.swapcase()):
        assert httpx.get(f"{server.url}/api/v1/public/{other}").status_code == 404
    for path in ("/api/v1/releases", f"/api/v1/releases/{fares}", "/api/v1/datasets", "/metrics"):
        assert httpx.get(f"{server.url}{path}").status_code == 401


def test_a_link_that_was_taken_back_is_gone_and_the_next_is_another(server: Any) -> None:
    release = server.measured("public-ages", column="age")
    address = f"/api/v1/releases/{release}/public"
    first = server("boss").put(address).json()["link"]
    assert server("boss").put(address).json()["link"] == first
    assert httpx.get(f"{server.url}/api/v1/public/{first}").status_code == 200
    assert server("boss").delete(address).json() == {"release": release, "link": None}
    assert httpx.get(f"{server.url}/api/v1/public/{first}").status_code == 404
    assert server("boss").put(address).json()["link"] != first


def test_only_the_owner_makes_a_release_public(server: Any, fares: str, link: str) -> None:
    for who in ("ana", "rea"):
        assert server(who).put(f"/api/v1/releases/{fares}/public").status_code == 401
        assert server(who).delete(f"/api/v1/releases/{fares}/public").status_code == 401
    assert server("boss").put("/api/v1/releases/trips.999/public").status_code == 404
    assert httpx.get(f"{server.url}/api/v1/public/{link}").status_code == 200
