"""Datasets whose ledgers count ρ, over the wire: quoted, measured, listed and refused."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

import trueup as tu
from trueup.server import auth
from trueup.server.auth import Tokens, create
from trueup.server.settings import read_settings

from .conftest import Running, running, write_config


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with a dataset that counts ρ and one that counts ε."""
    path = write_config(tmp_path_factory.mktemp("many"))
    text = path.read_text().replace('limit = "100"', 'rho = "1/2"\ndelta_limit = "1e-9"', 1)
    path.write_text(text)
    with running(path, {"boss": ("owner", None)}) as found:
        tokens = Tokens(read_settings(found.config).tokens)
        given: Any = (tokens, found.config.datasets, "ana", "analyst", 1)
        found.secrets["ana"] = create(*given, rho="1/8")
        yield found


def test_a_dataset_says_what_it_counts_and_what_that_means(many: Any) -> None:
    trips, friends = many().get("/api/v1/datasets").json()["datasets"]
    assert (trips["notion"], trips["limit"], trips["yours"]) == ("rho", "1/2", "1/8")
    assert (trips["delta_limit"], trips["spent_delta"]) == ("1/1000000000", "0")
    assert trips["limit_shown"]["epsilon"] == pytest.approx(5.222)
    assert (friends["notion"], friends["limit_shown"]) == ("epsilon", None)
    me = many().get("/api/v1/me").json()
    assert me["limit"] is None  # a sum of epsilon and rho means nothing
    assert (me["datasets"]["trips"]["notion"], me["datasets"]["friends"]["limit"]) == ("rho", "1")


def test_what_is_quoted_in_rho_is_what_the_plan_says(many: Any) -> None:
    body = {"column": "fare", "rho": "1/200"}
    said = many().post("/api/v1/datasets/trips/quote", json=body).json()
    assert (said["cost"], said["notion"], said["allowed"]) == ("1/200", "rho", True)
    shown = tu.Cost.of(rho="1/200").shown_at("1e-6")
    assert said["shown"] == {"epsilon": float(shown.amount), "delta": 1e-6}
    figures = {row["strategy"]: row for row in said["strategies"]}
    plan = tu.plan(tu.Axis.regular("fare", 0, 128, 256), rho="1/200")
    assert figures["windows"]["mean_error"] == pytest.approx(plan["windows"].mean)
    pure = many().post("/api/v1/datasets/trips/quote", json={"column": "fare", "epsilon": 0.1})
    assert (pure.json()["cost"], pure.json()["notion"]) == ("1/200", "rho")
    dear = many().post("/api/v1/datasets/trips/quote", json={"column": "fare", "rho": 0.2}).json()
    assert (dear["allowed"], dear["why_not"]) == (False, "This costs 1/5; 1/8 is left for you.")


def test_rho_is_charged_published_and_listed(many: Any) -> None:
    client = tu.connect(many.url, token=many.secrets["ana"])
    assert client.datasets()["trips"].notion == "rho"
    quote = client.quote("trips", "fare", rho="1/200")
    assert str(quote).startswith("rho 1/200 by ")
    measured = client.measure("trips", "fare", rho="1/200", key="first-key")
    assert (measured.rho, measured.epsilon) == (Fraction(1, 200), None)
    assert client.measure("trips", "fare", rho="1/200", key="first-key").id == measured.id
    client.measure("trips", "age", epsilon="1/10")
    assert many.spent("trips") == Fraction(1, 100)
    first, second = client.releases()
    assert (first.epsilon, first.rho) == (None, Fraction(1, 200))
    assert (second.epsilon, second.rho) == (Fraction(1, 10), Fraction(1, 200))
    release = tu.infer(measured)
    assert release.total().value == pytest.approx(3000, abs=400)
    history = many("boss").get("/api/v1/datasets/trips/history").json()
    assert (history["notion"], [line["spent"] for line in history["charges"]]) == (
        "rho",
        ["1/200", "1/100"],
    )
    assert many("boss").post("/api/v1/datasets/trips/verify").json()["entries"] == 6
    said = many().get(f"/api/v1/releases/{first.id}/range?low=0&high=64").json()
    mine = release.range(0, 64)
    assert said["count"] == mine.value
    assert [said["low"], said["high"]] == pytest.approx(list(mine.interval(0.95)))


@pytest.mark.parametrize(
    ("dataset", "body", "pointer", "words"),
    [
        ("friends", {"rho": "1/200"}, "/rho", "the ledger counts epsilon"),
        ("trips", {"column": "fare", "rho": 1, "epsilon": 1}, "/rho", "one of the two; got both"),
        ("trips", {"column": "fare"}, "/epsilon", "one of the two; got neither"),
        ("trips", {"column": "fare", "rho": 0}, "/rho", "rho must be positive"),
        ("trips", {"column": "fare", "rho": "x"}, "/rho", "rho must be a number"),
    ],
)
def test_what_cannot_be_paid_is_refused_by_its_field_and_costs_nothing(
    many: Any, dataset: str, body: dict[str, Any], pointer: str, words: str
) -> None:
    before = many.spent(dataset)
    for route in ("quote", "measure"):
        said = many().post(
            f"/api/v1/datasets/{dataset}/{route}", json=body, headers={"Idempotency-Key": "k" * 8}
        )
        assert said.status_code == 400, said.text
        problem = said.json()
        assert problem["pointer"] == pointer
        assert words in problem["detail"]
    assert many.spent(dataset) == before


def test_more_rho_is_asked_for_and_granted(many: Any) -> None:
    asked = many().post("/api/v1/datasets/trips/requests", json={"more": "1/8"}).json()
    assert (asked["wanted"], asked["notion"]) == ("1/4", "rho")
    number = asked["number"]
    granted = many("boss").post(f"/api/v1/requests/{number}", json={"decision": "grant"}).json()
    assert (granted["state"], granted["limit"]) == ("granted", "1/4")
    assert auth.open_ledger(many.config.datasets["trips"]).allowed("ana")[0] == Fraction(1, 4)
    body = {"name": "bo", "role": "analyst", "limit": "1/2"}
    wrong = many("boss").post("/api/v1/tokens", json=body)
    assert "'trips' counts rho: give rho" in wrong.json()["detail"]
    made = many("boss").post("/api/v1/tokens", json=body | {"rho": "1/9"}).json()
    assert made["limits"]["trips"] == {"limit": "1/9", "spent": "0", "notion": "rho", "per": None}


def test_two_releases_at_a_rho_are_combined_by_their_rho(many: Any) -> None:
    client = tu.connect(many.url, token=many.secrets["ana"])
    asked = {"column": "age", "strategy": "flat"}
    client.measure("trips", **asked, rho="1/200", key="combined-1")
    client.measure("trips", **asked, rho="3/200", key="combined-2")
    first, second = [one.id for one in client.releases() if one.strategy == "flat"]
    body = {"other": second, "ranges": [[0, 50]]}
    said = many().post(f"/api/v1/releases/{first}/compare", json=body).json()["answers"][0]
    weighted = (said["first"]["count"] + 3 * said["second"]["count"]) / 4
    assert said["combined"]["count"] == pytest.approx(weighted)
