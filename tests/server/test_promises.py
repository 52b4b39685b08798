"""What a server promises whatever happens: deadlines, allowances, and words that tell nothing."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import trueup as tu
from trueup.config import Config, read_config
from trueup.cost import Cost
from trueup.errors import BudgetError, InputError, LedgerError, SourceError
from trueup.server import jobs
from trueup.server import releases as releases_room
from trueup.server.auth import Holder, Tokens, create, open_ledger
from trueup.server.datasets import open_tables
from trueup.server.errors import NotFoundError
from trueup.server.jobs import Job
from trueup.server.questions import question_asked
from trueup.server.routes import asking, owner
from trueup.server.routes.asking import _wanted
from trueup.server.routes.bodies import Ask, Page
from trueup.server.service import Service, open_service

AGE = tu.Axis.integers("age", 0, 99)
DEADLINE = 600.0


@pytest.fixture
def config(config_of: Callable[..., Path], tmp_path: Path) -> Config:
    return read_config(config_of(tmp_path, limit=3, deadline=DEADLINE))


@pytest.fixture
def service(config: Config) -> Iterator[Service]:
    found = open_service(config)
    yield found
    found.jobs.close()


def job(service: Service, key: str = "ana/key") -> Job:
    return Job(service.tables["trips"], tu.CellCounts(AGE), Fraction(1, 10), key, None, "ana")


def holder(role: Any, name: str = "ana") -> Holder:
    return Holder(1, name, role, "2013-01-01T00:00:00Z", None, None)


def test_an_answer_that_is_ready_is_not_seen_before_its_deadline(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = service.tables["trips"]
    service.jobs.begin(job(service)).result(60)
    (charge,) = table.ledger.history()
    assert charge.answer is not None
    name = f"trips.{charge.entry}"
    for _ in range(2):
        assert service.releases.all() == []
        assert service.releases.count(table) == 0
        assert service.releases.status(table, charge).state == "running"
        with pytest.raises(NotFoundError):
            service.releases.open(name)
        # Nor does anything name it that an analyst, or the owner's page, can see.
        told = asking.history(service, holder("analyst"), "trips", Page())
        assert [line["release"] for line in json.loads(told.body)["charges"]] == [None]
        told = asking.job(service, holder("analyst"), name)
        assert [json.loads(told.body)[word] for word in ("state", "release")] == ["running", None]
        with pytest.raises(NotFoundError):
            owner.make_public(service, holder("owner"), name)
        assert service.links.all() == {}
    later = time.time() + DEADLINE + 1
    monkeypatch.setattr(releases_room.time, "time", lambda: later)
    assert [service.releases.entry(*each)["id"] for each in service.releases.all()] == [name]
    assert service.releases.status(table, charge).state == "done"
    assert service.releases.open(name).measurement.epsilon == Fraction(1, 10)


@pytest.mark.parametrize(
    "error",
    [
        ZeroDivisionError("the row of Bertha"),
        LedgerError("/home/bertha/ledger"),
        MemoryError("Bertha"),
    ],
)
def test_a_run_that_fails_inside_is_told_in_words_of_ours(
    service: Service, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def failing(*given: Any, **more: Any) -> Any:
        raise error

    monkeypatch.setattr("trueup.owner.owner.measure_all", failing)
    run = service.jobs.begin(job(service))
    run.exception(60)
    (charge,) = service.tables["trips"].ledger.history()
    status = service.jobs.status(service.tables["trips"], charge)
    assert status.state == "failed"
    assert "bertha" not in str(status.failure).lower()
    assert "row" not in str(status.failure)
    assert service.releases.status(service.tables["trips"], charge).state == "running"


def test_who_has_no_allowance_spends_nothing(service: Service) -> None:
    table = service.tables["trips"]
    body = Ask(column="age", epsilon="1/10", strategy="flat")
    with pytest.raises(BudgetError, match="no allowance"):
        _wanted(service, table, holder("analyst"), "a long key", body)
    assert _wanted(service, table, holder("owner"), "a long key", body).by == "ana"
    table.ledger.allow("ana", 1)
    wanted = _wanted(service, table, holder("analyst"), "a long key", body)
    assert wanted.cost == Cost.of(Fraction(1, 10))


def test_no_more_cells_are_asked_than_the_server_answers(config: Config) -> None:
    for strategy in ("flat", "tree", "sorted"):
        asked = Ask(column="age", epsilon="1/10", strategy=strategy).asked()
        assert question_asked(config.datasets["trips"], asked, 100).size == 100
        with pytest.raises(InputError, match="more than"):
            question_asked(config.datasets["trips"], asked, 99)


def test_a_range_is_that_of_its_own_release(service: Service) -> None:
    """Asked for over and over, in the same words, of two releases."""
    table = service.tables["trips"]
    names, counts = [], []
    for _ in range(2):
        measured = table.owner.measure(tu.CellCounts(AGE), "1/100")
        names.append(f"trips.{table.ledger.history()[-1].entry}")
        counts.append(float(tu.infer(measured).range(0, 50).value))
    assert counts[0] != counts[1]  # noise of 7,000 in deviations

    async def asked() -> list[float]:
        answers = [
            await service.ranges.answer(name, b"low=0&high=50&version=unbiased")
            for name in (*names, *names)
        ]
        return [json.loads(answer)["count"] for answer in answers]

    assert asyncio.run(asked()) == [*counts, *counts]


def test_a_limit_goes_into_the_ledgers_it_is_meant_for(config: Config, tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "tokens")
    create(tokens, config.datasets, "bob", "analyst", "1/2", chosen=["trips"])
    create(tokens, config.datasets, "eve", "analyst", "1/3")
    ledgers = {name: open_ledger(dataset) for name, dataset in config.datasets.items()}
    assert {name: ledger.allowed("bob")[0] for name, ledger in ledgers.items()} == {
        "trips": Fraction(1, 2),
        "friends": None,
    }
    assert {ledger.allowed("eve")[0] for ledger in ledgers.values()} == {Fraction(1, 3)}


def test_a_dataset_that_declares_no_columns_has_no_filters(config: Config) -> None:
    bare = replace(config.datasets["trips"], columns={})
    table = open_tables(Config({"trips": bare}, {}, config.path))["trips"]
    with pytest.raises(SourceError, match="was not declared"):
        table.owner.measure(tu.CellCounts(AGE), "1/10", where="borough = 'Queens'")
    assert table.ledger.spent == 0


def test_declared_unit_rows_and_relation_reach_the_measurement(config: Config) -> None:
    said = replace(
        config.datasets["trips"],
        unit="age",
        rows_per_unit=4,
        neighbours="replace",
        columns={"age": "integer"},
    )
    table = open_tables(Config({"trips": said}, {}, config.path))["trips"]
    fare = config.datasets["trips"].axes["fare"]
    Job(table, tu.CellCounts(fare), Fraction(1, 10), "key", None, "ana").make()
    (charge,) = table.ledger.history()
    made = tu.Measurement.from_bytes(table.ledger.stored(charge))
    assert (made.unit, made.rows_per_unit, made.neighbours) == ("age", 4, "replace")
    assert made.noise.scales == (Fraction(80),)


@pytest.mark.parametrize("where", [None, "borough = 'Kings' and age > 20"])
def test_a_run_that_is_taken_up_again_is_finished_and_has_a_deadline_of_its_own(
    service: Service, monkeypatch: pytest.MonkeyPatch, where: str | None
) -> None:
    """By that of the run that died, hours ago, its answer would leave as soon as it is ready."""
    table, wanted = service.tables["trips"], replace(job(service), where=where)

    def died(*given: Any, **more: Any) -> Any:
        raise SystemExit

    with monkeypatch.context() as during:
        during.setattr("trueup.owner.owner.measure_all", died)
        with pytest.raises(SystemExit):
            jobs._run(wanted)
    file = jobs.run_file(table, wanted.key)
    os.utime(file, (1.0, 1.0))
    (charge,) = table.ledger.history()
    assert service.jobs.status(table, charge).state == "running"
    began = time.time() - 1
    service.jobs.begin(jobs.Job.again(table, charge)).result(60)
    (charge,) = table.ledger.history()
    status = service.jobs.status(table, charge)
    assert (status.state, charge.by, charge.answer is not None) == ("done", "ana", True)
    assert began + DEADLINE <= status.at <= time.time() + DEADLINE
    assert service.releases.all() == []
