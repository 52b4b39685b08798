"""Sorted counts: squared and absolute error of the paper's estimators and of SortedCounts.

Run: python bench/sorted.py [--data DIR] [--draws 50] [--groups 300 3000 10000] [--quick] [--sizes]

DIR holds .npy vectors of counts, in folders or not. One that is stored in rising or falling order
is a frequency list or a degree sequence; any other is a histogram whose cells are taken as groups.
Made-up families of counts come beside them, of every number of groups given; few groups are drawn
more often, for a ratio as sure.

S̃ noisy; S̃r sorted and rounded; S̄ isotonic; S̄r isotonic, rounded to non-negative whole numbers;
Young asked adaptively, whole; Young ℝ the same in real numbers. Each error is the mean over the
draws of the sum over the groups; a ratio to S̄ comes with its standard error. Then the time and
memory of a release of 10^6 and 10^7 groups, measured and inferred, on one core. NOT PRIVATE: the
noise of the errors is reproducible.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

import trueup as tu
from trueup.paper.baselines import noisy_sorted, sorted_and_rounded
from trueup.paper.noise import measure_for_experiment

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

EPSILONS = ("1", "0.1", "0.01")
METHODS = ("S̃", "S̃r", "S̄", "S̄r", "Young", "Young ℝ")
NOISY, SORTED, ISOTONIC, ROUNDED, YOUNG, REAL = range(6)
SQUARED, ABSOLUTE = range(2)
WORST = 1.1  # of S̄'s squared error, on any input
SECONDS = {10**6: 0.3, 10**7: 5.0}
ARRAYS = 4.0  # of n numbers, beside the counts given


@dataclass(frozen=True)
class Input:
    """A vector of counts and what it is: "list", "histogram" or "made up"."""

    name: str
    counts: Ints
    kind: str

    def draws(self, least: int) -> int:
        """More draws of few groups."""
        return least * (min(max(12_000 // len(self.counts), 1), 4) if self.kind == "made up" else 1)


def families(groups: int) -> Iterator[tuple[str, Ints]]:
    """Made-up counts of every kind: repeated, spread, heavy-tailed, with gaps."""
    rng = np.random.default_rng(groups)
    half, few = groups // 2, max(groups // 1000, 3)
    yield "constant", np.full(groups, 50)
    yield "constant, far from zero", np.full(groups, 10**6)
    yield "all zero", np.zeros(groups, np.int64)
    yield "two clusters, a gap of 100", np.repeat([10, 110], [half, groups - half])
    yield "two clusters, a gap of 10^5", np.repeat([10, 10**5], [half, groups - half])
    yield "few below a gap", np.repeat([0, 3000], [few, groups - few])
    yield "three clusters, zero to 10^4", np.repeat([0, 100, 10**4], -(-groups // 3))[:groups]
    yield "staircase, steps of 50", np.arange(groups) * 20 // groups * 50
    yield "staircase, steps of 2", np.arange(groups) * 50 // groups * 2
    yield "Gaussian, 10^5 ± 300", np.rint(rng.normal(1e5, 300, groups))
    yield "uniform to 2,000", rng.integers(0, 2000, groups)
    yield "uniform to 10^7", rng.integers(0, 10**7, groups)
    yield "geometric, mean 5", rng.geometric(0.2, groups)
    yield "geometric, mean 200", rng.geometric(0.005, groups)
    yield "Zipf 1.5", np.minimum(rng.zipf(1.5, groups), 10**7)
    yield "Zipf 2", np.minimum(rng.zipf(2.0, groups), 10**7)
    yield "Zipf 3", np.minimum(rng.zipf(3.0, groups), 10**7)
    giants = np.zeros(groups, np.int64)
    giants[-10:] = rng.integers(10**5, 10**6, 10)
    yield "few giants among zeros", giants


def inputs(folder: Path | None, sizes: list[int]) -> Iterator[Input]:
    """All vectors, real ones first."""
    if folder is not None:
        for path in sorted(folder.rglob("*.npy")):
            counts = np.load(path).ravel().astype(np.int64)
            steps = np.diff(counts)
            in_order = bool((steps >= 0).all() or (steps <= 0).all())
            yield Input(path.stem, np.sort(counts), "list" if in_order else "histogram")
    for groups in sizes:
        for name, counts in families(groups):
            yield Input(f"{name} ({groups:,})", np.sort(counts).astype(np.int64), "made up")


def errors(counts: Ints, epsilon: str, draws: int) -> Floats:
    """By squared and absolute, method, draw."""
    found = np.empty((2, len(METHODS), draws))
    plain, young = tu.SortedCounts(len(counts), adaptive=False), tu.SortedCounts(len(counts))
    for seed in range(draws):
        m = measure_for_experiment(counts, plain, epsilon, seed=seed)
        isotonic = tu.infer(m).counts()
        adaptive = measure_for_experiment(counts, young, epsilon, seed=seed)
        estimates = (
            noisy_sorted(m),
            sorted_and_rounded(m),
            isotonic,
            np.maximum(np.rint(isotonic), 0),
            tu.infer(adaptive).counts(),
            tu.infer(adaptive, integers=False).counts(),
        )
        for method, estimate in enumerate(estimates):
            wrong = np.abs(estimate - counts).astype(np.float64)
            found[SQUARED, method, seed] = wrong @ wrong
            found[ABSOLUTE, method, seed] = wrong.sum()
    return found


def ratio(found: Floats, kind: int, method: int = YOUNG, to: int = ISOTONIC) -> tuple[float, float]:
    """Of two mean errors, and its standard error over the draws; 1 where both are 0."""
    above, below = found[kind, method], found[kind, to]
    if not below.mean():
        return (1.0, 0.0) if not above.mean() else (np.inf, 0.0)
    value = above.mean() / below.mean()
    spread = (above - value * below).std() / below.mean() / np.sqrt(len(above))
    return float(value), float(spread)


def geometric(values: list[float]) -> float:
    """The geometric mean; what is 0 counts as a thousandth."""
    return float(np.exp(np.mean(np.log(np.maximum(values, 1e-3)))))


def verdict(what: str, value: float, goal: float) -> bool:
    """Prints the value beside its goal; whether it is held."""
    held = value <= goal
    print(f"  {what}: {value:.3f}, goal ≤ {goal:g}: {'held' if held else 'NOT held'}")
    return held


def accuracy(vectors: list[Input], draws: int) -> bool:
    """Prints all errors and the goals beside them; whether all are held."""
    goals: list[tuple[str, float, float]] = []
    for epsilon in EPSILONS:
        print(f"\nε = {epsilon}, {draws} draws or more: squared | absolute error; Young of S̄")
        heads = "".join(f"{name:>10}" for name in METHODS)
        print(f"{'':38}{heads}  |{heads}  | squared ± s.e.    absolute")
        ratios: dict[str, list[tuple[float, float, float, float]]] = {"list": [], "histogram": []}
        worst = (-np.inf, 0.0, "")
        for vector in vectors:
            found = errors(vector.counts, epsilon, vector.draws(draws))
            value, spread = ratio(found, SQUARED)
            far = ratio(found, ABSOLUTE)[0]
            errs = ["".join(f"{x:10.3g}" for x in found[kind].mean(axis=1)) for kind in range(2)]
            line = f"{vector.name:38}{errs[0]}  |{errs[1]}  | "
            print(f"{line}{value:7.3f} ± {spread:.3f}  {far:9.3f}", flush=True)
            worst = max(worst, (value, spread, vector.name))
            if vector.kind in ratios:
                of_rounded = ratio(found, ABSOLUTE, to=ROUNDED)[0]
                real = ratio(found, SQUARED, REAL)[0]
                ratios[vector.kind].append((value, far, of_rounded, real))
        lists, histograms = ratios["list"], ratios["histogram"]
        for what, chosen in (("lists", lists), ("lists and histograms", lists + histograms)):
            if not chosen or (chosen is not lists and not histograms):
                continue
            means = [geometric(list(each)) for each in zip(*chosen, strict=True)]
            squared, absolute, of_rounded, real = means
            goals.append((f"ε = {epsilon}, {what}, squared, of S̄", squared, 0.4))
            goals.append((f"ε = {epsilon}, {what}, squared, in real numbers, of S̄", real, 0.4))
            goals.append((f"ε = {epsilon}, {what}, absolute, of S̄", absolute, 0.15))
            if epsilon == "1":
                goals.append((f"ε = 1, {what}, absolute, of S̄ rounded", of_rounded, 0.4))
        said = f"ε = {epsilon}, largest squared, of S̄: {worst[2]} (s.e. {worst[1]:.3f})"
        goals.append((said, worst[0], WORST))
    print("\nGeometric means of the ratios over the vectors of DIR, and the largest ratio of all")
    verdicts = [verdict(*goal) for goal in goals]
    return all(verdicts)


def one_size(groups: int) -> None:
    """Prints the least CPU time of a release of so many groups, and its memory."""
    rng = np.random.default_rng(1)
    counts = np.minimum(rng.zipf(1.8, groups), 10**6)
    warm = rng.zipf(1.8, 5000)
    for epsilon in EPSILONS[:2]:
        tu.infer(tu.measure(warm, tu.SortedCounts(len(warm)), epsilon))
    now = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    print(f"{groups:>12,}", end="")
    for epsilon in EPSILONS[:2]:
        best = np.inf
        for _ in range(3):
            begin = time.process_time()
            release = tu.infer(tu.measure(counts, tu.SortedCounts(groups), epsilon))
            best = min(best, time.process_time() - begin)
            del release
        print(f" {best:10.3f}", end="")
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f" {(after * 1024 - now) / (8 * groups):10.2f}")


def sizes_apart() -> bool:
    """Each size in a process of its own, so that its peak memory is its own."""
    print("\nTime, s, and peak memory beside the counts, in arrays of n:")
    print(f"{'groups':>12} {'ε = 1':>10} {'ε = 0.1':>10} {'arrays':>10}", flush=True)
    held = True
    lines = []
    for groups in SECONDS:
        command = [sys.executable, __file__, "--size", str(groups)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        print(done.stdout, end="", flush=True)
        _, *seconds, arrays = (float(word.replace(",", "")) for word in done.stdout.split())
        lines.append((groups, max(seconds), arrays))
    for groups, seconds_taken, arrays in lines:
        held = verdict(f"{groups:,} groups, seconds", seconds_taken, SECONDS[groups]) and held
        held = verdict(f"{groups:,} groups, arrays of n", arrays, ARRAYS) and held
    return held


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder of .npy vectors")
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--groups", type=int, nargs="*", default=[300, 3_000, 10_000])
    parser.add_argument("--quick", action="store_true", help="10 draws, up to 3,000 groups")
    parser.add_argument("--sizes", action="store_true", help="time and memory only")
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.size:
        one_size(given.size)
        return 0
    held = True
    if not given.sizes:
        sizes = [300, 3_000] if given.quick else given.groups
        vectors = list(inputs(given.data, sizes))
        held = accuracy(vectors, 10 if given.quick else given.draws)
    held = sizes_apart() and held
    print("All held." if held else "Some not held.")
    return int(not held)


if __name__ == "__main__":
    sys.exit(main())
