"""Hats and grids: error by dense algebra and by experiment, speed, memory, the plan's rule on data.

Run: python bench/hats.py [--quick] [--data DIR] [--draws 50] [--steps 60]
Errors are mean squared errors over all ranges (or boxes) at ε = 1. "dense" is linear algebra on the
whole matrix; "drawn" is the mean over draws of continuous noise, ± its standard error. With DIR
(folders hist1d and hist2d of .npy counts), a table of flat counts, the best tree and hats, each
unbiased and non-negative, over log-uniform lengths, and how far the plan's public rule is from the
best of them. NOT PRIVATE: the noise of experiments is reproducible.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import trueup as tu
from _timing import seconds
from trueup._kernels.display.boxes import box_prefix, box_sums
from trueup.ask import Question
from trueup.infer import errors_of, figures_of
from trueup.infer.hat_errors import HatErrors
from trueup.infer.least_squares import MatrixErrors
from trueup.noise import Noise
from trueup.paper.noise import measure_for_experiment

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

ONE = Fraction(1)
GOALS = {1024: 131, 4096: 212, 65_536: 490, 1 << 20: 940}
GRID_GOALS = {256: 2_250, 1024: 8_200}
HDMM = 122.9  # at 1,024 cells, as published
WORKLOAD = "log-uniform lengths"
AT_ONCE = "for non-negative counts"


def over_ranges(prefix: Floats) -> float:
    """The mean square of all differences of prefix sums: of every range, or of every box."""
    centred, pairs = prefix, 1.0
    for axis in range(prefix.ndim):
        points = prefix.shape[axis]
        centred = centred - centred.mean(axis=axis, keepdims=True)
        pairs *= (points - 1) / 2  # points² of the square over points (points − 1) / 2 pairs
    return float((centred**2).sum() / pairs)


def drawn(question: Any, draws: int) -> tuple[float, float]:
    """The mean error over draws of continuous noise, and its standard error."""
    counts = np.zeros(getattr(question, "sizes", question.size), np.int64)
    seen = []
    for seed in range(draws):
        noisy = measure_for_experiment(counts, question, 1, seed=seed, law="continuous")
        seen.append(over_ranges(tu.infer(noisy).prefix))
    return float(np.mean(seen)), float(np.std(seen, ddof=1) / draws**0.5)


def dense(question: Any) -> float:
    """The mean error over all ranges, from the inverse of the whole normal matrix."""
    rows = question.matrix().toarray()
    scales = [float(1 / w) for _, w in question.blocks]
    each = np.repeat(scales, [length for length, _ in question.blocks])
    cells = np.linalg.inv(rows.T @ (rows / (2 * each**2)[:, None]))
    size = question.size
    i = np.arange(size)
    gram = np.minimum.outer(i + 1.0, i + 1.0) * (size - np.maximum.outer(i, i))
    return float((gram * cells).sum() / (size * (size + 1) / 2))


def held(value: float, goal: float) -> str:
    return f"≤ {goal:,g}: {'held' if value <= goal else 'NOT HELD'}"


def error_tables(quick: bool) -> None:
    """Exact, dense and drawn errors of hats on one axis and on two."""
    print("| cells | hats | discrete | dense | drawn | best tree | goal |")
    print("|--:|--:|--:|--:|--:|--:|---|")
    for size, goal in GOALS.items():
        if quick and size > 65_536:
            continue
        question = tu.HatCounts(size)
        exact = figures_of(Noise(question, ONE, law="continuous")).mean_over_ranges()
        whole = figures_of(Noise(question, ONE)).mean_over_ranges()
        tree = figures_of(Noise(tu.TreeCounts(size), ONE, law="continuous")).mean_over_ranges()
        checked = f"{dense(question):,.1f}" if size <= 1024 else "–"
        mean, wrong = drawn(question, 40 if quick else 400 if size < 1 << 20 else 60)
        print(
            f"| {size:,} | **{exact:,.1f}** | {whole:,.1f} | {checked} | "
            f"{mean:,.1f} ± {wrong:,.1f} | {tree:,.1f} | {held(exact, goal)} |"
        )
    print("\n| cells | hats ⊗ hats | discrete | drawn | best trees | flat | goal |")
    print("|--:|--:|--:|--:|--:|--:|---|")
    for size, goal in GRID_GOALS.items():
        if quick and size > 256:
            continue
        found = tu.plan([size, size], 1)
        mean, wrong = drawn(found["hats"].question, 20 if quick else 100 if size < 1024 else 30)
        print(
            f"| {size:,} × {size:,} | **{found['hats'].continuous:,.0f}** | "
            f"{found['hats'].mean:,.0f} | {mean:,.0f} ± {wrong:,.0f} | "
            f"{found['best trees'].continuous:,.0f} | {found['cells alone'].continuous:,.0f} | "
            f"{held(found['hats'].continuous, goal)} |"
        )


def memory(size: int) -> None:
    """Prints how many bytes measuring and inferring hats takes; for a process of its own."""
    tu.infer(tu.measure(np.zeros(5000, np.int64), tu.HatCounts(5000), 1))
    counts = np.ones(size, np.int64)
    tracemalloc.start()
    tu.infer(tu.measure(counts, tu.HatCounts(size), 1))
    print(tracemalloc.get_traced_memory()[1])


def speed_table(quick: bool) -> None:
    """Times and memory, with their goals."""
    size = 1 << (16 if quick else 20)
    counts = np.random.default_rng(1).poisson(20, size)
    question = tu.HatCounts(size)
    noisy = tu.measure(counts, question, 1)
    errors = errors_of(noisy.noise)
    assert isinstance(errors, HatErrors)
    ends = np.sort(np.random.default_rng(2).integers(0, size + 1, (10_000, 2)), axis=1)
    side = 256 if quick else 1024
    table = np.random.default_rng(3).poisson(5, (side, side))
    grid = tu.GridCounts(side, side)
    begin = time.process_time()
    tu.plan(1 << 24, 1)
    plan = time.process_time() - begin

    def release(of: Ints, asked: Question) -> Callable[[], object]:
        return lambda: tu.infer(tu.measure(of, asked, 1))

    rows = [
        (f"{size:,} cells measured and inferred", 2.0, release(counts, question)),
        ("of which least squares", 0.1, lambda: errors.fit(noisy.noisy)),
        ("10,000 standard errors", 2.0, lambda: errors.range_variances(ends[:, 0], ends[:, 1])),
        (f"{side:,} × {side:,} measured and inferred", 3.0, release(table, grid)),
    ]
    print("\n| work | seconds of CPU | goal |\n|---|--:|---|")
    for name, goal, work in rows:
        took = seconds(work)
        print(f"| {name} | {took:.3f} | {held(took, goal)} |", flush=True)
    print(f"| a plan of 2^24 cells | {plan:.2f} | {held(plan, 2)} |")
    own = subprocess.run(
        [sys.executable, __file__, "--memory", str(size)],
        capture_output=True,
        text=True,
        check=True,
    )
    arrays = int(own.stdout) / (8 * size)
    print(f"\nMemory at {size:,} cells: {arrays:.1f} arrays of n; {held(arrays, 20)}.")


def optimised(steps: int) -> None:
    """The strategy searched for all ranges of 1,024 cells, beside the published figure."""
    begin = time.process_time()
    found = tu.optimize("ranges", 1024, steps=steps)
    took = time.process_time() - begin
    question = found.strategy
    lengths = tuple(length for length, _ in question.blocks)
    scales = tuple(question.price() / w for _, w in question.blocks)
    size = question.size
    i = np.arange(size)
    gram = np.minimum.outer(i + 1.0, i + 1.0) * (size - np.maximum.outer(i, i))
    cells = MatrixErrors(question.matrix(), lengths, scales, "continuous").covariance()
    error = float((gram * cells).sum() / (size * (size + 1) / 2))
    print(
        f"\nOptimised for all ranges of 1,024 cells, {steps} steps, {took:.0f} s, weights rounded "
        f"to rationals: {error:.1f} with continuous noise, {found.error:.1f} discrete; HDMM's "
        f"published {HDMM} ({held(error, HDMM)}); hats without a search "
        f"{found.errors['hats']:.1f}."
    )


def vectors(folder: Path, kind: str) -> Iterator[tuple[str, Ints]]:
    """The name and counts of each file of a kind."""
    for path in sorted((folder / kind).glob("*.npy")):
        yield path.stem, np.load(path).astype(np.int64)


def one_axis(counts: Ints, epsilon: str, draws: int) -> dict[tuple[str, str], float]:
    """The error of each question and way over all ranges of 1, 2, 4 … cells."""
    size = len(counts)
    found = tu.plan(size, epsilon, WORKLOAD)
    questions: dict[str, Question] = {
        "flat": tu.CellCounts(tu.Axis.integers("cell", 0, size - 1)),
        "best tree": found["best tree"].question,
        "hats": found["hats"].question,
    }
    rules = {
        "unbiased": found.best,
        "non-negative": tu.plan(size, epsilon, WORKLOAD, nonnegative=True)[AT_ONCE].question,
    }
    lengths = [*(2**power for power in range(size.bit_length()) if 2**power < size), size]
    truth = np.concatenate([[0.0], np.cumsum(counts)])

    def error(prefix: Floats) -> float:
        wrong = prefix - truth
        return float(np.mean([np.mean((wrong[k:] - wrong[:-k]) ** 2) for k in lengths]))

    return _errors(counts, questions, rules, epsilon, draws, error)


def two_axes(counts: Ints, epsilon: str, draws: int) -> dict[tuple[str, str], float]:
    """The same over boxes whose sides have log-uniform lengths, some thousands of them."""
    sizes = list(counts.shape)
    found = tu.plan(sizes, epsilon, WORKLOAD)
    questions: dict[str, Question] = {
        "flat": found["cells alone"].question,
        "best tree": found["best trees"].question,
        "hats": found["hats"].question,
    }
    rules = {
        "unbiased": found.best,
        "non-negative": tu.plan(sizes, epsilon, WORKLOAD, nonnegative=True)[AT_ONCE].question,
    }
    generator = np.random.default_rng(1)
    powers = [size.bit_length() for size in sizes]
    sides = np.stack([1 << generator.integers(0, power, 4_000) for power in powers], axis=1)
    sides = np.minimum(sides, sizes)
    starts = (generator.random(sides.shape) * (np.array(sizes) - sides + 1)).astype(np.int64)
    truth = box_sums(box_prefix(counts), starts, starts + sides)

    def error(prefix: Floats) -> float:
        return float(np.mean((box_sums(prefix, starts, starts + sides) - truth) ** 2))

    return _errors(counts, questions, rules, epsilon, draws, error)


def _errors(
    counts: Ints,
    questions: Mapping[str, Question],
    rules: Mapping[str, Question],
    epsilon: str,
    draws: int,
    error: Callable[[Floats], float],
) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for name, question in (*questions.items(), *(("rule", q) for q in rules.values())):
        for seed in range(draws):
            noisy = measure_for_experiment(counts, question, epsilon, seed=seed)
            for way in ("unbiased", "non-negative"):
                if name == "rule" and question is not rules[way]:
                    continue
                prefix = tu.infer(noisy, nonnegative=way == "non-negative").prefix
                found[name, way] = found.get((name, way), 0.0) + error(prefix) / draws
    return found


def on_data(folder: Path, draws: int) -> None:
    """The table over real histograms and grids, and how near the plan's rule comes."""
    names, ways = ("flat", "best tree", "hats", "rule"), ("unbiased", "non-negative")
    columns = [(name, way) for way in ways for name in names]
    print(f"\nMean squared error over log-uniform lengths, {draws} draws.\n")
    print("| counts | ε | " + " | ".join(f"{name}, {way}" for name, way in columns) + " |")
    print("|---|--:|" + "--:|" * len(columns))
    ratios: dict[tuple[str, str], list[float]] = {}
    for kind, errors in (("hist1d", one_axis), ("hist2d", two_axes)):
        for name, counts in vectors(folder, kind):
            for epsilon in ("0.1", "1"):
                each = errors(counts, epsilon, draws)
                row = " | ".join(f"{each[column]:,.0f}" for column in columns)
                print(f"| {name} | {epsilon} | {row} |", flush=True)
                for way in ways:
                    best = min(each[other, way] for other in names[:3])
                    ratios.setdefault((kind, way), []).append(each["rule", way] / best)
    print()
    for (kind, way), found in ratios.items():
        mean = float(np.exp(np.mean(np.log(found))))
        print(
            f"{kind}, {way}: the plan's rule over the best of flat, tree and hats, geometric mean: "
            f"{mean:.3f} ({held(mean, 1.05)})"
        )
    every = [ratio for found in ratios.values() for ratio in found]
    mean = float(np.exp(np.mean(np.log(every))))
    print(f"All: {mean:.3f} ({held(mean, 1.05)})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, few draws")
    parser.add_argument("--data", type=Path, help="a folder with hist1d and hist2d")
    parser.add_argument("--draws", type=int, default=50, help="with --data")
    parser.add_argument("--steps", type=int, default=60, help="of the optimisation")
    parser.add_argument("--memory", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.memory:
        memory(given.memory)
        return
    if given.data is not None:
        on_data(given.data, given.draws)
        return
    error_tables(given.quick)
    speed_table(given.quick)
    optimised(5 if given.quick else given.steps)
    print("\nOn histograms of your own: python bench/hats.py --data DIR")


if __name__ == "__main__":
    main()
