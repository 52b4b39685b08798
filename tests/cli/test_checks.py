"""Commands that check us."""

from __future__ import annotations

from typing import Any


def test_our_own_noise_is_not_caught_lying(run: Any) -> None:
    ran = run("audit", "--epsilon", "1", "--draws", "20000", "--json")
    assert ran.code == 0
    audits = ran.json["audits"]
    assert len(audits) == 3
    assert all(one["bound"] <= one["claimed"] == 1 and one["passed"] for one in audits)
    assert audits[0]["bound"] > 0.5  # twenty thousand draws of one count do tell something


def test_an_experiment_runs_by_its_name_and_says_what_held(run: Any, tmp_path: Any) -> None:
    ran = run("paper", "figure3", "--quick", "--out", tmp_path / "out", "--json")
    assert ran.code == 0
    assert {claim["experiment"] for claim in ran.json["claims"]} == {"figure3"}
    assert any((tmp_path / "out").iterdir())
    assert run("paper", "figure99").code == 1
