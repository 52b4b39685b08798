"""Time and memory of a whole release from 2^12 to 2^26 cells, one and two at once, with exponents.

Run: python bench/scaling.py [--largest 26] [--step 2]
Each size runs in a process of its own, so that its peak memory is its own. "Two at once" runs two
releases in two threads of one process: the kernels let go of the interpreter, so the rate should
double. A size that would not fit in memory is left out, and said to be.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import trueup as tu
from trueup.paper.claims import Table

# Name, question of n cells, and bytes a cell that its release is known to need.
WORK: dict[str, tuple[Callable[[int], Any], int]] = {
    "S̄, sorted counts": (tu.SortedCounts, 100),
    "H̄, binary tree": (lambda n: tu.TreeCounts(n, branching=2), 160),
    "H̄, TreeCounts(axis)": (tu.TreeCounts, 100),
}


COLUMNS = (
    "cells",
    "one, ms",
    "processor, ns a cell",
    "two at once, ms",
    "rate of two / one",
    "peak memory, MB",
    "in arrays of n",
)


def release(question: Any, counts: Any) -> None:
    """Truth, noise and inference."""
    tu.infer(tu.measure(counts, question, 1))


def shortest(work: Callable[[], None], enough: float = 1.0) -> tuple[float, float]:
    """The shortest of some runs, two at least: seconds by the clock, and of processor time."""
    clock: list[float] = []
    processor: list[float] = []
    while len(clock) < 2 or (sum(clock) < enough and len(clock) < 30):
        start, used = time.perf_counter(), time.process_time()
        work()
        clock.append(time.perf_counter() - start)
        processor.append(time.process_time() - used)
    return min(clock), min(processor)


def peak() -> float:
    """The largest memory this process has held, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def one_size(name: str, power: int, pair: bool) -> dict[str, float]:
    """Times and memory of one size; run in a fresh process, so that its peak is its own."""
    ask = WORK[name][0]
    release(ask(64), np.zeros(64, np.int64))
    base = peak()
    n = 1 << power
    counts = np.random.default_rng(power).poisson(3, n)
    question = ask(n)
    clock, processor = shortest(lambda: release(question, counts))
    found = {"clock": clock, "processor": processor, "memory": peak() - base}

    def both() -> None:
        threads = [threading.Thread(target=release, args=(question, counts)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    if pair:
        found["pair"] = shortest(both)[0]
    return found


def memory_left() -> int:
    """Bytes that could be used now."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable"):
            return int(line.split()[1]) * 1024
    return 0


def measure(name: str, power: int) -> dict[str, float] | None:
    """What a fresh process finds for one size, or None where memory would not do."""
    needed = WORK[name][1] << power
    left = 0.8 * memory_left()
    if needed > left:
        return None
    one = [name, str(power), str(int(2 * needed < left))]
    command = [sys.executable, __file__, "--one", *one]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def exponent(points: list[tuple[int, float]]) -> float:
    """The power of n by which a quantity grows, over sizes of 2^16 and more."""
    kept = [(n, value) for n, value in points if n >= 1 << 16 and value > 0]
    if len(kept) < 3:
        return float("nan")
    sizes, values = np.log([n for n, _ in kept]), np.log([value for _, value in kept])
    return float(np.polyfit(sizes, values, 1)[0])


def main() -> None:
    """Prints a table for each kind of release, and the fitted exponents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=26, help="log2 of the most cells")
    parser.add_argument("--step", type=int, default=2)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        name, power, pair = asked.one
        print(json.dumps(one_size(name, int(power), pair == "1")))
        return
    fits = []
    for name in WORK:
        found = {}
        for power in range(12, asked.largest + 1, asked.step):
            result = measure(name, power)
            if result is None:
                print(f"{name}, 2^{power}: left out, too little memory.\n")
            else:
                found[1 << power] = result
        rows = [
            (
                f"2^{n.bit_length() - 1}",
                r["clock"] * 1e3,
                r["processor"] * 1e9 / n,
                r.get("pair", float("nan")) * 1e3,
                2 * r["clock"] / r.get("pair", float("nan")),
                r["memory"] / 1e6,
                r["memory"] / (8 * n),
            )
            for n, r in found.items()
        ]
        print(Table(f"{name}: measure and infer", COLUMNS, tuple(rows)).markdown(), "\n")
        times = [(n, r["processor"]) for n, r in found.items()]
        pairs = [(n, r["pair"]) for n, r in found.items() if "pair" in r]
        memory = [(n, r["memory"]) for n, r in list(found.items())[-4:]]
        fits.append((name, exponent(times), exponent(pairs), exponent(memory)))
    title = "Fitted exponents: time from 2^16 cells on, memory over the four largest sizes"
    columns = ("release", "time, one", "time, two at once", "memory")
    print(Table(title, columns, tuple(fits)).markdown())


if __name__ == "__main__":
    main()
