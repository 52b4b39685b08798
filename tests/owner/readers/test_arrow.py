"""Arrow: tables, datasets with partitions, and those that would have to cast values."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import trueup as tu
from trueup.errors import InputError, SourceError

from .counted_cells import SMALL, counts


def test_a_dataset_is_counted_with_its_partitions_and_without_filters(
    ledger: tu.Ledger, tmp_path: Path
) -> None:
    table = pa.table({"x": [0, 1, 1, 2, None], "part": ["a", "a", "b", "b", "b"]})
    ds.write_dataset(
        table, tmp_path / "d", format="parquet", partitioning=["part"], partitioning_flavor="hive"
    )
    whole = ds.dataset(tmp_path / "d", partitioning="hive")
    assert counts(whole, ledger, SMALL) == [1, 2, 1, 0]
    assert counts(whole, ledger, SMALL, "part = 'b'") == [0, 1, 1, 0]
    with pytest.raises(InputError, match="without its filter"):
        tu.Owner(whole.filter(pc.field("x") > 0), ledger)
    assert counts(ds.dataset(table), ledger, SMALL) == [1, 2, 1, 0]


def test_a_dataset_that_would_have_to_cast_values_is_refused(
    ledger: tu.Ledger, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"x": pa.array([1], pa.int32()), "y": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": pa.array([2**40]), "y": [2]}), tmp_path / "b.parquet")
    mixed = ds.dataset([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    with pytest.raises(SourceError, match="holds something else"):
        counts(mixed, ledger, SMALL)
    assert counts(mixed, ledger, tu.Axis.integers("y", 0, 3)) == [0, 1, 1, 0]
    # As files of one table they are read, each in its own type.
    assert counts(str(tmp_path / "?.parquet"), ledger, SMALL) == [0, 1, 0, 0]
    (tmp_path / "t.csv").write_text("x\n1\n")
    with pytest.raises(InputError, match="by their path"):
        tu.Owner(ds.dataset(tmp_path / "t.csv", format="csv"), ledger)


def test_tables_without_one_name_a_column_are_refused(ledger: tu.Ledger, tmp_path: Path) -> None:
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"])
    with pytest.raises(SourceError, match="Two columns of the table have one name"):
        tu.Owner(twice, ledger)
    reader = pa.RecordBatchReader.from_batches(pa.schema([]), [])
    with pytest.raises(InputError, match="Give an Arrow table or dataset"):
        tu.Owner(reader, ledger)
    assert counts(pa.RecordBatch.from_pydict({"x": [1]}), ledger, SMALL) == [0, 1, 0, 0]
