"""Parquet: old times, and columns by their whole names."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import trueup as tu

from .counted_cells import DAYS, counts


def test_old_times_in_parquet_are_times(ledger: tu.Ledger, tmp_path: Path) -> None:
    moments = [dt.datetime(2020, 1, 1, 12), None, dt.datetime(2020, 1, 2)]
    table = pa.table({"x": pa.array(moments, pa.timestamp("ns"))})
    pq.write_table(table, tmp_path / "t.parquet", use_deprecated_int96_timestamps=True)
    assert counts(tmp_path / "t.parquet", ledger, DAYS) == [1, 1]


def test_parquet_columns_go_by_their_whole_names(ledger: tu.Ledger, tmp_path: Path) -> None:
    inner = pa.StructArray.from_arrays([pa.array([0, 0])], ["b"])
    table = pa.table({"a": inner, "a.b": [1, 1], "x": [3, 3], "x.y": [2, 2]})
    pq.write_table(table, tmp_path / "t.parquet")
    for name, cell in (("a.b", 1), ("x", 3), ("x.y", 2)):
        found = counts(tmp_path / "t.parquet", ledger, tu.Axis.integers(name, 0, 3))
        assert found == [2 * (cell == i) for i in range(4)]


def test_times_in_96_bits_go_on_after_2262(ledger: tu.Ledger, tmp_path: Path) -> None:
    moments = [dt.datetime(3000, 1, 1, 12), dt.datetime(2415, 6, 14), None]
    table = pa.table({"x": pa.array(moments, pa.timestamp("us"))})
    pq.write_table(table, tmp_path / "t.parquet", use_deprecated_int96_timestamps=True)
    axis = tu.Axis.dates("x", "2400", "3001", "year")
    found = counts(tmp_path / "t.parquet", ledger, axis)
    assert [2400 + cell for cell in np.flatnonzero(found).tolist()] == [2415, 3000]
