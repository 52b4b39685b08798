"""Multiplicative weights beside the plan's question on small tables: where they win, and lose.

Run: python bench/reweighting.py [--draws 8] [--records 3000]

Each figure is the squared error of `tu.adaptive` over that of the plan's question for non-negative
counts (below one is better): over log-uniform lengths / all ranges / prefixes, of two axes over
boxes of log-uniform sides / all boxes. Large vectors are in `bench/baselines.py`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import numpy.typing as npt

import trueup as tu
from adaptive import default_for
from baselines import ours, wrong_by

Ints = npt.NDArray[np.int64]


def made_up(records: int) -> Iterator[tuple[str, Ints]]:
    """Small tables: flat, a block, and a few large cells."""
    g = np.random.default_rng(1)
    falling = 1 / np.arange(1, 1025)
    block, square = np.zeros(1024, np.int64), np.zeros((64, 64), np.int64)
    block[256:512] = g.multinomial(records, np.full(256, 1 / 256))
    square[10:30, 20:50] = g.multinomial(records, np.full(600, 1 / 600)).reshape(20, 30)
    yield "flat", g.multinomial(records, np.full(1024, 1 / 1024))
    yield "a block", block
    yield "few large cells", g.multinomial(records, falling / falling.sum())
    yield "flat, 64 × 64", g.multinomial(records, np.full(4096, 1 / 4096)).reshape(64, 64)
    yield "a block, 64 × 64", square


def main() -> None:
    """Prints one row for each table and ε."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--draws", type=int, default=8)
    arguments.add_argument("--records", type=int, default=3_000)
    given = arguments.parse_args()
    print("| table | ε | 2 rounds | 5 rounds | 10 rounds |\n|---|--:|--:|--:|--:|")
    for name, counts in made_up(given.records):
        axes = [tu.Axis.integers(n, 0, s - 1) for n, s in zip("xy", counts.shape, strict=False)]
        plan, g = ours(default_for(*axes)), np.random.default_rng(2)
        for epsilon in ("0.01", "0.1", "1"):
            base = np.mean(
                [wrong_by(counts, plan(counts, float(epsilon), g)) for _ in range(given.draws)], 0
            )
            cells = []
            for rounds in (2, 5, 10):
                found = [
                    wrong_by(counts, tu.adaptive(counts, axes, Fraction(epsilon), rounds).counts())
                    for _ in range(given.draws)
                ]
                cells.append(" / ".join(f"{x:.2f}" for x in np.mean(found, 0) / base))
            print(f"| {name} | {epsilon} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
