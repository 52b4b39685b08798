"""Time and memory from 2^12 to 2^26 cells, on one thread and on two, with fitted exponents.

Run: python bench/scaling.py [--quick] [--largest 26] [--step 2]
Each size runs in a process of its own, so that its peak memory is its own. `tu.publish` makes one
release with two threads; `measure` and `infer` have one, so two releases are made at once in two
threads, and the time is that of both, halved. A size that would not fit in memory is left out, and
said to be.
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import trueup as tu
from trueup.facts import Facts
from trueup.onepass import release_in_one_pass
from trueup.pictures.sheet import Sheet

Release = Callable[[Any, int], object]


@dataclass(frozen=True)
class Work:
    """A release of n cells: made by `make(n)(counts, threads)`; bytes a cell that it may need."""

    make: Callable[[int], Release]
    bytes_a_cell: int
    threaded: bool = False


def in_steps(ask: Callable[[int], Any]) -> Callable[[int], Release]:
    """Measured, then inferred."""

    def make(n: int) -> Release:
        question = ask(n)
        return lambda counts, _: tu.infer(tu.measure(counts, question, 1))

    return make


def in_one_pass(ask: Callable[[int], Any]) -> Callable[[int], Release]:
    """Truth, noise and inference block by block."""

    def make(n: int) -> Release:
        question = ask(n)
        return lambda counts, threads: release_in_one_pass(counts, Facts.of(question, 1), threads)

    return make


def binary(n: int) -> tu.TreeCounts:
    """The paper's tree."""
    return tu.TreeCounts(n, branching=2)


WORK = {
    "S̄, measure and infer": Work(in_steps(tu.SortedCounts), 100),
    "H̄, binary, measure and infer": Work(in_steps(binary), 160),
    "H̄, binary, tu.publish": Work(in_one_pass(binary), 60, threaded=True),
    "H̄, TreeCounts(axis), tu.publish": Work(in_one_pass(tu.TreeCounts), 60, threaded=True),
}

COLUMNS = (
    "cells",
    "one thread, ms",
    "processor, ns a cell",
    "two threads, ms",
    "× faster on two",
    "peak memory, MB",
    "in arrays of n",
)


def shortest(work: Callable[[], object], enough: float = 1.0) -> tuple[float, float]:
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
    work = WORK[name]
    work.make(64)(np.zeros(64, np.int64), 1)
    base = peak()
    counts = np.random.default_rng(power).poisson(3, 1 << power)
    release = work.make(1 << power)
    clock, processor = shortest(lambda: release(counts, 1))
    found = {"clock": clock, "processor": processor, "memory": peak() - base}

    def both() -> None:
        threads = [threading.Thread(target=release, args=(counts, 1)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    if pair and work.threaded:
        found["two"] = shortest(lambda: release(counts, 2))[0]
    elif pair:
        found["two"] = shortest(both)[0] / 2
    return found


def memory_left() -> int:
    """Bytes that could be used now."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable"):
            return int(line.split()[1]) * 1024
    return 0


def measure(name: str, power: int) -> dict[str, float] | None:
    """What a fresh process finds for one size, or None where memory would not do."""
    needed = WORK[name].bytes_a_cell << power
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
    parser.add_argument("--quick", action="store_true", help="up to 2^20 cells")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        name, power, pair = asked.one
        print(json.dumps(one_size(name, int(power), pair == "1")))
        return
    largest = min(asked.largest, 20) if asked.quick else asked.largest
    fits = []
    for name in WORK:
        found = {}
        for power in range(12, largest + 1, asked.step):
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
                r.get("two", float("nan")) * 1e3,
                r["clock"] / r.get("two", float("nan")),
                r["memory"] / 1e6,
                r["memory"] / (8 * n),
            )
            for n, r in found.items()
        ]
        print(Sheet(name, COLUMNS, tuple(rows)).markdown(), "\n")
        times = [(n, r["processor"]) for n, r in found.items()]
        pairs = [(n, r["two"]) for n, r in found.items() if "two" in r]
        memory = [(n, r["memory"]) for n, r in list(found.items())[-4:]]
        fits.append((name, exponent(times), exponent(pairs), exponent(memory)))
    title = "Fitted exponents: time from 2^16 cells on, memory over the four largest sizes"
    columns = ("release", "time, one thread", "time, two", "memory")
    print(Sheet(title, columns, tuple(fits)).markdown())


if __name__ == "__main__":
    main()
