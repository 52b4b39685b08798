"""Keys that nobody can list: what is found of real lists, trees of prefixes, and the speed.

    python bench/keys.py    the speed, against DuckDB's GROUP BY in one run; --rows for other sizes
    python bench/keys.py lists --data DIR    share of the mass and of the heavy keys found, error
    python bench/keys.py trees --data DIR    against PrivTree, adaptive grid and a fixed quadtree
    python bench/keys.py trees --data DIR --points 10000000    so many points, spread as each set is

Errors of trees are mean squared errors over boxes of log-uniform sides and over boxes like all
there are, divided by those of the default question on the grid. Noise is drawn afresh each time.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import trueup as tu
from adaptive import default_for
from baselines import adaptive_grid, ours, privtree, wrong_by
from quadtrees import axes_of
from trueup.keys import KeyTerms
from trueup.keys.measurement import measure_all_keys
from trueup.keys.prefix_release import PrefixRelease, measure_all_prefixes
from trueup.keys.prefixes import PrefixCounts, PrefixTerms

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def lists(folder: Path, draws: int) -> None:
    """What is found of sorted lists of frequencies, their keys made up."""
    print("| list | how | threshold | keys shown | mass | keys ≥ 2τ found | error of a key |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for path in sorted((folder / "freq").glob("*.npy")):
        counts = np.sort(np.load(path).astype(np.int64))[::-1]
        keys = np.random.default_rng(3).permutation(len(counts)).astype(np.int64)
        ways: dict[str, tuple[tu.Universe, tu.Cost]] = {
            f"ε = 1, {size} keys": (tu.Universe.integers(0, 2**bits - 1), tu.Cost.of(1))
            for size, bits in (("2^20", 20), ("2^32", 32))
        }
        ways["ε = 1, 2^64 keys"] = tu.Universe.integers(), tu.Cost.of(1)
        for delta in ("1e-5", "1e-8"):
            cost = tu.Cost.of(1, delta=delta)
            ways[f"ε = 1, δ = {delta}"] = tu.Universe.integers(), cost
        for name, (universe, cost) in ways.items():
            terms = KeyTerms.of(tu.KeyCounts(universe, total=0), cost)
            found = [_found(keys, counts, terms) for _ in range(draws)]
            shown, mass, heavy, error = np.mean(found, axis=0)
            print(
                f"| {path.stem} | {name} | {terms.threshold} | {shown:,.0f} | {100 * mass:.1f} % | "
                f"{100 * heavy:.1f} % | {error:.2f} |",
                flush=True,
            )
        noise = KeyTerms.of(tu.KeyCounts(tu.Universe.integers(), total=0), 1).law.std_error
        print(
            f"| {path.stem} | ε = 1, keys declared | – | {len(counts):,} | 100 % | 100 % | ", end=""
        )
        print(f"{noise:.2f} |", flush=True)


def _found(keys: Ints, counts: Ints, terms: KeyTerms) -> tuple[float, float, float, float]:
    """Keys shown, the share of the mass in them, of the heavy keys, and the error of a count."""
    measured = measure_all_keys(keys, counts, terms)
    true = dict(zip(keys.tolist(), counts.tolist(), strict=True))
    each = np.array([true.get(int(key), 0) for key in measured.keys])
    heavy = 2 * terms.threshold
    error = float(np.sqrt(np.mean((measured.noisy - each) ** 2))) if len(each) else 0.0
    return (
        len(each),
        each.sum() / counts.sum(),
        (each >= heavy).sum() / max((counts >= heavy).sum(), 1),
        error,
    )


def cells_of(release: PrefixRelease, rows: int) -> Floats:
    """The tree's counts as cells of the globe: those of a leaf spread evenly over its own."""
    measured, found = release.measured, np.zeros((rows, 2 * rows))
    boxes = np.zeros((len(release.nodes), 3), np.int64)  # south, west, side
    boxes[0] = 0, 0, rows
    split = np.zeros(len(boxes), np.bool_)
    split[np.unique(measured.parents)] = True
    digits, parents = measured.digits.tolist(), measured.parents.tolist()
    for node, (parent, digit) in enumerate(zip(parents, digits, strict=True), start=1):
        boxes[node] = boxes[parent]
        if digit >= 0:
            south, west, side = boxes[parent]
            first = measured.levels[node] == 1
            up, right = divmod(digit, 8 if first else 4)
            boxes[node] = south + up * side // 4, west + right * side // 4, side // 4
        if not split[node]:
            south, west, side = boxes[node]
            inside = slice(south, south + side), slice(west, west + side)
            found[inside] += release.nodes[node] / side**2
    return found


