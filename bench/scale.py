"""Releases larger than memory: time, memory and disk against the number of cells.

python bench/scale.py [--from 22] [--to 26] [--branching 16] [--place FOLDER]
python bench/scale.py --queries FOLDER    queries alone, on a release that is there

Each size runs in a process of its own, whose data segment is limited to 2 GB; it fails if its
resident memory was ever larger, or if a size takes more disk than was said. A size that needs more
than 40 GB, or more than is free, is refused. Beside it: the same release in memory, in one pass (up
to 2^26 cells), and a plain copy of the same bytes to the same disk. Then queries: cold, with the
pages of the folder dropped from memory, and warm; a cold one opens the folder first. Exponents of
time, memory and disk come last.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

LIMIT = 2_000_000_000
MOST_DISK = 40_000_000_000
COLD = 9  # cold queries, of which the middle one is told
IN_MEMORY = 1 << 26
FEWER = 1 << 17


def peak() -> int:
    """The most memory that this process has had, in bytes."""
    status = Path("/proc/self/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def cells(start: int, stop: int) -> Any:
    """True counts that are made when they are asked for."""
    return np.arange(start, stop) % 7


def total(start: int, stop: int) -> int:
    """Their sum."""
    weeks, days = divmod(np.array([start, stop]), 7)
    before = 21 * weeks + days * (days - 1) // 2
    return int(before[1] - before[0])


def question(size: int, branching: int | None) -> Any:
    """The tree that is asked."""
    import trueup as tu

    return tu.TreeCounts(size, branching=branching)


def out_of_memory(size: int, branching: int | None, place: Path) -> dict[str, float]:
    """One release into a folder, and queries on it."""
    import trueup as tu
    from trueup.facts import Facts
    from trueup.scale import FolderJob

    def made(number: int, to: Path) -> None:
        job = FolderJob.open(to, Facts.of(question(number, branching), 1))
        job.finish(job.draw(cells, 1))

    made(FEWER, place / "warm")  # kernels are compiled or loaded
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))
    start, own = time.perf_counter(), time.process_time()
    made(size, place / "out")
    spent, cpu = time.perf_counter() - start, time.process_time() - own
    memory = peak()
    assert memory <= LIMIT, f"{memory / 1e9:.2f} GB of memory"
    files = [each for each in (place / "out").rglob("*") if each.is_file()]
    disk = sum(each.stat().st_size for each in files)
    low, high = size // 3, 2 * size // 3
    release = tu.load(place / "out")
    estimate = release.range(low, high)
    assert abs(estimate.value - total(low, high)) < 8 * estimate.std_error
    assert release.range(0, low).value + release.range(low, size).value == release.total().value
    found = {"seconds": spent, "cpu": cpu, "memory": memory, "disk": disk}
    for name, asked in QUERIES.items():
        cold, warm, _ = queried(place / "out", asked)
        found |= {f"{name} cold": cold, f"{name} warm": warm}
    assert peak() <= LIMIT
    return found


QUERIES: dict[str, Callable[[Any, int], object]] = {
    "range": lambda release, at: release.range(at, at + release.axis.size // 3),
    "interval": lambda release, at: release.range(at, at + release.axis.size // 3).interval(0.95),
    "quantile": lambda release, at: release.quantile(at / release.axis.size),
}


def queried(place: Path, asked: Callable[[Any, int], object]) -> tuple[float, float, float]:
    """Seconds of a query that opens the folder, its pages dropped from memory; and of one more.

    Then the processor time of the first, which other work on the machine does not change.
    """
    import trueup as tu

    files = [each for each in place.rglob("*") if each.is_file()]
    size = tu.load(place).axis.size
    cold, warm, own = [], [], []
    for number in range(COLD):
        for each in files:
            with open(each, "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        at = size * (number + 1) // (2 * COLD)
        start, spent = time.perf_counter(), time.process_time()
        release = tu.load(place)
        asked(release, at)
        cold.append(time.perf_counter() - start)
        own.append(time.process_time() - spent)
        for near in range(1, 11):  # the pages that were read are in memory now
            start = time.perf_counter()
            asked(release, at + near)
            warm.append(time.perf_counter() - start)
    return float(np.median(cold)), float(np.median(warm)), float(np.median(own))


def queries(place: Path) -> None:
    """Prints what queries on a folder take."""
    for name, asked in QUERIES.items():
        cold, warm, own = (each * 1e3 for each in queried(place, asked))
        print(f"{name}: {cold:.1f} ms cold ({own:.1f} ms of processor), {warm:.2f} ms warm")


def needed(size: int, branching: int | None) -> int:
    """The bytes of disk that a release will take."""
    from trueup.files.parts import BYTES_A_CELL

    return 8 * question(size, branching).length + BYTES_A_CELL * size


def in_memory(size: int, branching: int | None, place: Path) -> dict[str, float]:
    """The same release in memory, in one pass on all cores."""
    from trueup.facts import Facts
    from trueup.onepass import release_in_one_pass

    asked = question(size, branching)
    threads = os.cpu_count() or 1
    release_in_one_pass(cells(0, FEWER), Facts.of(question(FEWER, branching), 1), threads)
    counts = cells(0, size)
    start = time.perf_counter()
    release_in_one_pass(counts, Facts.of(asked, 1), threads)
    return {"seconds": time.perf_counter() - start, "memory": peak()}


def copied(disk: int, place: Path) -> float:
    """Seconds to write and sync so many bytes."""
    block = os.urandom(1 << 24)
    start = time.perf_counter()
    with open(place / "copy", "wb") as file:
        for _ in range(disk >> 24):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    spent = time.perf_counter() - start
    (place / "copy").unlink()
    return spent


def apart(what: str, size: int, branching: int | None, place: Path) -> dict[str, float]:
    """A run in a process of its own."""
    place.mkdir()
    given = [sys.executable, __file__, "--run", what, "--size", str(size), "--place", str(place)]
    if branching is not None:
        given += ["--branching", str(branching)]
    try:
        ran = subprocess.run(given, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise SystemExit(ran.stderr)
        return json.loads(ran.stdout)
    finally:
        shutil.rmtree(place)


def main() -> None:
    """The table, and the exponents of time and memory."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--from", dest="least", type=int, default=22)
    words.add_argument("--to", dest="most", type=int, default=26)
    words.add_argument("--branching", type=int)
    words.add_argument("--place", type=Path)
    words.add_argument("--queries", type=Path)
    words.add_argument("--run")
    words.add_argument("--size", type=int)
    given = words.parse_args()
    if given.run:
        run = {"out": out_of_memory, "in": in_memory}[given.run]
        print(json.dumps(run(given.size, given.branching, given.place)))
        return
    if given.queries:
        queries(given.queries)
        return
    place = Path(tempfile.mkdtemp(dir=given.place))
    try:
        table(place, given.least, given.most, given.branching)
    finally:
        shutil.rmtree(place)


