"""Routes of the owner."""

from __future__ import annotations

import time
from typing import Any


def test_the_ledger_is_verified(server: Any, fares: str) -> None:
    said = server("boss").post("/api/v1/datasets/trips/verify").json()
    assert said["entries"] >= 4
    assert "nothing lost" in said["sentence"]


def test_metrics_count_requests_by_route_and_status(server: Any) -> None:
    for _ in range(2):  # a request is counted once it has been answered
        server(None).get("/health")
    lines = server("boss").get("/metrics").text.splitlines()
    assert any('route="/health",status="200"' in line for line in lines)
    assert any(line.startswith("trueup_budget_limit") for line in lines)


def test_one_token_of_a_name_is_revoked_and_the_other_stays_good(server: Any) -> None:
    for _ in range(2):
        made = server("boss").post("/api/v1/tokens", json={"name": "two", "role": "reader"})
        server.secrets[f"two-{made.json()['number']}"] = made.json()["token"]
    first, second = sorted(name for name in server.secrets if name.startswith("two-"))
    number = int(first.removeprefix("two-"))
    assert server("ana").delete(f"/api/v1/tokens/{number}").status_code == 401
    assert server("boss").delete(f"/api/v1/tokens/{number}").json() == {"revoked": 1}
    assert server("boss").delete(f"/api/v1/tokens/{number}").status_code == 404
    assert server(first).get("/api/v1/me").status_code == 401
    assert server(second).get("/api/v1/me").status_code == 200
    tokens = server("boss").get("/api/v1/tokens").json()["tokens"]
    own = next(one["number"] for one in tokens if one["name"] == "boss")
    assert server("boss").delete(f"/api/v1/tokens/{own}").status_code == 400


def test_the_owner_sees_when_a_token_was_last_used(serving: Any) -> None:
    server = serving()
    before = {one["name"]: one for one in server("boss").get("/api/v1/tokens").json()["tokens"]}
    assert before["ana"]["last_used"] is None
    server("ana").get("/api/v1/me")
    until = time.monotonic() + 20
    while time.monotonic() < until:
        after = {one["name"]: one for one in server("boss").get("/api/v1/tokens").json()["tokens"]}
        if after["ana"]["last_used"] is not None:
            break
        time.sleep(0.05)
    assert after["ana"]["last_used"] >= before["ana"]["created"]
    assert after["rea"]["last_used"] is None
