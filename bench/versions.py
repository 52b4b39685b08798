"""Two versions of trueup in turns: which work became slower.

Run: python bench/versions.py OLD [NEW] [--rounds N] [--only WORD] [--first]
OLD and NEW are the `src` folders of two checkouts; NEW is this one by default. Each work runs in
processes of its own, the two versions in turns, and the least time of each is shown: a load on the
machine falls on both. With --first a process runs kernels as they are at its start; otherwise their
machine code is loaded before anything is timed, as in 0.1, which knows no other way. Exits with 1
where the new one takes a tenth more. Without OLD it does nothing:
`git worktree add ../old COMMIT` makes one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
MOST = 1.10

# What a name of today was called in version 0.1.
PRELUDE = """
import json, sys, time
import numpy as np
import trueup as tu

OLD = {"SortedCounts": "YoungCounts", "CellCounts": "UnitCounts", "WaveletCounts": "HaarCounts"}

def of(name, *given, **named):
    known = hasattr(tu, "CellCounts")
    return getattr(tu, name if known else OLD.get(name, name))(*given, **named)

def counts(size, seed=7):
    made = np.random.default_rng(seed)
    found = made.poisson(3, size) * (made.random(size) < 0.3)
    return found.astype(np.int64)

def axis(size):
    return tu.Axis.integers("x", 0, size - 1)

def told(work, repeats=5, clock=time.process_time):
    if FIRST is False:
        try:
            from trueup.warming import machine_code_only
            machine_code_only()
        except ImportError:
            pass
    work()
    best = float("inf")
    for _ in range(repeats):
        begin = clock(); work(); best = min(best, clock() - begin)
    print(json.dumps(best))
"""
TREE = """
size = 1 << {bits}
m = tu.measure(counts(size), tu.TreeCounts(axis(size){more}), 1)
"""
HATS = """
size = 1 << {bits}
m = tu.measure(counts(size), tu.plan(axis(size), 1).best, 1)
"""
WORKS = {
    "import": "begin = time.perf_counter()\n",  # timed outside
    "measure a default tree, 2^20": TREE.format(bits=20, more="")
    + "c = counts(size); told(lambda: tu.measure(c, m.question, 1))",
    "measure cells, 2^22": "c = counts(1 << 22); q = of('CellCounts', axis(1 << 22))\n"
    "told(lambda: tu.measure(c, q, 1))",
    "infer a default tree, 2^20": TREE.format(bits=20, more="") + "told(lambda: tu.infer(m))",
    "infer a binary tree, 2^20": TREE.format(bits=20, more=", branching=2")
    + "told(lambda: tu.infer(m))",
    "infer a 16-ary tree, 2^22": TREE.format(bits=22, more=", branching=16")
    + "told(lambda: tu.infer(m))",
    "non-negative whole default tree, 2^18": TREE.format(bits=18, more="")
    + "told(lambda: tu.infer(m, nonnegative=True, integers=True), 3)",
    "non-negative whole binary tree, 2^18": TREE.format(bits=18, more=", branching=2")
    + "told(lambda: tu.infer(m, nonnegative=True, integers=True), 3)",
    "infer hats, 2^16": HATS.format(bits=16) + "told(lambda: tu.infer(m))",
    "non-negative whole hats, 2^14": HATS.format(bits=14)
    + "told(lambda: tu.infer(m, nonnegative=True, integers=True), 3)",
    "infer a wavelet, 2^20": "q = of('WaveletCounts', axis(1 << 20))\n"
    "m = tu.measure(counts(1 << 20), q, 1); told(lambda: tu.infer(m))",
    "measure sorted counts, 2^18": "c = counts(1 << 18); q = of('SortedCounts', 1 << 18)\n"
    "told(lambda: tu.measure(c, q, 1))",
    "infer sorted counts, 2^18": "q = of('SortedCounts', 1 << 18)\n"
    "m = tu.measure(counts(1 << 18), q, 1); told(lambda: tu.infer(m), 3)",
    "one exact interval of a tree": TREE.format(bits=16, more="")
    + "r = tu.infer(m); told(lambda: [r.range(i, 9 * i + 7).interval(0.95) for i in range(200)])",
    "one exact interval of hats": HATS.format(bits=12)
    + "r = tu.infer(m); told(lambda: [r.range(i, 9 * i + 7).interval(0.95) for i in range(100)])",
    "values of 10^6 ranges": TREE.format(bits=20, more="")
    + "r = tu.infer(m); lo = np.arange(10**6) // 2; hi = lo + 1000\n"
    "told(lambda: r.ranges(lo, hi))",
    "plan, 2^16": "told(lambda: tu.plan(axis(1 << 16), 1), 2)",
    "plan, 2^20": "told(lambda: tu.plan(axis(1 << 20), 1), 2)",
    "save and load, 2^20": TREE.format(bits=20, more="")
    + "import tempfile; at = tempfile.mkdtemp() + '/m.parquet'\n"
    "told(lambda: (m.save(at), tu.load(at)))",
    "quantiles of 2^16": TREE.format(bits=16, more="") + "r = tu.infer(m)\n"
    "told(lambda: [r.quantile_interval(q, 0.95) for q in (0.1, 0.5, 0.9)], 3)",
    "Owner.measure of 10^6 rows, Parquet": """
import os, tempfile, pyarrow as pa, pyarrow.parquet as pq
folder = tempfile.mkdtemp()
rows = np.random.default_rng(1).integers(0, 1000, 10**6)
pq.write_table(pa.table({"x": rows}), folder + "/t.parquet")
owner = tu.Owner(folder + "/t.parquet", tu.Ledger(folder + "/l", limit=1000))
told(lambda: owner.measure(tu.TreeCounts(axis(1000)), 1), clock=time.perf_counter)
""",
}


def run(source: Path, work: str, first: bool = False) -> float:
    """Seconds of one work in a process of its own."""
    code = f"FIRST = {first}\n" + PRELUDE + WORKS[work]
    if work == "import":
        code = (
            "import json, time; begin = time.perf_counter(); import trueup\n"
            "print(json.dumps(time.perf_counter() - begin))"
        )
    with tempfile.TemporaryDirectory() as folder:
        said = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            env={**os.environ, "PYTHONPATH": str(source)},
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    if said.returncode:
        raise SystemExit(f"{work} failed in {source}:\n{said.stderr[-2000:]}")
    return float(json.loads(said.stdout.splitlines()[-1]))


def main() -> int:
    """Prints the table; 1 where the new version takes a tenth more."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("old", nargs="?", type=Path)
    arguments.add_argument("new", nargs="?", type=Path, default=SOURCE)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--only", default="")
    arguments.add_argument("--first", action="store_true", help="the first calls of a process")
    asked = arguments.parse_args()
    if asked.old is None:
        print("Give the src folder of another checkout: `git worktree add ../old COMMIT`.")
        return 0
    slower = []
    print("| work | before, ms | after, ms | after / before |\n|---|--:|--:|--:|", flush=True)
    for work in (work for work in WORKS if asked.only in work):
        turns = [
            (run(asked.old, work, asked.first), run(asked.new, work, asked.first))
            for _ in range(asked.rounds)
        ]
        before, after = (1e3 * min(times) for times in zip(*turns, strict=True))
        if after > MOST * before:
            slower.append(work)
        print(f"| {work} | {before:,.1f} | {after:,.1f} | {after / before:.2f} |", flush=True)
    print(f"\nA tenth slower, or more: {', '.join(slower) or 'nothing'}.")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
