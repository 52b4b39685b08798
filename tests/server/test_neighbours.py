"""Neighbouring databases, the same noise: all that an analyst sees is the same but the answers."""

from __future__ import annotations

import hashlib
import json
import logging
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from trueup._kernels.noise.bits import lent
from trueup.server import jobs

ANSWERS = {"count", "counts", "low", "high", "value", "raw", "noisy", "share", "unbiased"}
KEEP = ("fare", "age", "borough", "day")


class Frozen:
    """Random bits that are the same in every run: NOT PRIVATE, for this test alone."""

    def __init__(self) -> None:
        self.drawn = 0

    def fill(self, buffer: Any) -> None:
        """The next bits."""
        self.drawn += 1
        stream = hashlib.shake_256(b"frozen %d" % self.drawn).digest(buffer.size)
        buffer[:] = np.frombuffer(stream, np.uint8)


class Lines(logging.Handler):
    """Keeps every line of every log."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.kept: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append(f"{record.name} {record.levelname} {record.getMessage()}")


def session(server: Any) -> list[tuple[int, list[tuple[str, str]], bytes]]:
    """Everything that can be asked, and much that cannot."""
    ana, rea, boss = server("ana"), server("rea"), server("boss")
    said = []

    def note(answer: Any) -> Any:
        headers = [(k, v) for k, v in answer.headers.items() if k != "date"]
        content = answer.content
        if answer.url.path == "/metrics":  # how often a client had to try is time alone
            content = re.sub(rb"[^\n]*/measure[^\n]*\n", b"", content)
            headers = [(k, v) for k, v in headers if k != "content-length"]
        said.append((answer.status_code, headers, content))
        return answer

    def measure(key: str, dataset: str = "trips", **asked: Any) -> str:
        body = {"epsilon": "1/2", **asked}
        for _ in range(50):
            answer = ana.post(
                f"/api/v1/datasets/{dataset}/measure", json=body, headers={"Idempotency-Key": key}
            )
            if answer.status_code != 202:
                break
        note(answer)
        return str(answer.json().get("release"))

    def explore(name: str, low: Any, high: Any) -> None:
        base = f"/api/v1/releases/{name}"
        for client in (ana, rea):
            note(client.get(base))
        for path in ("range", "view?points=20&raw=1", "cdf", "measurement?format=json"):
            note(rea.get(f"{base}/{path}"))
        note(rea.get(f"{base}/range", params={"low": low, "high": high, "version": "whole"}))
        note(rea.post(f"{base}/ranges", json={"ranges": [[low, high], [None, None]]}))
        note(rea.post(f"{base}/difference", json={"first": [low, high], "second": [None, None]}))
        note(rea.post(f"{base}/shares", json={"ranges": [[low, high]]}))
        note(rea.post(f"{base}/quantiles", json={"quantiles": [0.5]}))
        note(rea.get(f"{base}/file?format=json&version=whole"))

    for path in ("/health", "/openapi.json", "/api/v1/me", "/api/v1/datasets", "/api/v1/releases"):
        note(ana.get(path))
    for asked in ({"column": "fare"}, {"column": "age", "cells": 10}, {"column": "tip"}):
        note(ana.post("/api/v1/datasets/trips/quote", json={"epsilon": "1/3", **asked}))
    explore(measure("tree-of-fares", column="fare", strategy="tree"), 0, 20)
    measure("tree-of-fares", column="fare", strategy="tree")
    explore(measure("boroughs-flat", column="borough", strategy="flat"), "Queens", "Bronx")
    explore(measure("ages-of-some", column="age", where="borough = 'Queens'"), 18, 65)
    explore(measure("days-by-month", column="day", cells=12, strategy="flat"), "2013-02", "2013-03")
    measure("tree-of-fares", column="fare", strategy="flat")  # the key is taken
    measure("wrong-column", column="tip")
    measure("wrong-filter", column="fare", where="age = 'x'")
    measure("not-declared", column="fare", where="fare > 3")
    measure("too-dear", column="fare", epsilon=90)
    measure("no-noise-so-large", column="fare", epsilon="1/100000000000")
    explore("trips.999", 0, 1)
    for path in ("/api/v1/jobs/trips.2", "/api/v1/datasets/trips/history", "/api/v1/nothing"):
        note(ana.get(path))
    note(boss.post("/api/v1/datasets/trips/verify"))
    note(boss.get("/metrics"))
    note(server("wrong").get("/api/v1/me"))
    return said


@pytest.fixture
def seen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, serving_in: Callable[..., Any]
) -> Callable[..., Any]:
    """What is seen, by an analyst and in the log, of a server over these rows."""
    run = jobs._run
    monkeypatch.setattr("trueup.owner.ledger._now", lambda: "2026-01-01T00:00:00+00:00")

    def watched(name: str, rows: pa.Table) -> tuple[list[Any], list[str]]:
        frozen, lines = Frozen(), Lines()

        def lending(wanted: Any) -> None:
            with lent(frozen):
                run(wanted)

        monkeypatch.setattr(jobs, "_run", lending)
        logger = logging.getLogger()
        level = logger.level
        logger.addHandler(lines)
        logging.getLogger("trueup.server").setLevel(logging.INFO)
        try:
            folder = tmp_path / name
            folder.mkdir()
            # Long enough a deadline that no first answer misses it, whatever else the machine does.
            with serving_in(folder, rows=rows, server="most_ranges = 100") as server:
                said = session(server)
                until = time.monotonic() + 60
                while not any(line.endswith("/me 401") for line in lines.kept):
                    assert time.monotonic() < until
                    time.sleep(0.01)  # a line is written after its answer
        finally:
            logger.removeHandler(lines)
            logger.setLevel(level)
        return said, [re.sub(r"^httpx .*|^httpcore.*", "", line) for line in lines.kept]

    return watched


def masked(value: Any) -> Any:
    """Everything in an answer but the noisy numbers: of those, how many there are."""
    if isinstance(value, dict):
        return {
            key: _shape(inner) if key in ANSWERS else masked(inner)
            for key, inner in value.items()
            if key != "digest"  # of a file, over its noisy answers
        }
    return [masked(inner) for inner in value] if isinstance(value, list) else value


def _shape(value: Any) -> Any:
    return ["number"] * len(value) if isinstance(value, list) else "number"


def differences(one: list[Any], other: list[Any]) -> int:
    """How many answers differ at all, after checking that they differ in noisy numbers alone."""
    assert len(one) == len(other)
    number = 0
    for (status, headers, body), (status2, headers2, body2) in zip(one, other, strict=True):
        assert status == status2
        without = [[h for h in hs if h[0] != "content-length"] for hs in (headers, headers2)]
        assert without[0] == without[1]
        if body == body2:
            assert headers == headers2
            continue
        number += 1
        assert masked(json.loads(body)) == masked(json.loads(body2))
    return number


@pytest.fixture
def rows(rows_of_trips: pa.Table) -> pa.Table:
    return rows_of_trips


def answered_202(lines: list[str]) -> list[str]:
    """The log without the tries that came before an answer: how many there are is time alone."""
    return [line for line in lines if line and not line.endswith("/measure 202")]


def test_neighbours_look_the_same_but_for_noisy_answers(
    seen: Callable[..., Any], rows: pa.Table
) -> None:
    said, log = seen("whole", rows)
    again, log_again = seen("again", rows)
    assert differences(said, again) == 0  # the noise is frozen indeed
    assert answered_202(log) == answered_202(log_again)
    # One row less; and a stranger more, who is on no axis and so is counted nowhere.
    row = pa.table({"fare": [1e300], "age": [1 << 40], "borough": ["nowhere"], "day": [None]})
    stranger = pa.concat_tables([rows, row.cast(rows.schema)])
    for name, neighbour in {"less": rows.slice(1), "stranger": stranger}.items():
        other, log_other = seen(name, neighbour)
        assert (differences(said, other) > 0) == (name == "less")
        assert answered_202(log) == answered_202(log_other)
    assert any(" 409" in line for line in log)
    assert any(" 400" in line for line in log)
    text = "\n".join(log)
    assert "nowhere" not in text
    assert KEEP[0] not in text
