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


@pytest.mark.skipif(
    shutil.which("strace") is None and "CI" not in os.environ,
    reason="THE LEDGER WAS NOT TORTURED: install Debian's package strace",
)
def test_no_kill_power_cut_failing_disk_race_or_tampering_breaks_the_ledger() -> None:
    run = subprocess.run(
        [sys.executable, str(SCRIPT), "--kills=200", "--cuts=250", "--failures=120"],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    said = run.stdout.replace(",", "")
    kills = re.search(r"^(\d+) kills: 0 unrecorded releases 0 double charges$", said, re.MULTILINE)
    assert kills is not None
    assert int(kills[1]) >= 200
    assert "250 power cuts: all well" in said
    assert re.search(r"^120 failed calls", said, re.MULTILINE)
    assert "64 processes asked 1600 times: 16 passed spent == limit" in said
    assert "500 tampered copies: 500 refusals" in said
