"""Error of the best tree against flat counts, the paper's tree and OpenDP's pick; time of a plan.

Run: python bench/plan.py
"""

from __future__ import annotations

import time
from fractions import Fraction

import trueup as tu
from trueup.infer import figures_of
from trueup.noise import Noise

ONE = Fraction(1)
SIZES = (365, 1024, 4096, 65_536, 86_400, 1_000_000, 1 << 24)


def opendp_branching(size: int) -> int:
    """The branching factor that OpenDP picks for a tree over that many cells."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return int(dp.t.choose_branching_factor(size_guess=size))


def sizes_table() -> str:
    """Mean squared error over all ranges at ε = 1, in Markdown."""
    rows = [
        "| cells | cells alone | the paper's H̄ | OpenDP's pick | our tree | error | discrete |",
        "|--:|--:|--:|--:|---|--:|--:|",
    ]
    for size in SIZES:
        branching = opendp_branching(size)
        pick = figures_of(Noise(tu.TreeCounts(size, branching=branching), ONE, law="continuous"))
        paper = figures_of(Noise(tu.TreeCounts(size, branching=2), ONE, law="continuous"))
        best = tu.TreeCounts(size)
        continuous = figures_of(Noise(best, ONE, law="continuous")).mean_over_ranges()
        discrete = figures_of(Noise(best, ONE)).mean_over_ranges()
        shape = " · ".join(map(str, best.radices))
        rows.append(
            f"| {size:,} | {2 * (size + 2) / 3:,.0f} | {paper.mean_over_ranges():,.0f} | "
            f"{pick.mean_over_ranges():,.0f} (k = {branching}) | {shape} | "
            f"**{continuous:,.1f}** | {discrete:,.1f} |"
        )
    return "\n".join(rows)


def main() -> None:
    """Prints the table, and how long plans take."""
    print(sizes_table())
    tu.plan(4096)
    print("\n| cells | seconds of CPU for the whole plan |\n|--:|--:|")
    for size in (4096, 1 << 20, (1 << 24) - 12_345, 1 << 24):
        begin = time.process_time()
        found = tu.plan(size, epsilon=1)
        found.picture()
        print(f"| {size:,} | {time.process_time() - begin:.2f} |")
    some = tu.Workload.prefixes(), tu.Workload.cell_counts(), tu.Workload.log_uniform()
    given = tu.Workload.given([(0, 1000), (5000, 9_000_000)])
    mix = tu.Workload.mix({tu.Workload.prefixes(): 1, tu.Workload.cell_counts(): 1})
    print("\n| workload, 2^24 cells | seconds of CPU |\n|---|--:|")
    for workload in (*some, tu.Workload.lengths([1, 64, 4096]), given, mix):
        begin = time.process_time()
        tu.plan(1 << 24, epsilon=1, workload=workload)
        print(f"| {workload.words} | {time.process_time() - begin:.2f} |")


if __name__ == "__main__":
    main()
