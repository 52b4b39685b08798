"""The first hour: import, first number, first large release, from an empty cache.

    python bench/first_hour.py

Every figure is of a fresh process; compiled code is kept in an empty temporary folder, so that
nothing is left over from before. A figure above its target is marked FAIL.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

START = """
import sys, time
begun = time.perf_counter()
import trueup as tu
imported = time.perf_counter() - begun
import numpy as np
"""
DONE = """
print(imported, time.perf_counter() - begun, 'numba' in sys.modules)
"""
SMALL = """
values = np.arange(50_000) * 7919 % {cells}
release = tu.publish(values, tu.Axis.integers("x", 0, {cells} - 1), epsilon=1, {how})
cells = np.arange({cells})
release.unbiased.range(0, {cells} // 3).interval(0.95)
{all}
"""
ALL = "release.unbiased.intervals(cells, cells + 1, 0.95)"
LARGE = """
values = np.random.default_rng(1).integers(0, 1 << 20, 1_000_000)
release = tu.publish(values, tu.Axis.integers("x", 0, (1 << 20) - 1), epsilon=1)
release.unbiased.range(0, 1000).interval(0.95)
"""


def run(code: str, cache: Path) -> tuple[float, float, bool]:
    """Seconds to import, seconds in all, and whether anything was compiled."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", START + code + DONE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    imported, whole, compiled = done.stdout.split()
    return float(imported), float(whole), compiled == "True"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-warm", action="store_true", help="leave `trueup warm` out")
    asked = parser.parse_args()
    failed = 0

    def told(what: str, seconds: float, most: float, note: str = "") -> None:
        nonlocal failed
        failed += seconds > most
        mark = "FAIL" if seconds > most else "ok"
        print(f"{what:58} {seconds:7.2f} s   at most {most:5.2f} s   {mark}   {note}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        empty = (Path(folder) / str(number) for number in range(1000))
        told("import trueup", min(run("", next(empty))[0] for _ in range(5)), 0.25)
        for cells in (100, 4096):
            for words, how, more in [
                ("shown, and intervals of all cells", "", ALL),
                ("unbiased, and one interval", "nonnegative=False", ""),
            ]:
                code = SMALL.format(cells=cells, how=how, all=more)
                _, seconds, compiled = run(code, next(empty))
                note = "compiled!" if compiled else "nothing compiled"
                told(f"import, publish {cells:,} cells, {words}", seconds, 1.5, note)
        for cells in (1 << 16, 1 << 18, (1 << 20) - 1):
            _, seconds, compiled = run(SMALL.format(cells=cells, how="", all=""), next(empty))
            note = "compiled" if compiled else "nothing compiled"
            told(f"import, publish {cells:,} cells, empty cache", seconds, 10.0, note)
        cold = next(empty)
        told("import, publish 1,048,576 cells, empty cache", run(LARGE, cold)[1], 10.0)
        told("the same again", run(LARGE, cold)[1], 3.0)
        if not asked.no_warm:
            begun = time.perf_counter()
            environment = {**os.environ, "NUMBA_CACHE_DIR": str(next(empty))}
            command = [sys.executable, "-m", "trueup", "warm"]
            subprocess.run(command, env=environment, capture_output=True, check=True)
            told("trueup warm, everything", time.perf_counter() - begun, 60.0)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
