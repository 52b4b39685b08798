"""Requests for more budget, as either store keeps them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import trueup as tu
from trueup.server import budget_requests
from trueup.server.auth import open_store
from trueup.server.budget_requests import BudgetRequests
from trueup.server.errors import NotFoundError


@pytest.fixture
def requests(token_place: str | Path) -> BudgetRequests:
    return BudgetRequests(open_store(token_place))


def test_a_request_is_decided_once(requests: BudgetRequests) -> None:
    made = requests.ask("trips", "ana", Fraction(1, 3), " Two lines,\nof words. ")
    assert (made.reason, made.wanted, made.state) == ("Two lines,\nof words.", "1/3", "open")
    granted = requests.decide(made.number, "granted", "1/4", "")
    assert (granted.state, granted.wanted) == ("granted", "1/4")
    assert requests.decide(made.number, "declined", "1/3", "too late") == granted
    assert requests.find(made.number) == granted
    with pytest.raises(NotFoundError):
        requests.find(made.number + 1)


def test_decided_ones_stay_and_open_ones_are_replaced(requests: BudgetRequests) -> None:
    first = requests.ask("trips", "ana", Fraction(1), "")
    requests.decide(first.number, "declined", "1", "no")
    requests.ask("trips", "ana", Fraction(2), "")
    last = requests.ask("trips", "ana", Fraction(3), "")
    assert [one.wanted for one in requests.list("ana")] == ["3", "1"]
    assert requests.list("bo") == []
    assert requests.list()[0] == last


def test_what_is_open_is_bounded(requests: BudgetRequests, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget_requests, "_MOST_OPEN", 2)
    for name in ("ana", "bo"):
        requests.ask("trips", name, Fraction(1), "")
    with pytest.raises(tu.InputError, match="requests are open"):
        requests.ask("trips", "cy", Fraction(1), "")
    requests.ask("trips", "bo", Fraction(2), "")
