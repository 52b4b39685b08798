"""What all readers share: one name a column, runs that cover a table once, files put together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueup as tu
from trueup.errors import SourceError
from trueup.owner.counting import Batch
from trueup.owner.readers.reader import Parts, arrow_schema, check_unchanged, of_files, spans

from .counted_cells import SMALL


@given(st.integers(0, 10**6), st.one_of(st.none(), st.integers(1, 300)))
def test_runs_cover_everything_once_and_in_order(length, most):
    runs = spans(length, most)
    assert [run.start for run in runs] == [0, *(run.stop for run in runs[:-1])][: len(runs)]
    assert (runs[-1].stop if runs else 0) == length
    assert all(len(run) > 0 for run in runs)
    if most is not None:
        assert len(runs) <= most


def test_two_columns_of_one_name_are_refused():
    twice = pa.schema([("a", pa.int64()), ("a", pa.int64())])
    with pytest.raises(SourceError, match="one name"):
        arrow_schema(twice)
    assert arrow_schema(pa.schema([("a", pa.int8()), ("b", pa.string())])) == {
        "a": "integer",
        "b": "text",
    }


def test_a_column_that_is_stored_in_another_way_than_before_is_noticed():
    check_unchanged({"a": "text", "b": "text"}, {"a": "text", "b": "float"}, ["a"])
    check_unchanged(None, None, ["a"])
    for now in ({"a": "integer"}, {}):
        with pytest.raises(ValueError, match="a"):
            check_unchanged(now, {"a": "text"}, ["a"])


FILES = {
    "one": [pa.schema([("a", pa.int64()), ("b", pa.string())]), 3],
    "two": [pa.schema([("a", pa.float64())]), 1],
    "none": [pa.schema([("c", pa.int64())]), 5],
}


def read(path: str, run: range, columns: list[str]) -> Iterator[Batch]:
    yield Batch(len(run), {"path": path, "run": run, "columns": columns})


def test_files_are_read_once_each_with_the_columns_that_they_have():
    reader = of_files(list(FILES), Parts(lambda path: tuple(FILES[path]), read))
    assert reader.schema is not None
    assert reader.schema["b"] == "text"
    seen = [batch.columns for piece in reader.pieces(["a", "b"]) for batch in piece()]
    parts = {(one["path"], number): one["columns"] for one in seen for number in one["run"]}
    assert parts == {
        ("one", 0): ["a", "b"],
        ("one", 1): ["a", "b"],
        ("one", 2): ["a", "b"],
        ("two", 0): ["a"],
    }
    assert sum(len(one["run"]) for one in seen) == len(parts)


def test_a_file_that_changed_its_types_fails_before_it_is_read():
    files = {"f": [pa.schema([("a", pa.int64())]), 1]}
    reader = of_files(["f"], Parts(lambda path: tuple(files[path]), read))
    files["f"] = [pa.schema([("a", pa.string())]), 1]
    with pytest.raises(ValueError, match="a"):
        reader.pieces(["a"])


def test_a_source_that_has_changed_is_refused_before_the_charge(
    ledger: tu.Ledger, tmp_path: Path
) -> None:
    import duckdb
    import pandas as pd

    def kept(values: Any) -> pa.Table:
        return pa.table({"x": values, "y": [1, 2]})

    frame = pd.DataFrame({"x": [1, 2]})
    pq.write_table(kept([1, 2]), tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("x,y\n1,2\n")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS x")
    places: list[Any] = [frame, tmp_path / "t.parquet", tmp_path / "t.csv"]
    owners = [tu.Owner(place, ledger) for place in places]
    owners.append(tu.Owner(tmp_path / "t.duckdb", ledger, table="t"))
    question = tu.CellCounts(SMALL)
    for owner in owners:
        owner.measure(question, 1)
    frame["x"] = ["a", "b"]
    pq.write_table(kept(["a", "b"]), tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("y,x\n1,2\n")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE OR REPLACE TABLE t AS SELECT 'a' AS x")
    before = ledger.spent
    for owner in owners:
        with pytest.raises(SourceError, match="cannot be opened, or is no longer as it was"):
            owner.measure(question, 1)
    assert ledger.spent == before
