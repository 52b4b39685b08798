from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from trueup.owner import Ledger

Run = Callable[..., Any]


def test_a_ledger_is_made_shown_and_verified(run: Run, tmp_path: Path) -> None:
    assert run("ledger", "limit", "a.ledger", "1/2", "--json").json["limit"] == "1/2"
    Ledger(tmp_path / "a.ledger").spend({"q": "?"}, "1/10", draw=lambda: b"x")
    shown = run("ledger", "show", "a.ledger", "--json").json
    assert Fraction(shown["remaining"]) == Fraction(2, 5)
    assert [charge["epsilon"] for charge in shown["charges"]] == ["1/10"]
    assert "1/10 of 1/2 spent, 2/5 left" in run("ledger", "show", "a.ledger").out
    assert run("ledger", "verify", "a.ledger", "--json").json["verified"] is True
    assert "nothing lost" in run("ledger", "verify", "a.ledger").out
    assert run("ledger", "limit", "a.ledger", "--json").json["remaining"] == "2/5"


def test_a_limit_never_changes(run: Run) -> None:
    run("ledger", "limit", "a.ledger", "1")
    ran = run("ledger", "limit", "a.ledger", "2")
    assert ran.code == 4
    assert "does not change" in ran.err


def test_a_tampered_ledger_is_refused(run: Run, tmp_path: Path) -> None:
    run("ledger", "limit", "a.ledger", "1")
    Ledger(tmp_path / "a.ledger").spend({"q": "?"}, "1/10", draw=lambda: b"x")
    data = bytearray((tmp_path / "a.ledger").read_bytes())
    at = data.find(b"1/10")
    data[at : at + 4] = b"0/10"
    (tmp_path / "a.ledger").write_bytes(data)
    ran = run("ledger", "verify", "a.ledger")
    assert (ran.code, ran.out) == (4, "")


def test_bad_input_is_refused(run: Run) -> None:
    assert run("ledger", "show", "gone.ledger").code == 4
    assert run("ledger", "limit", "gone.ledger").code == 4
    assert run("ledger", "limit", "new.ledger", "lots").code == 1
