"""Allowances: an analyst asks for more, the owner decides; every limit is in the ledger."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from trueup.server.auth import open_ledger

ASK = {"column": "fare", "epsilon": "3/4", "strategy": "tree"}


def allowed(server: Any, name: str, dataset: str = "trips") -> Fraction | None:
    limit = open_ledger(server.config.datasets[dataset]).allowed(name)[0]
    assert limit is None or isinstance(limit, Fraction)
    return limit


@pytest.fixture
def poor(serving: Any) -> Any:
    return serving({"boss": ("owner", None), "ana": ("analyst", "1/2"), "bo": ("analyst", 1)})


def test_a_request_that_is_granted_lets_an_analyst_spend(poor: Any) -> None:
    assert poor("ana").post("/api/v1/datasets/trips/quote", json=ASK).json()["allowed"] is False
    asked = poor("ana").post(
        "/api/v1/datasets/trips/requests", json={"more": "1/4", "reason": "The last question."}
    )
    made = asked.json()
    assert (made["state"], made["wanted"], made["limit"]) == ("open", "3/4", "1/2")
    (seen,) = poor("boss").get("/api/v1/requests").json()["requests"]
    assert seen == made
    assert allowed(poor, "ana") == Fraction(1, 2)
    decided = poor("boss").post(
        f"/api/v1/requests/{made['number']}", json={"decision": "grant", "note": "Welcome."}
    )
    assert (decided.json()["state"], decided.json()["limit"]) == ("granted", "3/4")
    assert allowed(poor, "ana") == Fraction(3, 4)
    (told,) = poor("ana").get("/api/v1/requests").json()["requests"]
    assert (told["state"], told["note"]) == ("granted", "Welcome.")
    assert poor("ana").post("/api/v1/datasets/trips/quote", json=ASK).json()["allowed"] is True
    again = poor("boss").post(f"/api/v1/requests/{made['number']}", json={"decision": "grant"})
    assert again.status_code == 400


def test_a_request_may_be_granted_in_part_or_declined(poor: Any) -> None:
    ask = poor("ana").post("/api/v1/datasets/trips/requests", json={"more": 5}).json()
    body = {"decision": "grant", "limit": "0.6"}
    assert poor("boss").post(f"/api/v1/requests/{ask['number']}", json=body).status_code == 200
    assert allowed(poor, "ana") == Fraction(3, 5)
    ask = poor("ana").post("/api/v1/datasets/trips/requests", json={"more": 5}).json()
    body = {"decision": "decline", "note": "Not this year."}
    said = poor("boss").post(f"/api/v1/requests/{ask['number']}", json=body).json()
    assert (said["state"], said["note"]) == ("declined", "Not this year.")
    assert allowed(poor, "ana") == Fraction(3, 5)


def test_a_new_request_takes_the_place_of_an_open_one_and_others_are_not_seen(poor: Any) -> None:
    for more in ("1/4", "1/8"):
        poor("ana").post("/api/v1/datasets/trips/requests", json={"more": more})
    poor("bo").post("/api/v1/datasets/friends/requests", json={"more": 1})
    (own,) = poor("ana").get("/api/v1/requests").json()["requests"]
    assert (own["wanted"], own["dataset"]) == ("5/8", "trips")
    everyone = poor("boss").get("/api/v1/requests").json()["requests"]
    assert [one["name"] for one in everyone] == ["bo", "ana"]


def test_who_may_ask_and_decide(poor: Any) -> None:
    assert poor("boss").post("/api/v1/datasets/trips/requests", json={"more": 1}).status_code == 400
    assert poor("ana").post("/api/v1/datasets/none/requests", json={"more": 1}).status_code == 404
    for more in (0, -1, "x"):
        wrong = poor("ana").post("/api/v1/datasets/trips/requests", json={"more": more})
        assert wrong.status_code == 400
    bell = {"more": 1, "reason": "\x07"}
    assert poor("ana").post("/api/v1/datasets/trips/requests", json=bell).status_code == 400
    made = poor("ana").post("/api/v1/datasets/trips/requests", json={"more": 1}).json()
    mine = f"/api/v1/requests/{made['number']}"
    assert poor("ana").post(mine, json={"decision": "grant"}).status_code == 401
    assert poor("boss").post("/api/v1/requests/99", json={"decision": "grant"}).status_code == 404


def test_the_owner_sets_allowances(poor: Any) -> None:
    place = "/api/v1/datasets/trips/allowances"
    assert poor("boss").put(f"{place}/ana", json={"limit": "2"}).json()["limit"] == "2"
    assert allowed(poor, "ana") == 2
    assert poor("boss").put(f"{place}/ana", json={"limit": "0"}).json()["limit"] == "0"
    assert allowed(poor, "ana") == 0
    assert allowed(poor, "ana", "friends") == Fraction(1, 2)
    listed = poor("boss").get(place).json()["allowances"]
    assert listed == [
        {"name": "ana", "limit": "0", "spent": "0", "notion": "epsilon", "per": None},
        {"name": "bo", "limit": "1", "spent": "0", "notion": "epsilon", "per": None},
    ]
    for name, limit in (("nobody", 1), ("boss", 1), ("ana", -1), ("ana", "much")):
        assert poor("boss").put(f"{place}/{name}", json={"limit": limit}).status_code == 400
    assert poor("ana").put(f"{place}/ana", json={"limit": 9}).status_code == 401
    assert poor("ana").get(place).status_code == 401
