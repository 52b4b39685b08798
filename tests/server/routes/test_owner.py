"""Routes of the owner."""

from __future__ import annotations

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
    assert not any("trips" in line for line in lines)
