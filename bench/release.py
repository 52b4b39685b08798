"""One core: the whole fused release, least squares alone, isotonic regression; then two threads.

Run: python bench/release.py [--bits 24] [--infer]

`--infer` times `infer` of a measured tree alone, on one core and on two, beside plain numpy
level by level, which stops at the leaves: `infer` also makes prefix sums that add up exactly.
Under it stands what a second core is worth here at all: for a compiled loop that adds and touches
no memory, as long on one core and handed over as often as the work of `infer`: what it lacks of 2
goes to waking a thread; and for one that adds to as many numbers in memory.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np

import trueup as tu
from _timing import seconds
from trueup._kernels.compiled import compiled
from trueup._kernels.sorted.isotonic import isotonic
from trueup._kernels.threads import in_threads
from trueup._kernels.tree.regular import Numbers, RegularTree
from trueup._kernels.tree.regular_fit import fit_leaves
from trueup.arrays import Floats
from trueup.facts import Facts
from trueup.onepass import release_in_one_pass
from trueup.warming import machine_code_only


def line(name: str, value: str, target: str, good: bool) -> bool:
    print(f"{name:<34} {value:>14}   target {target:<16} {'' if good else 'FAIL'}")
    return good


def extra_memory(bits: int) -> float:
    """Peak memory of a release beyond its input and output, over the output's size."""
    code = f"""
import re, numpy as np, trueup as tu
from trueup.facts import Facts
from trueup.onepass import release_in_one_pass
from trueup.warming import machine_code_only
status = lambda: open("/proc/self/status").read()
peak = lambda: int(re.search(r"VmHWM:\\s*(\\d+)", status()).group(1)) * 1024
counts = np.ones(1 << {bits}, np.int64)
machine_code_only()
release_in_one_pass(counts[: 1 << 16], Facts.of(tu.TreeCounts(1 << 16, branching=2), 1))
before = peak()
found = release_in_one_pass(counts, Facts.of(tu.TreeCounts(1 << {bits}, branching=2), 1))
print((peak() - before) / found.prefix.nbytes - 1)
"""
    run = [sys.executable, "-c", code]
    return float(subprocess.run(run, capture_output=True, text=True, check=True).stdout)


def two_processes(bits: int) -> float:
    """How much more two processes release than one in the same time: no thread can do better."""
    code = f"""
import sys, time, numpy as np, trueup as tu
from trueup.facts import Facts
from trueup.onepass import release_in_one_pass
counts, question = np.ones(1 << {bits}, np.int64), tu.TreeCounts(1 << {bits}, branching=2)
release_in_one_pass(counts, Facts.of(question, 1))
while time.time() < float(sys.argv[1]):
    pass
begin = time.time()
for _ in range(4):
    release_in_one_pass(counts, Facts.of(question, 1))
print(time.time() - begin)
"""

    def slowest(number: int) -> float:
        start = time.time() + 5
        run = [sys.executable, "-c", code, str(start)]
        made = [subprocess.Popen(run, stdout=subprocess.PIPE, text=True) for _ in range(number)]
        return max(float(process.communicate()[0]) for process in made)

    alone = min(slowest(1) for _ in range(2))
    return 2 * alone / min(slowest(2) for _ in range(2))


