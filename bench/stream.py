"""Streams: the error of running totals beside published mechanisms, coverage, state and speed.

Run: python bench/stream.py [--draws 20000] [--kills 0]

Errors are exact, from the law of the noise; the published mechanisms are written out here. Coverage
is counted over so many streams at once. `--kills` kills a process that takes steps, so
often, and checks after each kill that what was said of a step is what the files say of it.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

import trueup as tu
from trueup._kernels.windows.past import LONGEST_COLUMN
from trueup.stream import Schedule, Stream, mean_error
from trueup.stream.errors import StreamErrors
from trueup.stream.past import PastSchedule, PastSecret, PastStreamErrors, all_past_totals
from trueup.stream.secret import Secret
from trueup.stream.totals import Totals

LENGTHS = (100, 365, 1024, 4096, 65536)
CHILD = """
import os, sys
from pathlib import Path
from trueup.stream import Stream
path = Path(sys.argv[1])
stream = Stream.resume(path) if path.exists() else Stream.open(path, epsilon=1, steps=4096)
while True:
    step = stream.steps
    stream.step(step)
    os.write(1, f"{step + 1} {stream.answers[-1].ravel().tolist()}\\n".encode())
"""


def digits(steps: int, radix: int, levels: int, balanced: bool) -> float:
    """Mean squared error at ε = 1 of a tree of completed nodes, or with subtraction as well."""
    number, noises = np.arange(1, steps + 1), np.zeros(steps)
    for _ in range(levels - 1):
        digit = number % radix
        if balanced:
            digit = np.where(digit > radix // 2, digit - radix, digit)
        noises, number = noises + np.abs(digit), (number - digit) // radix
    return float(2 * levels**2 * (noises + number).mean())


def errors() -> bool:
    """The table of errors; whether all are as good as they should be."""
    good = True
    print("mean squared error of the totals at ε = 1")
    print("| steps | binary | k-ary | with subtraction | stream | of any length | trued up |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for steps in LENGTHS:
        many = [(radix, levels) for radix in range(3, 50) for levels in range(2, 8)]
        binary = digits(steps, 2, int(np.log2(steps)) + 1, False)
        plain = min(digits(steps, radix, levels, False) for radix, levels in many)
        published = min(digits(steps, radix, levels, True) for radix, levels in many)
        schedule = Schedule.best(steps)
        ours, endless = (mean_error(each, 1, steps) for each in (schedule, Schedule.endless()))
        shares = [Fraction(0), *reversed(schedule.shares)]
        top = -(-steps // schedule.widths[-1])
        tree = tu.TreeCounts(steps, radices=[top, *reversed(schedule.radices)], shares=shares)
        empty = tu.infer(tu.Measurement(tree, np.zeros(tree.length, np.int64), Fraction(1)))
        stops = np.arange(1, steps + 1)
        after = float(empty.errors.range_variances(0 * stops, stops).mean())
        good &= ours <= 0.8 * published and endless <= 1.75 * published and after <= ours
        row = (binary, plain, published, ours, endless, after)
        print(f"| {steps:,} | " + " | ".join(f"{each:,.1f}" for each in row) + " |")
    return good


def errors_at_rho() -> bool:
    """The same for streams at ρ = 1/2; whether all are as good as they should be."""
    good = True
    print("\nmean squared error of the totals at ρ = 1/2")
    print("| steps | Toeplitz root | stream | of any length | ratio |")
    print("|---:|---:|---:|---:|---:|")
    endless = PastStreamErrors(PastSchedule.best(None, 1), Fraction(LONGEST_COLUMN**2))
    for steps in LENGTHS:
        m = np.arange(1, steps)
        squares = np.cumsum(np.concatenate([[1.0], np.cumprod((2 * m - 1) / (2 * m))]) ** 2)
        root, every = float(squares.mean() * squares[-1]), np.arange(1, steps + 1)
        law = PastStreamErrors(PastSchedule.best(steps, 1), Fraction(LONGEST_COLUMN**2))
        ours, unknown = float(law.variances(every).mean()), float(endless.variances(every).mean())
        good &= ours < root and unknown <= 1.75 * root and (steps != 4096 or ours <= 12.7)
        print(f"| {steps:,} | {root:.2f} | {ours:.2f} | {unknown:.2f} | {unknown / root:.2f} |")
    return good


def coverage_at_rho(draws: int) -> bool:
    """How often intervals hold at a ρ."""
    schedule = PastSchedule(100, 1000)
    variance = schedule.variance(Fraction(1, 2), "add-remove", 1)
    law = PastStreamErrors(schedule, variance)
    from trueup._kernels.noise.gauss import draw

    secret, every = PastSecret.start(schedule, variance, draws), []
    for _ in range(150):
        secret = secret.after(np.ones(draws, np.int64), draw)
        every.append(secret.answers())
    totals, good = all_past_totals(schedule, np.array(every)), True
    print(f"\nintervals that hold at a ρ, of {draws:,} (95 %)")
    for start, stop in ((0, 7), (0, 100), (0, 150), (30, 60), (80, 140)):
        asked = [((0, stop), 1.0)] + ([((0, start), -1.0)] if start else [])
        error = totals[stop - 1] - stop - ((totals[start - 1] - start) if start else 0)
        held = float((np.abs(error) <= law.noise_law(tuple(asked)).half_width(0.95) + 1e-9).mean())
        good &= held >= 0.95 - 4 * np.sqrt(0.05 * 0.95 / draws)
        print(f"steps {start:>3} to {stop:>3}: {100 * held:.2f} %")
    return good


def coverage(draws: int) -> bool:
    """How often intervals of totals and windows hold; whether often enough."""
    schedule = Schedule.best(365)
    law = StreamErrors(schedule, schedule.noise(Fraction(1), "add-remove", 1))
    secret, totals = Secret.start(schedule, law.scales, draws), Totals.start(law.spread, draws)
    from trueup._kernels.noise.laplace import draw

    every = []
    for _ in range(365):
        secret = secret.after(np.ones(draws, np.int64), draw)
        totals, total = totals.after(secret.answers())
        every.append(total)
    good = True
    print(f"\nintervals that hold, of {draws:,} (95 %)")
    for start, stop in ((0, 7), (0, 100), (0, 365), (30, 60), (100, 300)):
        asked = [((0, stop), 1.0)] + ([((0, start), -1.0)] if start else [])
        error = every[stop - 1] - stop - ((every[start - 1] - start) if start else 0)
        held = float((np.abs(error) <= law.noise_law(tuple(asked)).half_width(0.95) + 1e-9).mean())
        good &= held >= 0.95 - 4 * np.sqrt(0.05 * 0.95 / draws)
        print(f"steps {start:>3} to {stop:>3}: {100 * held:.2f} %")
    return good


def state() -> bool:
    """The size of the state, and what a step takes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        with Stream.open(path, epsilon=1, steps=10**6) as stream:
            begin = time.perf_counter()
            for _ in range(300):
                stream.step(7)
            each = (time.perf_counter() - begin) / 300
        size = path.stat().st_size
    print(f"\na million steps: {size:,} bytes of state; {1e3 * each:.2f} ms a step, synced to disk")
    return size <= 1 << 20


