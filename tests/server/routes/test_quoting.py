"""Quotes over HTTP: what they tell holds, and the budgets of periods beside them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from trueup.server.auth import Tokens, create
from trueup.server.routes import told


def quoted(server: Any, dataset: str, body: dict[str, Any], who: str = "ana") -> Any:
    return server(who).post(f"/api/v1/datasets/{dataset}/quote", json=body).json()


@pytest.mark.parametrize(
    ("dataset", "body"),
    [
        ("trips", {"column": "age", "epsilon": "1/10"}),
        ("words", {"keys": "word", "epsilon": "1/10", "delta": "1e-6"}),
        ("words", {"keys": "hosts", "epsilon": "1/10"}),
        ("riders", {"column": "top", "epsilon": "1/10", "where": "trips > 3"}),
        ("daily", {"column": "fare", "epsilon": "1/10", "period": "2027-01-01"}),
        ("daily", {"keys": "tips", "epsilon": "1/10", "period": ["2027-01-01", "2027-01-03"]}),
    ],
)
def test_a_quote_costs_nothing_and_tells_every_field(
    standing: Any, dataset: str, body: dict[str, Any]
) -> None:
    said = quoted(standing, dataset, body)
    told.QuoteTold.model_validate(said)
    assert said == quoted(standing, dataset, body)
    assert Fraction(said["cost"]) == Fraction(1, 10)
    assert said["allowed"] is True
    asked = body.get("period", [])
    assert said["periods"] == ([asked] if isinstance(asked, str) else asked)


def test_the_price_of_several_days_is_that_of_one_and_each_pays_it(standing: Any) -> None:
    asked = {"column": "fare", "epsilon": "1/10"}
    one = quoted(standing, "daily", {**asked, "period": "2027-01-01"})
    week = quoted(standing, "daily", {**asked, "period": "2027-01-01", "through": "2027-01-07"})
    assert (one["cost"], len(one["periods"])) == (week["cost"], 1)
    assert len(week["periods"]) == 7
    full = quoted(standing, "daily", {**asked, "period": "2026-01-07", "through": "2027-01-01"})
    assert (full["allowed"], full["remaining"]) == (False, "0")
    assert full["why_not"] == "This costs 1/10; 0 is left for you on the fullest day."


def test_a_dataset_without_periods_lists_none(standing: Any) -> None:
    said = standing("rea").get("/api/v1/datasets/trips/periods").json()
    assert said == {"periods": [], "total": 0, "next": None}
    told.PeriodBudgets.model_validate(
        standing("ana").get("/api/v1/datasets/daily/periods?start=2&limit=3").json()
    )


DAYS = ["2026-01-09", "2026-01-10"]  # nothing is published of them
CASES = [
    # dataset, who, what is spent before, what is asked, whether it may be paid
    ("words", "boss", {"keys": "word", "epsilon": 1, "delta": "6/10000"}, {"delta": "5/10000"}, 0),
    ("words", "boss", None, {"keys": "word", "epsilon": 1, "delta": "4/10000"}, 1),
    ("trips", "fred", None, {"column": "age", "epsilon": "1/10"}, 0),
    ("trips", "ana", {"column": "age", "epsilon": 3}, {"epsilon": "11/10"}, 0),
    ("trips", "ana", None, {"column": "age", "epsilon": 1}, 1),
    ("daily", "ana", {"column": "fare", "epsilon": 1, "period": DAYS[1]}, {"period": DAYS}, 1),
    ("daily", "ana", None, {"column": "fare", "epsilon": "3/2", "period": DAYS}, 0),
    ("daily", "boss", None, {"column": "fare", "epsilon": 1, "period": DAYS}, 1),
]


def test_a_quote_allows_exactly_what_a_measurement_then_does(serving: Any) -> None:
    """Whoever asks, of whatever is left: of a person's part, of a delta, of the fullest day."""
    people = {"boss": ("owner", None), "ana": ("analyst", 4)}
    server = serving(people, series=True)
    kept = Tokens(server.config.path.parent / "trueup.tokens")
    made = (kept, server.config.datasets, "fred", "analyst", 1, ["friends"])
    server.secrets["fred"] = create(*made)  # who may spend nothing of the trips
    for number, (dataset, who, before, asked, allowed) in enumerate(CASES):
        body = asked if before is None else {**before, **asked}
        if before is not None:
            measure(server, dataset, who, f"before-{number}", before)
        said = quoted(server, dataset, body, who)
        assert said["allowed"] is bool(allowed), said["why_not"]
        assert (said["why_not"] is None) is said["allowed"]
        sent = measure(server, dataset, who, f"quoted-{number}", body)
        assert sent.get("code", "paid") == ("paid" if allowed else "budget"), sent
        if who == "fred":
            assert (
                said["why_not"]
                == sent["detail"]
                == ("You have no allowance on 'trips'. Ask its owner for one.")
            )


def measure(server: Any, dataset: str, who: str, key: str, body: dict[str, Any]) -> Any:
    path, headers = f"/api/v1/datasets/{dataset}/measure", {"Idempotency-Key": key}
    said = server(who).post(path, json=body, headers=headers)
    while said.status_code == 202:
        said = server(who).post(path, json=body, headers=headers)
    return said.json()
