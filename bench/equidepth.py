"""Equi-depth bins asked directly, beside those of the plan's release, at equal ε.

Run: python bench/equidepth.py [--data DIR] [--draws 20] [--bins 10]

Directly: quantiles by the exponential mechanism, the middle one first, then those of both sides
(Kaplan, Schnapp, Stemmer 2022); each record lies in one part of every round, so a round has ε over
the number of rounds. It gives edges and nothing else. Ours: `equidepth` of the plan's question for
non-negative counts, which answers every range besides. The error is how far the true share of a bin
is from 1/bins, its mean over bins and draws, in per cent of all records.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt

import trueup as tu
from accuracy import vectors
from trueup.plan.default import question_for

Ints = npt.NDArray[np.int64]
CELLS = 4096


def direct(counts: Ints, bins: int, epsilon: float, rng: np.random.Generator) -> list[int]:
    """The cuts between bins, by recursion. Floats: for comparison alone."""
    rounds = math.ceil(math.log2(bins))
    cuts: list[int] = []

    def part(first: int, last: int, low: int, high: int) -> None:
        """Cuts number first … last of those between two cells."""
        if first > last:
            return
        middle = (first + last) // 2
        share = (middle - first + 1) / (last - first + 2)
        inside = counts[low:high]
        below = np.concatenate([[0], np.cumsum(inside)])
        moves = max(share, 1 - share)  # of the utility, by one record
        scores = -np.abs(below - share * below[-1]) * (epsilon / rounds) / (2 * moves)
        cut = low + int(np.argmax(scores + rng.gumbel(size=len(scores))))
        cuts.append(cut)
        part(first, middle - 1, low, cut)
        part(middle + 1, last, cut, high)

    part(1, bins - 1, 0, len(counts))
    return sorted(cuts)


def wrong_by(counts: Ints, cuts: list[int], bins: int) -> float:
    """The mean of |share − 1/bins|, in per cent; a bin that is missing has nothing."""
    ends = [0, *cuts, len(counts)]
    shares = np.zeros(bins)
    found = np.add.reduceat(np.append(counts, 0), ends[:-1]) * (np.diff(ends) > 0)
    shares[: len(found)] = found / max(counts.sum(), 1)
    return float(np.abs(shares - 1 / bins).mean() * 100)


def main() -> None:
    """Prints a line for each vector and ε."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path)
    arguments.add_argument("--draws", type=int, default=20)
    arguments.add_argument("--bins", type=int, default=10)
    given = arguments.parse_args()
    rng, ratios = np.random.default_rng(1), dict[str, list[float]]()
    print("| counts | ε | no noise | of the release | directly |\n|---|--:|--:|--:|--:|")
    for name, every in vectors(given.data):
        counts = every[:CELLS]
        axis = tu.Axis.integers("x", 0, len(counts) - 1)
        below = np.concatenate([[0], np.cumsum(counts)])
        goals = np.arange(1, given.bins) / given.bins * below[-1]
        least = wrong_by(
            counts, sorted({int(np.abs(below - g).argmin()) for g in goals}), given.bins
        )
        for epsilon in ("0.01", "0.1", "1"):
            question = question_for(
                (axis,), tu.Cost.of(epsilon), True, "add-remove", 1, adaptive=False
            )
            both: list[list[float]] = [[], []]
            for _ in range(given.draws):
                measured = tu.measure(counts, question, epsilon=epsilon)
                shown = tu.infer(measured, nonnegative=True, integers=True)
                cuts = shown.equidepth(given.bins).cuts[1:-1].tolist()
                both[0].append(wrong_by(counts, cuts, given.bins))
                cuts = direct(counts, given.bins, float(epsilon), rng)
                both[1].append(wrong_by(counts, cuts, given.bins))
            ours, theirs = (float(np.mean(each)) for each in both)
            ratios.setdefault(epsilon, []).append(max(ours, 1e-9) / max(theirs, 1e-9))
            print(f"| {name} | {epsilon} | {least:.3f} | {ours:.3f} | {theirs:.3f} |", flush=True)
    for epsilon, some in ratios.items():
        mean = math.exp(float(np.mean(np.log(some))))
        print(
            f"ε = {epsilon}: release over direct, geometric mean {mean:.2f}, worst {max(some):.2f}"
        )


if __name__ == "__main__":
    main()