def prefix_tree(counts: Ints, epsilon: float, g: Any) -> Floats:
    """The tree of places over the grid, which lies in the western half of the globe."""
    rows = counts.shape[0]
    asked = PrefixCounts(tu.Universe.places(f"180/{rows}"))
    terms = PrefixTerms.of(asked, str(epsilon))
    south, west = np.nonzero(counts)
    keys, true = south * 2 * rows + west, counts[south, west].astype(np.int64)
    release = measure_all_prefixes(keys.astype(np.int64), true, terms).infer()
    cells = cells_of(release, rows)
    cells[:, :rows] += cells[:, rows:].sum() / counts.size  # nobody is there, as everybody knows
    return cells[:, :rows]


def trees(folder: Path, draws: int, points: int | None) -> None:
    """Squared errors of trees and grids on three point sets, over those of the default."""
    print(
        "| points | ε | prefix tree | fixed quadtree | PrivTree | adaptive grid | of the better |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|")
    for epsilon in ("0.01", "0.1", "1"):
        for path in sorted((folder / "hist2d").glob("*.npy")):
            counts = np.load(path).astype(np.int64)
            if points is not None:
                spread = (counts / counts.sum()).ravel()
                drawn = np.random.default_rng(7).multinomial(points, spread)
                counts = drawn.reshape(counts.shape).astype(np.int64)
            axes = axes_of(counts)
            ways = {
                "default": ours(default_for(*axes)),
                "prefix": prefix_tree,
                "fixed": ours(tu.BoxCounts.quadtree(*axes)),
                "privtree": privtree,
                "grid": adaptive_grid,
            }
            errors = {}
            for name, run in ways.items():
                g = np.random.default_rng(1)
                each = [wrong_by(counts, run(counts, float(epsilon), g)) for _ in range(draws)]
                errors[name] = np.mean(each, axis=0)
            base = errors.pop("default")
            better = np.minimum(errors["privtree"], errors["grid"])
            told = [*(each / base for each in errors.values()), errors["prefix"] / better]
            words = " | ".join(" / ".join(f"{x:.2f}" for x in each) for each in told)
            print(f"| {path.stem} | {epsilon} | {words} |", flush=True)


def speed(rows: int, keys: int, text: bool) -> None:
    """Counting keys of a Parquet file, and DuckDB's plain GROUP BY of the same column."""
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "keys.parquet"
        g = np.random.default_rng(1)
        schema = pa.schema([("key", pa.string() if text else pa.int64())])
        words = pa.array([f"key{n * 2654435761 % (1 << 36):09x}" for n in range(keys * text)])
        with pq.ParquetWriter(place, schema) as writer:
            for begin in range(0, rows, 1 << 20):
                some = g.integers(0, keys, min(1 << 20, rows - begin))
                column = words.take(pa.array(some)) if text else some * 2654435761
                writer.write_table(pa.table({"key": column}, schema=schema))
        owner = tu.Owner(place, tu.Ledger(Path(folder) / "l", limit=10**6))
        universe = tu.Universe.text("a-z0-9", 12) if text else tu.Universe.integers()
        asked = tu.KeyCounts(universe, by="key")
        statement = f"SELECT key, count(*) FROM '{place}' GROUP BY key"
        for _ in range(2):
            worked, begun = time.process_time(), time.perf_counter()
            relation = duckdb.sql(statement)
            assert relation is not None
            relation.to_arrow_table()
            theirs = time.perf_counter() - begun
            of_theirs = time.process_time() - worked
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            worked, begun = time.process_time(), time.perf_counter()
            measured = owner.keys.measure(asked, 1)
            own = time.perf_counter() - begun
            of_own = time.process_time() - worked
            more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            print(
                f"{rows:,} rows, {keys:,} keys: ours {own:.2f} s, DuckDB {theirs:.2f} s, "
                f"{own / theirs:.2f}× (processor time {of_own / of_theirs:.2f}×); "
                f"{len(measured.keys):,} shown, {more:,.0f} MB more",
                flush=True,
            )
        for bits in (20, 64):
            universe = tu.Universe.integers(0, 2**bits - 1) if bits < 64 else tu.Universe.integers()
            terms = KeyTerms.of(tu.KeyCounts(universe, total=0), 1)
            present = np.arange(min(keys, 1 << 19), dtype=np.int64)
            begun = time.perf_counter()
            for _ in range(3):
                measure_all_keys(present, np.ones(len(present), np.int64), terms)
            each = (time.perf_counter() - begun) / 3
            print(f"universe of 2^{bits}: {1000 * each:.1f} ms for {len(present):,} keys present")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", default="speed", choices=["lists", "trees", "speed"])
    parser.add_argument("--data", type=Path, help="a folder with folders freq and hist2d of .npy")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--keys", type=int, default=10**6)
    parser.add_argument("--points", type=int, help="trees: draw so many points from each set")
    parser.add_argument("--text", action="store_true", help="keys are text")
    given = parser.parse_args()
    if given.what == "speed":
        speed(given.rows, given.keys, given.text)
        return
    if given.data is None:
        parser.error("--data is needed: real lists and grids are not part of the project")
    if given.what == "lists":
        lists(given.data, given.draws)
    else:
        trees(given.data, given.draws, given.points)


if __name__ == "__main__":
    main()
