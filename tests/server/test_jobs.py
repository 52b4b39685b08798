"""Retries and failures: one charge, one answer, and never more spent than allowed."""

from __future__ import annotations

import datetime as dt
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import pytest

import trueup as tu
from trueup.config import read_config
from trueup.server import jobs
from trueup.server.auth import Holder, open_ledger
from trueup.server.datasets import open_tables
from trueup.server.deadlines import leaves_at
from trueup.server.questions import question_asked
from trueup.server.routes.bodies import Ask


def test_a_retry_gets_the_same_bytes_and_one_charge(server: Any) -> None:
    body = {"column": "fare", "epsilon": "1/10"}
    sent = {"json": body, "headers": {"Idempotency-Key": "again-and-again"}}
    name = server.measured("again-and-again", **body)
    spent = server.spent("trips")
    answers = {server().post("/api/v1/datasets/trips/measure", **sent).content for _ in range(3)}
    assert len(answers) == 1
    files = {server().get(f"/api/v1/releases/{name}/measurement").content for _ in range(3)}
    assert len(files) == 1
    assert server.spent("trips") == spent


def test_many_at_once_under_one_key_are_one(server: Any) -> None:
    before = server.spent("trips")
    clients = [server() for _ in range(12)]
    with ThreadPoolExecutor(12) as pool:
        sent = {"json": {"column": "age", "epsilon": "1/10"}}
        key = {"Idempotency-Key": "all-at-once"}
        path = "/api/v1/datasets/trips/measure"
        said = list(pool.map(lambda c: c.post(path, headers=key, **sent), clients))
    assert {answer.status_code for answer in said} <= {200, 202}
    assert len({a.json().get("release") or a.json()["job"] for a in said}) == 1
    assert server.spent("trips") == before + Fraction(1, 10)


def test_a_key_is_for_one_request(server: Any) -> None:
    server.measured("taken-already", epsilon="1/10")
    before = server.spent("trips")
    for change in ({"epsilon": "1/5"}, {"column": "age"}, {"where": "age = 3"}):
        said = server().post(
            "/api/v1/datasets/trips/measure",
            json={"column": "fare", "epsilon": "1/10", **change},
            headers={"Idempotency-Key": "taken-already"},
        )
        assert said.status_code == 409
        assert said.json()["code"] == "key_conflict"
        assert "different request" in said.json()["detail"]
    assert server.spent("trips") == before


def test_a_key_is_its_holder_s_own(server: Any) -> None:
    first = server.measured("a-common-key", epsilon="1/10")
    second = server.measured("a-common-key", who="boss", epsilon="1/10")
    assert first != second


@pytest.mark.parametrize("key", [None, "short", "x" * 201, "with space 12", "naïve-key-1"])
def test_a_key_is_required(server: Any, key: str | None) -> None:
    sent = {} if key is None else {"Idempotency-Key": key.encode()}
    said = server().post(
        "/api/v1/datasets/trips/measure", json={"column": "fare", "epsilon": 1}, headers=sent
    )
    assert said.status_code == 400


