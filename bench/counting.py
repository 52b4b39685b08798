"""Counting rows of a Parquet file: the owner's count beside DuckDB's own GROUP BY, in one run.

    python bench/counting.py --rows 100_000_000

Both count the same 1,024 bins of the same file, in turns; the best of each is compared. The noise
and the ledger are left out: they take milliseconds, whatever the number of rows. The process's
memory is shown after each, and that of a second count over a file ten times smaller.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np

import trueup as tu

AXES = {
    "1,024 bins of 1/8": tu.Axis.regular("fare", 0, 128, bins=1024),
    "1,000 bins of 0.1": tu.Axis.regular("fare", 0, 100, bins=1000),
}


def write(path: Path, rows: int) -> None:
    """A column of fares, some off the axis and some missing, written in row groups."""
    with duckdb.connect() as connection:
        connection.execute("SELECT setseed(0.5)")
        connection.execute(
            f"COPY (SELECT CASE WHEN random() < 0.99 THEN random() * 140 - 2 END AS fare "
            f"FROM range({rows})) TO '{path}'"
        )


def own(path: Path, axis: tu.Axis) -> Callable[[], list[int]]:
    """DuckDB's own GROUP BY, as one would type it."""
    cells = axis.to_json()
    per = cells["bins"] / (cells["high"] - cells["low"])
    query = (
        f"SELECT CAST(floor((fare - {cells['low']}) * {per}) AS BIGINT) AS cell, count(*) AS rows "
        f"FROM read_parquet('{path}') "
        f"WHERE fare >= {cells['low']} AND fare < {cells['high']} GROUP BY cell"
    )

    connection = duckdb.connect()

    def run() -> list[int]:
        table = connection.sql(query).to_arrow_table()
        counts = np.zeros(axis.size, np.int64)
        counts[np.asarray(table["cell"])] = np.asarray(table["rows"])
        return counts.tolist()

    return run


def ours(path: Path, axis: tu.Axis, ledger: tu.Ledger) -> Callable[[], list[int]]:
    """The owner's count, from the question on."""
    owner = tu.Owner(path, ledger)
    return lambda: owner.prepared(tu.CellCounts(axis), None, False)().tolist()


def best(actions: list[Callable[[], list[int]]], turns: int) -> tuple[list[float], list[list[int]]]:
    """The least CPU time of each action, taken in turns, and what it returned.

    CPU time of all threads, so that whatever else the machine does hardly matters.
    """
    times, results = [float("inf")] * len(actions), [list[int]()] * len(actions)
    for _ in range(turns):
        for place, action in enumerate(actions):
            start = time.process_time()
            results[place] = action()
            times[place] = min(times[place], time.process_time() - start)
    return times, results


def memory() -> str:
    """The most memory this process has ever had."""
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB"


def main() -> None:
    """Print a line an axis, and the memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ledger = tu.Ledger(Path(folder) / "ledger", limit=1)
        for rows in (given.rows // 10, given.rows):
            path = Path(folder) / f"{rows}.parquet"
            write(path, rows)
            for name, axis in AXES.items():
                (duck, owner), (theirs, counted) = best(
                    [own(path, axis), ours(path, axis, ledger)], given.turns
                )
                wrong = int(np.abs(np.subtract(theirs, counted)).sum())
                print(
                    f"{rows:>13,} rows, {name}: DuckDB {rows / duck / 1e6:.0f} M rows/s a core, "
                    f"owner {rows / owner / 1e6:.0f}, ratio {owner / duck:.2f}, "
                    f"rows DuckDB's arithmetic misplaced {wrong // 2}, memory {memory()}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
