"""Rows from releases: every margin of 1,000 random releases, and the time for 10^7 rows.

Run: python bench/rows.py [--releases 1000] [--rows 10_000_000]

Targets: every published margin equals that of the rows with ==; 10^7 rows made and written to
Parquet in 15 s; a million rows a second written in each format.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from pathlib import Path

import numpy as np

import trueup as tu

AXES = (
    tu.Axis.integers("age", 0, 19),
    tu.Axis.categories("sex", ["f", "m"]),
    tu.Axis.hierarchy("town", {"CA": ["Kern", "Napa"], "NV": ["Clark"]}),
    tu.Axis.edges("fare", [0, 1, 2.5, 10, float("inf")]),
    tu.Axis.dates("month", "2013-01", "2013-06", "month"),
)


def a_release(rng: np.random.Generator) -> tu.Release:
    """A histogram, a hierarchy, a grid or margins, over some axes."""
    axes = [AXES[n] for n in rng.permutation(len(AXES))[: rng.choice([1, 2, 3, 3, 4, 4])]]
    counts = rng.poisson(rng.choice([0.3, 4.0]), [axis.size for axis in axes])
    names = [axis.name for axis in axes]
    question: tu.GridCounts | tu.TreeCounts = tu.TreeCounts(axes[0])
    if len(axes) > 1:
        every = [m for size in (1, 2) for m in itertools.combinations(names, size)]
        some = [every[n] for n in rng.permutation(len(every))[: rng.integers(1, 6)]]
        question = tu.GridCounts(*axes, marginals=some if rng.random() < 0.8 else None)
    measured = tu.measure(counts, question, epsilon=1)
    return tu.infer(measured, nonnegative=True, integers=True)


def margins(releases: int) -> bool:
    """Whether every margin of so many random releases is that of its rows."""
    rng = np.random.default_rng(25)
    kinds: dict[str, int] = {}
    wrong = 0
    for _ in range(releases):
        release = a_release(rng)
        rows = release.rows()
        said = rows.report["invented"]["combinations"]
        kind = "cycle" if "cycle" in said else "together" if "none" in said else "decomposable"
        kinds[kind] = kinds.get(kind, 0) + 1
        frame = rows.to_frame()
        for margin in rows.report["measured"]:
            own = release if len(release.axes) == len(margin) else release.margin(*margin)
            counted = (
                own.axis.count(frame[margin[0]])
                if len(margin) == 1
                else tu.GridCounts(*own.axes).count(frame)
            )
            wrong += int((counted != own.counts()).any())
    print(f"{releases:,} releases, margins that differ: {wrong}; by kind: {kinds}")
    return wrong == 0


def speed(rows: int) -> bool:
    """Whether rows are made and written quickly, over two axes and from seven margins of eight."""
    fare, month = tu.Axis.regular("fare", 0, 128, 1024), AXES[4]
    grid = np.random.default_rng(1).poisson(rows / (1024 * month.size), (1024, month.size))
    eight = [tu.Axis.integers(f"c{n}", 0, 4) for n in range(8)]
    chain = [(f"c{n}", f"c{n + 1}") for n in range(7)]
    table = np.random.default_rng(2).poisson(rows / 5**8, [5] * 8)
    work = {
        "two axes": (tu.GridCounts(fare, month), grid),
        "a chain of seven pairs of eight": (tu.GridCounts(*eight, marginals=chain), table),
    }
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for name, (question, counts) in work.items():
            measured = tu.measure(counts, question, epsilon=1)
            release = tu.infer(measured, nonnegative=True, integers=True)
            began = time.perf_counter()
            found = release.rows()
            made = time.perf_counter() - began
            times = []
            for ending in ("parquet", "csv", "arrow"):
                began = time.perf_counter()
                found.save(Path(folder) / f"x.{ending}")
                wrote = time.perf_counter() - began
                times.append(f"{ending} {wrote:.1f} s")
                good &= wrote <= max(rows / 1e6, 1)
                good &= ending != "parquet" or made + wrote <= max(15 * rows / 1e7, 1)
            print(f"{len(found):,} rows, {name}: made {made:.1f} s; {', '.join(times)}")
    return good


def main() -> None:
    """Prints both, and exits with 1 where a target is missed."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--releases", type=int, default=1_000)
    arguments.add_argument("--rows", type=int, default=10_000_000)
    given = arguments.parse_args()
    good = [margins(given.releases), speed(given.rows)]
    print("PASS" if all(good) else "FAIL")
    raise SystemExit(not all(good))


if __name__ == "__main__":
    main()