def table(place: Path, least: int, most: int, branching: int | None) -> None:
    """Prints a line for each size."""
    print(
        "cells  disk said GB  s  cpu s  ns a cell  bytes a cell  peak MB  copy ns a cell  "
        "in memory: ns a cell  MB  cold/warm ms: " + "  ".join(QUERIES)
    )
    found = []
    for power in range(least, most + 1, 2):
        size = 1 << power
        need, free = needed(size, branching), shutil.disk_usage(place).free
        if need > min(MOST_DISK, free):
            raise SystemExit(
                f"2^{power} cells need {need / 1e9:.1f} GB of disk; {free / 1e9:.1f} GB is free, "
                f"and at most {MOST_DISK / 1e9:.0f} GB is asked for."
            )
        out = apart("out", size, branching, place / "run")
        assert out["disk"] <= need, "more disk than was said"
        copy = copied(int(out["disk"]), place) / size * 1e9
        inside = "-  -"
        if size <= IN_MEMORY:
            own = apart("in", size, branching, place / "run")
            inside = f"{own['seconds'] / size * 1e9:.1f}  {own['memory'] / 1e6:.0f}"
        found.append((size, out))
        times = "  ".join(
            f"{out[f'{name} cold'] * 1e3:.1f}/{out[f'{name} warm'] * 1e3:.2f}" for name in QUERIES
        )
        print(
            f"2^{power}  {need / 1e9:.2f}  {out['seconds']:.1f}  {out['cpu']:.1f}  "
            f"{out['seconds'] / size * 1e9:.1f}  {out['disk'] / size:.2f}  "
            f"{out['memory'] / 1e6:.0f}  {copy:.1f}  {inside}  {times}",
            flush=True,
        )
    if len(found) > 1:
        sizes = np.log([size for size, _ in found])
        for name in ("seconds", "cpu", "memory", "disk"):
            slope = np.polyfit(sizes, np.log([out[name] for _, out in found]), 1)[0]
            print(f"exponent of {name}: {slope:.2f}")


if __name__ == "__main__":
    main()
