"""A thousand requests that schemathesis makes from the OpenAPI document; `make fuzz` sends more.

It runs as a process of its own: pytest rewrites schemathesis while importing it, and CPython 3.11
cannot parse in two threads at once, of which a server here would be one.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).with_name("fuzz.py")


def test_no_request_is_an_internal_error() -> None:
    # Some more than a thousand: routes without parameters have few cases.
    ran = subprocess.run(
        [sys.executable, FUZZ, "--cases", "1300", "--seed", "0"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "No 5xx, none undocumented." in ran.stdout
    told = re.findall(r"(\d+): ([\d,]+)", ran.stdout)
    seen = {int(status): int(count.replace(",", "")) for status, count in told}
    assert sum(seen.values()) >= 1_000
    assert seen[200] > 100
    assert seen[400] > 100
    assert seen[401] > 20
    assert seen[404] > 20
