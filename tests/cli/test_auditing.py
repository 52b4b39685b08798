"""The command that tries to catch a mechanism, anybody's or ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

MINE = """
import numpy as np
rng = np.random.default_rng(1)
def honest(counts, times):
    return np.array(counts) + np.rint(rng.laplace(0, 2, (times, len(counts))))
def lies(counts, times):
    return np.array(counts) + np.rint(rng.laplace(0, 0.5, (times, len(counts))))
"""


def test_our_own_noise_is_not_caught_lying(run: Any) -> None:
    ran = run("audit", "--epsilon", "1", "--draws", "20000", "--json")
    assert ran.code == 0
    audits = ran.json["audits"]
    assert len(audits) == 3
    assert all(one["bound"] <= one["claimed"] == 1 and one["passed"] for one in audits)
    assert audits[0]["bound"] > 0.5  # twenty thousand draws of one count do tell something


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine_to_audit.py").write_text(MINE)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("mine")
def test_anybody_s_mechanism_is_examined(run: Any, tmp_path: Path) -> None:
    said = ("--counts", "5,0,3", "--epsilon", "1", "--draws", 5000, "--bulk")
    ran = run("audit", "mine_to_audit:honest", *said, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["passed"]
    ran = run("audit", "mine_to_audit:lies", *said, "-o", "report.html")
    assert ran.code == 1
    assert "FAILED    lower bound on epsilon" in ran.out
    assert "FALSE" in ran.out
    assert "FALSE" in (tmp_path / "report.html").read_text()


@pytest.mark.usefixtures("mine")
def test_two_inputs_of_one_s_own_are_read(run: Any, tmp_path: Path) -> None:
    for name, counts in (("a.json", [1, 2]), ("b.json", [1, 3])):
        (tmp_path / name).write_text(json.dumps(counts))
    said = ("--inputs", "a.json", "b.json", "--rho", "1/2", "--draws", 3000, "--bulk", "--json")
    ran = run("audit", "mine_to_audit:lies", *said)
    assert ran.json["neighbours"] == "a.json and b.json"
    assert ran.json["claim"] == {"notion": "rho", "number": 0.5}


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize(
    "words",
    [
        ("mine_to_audit:honest", "--epsilon", 1),
        ("mine_to_audit:honest", "--epsilon", 1, "--counts", "a,b"),
        ("mine_to_audit:honest", "--counts", "1,2"),
        ("mine_to_audit:honest", "--epsilon", 1, "--rho", 1, "--counts", "1,2"),
        ("nowhere:at_all", "--epsilon", 1, "--counts", "1,2"),
        ("http://127.0.0.1:1/trips", "--epsilon", 1),
        ("mine_to_audit:honest", "--epsilon", 1, "--records", "missing.json"),
    ],
)
def test_what_cannot_be_examined_is_refused_in_one_line(run: Any, words: tuple[Any, ...]) -> None:
    ran = run("audit", *words)
    assert ran.code == 1
    assert ran.err.startswith("trueup: ")
    assert ran.err.count("\n") == 1
