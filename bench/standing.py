"""Standing publications: many series of one day, beside one scan of the table they are from.

Run: python bench/standing.py [--rows 10000000] [--series 1000] [--days 30]

The scan is one question over all rows, counted by an owner. The series are a thousand histograms of
one day, each with a filter of its own: counted, charged, noised, inferred and written as files.
"""

from __future__ import annotations

import argparse
import datetime as dt
import tempfile
import time
from pathlib import Path

import numpy as np

import trueup as tu
from trueup.config import read_config
from trueup.standing import publish_due, read_series

FIRST = dt.date(2026, 1, 1)


def written(folder: Path, rows: int, days: int) -> None:
    """The table: fares, hours and zones over some days."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    chance = np.random.default_rng(0)
    seconds = chance.integers(0, days * 86_400, rows).astype("timedelta64[s]")
    columns = {
        "fare": chance.integers(0, 100, rows),
        "zone": chance.integers(0, 250, rows),
        "at": pa.array((np.datetime64(FIRST) + seconds).astype("datetime64[us]")),
    }
    pq.write_table(pa.table(columns), folder / "trips.parquet")


def declared(folder: Path, series: int) -> Path:
    """A configuration with so many series."""
    text = f"""
[datasets.trips]
source = "trips.parquet"
ledger = "trips.ledger"
limit = {series}
per = "day"
date = "at"
columns = {{zone = "integer", fare = "integer"}}
[datasets.trips.axes.fare]
kind = "integers"
first = 0
last = 99
"""
    for number in range(series):
        text += f'[publish.s{number}]\ncolumn = "fare"\nepsilon = "1/10"\nfirst = "{FIRST}"\n'
        text += f'where = "zone = {number % 250} and fare >= {number // 250}"\n'
    (folder / "trueup.toml").write_text(text)
    return folder / "trueup.toml"


def main() -> None:
    """Prints one line for the scan and one for the series."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--series", type=int, default=1000)
    parser.add_argument("--days", type=int, default=30)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="standing") as place:
        folder = Path(place)
        written(folder, given.rows, given.days)
        ledger = tu.Ledger(folder / "all.ledger", limit=10)
        fare = tu.CellCounts(tu.Axis.integers("fare", 0, 99))
        owner = tu.Owner(folder / "trips.parquet", ledger)
        owner.measure(fare, 1)  # all is compiled
        begun = time.perf_counter()
        owner.measure(fare, 1, where="zone = 3")
        scan = time.perf_counter() - begun
        print(f"one scan of {given.rows:,} rows          {scan:8.2f} s")
        every = read_series(read_config(declared(folder, given.series)))
        for day in (FIRST, FIRST + dt.timedelta(days=1)):
            begun = time.perf_counter()
            after = dt.datetime.combine(day, dt.time(), dt.UTC) + dt.timedelta(days=1)
            done = publish_due(every, after)
            took = time.perf_counter() - begun
            print(
                f"{len(done.published):,} series of {day}      {took:8.2f} s"
                f"   {took - scan:8.2f} s beside the scan"
            )


if __name__ == "__main__":
    main()
