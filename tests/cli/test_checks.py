"""Commands that check us."""

from __future__ import annotations

from typing import Any


def test_an_experiment_runs_by_its_name_and_says_what_held(run: Any, tmp_path: Any) -> None:
    ran = run("paper", "figure3", "--quick", "--out", tmp_path / "out", "--json")
    assert ran.code == 0
    assert {claim["experiment"] for claim in ran.json["claims"]} == {"figure3"}
    assert any((tmp_path / "out").iterdir())
    assert run("paper", "figure99").code == 1
