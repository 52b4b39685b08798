"""Quotes over HTTP: what they tell holds, and the budgets of periods beside them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

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
