"""A binary release of 2^20 cells end to end, and 10^6 ranges: ns a leaf, peak memory.

Run: python bench/library.py [log2 of the cells]
"""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np

import trueup as tu
from _timing import seconds


def main() -> None:
    """Prints the figures; compiling and table building are done beforehand."""
    n = 1 << int(sys.argv[1] if len(sys.argv) > 1 else 20)
    draw = np.random.default_rng(0)
    counts = draw.poisson(3, n)
    tree = tu.TreeCounts(n, branching=2)
    release = tu.infer(tu.measure(counts, tree, epsilon=1))
    measuring = seconds(lambda: tu.measure(counts, tree, epsilon=1))
    measurement = tu.measure(counts, tree, epsilon=1)
    inferring = seconds(lambda: tu.infer(measurement))
    tracemalloc.start()
    tu.infer(tu.measure(counts, tree, epsilon=1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    low = draw.integers(0, n // 2, 1_000_000)
    high = low + draw.integers(0, n // 2, 1_000_000)
    ranges = seconds(lambda: release.ranges(low, high))
    print(f"binary tree over {n:,} cells, {tree.length:,} answers")
    print(f"measure        {measuring * 1e9 / n:8.1f} ns a leaf")
    print(f"infer          {inferring * 1e9 / n:8.1f} ns a leaf")
    print(f"end to end     {(measuring + inferring) * 1e9 / n:8.1f} ns a leaf")
    print(f"peak memory    {peak / (8 * n):8.1f} arrays of n")
    print(f"10^6 ranges    {ranges * 1e3:8.1f} ms  (goal: at most 40)")


if __name__ == "__main__":
    main()
