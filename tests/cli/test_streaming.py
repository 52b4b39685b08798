from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import trueup as tu

Run = Callable[..., Any]


def test_a_stream_from_opening_to_closing(run: Run, tmp_path: Path) -> None:
    path, saved = tmp_path / "visits.stream", tmp_path / "visits.parquet"
    ran = run("stream", "open", path, "--epsilon", 50, "--steps", 30)
    assert ran.code == 0
    assert "The file is secret" in ran.out
    assert run("stream", "show", path).code == 1
    for count in (120, 95):
        assert run("stream", "step", path, count).code == 0
    found = run("stream", "step", path, 143, "--json", "--level", 0.9).json
    assert found["steps"] == 3
    assert found["level"] == 0.9
    assert found["value"] == pytest.approx(358, abs=15)
    assert found["interval"][0] <= found["value"] <= found["interval"][1]
    assert "after 3 steps; 95 %" in run("stream", "show", path).out
    window = run("stream", "show", path, "--start", 1, "--stop", 2, "--json").json
    assert window["value"] == pytest.approx(95, abs=15)
    assert "Closed after 3 steps" in run("stream", "close", path, "-o", saved).out
    assert run("stream", "step", path, 1).code == 1
    release = tu.infer(tu.load(saved))
    assert release.total().value == pytest.approx(358, abs=15)


def test_a_ledger_pays_and_is_asked_for(run: Run, tmp_path: Path) -> None:
    path, ledger = tmp_path / "visits.stream", tmp_path / "table.ledger"
    tu.Ledger(ledger, limit=1)
    opened = ("stream", "open", path, "--epsilon", "3/4", "--ledger", ledger)
    assert run(*opened).code == 0
    assert run("stream", "step", path, 5).code == 1
    assert run("stream", "step", path, 5, "--ledger", ledger).code == 0
    again = ("stream", "open", tmp_path / "b", "--epsilon", "3/4", "--ledger", ledger)
    assert run(*again).code == 3
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("count", ["-3", "many", "1.5"])
def test_a_wrong_count_takes_no_step(run: Run, tmp_path: Path, count: str) -> None:
    path = tmp_path / "visits.stream"
    run("stream", "open", path, "--epsilon", 1)
    assert run("stream", "step", path, count).code in (1, 2)
    assert run("stream", "step", tmp_path / "none", 1).code == 5
    with tu.Stream.resume(path) as stream:
        assert stream.steps == 0


def test_a_wrong_level_takes_no_step(run: Run, tmp_path: Path) -> None:
    """Who gives it again with a right one would count the step twice."""
    path = tmp_path / "visits.stream"
    run("stream", "open", path, "--epsilon", 1)
    for level in (95, 0, 1):
        ran = run("stream", "step", path, 120, "--level", level)
        assert ran.code == 1
        assert "between 0 and 1" in ran.err
    with tu.Stream.resume(path) as stream:
        assert stream.steps == 0