def test_a_job_tells_steps_and_no_more(serving: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serving()
    make, go = jobs.Job.make, threading.Event()

    def slowly(wanted: jobs.Job) -> None:
        drawn = wanted.table.owner.ledger.spend

        def spend(*given: Any, draw: Callable[[], bytes], **more: Any) -> bytes:
            def waiting() -> bytes:
                go.wait(60)
                return draw()

            return drawn(*given, draw=waiting, **more)

        monkeypatch.setattr(wanted.table.owner.ledger, "spend", spend)
        make(wanted)

    monkeypatch.setattr(jobs.Job, "make", slowly)
    said = server().post(
        "/api/v1/datasets/trips/measure",
        json={"column": "fare", "epsilon": "1/10"},
        headers={"Idempotency-Key": "a-long-one"},
    )
    assert said.status_code == 202
    job = said.json()["job"]
    running = server().get(f"/api/v1/jobs/{job}").json()
    assert (running["state"], running["step"], running["of"]) == ("running", 1, 2)
    assert running["release"] is None
    assert server("boss").get(f"/api/v1/jobs/{job}").json() == running
    assert server().get(f"/api/v1/releases/{job}").status_code == 404
    assert job not in server().get("/api/v1/releases").text
    go.set()
    for _ in range(200):
        done = server().get(f"/api/v1/jobs/{job}").json()
        if done["state"] == "done":
            break
        time.sleep(0.02)
    assert done["release"] == job
    assert server().get(f"/api/v1/releases/{job}").status_code == 200


def test_another_analyst_s_job_is_not_there(server: Any) -> None:
    name = server.measured("by-the-boss", who="boss", epsilon="1/100")
    assert server().get(f"/api/v1/jobs/{name}").status_code == 404
    assert server("boss").get(f"/api/v1/jobs/{name}").json()["state"] == "done"


def test_an_answer_leaves_at_its_deadline(server: Any) -> None:
    began = time.monotonic()
    server.measured("not-before-its-time", column="age", epsilon="1/100")
    assert time.monotonic() - began >= 0.15
    at = [leaves_at(0.0, took, 0.15) for took in (0.0, 0.01, 0.149)]
    assert len(set(at)) == 1  # whatever it took


def test_a_table_that_is_gone_fails_as_a_job_and_can_be_asked_again(serving: Any) -> None:
    server = serving()
    table = server.config.path.parent / "trips.parquet"
    hidden = table.rename(table.with_name("hidden"))
    sent = {
        "json": {"column": "fare", "epsilon": "1/10"},
        "headers": {"Idempotency-Key": "nothing-there"},
    }
    said = server().post("/api/v1/datasets/trips/measure", **sent)
    while said.status_code == 202:
        said = server().post("/api/v1/datasets/trips/measure", **sent)
    # Seen before the charge or after it, it is told in our words and costs at most once.
    assert said.status_code in (400, 503)
    assert "parquet" not in said.text.lower()
    hidden.rename(table)
    name = server.measured("nothing-there", epsilon="1/10")
    assert server().get(f"/api/v1/jobs/{name}").json()["state"] == "done"
    assert server.spent("trips") == Fraction(1, 10)


def test_a_run_that_fails_after_its_charge_says_so_and_is_completed(
    serving: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serving()
    broken = [True]

    def measured(*given: Any, **more: Any) -> Any:
        if broken[0]:
            raise tu.SourceError("a path on the owner's machine")
        return tu.measure(*given, **more)

    monkeypatch.setattr("trueup.owner.owner.measure_all", measured)
    sent = {
        "json": {"column": "fare", "epsilon": "1/10"},
        "headers": {"Idempotency-Key": "fails-at-first"},
    }
    for _ in range(2):
        said = server().post("/api/v1/datasets/trips/measure", **sent)
        while said.status_code == 202:  # the machine was busy, and a deadline was missed
            said = server().post("/api/v1/datasets/trips/measure", **sent)
        assert said.status_code == 503
        assert said.json()["code"] == "source"
        assert "path" not in said.text
    (charge,) = open_ledger(server.config.datasets["trips"]).history()
    job = server().get(f"/api/v1/jobs/trips.{charge.entry}").json()
    assert job["state"] == "failed"
    assert "no further cost" in job["error"]["detail"]
    broken[0] = False
    server.measured("fails-at-first", epsilon="1/10")
    assert server.spent("trips") == Fraction(1, 10)


def test_looking_at_a_failed_job_begins_no_other_scan(
    serving: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serving(deadline=1.0)
    scans = []

    def measured(*given: Any, **more: Any) -> Any:
        scans.append(time.monotonic())
        time.sleep(1.1)  # past its first deadline: nothing is told before the next
        raise tu.SourceError("the table is gone")

    monkeypatch.setattr("trueup.owner.owner.measure_all", measured)
    sent = {
        "json": {"column": "fare", "epsilon": "1/10"},
        "headers": {"Idempotency-Key": "fails-late"},
    }
    said = server().post("/api/v1/datasets/trips/measure", **sent)
    assert said.status_code == 202
    states: list[str] = []
    until = time.monotonic() + 60
    while states.count("failed") < 20 and time.monotonic() < until:
        states.append(server().get(said.json()["url"]).json()["state"])
        time.sleep(0.05)
    assert states[-1] == "failed"
    assert states == sorted(states, reverse=True)  # running, then failed, and failed it stays
    assert len(scans) == 1
    # Asked for again, it is tried again.
    server().post("/api/v1/datasets/trips/measure", **sent)
    assert len(scans) == 2


def test_a_key_is_of_one_request_also_while_that_is_at_work(
    serving: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serving()
    drawn = threading.Event()

    def measured(*given: Any, **more: Any) -> Any:
        assert drawn.wait(60)
        return tu.measure(*given, **more)

    monkeypatch.setattr("trueup.owner.owner.measure_all", measured)
    asked = {"column": "fare", "epsilon": "1/10", "strategy": "flat", "where": "age > 5"}
    headers = {"Idempotency-Key": "of-one-request"}

    def sent(**change: Any) -> httpx.Response:
        body = {**asked, **change}
        return server().post("/api/v1/datasets/trips/measure", json=body, headers=headers)

    assert sent().status_code == 202  # charged, and not drawn yet
    try:
        assert sent(where="age>5").status_code == 202
        for change in (
            {"epsilon": "1/5"},
            {"column": "age"},
            {"strategy": "binary"},
            {"where": "age > 6"},
            {"where": None},
        ):
            said = sent(**change)
            assert said.status_code == 409
            assert "used for a different request" in said.json()["detail"]
    finally:
        drawn.set()
    assert server.spent("trips") == Fraction(1, 10)


def test_what_another_machine_measured_is_told_at_its_deadline(
    config_of: Callable[..., Path], tmp_path: Path
) -> None:
    """Its run has no file here; the clock must not tell when its count was ready."""
    table = open_tables(read_config(config_of(tmp_path)))["trips"]
    request = {"question": {}, "unit": "row", "neighbours": "add-remove"}
    made = jobs.Jobs(8.0, 1)
    for by, key in (("ana", "ana/1"), (None, "mine")):
        table.ledger.spend(request, "1/10", draw=lambda: b"x", key=key, by=by)
        charge = table.ledger.find(key)
        assert charge is not None
        told = made.status(table, charge)
        began = dt.datetime.fromisoformat(charge.time).timestamp()
        ready = table.ledger.answered_at(charge)
        assert told == jobs.Status("done", began + 8.0 if by else ready)


def test_a_failure_that_version_0_1_wrote_down_is_told_in_today_s_shape(tmp_path: Path) -> None:
    file = tmp_path / "run"
    file.write_text('{"at": 1.5, "body": {"error": {"code": "source", "message": "Unread."}}}')
    found = jobs._failure(file)
    assert found is not None
    assert (found["at"], found["body"]["code"], found["body"]["status"]) == (1.5, "source", 503)
    file.write_text("")
    assert jobs._failure(file) is None


def test_an_error_nobody_foresaw_is_told_at_its_deadline_and_to_the_log(
    serving: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """How long a count took before it failed can tell of the data."""
    server = serving(deadline=0.6)

    def measured(*given: Any, **more: Any) -> Any:
        raise ZeroDivisionError("the row of Bertha")

    monkeypatch.setattr("trueup.owner.owner.measure_all", measured)
    sent = {
        "json": {"column": "fare", "epsilon": "1/10"},
        "headers": {"Idempotency-Key": "fails-inside"},
    }
    began = time.monotonic()
    said = server().post("/api/v1/datasets/trips/measure", **sent)
    took = time.monotonic() - began
    assert took >= 0.6
    while said.status_code == 202:  # the machine was busy, and a deadline was missed
        said = server().post("/api/v1/datasets/trips/measure", **sent)
    assert (said.status_code, said.json()["code"]) == (500, "internal")
    assert said.json()["status"] == said.status_code
    assert any("ZeroDivisionError test_jobs.py" in line.message for line in caplog.records)
    assert "Bertha" not in caplog.text + said.text


def test_a_refusal_leaves_no_file_and_spoils_no_other_run(
    serving: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serving()
    table = server.guard.app.app.state.service.tables["trips"]
    send, path = server().post, "/api/v1/datasets/trips/measure"
    for number in range(3):
        headers = {"Idempotency-Key": f"too-dear-{number}"}
        said = send(path, json={"column": "fare", "epsilon": 99}, headers=headers)
        assert said.json()["code"] == "budget"
    assert list(table.runs.iterdir()) == []

    # A process died after it was charged; another question under its key is not its failure.
    def died(*given: Any, **more: Any) -> Any:
        raise SystemExit

    monkeypatch.setattr("trueup.owner.owner.measure_all", died)
    holder = Holder(2, "ana", "analyst", "", None, None)
    asked = Ask(column="fare", epsilon="1/10", strategy="flat").asked()
    question = question_asked(table.dataset, asked, 1 << 20)
    job = jobs.Job.of(table, question, asked, "died-at-work", holder)
    with pytest.raises(SystemExit):
        jobs._run(job)
    monkeypatch.undo()
    headers = {"Idempotency-Key": "died-at-work"}
    said = send(path, json={"column": "age", "epsilon": "1/10"}, headers=headers)
    assert said.json()["code"] == "key_conflict"
    (charge,) = table.ledger.history()
    assert jobs._failure(jobs.run_file(table, charge.key)) is None
    state = server().get(f"/api/v1/jobs/trips.{charge.entry}").json()["state"]
    assert state == "running"  # and taken up again
    server.measured("died-at-work", epsilon="1/10", strategy="flat")
    assert server.spent("trips") == Fraction(1, 10)


def test_a_run_file_that_was_taken_away_is_not_a_lock(tmp_path: Path) -> None:
    file = tmp_path / "run"
    first = jobs._taken(file)
    assert first is not None
    assert jobs._taken(file) is None
    file.unlink()
    second = jobs._taken(file)  # of the file that is there now
    assert second is not None
    assert os.fstat(second).st_ino == file.stat().st_ino
    os.close(first)
    os.close(second)


def test_so_many_measurements_are_made_at_once_and_one_more_is_not_charged(
    serving: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serving(server="most_measurements = 2")
    drawn = threading.Event()

    def measured(*given: Any, **more: Any) -> Any:
        assert drawn.wait(60)
        return tu.measure(*given, **more)

    monkeypatch.setattr("trueup.owner.owner.measure_all", measured)

    def sent(key: str) -> httpx.Response:
        body, headers = {"column": "fare", "epsilon": "1/10"}, {"Idempotency-Key": key}
        return server().post("/api/v1/datasets/trips/measure", json=body, headers=headers)

    try:
        assert [sent(f"at-work-{number}").status_code for number in range(2)] == [202, 202]
        said = sent("one-too-many")
        assert (said.status_code, said.json()["code"]) == (429, "busy")
        assert server.spent("trips") == Fraction(2, 10)
        assert sent("at-work-1").status_code == 202  # one that is at work is no new one
    finally:
        drawn.set()
    for key in ("at-work-0", "at-work-1", "one-too-many"):
        server.measured(key)
    # What is known of runs is the owner's alone.
    table = server.guard.app.app.state.service.tables["trips"]
    assert table.runs.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in table.runs.iterdir()} == {0o600}
