"""Questions about a dataset with a limit for each day: named, quoted, paid by each day, kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest

import trueup as tu
from trueup.config import read_config
from trueup.cost import Cost
from trueup.errors import InputError, KeyConflictError
from trueup.period import Calendar, told
from trueup.server.auth import open_ledger
from trueup.server.by_period import periods_asked, stretches
from trueup.server.datasets import Table
from trueup.server.errors import FieldError
from trueup.standing import publish_due, read_series

DAYS = Calendar("day", "at", "Europe/Berlin")
HOURS = Calendar("hour", "at", "Europe/Berlin")
FREE = "2026-01-09"  # nothing is published of it
FULL = "2026-01-03"  # series have spent all of it


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (("2026-03-01", None), ["2026-03-01"]),
        ((("2026-03-05", "2026-03-01"), None), ["2026-03-01", "2026-03-05"]),
        (("2026-02-27", "2026-03-01"), ["2026-02-27", "2026-02-28", "2026-03-01"]),
        (("2026-03-01", "2026-03-01"), ["2026-03-01"]),
    ],
)
def test_periods_are_named_or_given_by_their_ends(given: Any, names: list[str]) -> None:
    assert [each.name for each in periods_asked(DAYS, *given)] == names


@pytest.mark.parametrize(
    ("calendar", "given", "pointer", "words"),
    [
        (None, ("2026-03-01", None), "/period", "one limit for all time"),
        (None, (None, "2026-03-01"), "/through", "one limit for all time"),
        (DAYS, (None, None), "/period", "a limit for each day: say which"),
        (DAYS, (None, "2026-03-01"), "/period", "a limit for each day: say which"),
        (DAYS, ("March", None), "/period", "named like"),
        (DAYS, (("2026-03-01", "2026-03-01"), None), "/period", "named twice"),
        (DAYS, (("2026-03-01", "2026-03-03"), "2026-03-05"), "/through", "goes with one day"),
        (DAYS, ("2026-03-02", "2026-03-01"), "/through", "comes after"),
        (DAYS, ("2026-03-02", "later"), "/through", "named like"),
        (HOURS, ("2026-03-29T02", None), "/period", "clocks left it out"),
        (HOURS, ("1900-01-01T00", "2999-12-31T23"), "/through", "At most 1,000 hours"),
    ],
)
def test_what_names_no_period_is_blamed_in_its_field(
    calendar: Calendar | None, given: Any, pointer: str, words: str
) -> None:
    with pytest.raises(FieldError, match=words) as wrong:
        periods_asked(calendar, *given)
    assert wrong.value.pointer == pointer


def test_a_stretch_that_is_too_long_is_refused_before_it_is_walked_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def walked(*_: object) -> None:
        raise AssertionError("a period was listed")

    monkeypatch.setattr(Calendar, "after", walked)
    monkeypatch.setattr(Calendar, "between", walked)
    with pytest.raises(FieldError, match="At most 1,000 hours"):
        periods_asked(HOURS, "1900-01-01T00", "2999-12-31T23")


def test_a_thousand_periods_are_taken_and_one_more_is_not() -> None:
    assert len(periods_asked(DAYS, "2020-01-01", "2022-09-26")) == 1000
    with pytest.raises(InputError, match="At most 1,000 days"):
        periods_asked(DAYS, "2020-01-01", "2022-09-27")


def test_stretches_say_exactly_which_periods() -> None:
    names = ["2026-03-28T22", "2026-03-29T01", "2026-03-29T03", "2026-03-29T04"]
    assert stretches(HOURS, names) == "2026-03-28T22, 2026-03-29T01 to 2026-03-29T04"
    assert stretches(DAYS, ["2026-03-01"]) == "2026-03-01"


def ask(server: Any, body: dict[str, Any], what: str = "quote", who: str = "ana") -> Any:
    headers = {"Idempotency-Key": f"by-period-{json.dumps(body, sort_keys=True)}"[:200]}
    headers = {"Idempotency-Key": headers["Idempotency-Key"].replace(" ", "")}
    return server(who).post(f"/api/v1/datasets/daily/{what}", json=body, headers=headers)


@pytest.fixture(scope="module")
def days(
    running_at: Any, config_at: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    """One server for all tests here, each of which asks about days of its own."""
    people = {"boss": ("owner", None), "ana": ("analyst", "3/2"), "rea": ("reader", None)}
    with running_at(config_at(tmp_path_factory.mktemp("days"), series=True), people) as found:
        yield found


def test_each_named_day_pays_once_and_no_other(days: Any) -> None:
    body = {"column": "fare", "epsilon": "1/2", "period": "2026-05-01", "through": "2026-05-02"}
    said = ask(days, body).json()
    assert (said["cost"], said["remaining"], said["allowed"]) == ("1/2", "3/2", True)
    assert said["periods"] == ["2026-05-01", "2026-05-02"]
    release = days.measured("two-days-1", dataset="daily", **body)
    assert days.measured("two-days-1", dataset="daily", **body) == release
    ledger = open_ledger(days.config.datasets["daily"])
    spent = {name: now.spent.amount for name, now in ledger.periods.items()}
    assert {spent["2026-05-01"], spent["2026-05-02"]} == {Fraction(1, 2)}
    assert {spent[f"2026-01-0{day}"] for day in range(1, 8)} == {Fraction(3)}
    assert not {"2026-04-30", "2026-05-03"} & set(spent)
    told = days("rea").get("/api/v1/datasets/daily/periods?limit=3").json()
    assert told["total"] == len(spent)
    assert told["next"] == 3
    assert [line["period"] for line in told["periods"]][:2] == ["2026-05-02", "2026-05-01"]
    assert told["periods"][1] == {
        "period": "2026-05-01", "limit": "3", "spent": "1/2", "remaining": "5/2", "yours": None,
    }  # fmt: skip
    own = days("ana").get("/api/v1/datasets/daily/periods").json()["periods"]
    assert [line["yours"] for line in own[:2]] == ["1", "1"]
    assert own[-1] == {
        "period": "2026-01-01", "limit": "3", "spent": "3", "remaining": "0", "yours": "0",
    }  # fmt: skip


def test_the_answer_is_of_the_rows_of_these_days_alone(days: Any) -> None:
    rows = pq.read_table(days.config.datasets["daily"].source).to_pydict()
    pairs = list(zip(map(str, rows["day"]), rows["user"], strict=True))
    least = {  # at most two rows of each user and day count
        day: sum(min(2, pairs.count((day, user))) for user in set(rows["user"]))
        for day in (FREE, "2026-01-10")
    }
    for period, days_counted in ((FREE, [FREE]), ([FREE, "2026-01-10"], [FREE, "2026-01-10"])):
        key = f"rows-of-{len(days_counted)}-days"
        asked = {"epsilon": "3/4", "period": period, "strategy": "flat"}
        name = days.measured(key, dataset="daily", **asked)
        stored = days("ana").get(f"/api/v1/releases/{name}/measurement").content
        found = tu.infer(tu.Measurement.from_bytes(stored))
        assert isinstance(found, tu.Release)
        low, high = found.total().interval(1 - 1e-9)
        assert low <= sum(least[day] for day in days_counted) <= high
        line = days("rea").get(f"/api/v1/releases/{name}").json()
        assert line["period"] == (FREE if len(days_counted) == 1 else f"{FREE} to 2026-01-10")
        assert line["series"] is None


@pytest.mark.parametrize("more", [{}, {"strategy": "sorted"}, {"strategy": "flat"}])
def test_a_quote_and_the_measurement_refuse_the_same(days: Any, more: Any) -> None:
    for body, status in (
        ({"period": FULL}, 409),  # series have spent it
        ({"period": ["2026-04-09", FULL]}, 409),  # one of two
        ({"period": "2026-04-09", "epsilon": 2}, 409),  # above the allowance of each day
        ({}, 400),
        ({"period": "2026-01"}, 400),
        ({"period": "2026-04-09", "where": "nothing = 1"}, 400),
    ):
        asked = {"column": "fare", "epsilon": 1, **body, **more}
        quoted, measured = ask(days, asked), ask(days, asked, "measure")
        assert measured.status_code == status, measured.text
        if status == 400:
            assert quoted.json() == measured.json()
        else:
            assert quoted.json()["allowed"] is False
            assert "is left for you" in quoted.json()["why_not"]
    assert not open_ledger(days.config.datasets["daily"]).spent_in("2026-04-09")


def test_a_key_that_paid_for_one_day_gives_no_answer_about_another(days: Any) -> None:
    asked = {"column": "fare", "epsilon": "1/2", "period": "2026-06-01"}
    days.measured("one-key-1", dataset="daily", **asked)
    for other in ({"period": "2026-06-02"}, {"through": "2026-06-02"}):
        said = days("ana").post(
            "/api/v1/datasets/daily/measure",
            json={**asked, **other},
            headers={"Idempotency-Key": "one-key-1"},
        )
        assert (said.status_code, said.json()["code"]) == (409, "key_conflict")


def test_an_allowance_is_of_each_day(days: Any) -> None:
    for day in ("2026-07-01", "2026-07-02"):
        days.measured(f"whole-{day}", dataset="daily", epsilon="3/2", period=day)
    said = ask(days, {"column": "fare", "epsilon": "1/10", "period": "2026-07-01"}).json()
    assert (said["allowed"], said["remaining"]) == (False, "0")
    assert said["why_not"] == "This costs 1/10; 0 is left for you on 2026-07-01."
    assert ask(days, {"column": "fare", "epsilon": 1, "period": "2026-07-01"}, who="boss").json()[
        "allowed"
    ]
    mine = days("ana").get("/api/v1/me").json()
    assert mine["datasets"]["daily"] == {
        "notion": "epsilon", "per": "day", "limit": "3/2", "spent": "3/2", "remaining": None,
    }  # fmt: skip
    assert mine["remaining"] is None
    listed = days("boss").get("/api/v1/datasets/daily/allowances").json()["allowances"]
    assert listed == [
        {"name": "ana", "limit": "3/2", "spent": "3/2", "notion": "epsilon", "per": "day"}
    ]
    more = days("ana").post("/api/v1/datasets/daily/requests", json={"more": "1/2"}).json()
    assert (more["wanted"], more["per"]) == ("2", "day")
    granted = days("boss").post(f"/api/v1/requests/{more['number']}", json={"decision": "grant"})
    assert granted.json()["limit"] == "2"
    said = ask(days, {"column": "fare", "epsilon": "1/10", "period": "2026-07-01"}).json()
    assert (said["allowed"], said["remaining"]) == (True, "1/2")
    days("boss").put("/api/v1/datasets/daily/allowances/ana", json={"limit": "3/2"})


def test_somebody_without_an_allowance_may_not_spend_of_any_day(days: Any) -> None:
    allowance = "/api/v1/datasets/daily/allowances/ana"
    days("boss").put(allowance, json={"limit": "0"})
    asked = {"column": "fare", "epsilon": "1/10", "period": "2026-07-01"}
    assert ask(days, asked).json()["remaining"] == "0"
    assert ask(days, asked, "measure").status_code == 409
    assert ask(days, asked, who="rea").status_code == 401
    made = {"name": "bo", "role": "analyst", "limit": "1", "datasets": ["trips"]}
    days.secrets["bo"] = days("boss").post("/api/v1/tokens", json=made).json()["token"]
    said = ask(days, asked, who="bo").json()
    assert (said["remaining"], said["allowed"]) == ("0", False)
    assert said["why_not"] == "You have no allowance on 'daily'. Ask its owner for one."
    told = days("bo").get("/api/v1/datasets/daily/periods").json()["periods"]
    assert {line["yours"] for line in told} == {"0"}
    assert ask(days, asked, "measure", "bo").status_code == 409
    days("boss").put(allowance, json={"limit": "3/2"})


def test_what_paid_for_series_is_no_release_of_its_own(days: Any) -> None:
    ledger = open_ledger(days.config.datasets["daily"])
    entries = [charge.entry for charge in ledger.history() if charge.by is None]
    assert len(entries) == 7
    for entry in entries:
        for path in (f"releases/daily.{entry}", f"jobs/daily.{entry}"):
            assert days("boss").get(f"/api/v1/{path}").status_code == 404
    days.measured("after-series", dataset="daily", epsilon=1, period="2026-08-01")
    told = days("boss").get("/api/v1/datasets/daily/history").json()["charges"]
    listed = days("boss").get("/api/v1/releases").json()["releases"]
    for lines, name in ((told, "entry"), (listed, "id")):
        named = {line[name] for line in lines if line["dataset"] == "daily"}
        assert not named & {*entries, *(f"daily.{entry}" for entry in entries)}
    assert (told[-1]["period"], told[-1]["spent"], told[-1]["by"]) == ("2026-08-01", "1", "ana")
    assert days("rea").get("/api/v1/series/fares").json()["published"] == 7


def test_a_dataset_tells_its_periods_and_no_sum_over_them(days: Any) -> None:
    said = days("ana").get("/api/v1/datasets/daily").json()
    unsaid = ("spent", "remaining", "spent_delta", "yours", "shown")
    assert [said[name] for name in unsaid] == [None] * 5
    assert said["limit"] == "3"
    assert said["periods"] == {
        "per": "day", "zone": "UTC", "example": "2026-03-01", "last": said["periods"]["last"],
        "loses": "a user with rows on 30 days: at most 30 × 3", "sampled": False,
    }  # fmt: skip
    assert "of one day" in said["protects"]
    text = days("boss").get("/metrics").text
    assert 'trueup_budget_spent{dataset="daily",per="day"} 3.0' in text
    client = tu.connect(days.url, days.secrets["ana"])
    assert (client.datasets()["daily"].per, client.datasets()["daily"].spent) == ("day", None)
    assert client.datasets()["trips"].per is None
    quote = client.quote("daily", "fare", epsilon=1, period="2026-09-02")
    assert quote.allowed
    found = client.measure("daily", "fare", epsilon=1, period=["2026-09-02", "2026-09-01"])
    assert found.facts.period is not None
    assert found.facts.period.names == ("2026-09-01", "2026-09-02")
    with pytest.raises(InputError, match="A period goes by its name"):
        client.quote("daily", "fare", epsilon=1, period=7)  # type: ignore[arg-type]


def test_a_measurement_whose_process_died_is_taken_up_for_the_same_days(days: Any) -> None:
    from trueup.server.jobs import Job

    service = days.guard.app.app.state.service
    table = service.tables["daily"]
    body = {"column": "fare", "epsilon": "1/2", "period": ["2026-10-01", "2026-10-02"]}
    name = days.measured("to-be-taken-up", dataset="daily", **body)
    _, charge = service.releases.find(name)
    again = Job.again(table, charge)
    assert again.periods == ("2026-10-01", "2026-10-02")
    again.check(charge)
    for other in (("2026-10-01",), ("2026-10-01", "2026-10-03"), ()):
        with pytest.raises(KeyConflictError):
            replace(again, periods=other).check(charge)
    before = table.ledger.stored(charge)
    again.make()  # the same key and the same request: the same answer, at no further cost
    assert table.ledger.stored(charge) == before
    assert table.ledger.spent_in("2026-10-01") == Fraction(1, 2)


def test_keys_are_asked_of_a_day_too(days: Any) -> None:
    asked: dict[str, Any] = {"keys": "tips", "epsilon": 1}
    assert ask(days, asked).json()["pointer"] == "/period"
    asked["period"] = "2026-01-08"
    assert ask(days, asked).json()["periods"] == ["2026-01-08"]
    name = days.measured("keys-of-a-day", dataset="daily", column=None, **asked)
    assert days("rea").get(f"/api/v1/releases/{name}").json()["period"] == "2026-01-08"
    shown = days("rea").get(f"/api/v1/releases/{name}/keys").json()
    assert {line["key"] for line in shown["keys"]} <= {str(tip) for tip in range(10)}
    found = tu.connect(days.url, days.secrets["ana"]).measure_keys(
        "daily", "tips", epsilon="1/2", period="2026-01-08"
    )
    assert found.period is not None
    assert found.period.names == ("2026-01-08",)
    ledger = open_ledger(days.config.datasets["daily"])
    assert ledger.spent_in("2026-01-08") == Fraction(3, 2)


def test_the_balance_of_several_days_is_that_of_the_fullest(tmp_path: Path) -> None:
    days = Calendar("day", "at")
    ledger = tu.Ledger(tmp_path / "l", 1, delta_limit="1/1000", per="day", date="at")
    first, second = days.between("2026-03-01", "2026-03-02")
    said = {"unit": "row", "neighbours": "add-remove", "period": told(days, [second])}
    ledger.spend(said, Cost.of("1/4", None, "1/4000"), draw=lambda: b"x")
    table = Table(None, SimpleNamespace(ledger=ledger))  # type: ignore[arg-type]
    for asked in ([first, second], [second, first], [second]):
        left = table.balance_of(asked).remaining
        assert (left.amount, left.delta) == (Fraction(3, 4), Fraction(3, 4000))
    assert table.balance_of([first]).remaining.amount == 1


def test_a_sample_is_said_to_be_one_wherever_its_counts_are_told(
    config_of: Any, running_at: Any, tmp_path: Path
) -> None:
    """A tenth of the units count on each day: counts and keys of it, a series, and no other."""
    path = config_of(tmp_path, series=True)
    few = (
        path.read_text()
        .replace("daily.ledger", "few.ledger")
        .replace('per = "day"', 'per = "day"\nperiods_per_unit = [3, 30]')
    )
    path.write_text(few)
    series = read_series(read_config(path))
    publish_due(series, datetime(2026, 2, 1, tzinfo=UTC), "2026-01-02")
    with running_at(path) as server:
        days = {"dataset": "daily", "period": FREE}
        made = server.measured("sampled-counts", **days)
        keys = server.measured("sampled-keys", **days, column=None, keys="tips")
        whole = server.measured("all-rows", column="age")
        ask = server("rea").get
        for name in (f"releases/{made}", f"releases/{keys}", "releases/fares@2026-01-02"):
            said = ask(f"/api/v1/{name}").json()["sample"]
            assert "3 of 30 days, so multiply by 10" in said, name
        assert "multiply by 10" in ask("/api/v1/series/fares").json()["sample"]
        assert ask(f"/api/v1/releases/{whole}").json()["sample"] == ""
