from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from trueup.owner import Ledger

sys.path.insert(0, str(Path(__file__).parents[1] / "owner"))
from postgres_server import Postgres

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


def test_a_ledger_that_counts_rho_is_told_with_what_it_means(run: Run, tmp_path: Path) -> None:
    made = run("ledger", "limit", "r.ledger", "--rho", "1/2", "--shown-at-delta", "1e-9")
    assert "limit rho 1/2, of which 1/2 is left; the limit as (ε, δ): ε = 6.475" in made.out
    ledger = Ledger(tmp_path / "r.ledger")
    ledger.spend({"q": "?"}, "1/10", draw=lambda: b"x")
    ledger.spend({"q": "?"}, rho="1/8", draw=lambda: b"y")
    shown = run("ledger", "show", "r.ledger", "--json").json
    assert (shown["notion"], shown["spent"], shown["remaining"]) == ("rho", "13/100", "37/100")
    assert shown["shown"]["delta"] == 1e-9
    assert [charge["rho"] for charge in shown["charges"]] == ["1/200", "1/8"]
    assert [charge["epsilon"] for charge in shown["charges"]] == ["1/10", None]
    words = run("ledger", "show", "r.ledger").out
    assert "1/200 (ε = 1/10)" in words
    assert "ρ: 13/100 of 1/2 spent, 37/100 left; spent as (ε, δ): ε = " in words
    assert run("ledger", "limit", "r.ledger", "1").code == 4  # it counts rho
    assert run("ledger", "limit", "d.ledger", "1", "--delta-limit", "1e-6").code == 0
    assert "δ: 0 of 1e-6 spent" in run("ledger", "show", "d.ledger").out
    assert run("ledger", "limit", "e.ledger", "--delta-limit", "1e-6").code == 1


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


def test_one_in_postgresql_is_made_charged_shown_and_verified_without_its_password(
    run: Run, tmp_path: Path
) -> None:
    try:
        server = Postgres.made(durable=True)
    except FileNotFoundError:
        pytest.skip("NOT TESTED: PostgreSQL, which is not installed. Run `make system`.")
    try:
        address = server.address.replace("trueup@", "trueup:hunter2@") + "#trips"
        where = (address, "--anchor", "trips.anchor")
        (tmp_path / "trips.csv").write_text("hour\n1\n2\n")
        ran = [
            run("ledger", "show", *where),
            run("ledger", "limit", address, "1/2"),
            run("ledger", "limit", address, "1/2", "--anchor", "trips.anchor"),
            run(
                *("measure", "trips.csv", "--column", "hour", "--integers", 0, 23, "--yes"),
                *("--epsilon", "1/10", "--ledger", *where, "-o", "hours.parquet"),
            ),
            run("ledger", "show", *where),
            run("ledger", "verify", *where),
            run("ledger", "show", address, "--anchor", "elsewhere"),
        ]
        assert [one.code for one in ran] == [4, 1, 0, 0, 0, 0, 4], [one.err for one in ran]
        assert "1/10 of 1/2 spent, 2/5 left" in ran[4].out
        assert "3 entries verified" in ran[5].out
        assert "no anchor" in ran[6].err
        told = "".join(one.out + one.err for one in ran)
        assert "hunter2" not in told
        assert (tmp_path / "hours.parquet").exists()
    finally:
        server.remove()


def test_a_ledger_with_periods_is_made_measured_from_and_shown(run: Run, tmp_path: Path) -> None:
    rows = "user,hour,at\n1,0,2026-03-01\n1,1,2026-03-01T23:30Z\n2,2,2026-03-02\n2,3,\n"
    (tmp_path / "t.csv").write_text(rows)
    made = run("ledger", "limit", "d.ledger", "1", "--per", "day", "--date", "at", "--zone",
               "Europe/Berlin")  # fmt: skip
    assert "limit epsilon 1 per day of 'at' in Europe/Berlin" in made.out
    assert "at most 30 × 1" in made.out
    ask = ["measure", "t.csv", "--ledger", "d.ledger", "--column", "hour", "--integers", "0", "3"]
    ask += ["--epsilon", "1/4", "-o", "m.parquet", "-y"]
    assert "say which is asked about, --period 2026-03-01" in run(*ask).err
    days = ["--period", "2026-03-01", "--period", "2026-03-02"]
    said = run(*ask, *days).out
    assert "charged   to 2026-03-01, 2026-03-02, each the whole cost" in said
    assert "one row's rows" not in said
    assert "a person with rows on 30 days: at most 30 × 1" in said
    assert run(*ask, *days[:2], "--json").json["remaining"] == "1/2"
    shown = run("ledger", "show", "d.ledger", "--json").json
    assert {day: now["spent"] for day, now in shown["periods"].items()} == {
        "2026-03-01": "1/2",
        "2026-03-02": "1/4",
    }
    words = run("ledger", "show", "d.ledger").out
    assert "2026-03-02" in words
    assert "at most 30 × 1" in words
    assert run("ledger", "limit", "d.ledger", "--json").json["per"] == "day"
    assert run("ledger", "limit", "e.ledger", "1", "--zone", "UTC").code == 1
    share = ["--per", "day", "--date", "at", "--periods-per-unit"]
    made = run("ledger", "limit", "f.ledger", "1", *share, "3,30")
    assert "a person: at most 3 × 1 in any 30 days" in made.out
    assert run("ledger", "limit", "g.ledger", "1", *share, "some").code == 1
