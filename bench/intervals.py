"""Time of exact intervals and standard errors, and how often intervals hold the truth.

Run: python bench/intervals.py [--draws N] [--quantiles] [--ratios]

With --quantiles: how often intervals for quantiles and shares, and simultaneous ones, hold the
truth, each from a whole release; a second for about four draws. With --ratios: how often intervals
of ratios do, beside how often the law of a − r·b accepts the true ratio.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import trueup as tu
from trueup.ask import Question
from trueup.paper.noise import measure_for_experiment


def seconds(work: Callable[[], object], repeats: int) -> float:
    """CPU seconds of one run, the best of several."""
    work()
    best = float("inf")
    for _ in range(repeats):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return best


def times() -> None:
    """Prints what one interval, many intervals and many standard errors take."""
    print("| question | one interval | 10,000 intervals | 100,000 standard errors |")
    print("|---|--:|--:|--:|")
    questions: dict[str, Question] = {
        "best tree, 65,536 cells": tu.TreeCounts(65_536),
        "the paper's tree, 65,536 cells": tu.TreeCounts(65_536, branching=2),
        "cells alone, 65,536": tu.CellCounts(tu.Axis.integers("cell", 0, 65_535)),
    }
    generator = np.random.default_rng(0)
    for name, question in questions.items():
        release = tu.infer(measure_for_experiment(np.zeros(65_536, int), question, 1, seed=1))
        ends = np.sort(generator.integers(0, 65_537, (2, 100_000)), axis=0)
        some = ends[:, :10_000]
        one = seconds(lambda: release.range(12_345, 45_678).interval(0.95), 20)  # noqa: B023
        many = seconds(lambda: release.intervals(*some, simultaneous=False), 1)  # noqa: B023
        errors = seconds(lambda: release.range_errors(*ends), 3)  # noqa: B023
        print(f"| {name} | {one * 1e3:.2f} ms | {many:.2f} s | {errors:.3f} s |")


def coverage(draws: int) -> None:
    """Prints how often intervals of whole releases hold the truth."""
    print("\n| ε | range | 95 % | 99 % | 99.9 % |\n|--:|---|--:|--:|--:|")
    levels = (0.95, 0.99, 0.999)
    ranges = {"one cell": (100, 101), "64 cells": (64, 128), "nearly all": (1, 255)}
    question = tu.TreeCounts(256)
    for epsilon in ("0.1", "1"):
        off: dict[str, list[float]] = {name: [] for name in ranges}
        for seed in range(draws):
            noisy = measure_for_experiment(np.zeros(256, int), question, epsilon, seed=seed)
            release = tu.infer(noisy)
            for name, ends in ranges.items():
                off[name].append(release.between(*ends).value)
        for name, ends in ranges.items():
            found = [release.between(*ends).noise_law.half_width(level) for level in levels]
            held = [np.mean(np.abs(off[name]) <= reach) for reach in found]
            print(f"| {epsilon} | {name} | " + " | ".join(f"{100 * h:.2f}" for h in held) + " |")


def quantiles(draws: int) -> None:
    """Prints how often intervals for quantiles and shares, and simultaneous ones, hold at 95 %."""
    shares, edges = (0.1, 0.5, 0.9), (5, 30, 60)
    names = [*(f"quantile {q}" for q in shares), *(f"share below {e}" for e in edges)]
    print("\n| ε | question | " + " | ".join(names) + " | ten ranges at once | 16 blocks at once |")
    print("|--:|---|" + "--:|" * (len(names) + 2))
    generator = np.random.default_rng(0)
    counts = generator.poisson(20, 64) * generator.integers(0, 2, 64)  # many cells are empty
    below = np.cumsum(counts)
    cuts = np.sort(generator.integers(0, 65, (2, 10)), axis=0)
    blocks = np.array([np.arange(0, 64, 4), np.arange(4, 65, 4)])
    prefix = np.concatenate([[0], below])
    questions: dict[str, Question] = {
        "best tree": tu.TreeCounts(64),
        "the paper's tree": tu.TreeCounts(64, branching=2),
        "cells alone": tu.CellCounts(tu.Axis.integers("cell", 0, 63)),
    }
    for epsilon in ("0.1", "1"):
        for name, question in questions.items():
            held = np.zeros(len(names) + 2)
            for seed in range(draws):
                noisy = measure_for_experiment(counts, question, epsilon, seed=seed)
                release = tu.infer(noisy)
                found = []
                for share in shares:
                    first, last = release.quantile_interval(share)
                    found.append(first <= int(np.argmax(below >= share * below[-1])) <= last)
                for edge in edges:
                    least, most = release.cdf_interval(edge)
                    found.append(least <= prefix[edge] / prefix[-1] <= most)
                for starts, stops in (cuts, blocks):
                    low, high = release.intervals(starts, stops)
                    true = prefix[stops] - prefix[starts]
                    found.append(bool(((low <= true) & (true <= high)).all()))
                held += found
            row = " | ".join(f"{100 * each:.2f}" for each in held / draws)
            print(f"| {epsilon} | {name} | {row} |", flush=True)


def ratios(draws: int) -> None:
    """Prints how often intervals of ratios hold the truth at 95 %, and how often the law does."""
    print("\n| ε | counts | ratio | the law accepts | the interval holds | differ |")
    print("|--:|---|---|--:|--:|--:|")
    for epsilon in ("0.25", "1"):
        for low, high in ((10, 20), (7, 20), (20, 20), (3, 30), (40, 200), (1000, 4000)):
            two, pair = [low, high], tu.Axis.integers("cell", 0, 1)
            cases: dict[str, tuple[Question, list[int]]] = {
                "of two cells": (tu.CellCounts(pair), two),
                "share of the total": (tu.CellCounts(pair), [low, high - low]),
                "in a tree": (tu.TreeCounts(8, 2), [low, 0, high, 0, 0, 0, 0, 0]),
            }
            for name, (question, counts) in cases.items():
                own = held = differ = 0
                for _ in range(draws):
                    release = tu.infer(tu.measure(np.array(counts), question, epsilon))
                    tree = name == "in a tree"
                    a = release.between(0, 2 if tree else 1)
                    b = release.between(2, 4) if tree else release.between(1, 2)
                    b = release.total() if name == "share of the total" else b
                    least, most = (a - (low / high) * b).interval()
                    pieces = (a / b).accepted()
                    inside = any(x <= low / high <= y for x, y in pieces)
                    accepted = least <= 0 <= most
                    own, held = own + accepted, held + inside
                    differ += inside != accepted
                row = " | ".join(f"{100 * each / draws:.2f}" for each in (own, held, differ))
                print(f"| {epsilon} | {low} / {high} | {name} | {row} |", flush=True)


def main() -> None:
    """Prints the tables that are asked for."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--draws", type=int, default=2_000)
    options.add_argument("--quantiles", action="store_true")
    options.add_argument("--ratios", action="store_true")
    given = options.parse_args()
    if given.ratios:
        ratios(given.draws)
    elif given.quantiles:
        quantiles(given.draws)
    else:
        times()
        coverage(given.draws)


if __name__ == "__main__":
    main()
