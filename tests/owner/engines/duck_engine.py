"""DuckDB as one more engine that runs statements: its columns are in their plain forms already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa

from trueup.owner.columns import Kind, Wanted
from trueup.owner.engines import statements
from trueup.owner.request import Request


@dataclass(frozen=True)
class DuckRows:
    """Rows of DuckDB: a statement around a statement."""

    statement: str

    def select(self, columns: Mapping[str, str]) -> DuckRows:
        listed = ", ".join(f"{expression} AS {name}" for name, expression in columns.items())
        return DuckRows(f"SELECT {listed} FROM ({self.statement})")

    def adding(self, name: str, expression: str) -> DuckRows:
        return DuckRows(f"SELECT *, {expression} AS {name} FROM ({self.statement})")

    def where(self, condition: str) -> DuckRows:
        return DuckRows(f"SELECT * FROM ({self.statement}) WHERE {condition}")

    def sizes(self, by: Sequence[str]) -> DuckRows:
        listed = ", ".join([*by, "count(*) AS rows"])
        grouped = f" GROUP BY {', '.join(by)}" if by else ""
        return DuckRows(f"SELECT {listed} FROM ({self.statement}){grouped}")

    def located(self, column: str, edges: Sequence[float], name: str) -> DuckRows:
        steps = [f"CASE WHEN {column} >= {edge!r}::DOUBLE THEN 1 ELSE 0 END" for edge in edges]
        inside = f"{column} >= {edges[0]!r}::DOUBLE AND {column} < {edges[-1]!r}::DOUBLE"
        return self.adding(name, f"CASE WHEN {inside} THEN {' + '.join(steps)} - 1 END")


class DuckSpelling:
    """Columns are in their plain form already."""

    number = "DOUBLE"
    searched = 8

    def plain(self, wanted: Wanted) -> str:
        return f'"{wanted.column}"'

    def text(self, value: str) -> str:
        return "'" + value.replace("'", "''") + "'"

    def digest(self, value: str) -> str:
        return f"sha256({value})"

    def mixed(self, key: str, wholes: Sequence[str], digests: Sequence[str]) -> str:
        return f"sha256(concat_ws('/', '{key}', {', '.join([*wholes, *digests])}))"

    def quotient(self, whole: str, width: int) -> str:
        return f"{whole} // {width}"

    def both(self, first: str, second: str) -> str:
        return f"unnest([{first}, {second}])"


def run(table: pa.Table, request: Request) -> np.ndarray:
    with duckdb.connect() as connection:
        connection.register("given", table)
        rows = statements.counted(DuckRows("SELECT * FROM given"), request, DuckSpelling())
        relation = connection.sql(rows.statement)
        found = relation.fetchall()
        columns = {name: [row[i] for row in found] for i, name in enumerate(relation.columns)}
    return statements.answer(request, columns)


def wanted(column: str, kind: Kind, name: str) -> Wanted:
    return Wanted(column, "something else", kind, name)