def kills(number: int) -> bool:
    """Kills a process that takes steps; whether everything was said once."""
    said: dict[int, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        for turn in range(number):
            run = [sys.executable, "-c", CHILD, str(path)]
            child = subprocess.Popen(run, stdout=subprocess.PIPE, text=True)
            assert child.stdout is not None
            lines = [child.stdout.readline()]
            time.sleep(random.Random(turn).uniform(0, 0.05))
            child.send_signal(signal.SIGKILL)
            for line in [*lines, *child.communicate()[0].splitlines()]:
                step, _, answers = line.strip().partition(" ")
                if answers.endswith("]") and said.setdefault(int(step), answers) != answers:
                    return False
            with Stream.resume(path) as stream:
                kept = stream.answers
            if not max(said) <= len(kept) <= max(said) + 1:
                return False
            if any(kept[step - 1].ravel().tolist() != json.loads(a) for step, a in said.items()):
                return False
    print(f"\n{number:,} kills, {len(said):,} steps: nothing was said twice, nothing was lost")
    return True


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--draws", type=int, default=20_000)
    arguments.add_argument("--kills", type=int, default=0)
    given = arguments.parse_args()
    good = errors()
    good &= errors_at_rho()
    good &= coverage(given.draws)
    good &= coverage_at_rho(given.draws)
    good &= state()
    good &= not given.kills or kills(given.kills)
    print("PASS" if good else "FAIL")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
