from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "standing"))
from kills import Shop

import trueup as tu

Run = Callable[..., Any]


def test_what_is_due_is_published_and_a_monitor_can_tell(run: Run, tmp_path: Path) -> None:
    Shop(tmp_path, days=6, series=2)
    through = ["--through", "2026-01-04"]
    dry = run("publish", "--due", "--dry-run", *through)
    assert "due       s0: 2026-01-01 … 2026-01-04 (4); ε = 0.001 for each day" in dry.out
    assert run("publish", "status", *through).code == 7
    said = run("publish", "--due", "--through", "2026-01-02", "--json").json
    assert said["published"] == [[s, f"2026-01-0{d}"] for d in (1, 2) for s in ("s0", "s1")]
    shown = run("publish", "--status", *through)
    assert shown.code == 7
    assert "2026-01-03, 2026-01-04" in shown.out
    assert "published s1: 2026-01-03, 2026-01-04" in run("publish", "--due", *through).out
    assert run("publish", "--status", *through).code == 0
    assert "nothing is due" in run("publish", "--due", *through).out
    assert "nothing is due" in run("publish", "--due", "--dry-run", *through).out
    (tmp_path / "published" / "s0" / "2026-01-02.json").unlink()
    assert "its files not written: 2026-01-02" in run("publish", "--status", *through).out
    assert "1 files were missing" in run("publish", "--due", *through).out
    text = (
        (tmp_path / "trueup.toml")
        .read_text()
        .replace('first = "2026-01-01"', 'first = "2025-12-31"')
    )
    (tmp_path / "trueup.toml").write_text(text)
    gap = run("publish", "--status", *through, "--json")
    assert gap.code == 8
    assert gap.json["series"][0]["gaps"] == ["2025-12-31"]
    only = run("publish", "--due", "--series", "s1", *through, "--json").json
    assert only["published"] == [["s1", "2025-12-31"]]
    taken = ["measure", "trips", "--column", "fare", "--epsilon", "0.001", "-o", "m.parquet", "-y"]
    assert run(*taken, "--period", "2025-12-31").code == 0
    refused = run("publish", "--due", *through)
    assert refused.code == 3
    assert "refused   s0 2025-12-31: costs 1/1000; 0 is left" in refused.out


def test_a_table_is_published_once_without_a_ledger(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("fare\n1\n1\n3\n")
    ask = ["publish", "t.csv", "--column", "fare", "--integers", "0", "3", "-o", "r.parquet"]
    said = run(*ask, "--epsilon", "1000")
    assert "no ledger knows of its ε = 1000" in said.out
    assert tu.load(tmp_path / "r.parquet").counts().tolist() == [0, 2, 0, 1]
    assert tu.publish(tmp_path / "t.csv", tu.Axis.integers("fare", 0, 3), 1000).total().value == 3


def test_what_cannot_be_meant_is_refused(run: Run, tmp_path: Path) -> None:
    assert "Name a table to publish once" in run("publish").err
    assert "declares no series" in run("publish", "--due").err
    Shop(tmp_path, days=1, series=1)
    assert "There is no series 'x'" in run("publish", "--due", "--series", "x").err
    assert "leave the table out" in run("publish", "trips.parquet", "--due").err
    assert "--epsilon, or --rho" in run("publish", "trips.parquet", "-o", "x.parquet").err
    ask = ["publish", "none.csv", "--column", "a", "--integers", "0", "3", "--epsilon", "1"]
    assert "--output" in run(*ask).err
    assert "There is no file none.csv" in run(*ask, "-o", "r.parquet").err
    assert "no --where" in run(*ask, "-o", "r.parquet", "--where", "a > 1").err


def test_a_table_is_published_into_a_folder_that_commands_read(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("fare\n1\n1\n3\n")
    ask = ["publish", "t.csv", "--column", "fare", "--integers", "0", "3", "--epsilon", "1000"]
    said = run(*ask, "--to", "fares", "--json").json
    assert said["saved"] == "fares"
    assert tu.load(tmp_path / "fares").counts().round(6).tolist() == [0, 2, 0, 1]
    assert "2" in run("query", "fares", "0", "2").out
    again = run(*ask, "--to", "fares")
    assert again.code == 1
    assert "there already" in again.err
    assert "one of the two" in run(*ask, "--to", "f", "-o", "f.parquet").err
