"""DuckDB: each type of column that it has; a file is read, and nothing is fetched."""

from __future__ import annotations

from pathlib import Path

import pytest

import trueup as tu
from trueup.errors import SourceError

from .counted_cells import DAYS, LETTERS, SMALL, counts


def test_every_type_of_duckdb_is_read_or_refused(ledger: tu.Ledger) -> None:
    import duckdb

    connection = duckdb.connect()
    uuid = "00000000-0000-0000-0000-00000000000a"
    large = tu.Axis.integers("x", 2**62 - 1, 2**62)
    for axis, kind, values, expected in [
        (SMALL, "HUGEINT", ["3", str(2**127 - 1), str(-(2**127) + 1), str(2**64)], [0, 0, 0, 1]),
        (large, "HUGEINT", [str(2**62), str(2**64 + 2**62)], [0, 1]),
        (SMALL, "DECIMAL(38, 3)", ["3", "2.5", "2.000"], [0, 0, 1, 1]),
        (SMALL, "UBIGINT", ["3", str(2**64 - 1)], [0, 0, 0, 1]),
        (tu.Axis.ipv4("x", "0.0.0.0/30", 32), "HUGEINT", ["3", str(2**64 + 3)], [0, 0, 0, 1]),
        (LETTERS, "ENUM('z', 'b', 'a')", ["a", "b", "a"], [2, 1]),
        (LETTERS, "BLOB", ["a", "\\xFF"], [1, 0]),
        (tu.Axis.categories("x", [uuid]), "UUID", [uuid], [1]),
        (DAYS, "TIMESTAMP_NS", ["2020-01-02"], [0, 1]),
    ]:
        listed = ", ".join(f"('{value}'::{kind})" for value in values)
        relation = connection.sql(f"SELECT * FROM (VALUES {listed}, (NULL)) AS v(x)")
        assert counts(relation, ledger, axis) == expected, kind
    for kind, value in [("UHUGEINT", "'1'"), ("TIME", "'10:00'"), ("INTEGER[]", "[1]")]:
        with pytest.raises(SourceError, match="holds something else, where"):
            counts(connection.sql(f"SELECT {value}::{kind} AS x"), ledger, SMALL)


def test_a_database_is_read_only_and_fetches_nothing(tmp_path: Path) -> None:
    import duckdb

    from trueup.owner.readers.duckdb import _connect

    with duckdb.connect(str(tmp_path / "t.duckdb")) as made:
        made.execute("CREATE TABLE t AS SELECT 1 AS x")
    connection = _connect(str(tmp_path / "t.duckdb"))
    for setting in ("autoinstall_known_extensions", "autoload_known_extensions"):
        assert connection.execute(f"SELECT current_setting('{setting}')").fetchone() == (False,)
    with pytest.raises(duckdb.Error):
        connection.execute("INSERT INTO t VALUES (2)")
