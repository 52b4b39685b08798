"""Features of people: 2,000 random tables beside rows gone through one by one, and the speed.

Run: python bench/people.py [--tables 2000] [--rows 10_000_000]

Tables and the other way to count come from the tests. The speed is that of all features of ten
million rows of a million people, in memory.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa

import trueup as tu

TESTS = Path(__file__).parents[1] / "tests" / "owner" / "test_people.py"


def written_out() -> ModuleType:
    """The test's own tables and features."""
    spec = importlib.util.spec_from_file_location("people_written_out", TESTS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Prints how many tables differ, and how long many rows take."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--tables", type=int, default=2_000)
    arguments.add_argument("--rows", type=int, default=10_000_000)
    given = arguments.parse_args()
    test, rng = written_out(), np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        ledger = tu.Ledger(Path(folder) / "x.ledger", limit=10**9)
        wrong = 0
        for _ in range(given.tables):
            table = test.a_table(rng, int(rng.integers(0, 80)))
            owner = tu.Owner(table, ledger, unit="user", rows_per_unit=1)
            wrong += test.found(owner) != test.expected(table)
        print(f"{given.tables:,} random tables, {len(test.FEATURES)} features: {wrong} differ")
        users = rng.integers(0, given.rows // 10, given.rows)
        rows = pa.table({"user": users, "fare": rng.gamma(2, 10, given.rows)})
        owner = tu.Owner(rows, ledger, unit="user", rows_per_unit=1)
        made = {
            "visits": tu.Person(count="*"),
            "top": tu.Person(max="fare"),
            "spent": tu.Person(sum="fare", low=0, high=100, step="0.01"),
        }
        for name, person in made.items():
            people = owner.people(**{name: person})
            question = tu.CellCounts(tu.Axis.regular(name, 0, 1000, 100))
            began = time.perf_counter()
            people.measure(question, 1)
            took = time.perf_counter() - began
            print(f"{given.rows:,} rows, {person}: {took:.1f} s, {given.rows / took / 1e6:.1f} M/s")
    print("PASS" if not wrong else "FAIL")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