def level_by_level(
    noisy: Numbers, size: int, radices: Sequence[int], weights: Sequence[float]
) -> Floats:
    """The leaves of least squares on a regular tree, as one writes it down in numpy."""
    lengths = [-(-size // int(np.prod(radices[k:]))) for k in range(len(radices) + 1)]
    levels = np.split(noisy, np.cumsum(lengths)[:-1])
    fitted, variance, steps = levels[-1].astype(np.float64), 1 / weights[-1], []
    for k in reversed(range(len(radices))):
        total = np.add.reduceat(fitted, np.arange(0, len(fitted), radices[k]))
        gain = weights[k] * variance * radices[k]
        variance = variance * radices[k] / (1 + gain)
        steps.append(gain / (1 + gain) * (levels[k] - total))
        fitted = total + steps[-1]
    step = steps.pop()
    for k, radix in enumerate(radices):
        gained = np.repeat(step / radix, radix)[: lengths[k + 1]]
        step = gained + (steps.pop() if steps else levels[-1])
    return np.asarray(step, np.float64)


@compiled
def _add(steps: int, sums: Floats) -> None:
    total = 0.0
    for i in range(steps):
        total += i
    sums[0] = total


@compiled
def _add_to(values: Floats) -> None:
    for i in range(values.size):
        values[i] += 1.0


def sooner(work: Callable[[int, int], object], parts: int, turns: int) -> float:
    """How much sooner two cores are done than one with as many turns of equal parts."""
    times = [float("inf")] * 2
    for _ in range(100):
        for which in range(2):
            begin = time.perf_counter()
            for _ in range(turns):
                in_threads(work, parts, 1 + which)
            times[which] = min(times[which], time.perf_counter() - begin)
    return times[0] / times[1]


def adding(taken: float) -> float:
    """As `sooner`, for additions that take one core so many seconds, in four turns."""
    parts, turns, some = 32, 4, 1_000_000
    sums = np.zeros((parts, 8))  # a cache line each
    _add(some, sums[0])  # compiled
    begin = time.perf_counter()
    _add(some, sums[0])
    steps = int(some * taken / (time.perf_counter() - begin) / parts / turns)
    return sooner(lambda begin, end: _add(steps * (end - begin), sums[begin]), parts, turns)


def adding_in_place(size: int) -> float:
    """As `sooner`, for additions to so many numbers in memory, in one turn."""
    values = np.zeros(size)
    each = size // 32
    return sooner(lambda begin, end: _add_to(values[begin * each : end * each]), 32, 1)


def inference() -> int:
    """Times `infer` on one core and on two, and plain numpy level by level."""
    machine_code_only()
    good, cores = True, sorted(os.sched_getaffinity(0))[:2]
    for bits in (20, 24):
        size = 1 << bits
        counts = np.random.default_rng(0).poisson(3, size)
        for branching in (None, 16, 2):
            question = tu.TreeCounts(size, branching=branching)
            measured = tu.measure(counts, question, 1)
            unasked = np.zeros(question.asked[0], np.int64)  # of the default tree, its root
            noisy = np.concatenate([unasked, measured.noisy])
            weights = [0.0] * len(unasked) + [1.0] * len(question.asked)
            times = [float("inf")] * 3
            for _ in range(200 if bits == 20 else 12):  # in turn: a busy machine slows all alike
                for which in range(3):
                    os.sched_setaffinity(0, cores[: 1 + (which == 1)])
                    begin = time.perf_counter()
                    if which < 2:
                        tu.infer(measured)
                    elif branching != 2 or times[2] == float("inf"):
                        level_by_level(noisy, size, question.radices, weights)
                    else:
                        continue
                    times[which] = min(times[which], (time.perf_counter() - begin) / size * 1e9)
            os.sched_setaffinity(0, cores)
            one, two, plain = times
            name = f"2^{bits}, " + (f"branching {branching}" if branching else "default tree")
            shown = f"{one:.1f} ns/leaf"
            good &= line(name, shown, f"<= numpy {plain:.1f}", one <= plain)
            enough = one / two >= 1.5 or len(cores) < 2
            good &= line(
                "  on two cores", f"{two:.1f} ns/leaf", f">= 1.5x: {one / two:.2f}", enough
            )
            if len(cores) == 2:
                here = f"{adding(one * size / 1e9):.2f}x, {adding_in_place(size):.2f}x"
                line("  adding alone, and in memory", here, "what there is", True)
    print("PASS" if good else "FAIL")
    return 0 if good else 1


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--bits", type=int, default=24, help="log2 of the number of leaves")
    arguments.add_argument("--infer", action="store_true", help="only infer, at 2^20 and 2^24")
    asked = arguments.parse_args()
    if asked.infer:
        return inference()
    bits = asked.bits
    size = 1 << bits
    generator = np.random.default_rng(0)
    counts = generator.poisson(3, size)
    question = tu.TreeCounts(size, branching=2)
    good = True

    whole = seconds(lambda: release_in_one_pass(counts, Facts.of(question, 1)), 5) / size * 1e9
    good &= line("whole release, binary", f"{whole:.1f} ns/leaf", "<= 20", whole <= 20)

    wide = tu.TreeCounts(size, branching=16)
    sixteen = seconds(lambda: release_in_one_pass(counts, Facts.of(wide, 1)), 5) / size * 1e9
    line("whole release, 16-ary", f"{sixteen:.1f} ns/leaf", "-", True)

    memory = extra_memory(bits)
    good &= line("extra memory / output", f"{memory:.3f}", "<= 0.5", memory <= 0.5)

    tree = RegularTree(size, (2,) * bits, (1.0,) * (bits + 1))
    noisy = generator.integers(-50, 100, sum(tree.lengths))
    starts = np.cumsum([0, *tree.lengths[:-1]])
    alone = seconds(lambda: fit_leaves(tree, noisy, starts, threads=1), 7) / size * 1e9
    good &= line("least squares alone, binary", f"{alone:.1f} ns/leaf", "<= 6", alone <= 6)

    from scipy.optimize import isotonic_regression

    rising = np.sort(generator.zipf(1.6, size).clip(0, 10**6)).astype(np.float64)
    rising += generator.laplace(0, 10, size)
    ours = seconds(lambda: isotonic(rising), 5)
    theirs = seconds(lambda: isotonic_regression(rising), 3)
    ratio = theirs / ours
    shown = f"{ratio:.2f}x scipy"
    good &= line(f"isotonic, {ours / size * 1e9:.1f} ns/element", shown, ">= 1.5x", ratio >= 1.5)

    # Interleaved, by the clock on the wall: a busy machine slows both.
    one = two = float("inf")
    for _ in range(5):
        one = min(
            one,
            seconds(
                lambda: release_in_one_pass(counts, Facts.of(question, 1)), 1, time.perf_counter
            ),
        )
        run = lambda: release_in_one_pass(counts, Facts.of(question, 1), 2)  # noqa: E731
        two = min(two, seconds(run, 1, time.perf_counter))
    limit = two_processes(bits)
    enough = one / two >= min(1.7, 0.9 * limit) or (os.cpu_count() or 1) < 2
    line("two processes against one", f"{limit:.2f}x", "the limit here", True)
    good &= line("two threads against one", f"{one / two:.2f}x", ">= 1.7x, or 0.9 of that", enough)
    print("PASS" if good else "FAIL")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
