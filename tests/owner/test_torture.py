"""The daily torture of the ledger; `make torture` goes on for longer."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("torture.py")
SOURCE = Path(__file__).parents[2] / "src"


UNTRIED = pytest.mark.skipif(
    shutil.which("strace") is None and "CI" not in os.environ,
    reason="THE LEDGER WAS NOT TORTURED: install Debian's package strace",
)


def tortured(*options: str) -> str:
    """What the torture says, which must end well."""
    run = subprocess.run(
        [sys.executable, str(SCRIPT), *options],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout.replace(",", "")


def kills(said: str) -> int:
    found = re.search(r"^(\d+) kills: 0 unrecorded releases 0 double charges$", said, re.MULTILINE)
    assert found is not None
    return int(found[1])


@UNTRIED
def test_no_kill_power_cut_failing_disk_race_or_tampering_breaks_the_ledger() -> None:
    said = tortured("--kills=100", "--cuts=120", "--failures=60")
    assert kills(said) >= 100
    assert "120 power cuts: all well" in said
    assert re.search(r"^60 failed calls", said, re.MULTILINE)
    assert "64 processes asked 1600 times: 16 passed spent == limit" in said
    assert "500 tampered copies: 500 refusals" in said


@UNTRIED
def test_a_ledger_that_counts_rho_is_tortured_too() -> None:
    sizes = ("--kills=24", "--cuts=20", "--failures=10", "--processes=8", "--tampered=36")
    said = tortured("--notion=rho", *sizes)
    assert kills(said) >= 24
    assert "20 power cuts: all well" in said
    assert "8 processes asked 200 times: 2 passed spent == limit" in said
    assert "36 tampered copies: 36 refusals" in said


@UNTRIED
def test_no_kill_of_client_or_server_race_old_dump_or_tampering_breaks_one_in_postgresql() -> None:
    sizes = ("--kills=40", "--crashes=5", "--dumps=5", "--asks=10", "--tampered=51")
    said = tortured("--store=postgresql", *sizes)
    assert kills(said) >= 40
    assert "5 crashes of the server: 20 requests charged once each" in said
    assert "5 old dumps restored: all refused" in said
    assert "64 processes asked 640 times: 6 passed spent == limit" in said
    assert "51 tampered copies: 51 refusals" in said
