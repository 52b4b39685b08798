"""Spark: a PySpark DataFrame, counted on its own cluster."""

from __future__ import annotations

from typing import Any

from trueup.owner.columns import Storage, Wanted
from trueup.owner.engines.duckdb import ADDRESS

_STORAGE: dict[str, Storage] = {
    "tinyint": "integer",
    "smallint": "integer",
    "int": "integer",
    "bigint": "integer",
    "float": "float",
    "double": "float",
    "string": "text",
    "date": "date",
    "timestamp": "time",
    "timestamp_ntz": "time",
    "boolean": "boolean",
}


def schema(frame: Any) -> dict[str, Storage]:
    """The columns of a DataFrame and how they are stored."""
    found: dict[str, Storage] = {}
    for field in frame.schema.fields:
        kind = field.dataType.simpleString()
        text = kind.startswith(("varchar", "char", "string"))
        other: Storage = "text" if text else "something else"
        found[field.name] = "decimal" if kind.startswith("decimal") else _STORAGE.get(kind, other)
    return found


def _plain(wanted: Wanted, kind: str) -> str:
    column = "`" + wanted.column.replace("`", "``") + "`"
    double = f"try_cast({column} AS double)"
    if wanted.kind == "number":
        return double
    if wanted.kind == "text":
        return f"cast({column} AS string)"
    if wanted.kind == "boolean":
        return column
    if wanted.kind == "integer":
        if wanted.storage == "integer":
            return f"cast({column} AS bigint)"
        # Spark's floor of a double is a long: compared with the ends first, it cannot overflow.
        return (
            f"CASE WHEN {double} BETWEEN -4611686018427387904D AND 4611686018427387904D "
            f"THEN CASE WHEN {double} = floor({double}) THEN try_cast({double} AS bigint) END END"
        )
    if wanted.kind == "address":
        if wanted.storage == "integer":
            return f"cast({column} AS bigint)"
        # Java's $ would let a last line break pass.
        pattern = rf"^{ADDRESS}\z".replace("\\", "\\\\")
        return " + ".join(
            f"try_cast(regexp_extract({column}, '{pattern}', {place + 1}) AS bigint) "
            f"* {1 << (24 - 8 * place)}L"
            for place in range(4)
        )
    if kind == "date":
        days = f"unix_date({column})"
        return f"CASE WHEN abs({days}) <= 100000000 THEN {days} * 86400000000L END"
    if kind == "timestamp":
        return f"unix_micros({column})"
    return f"timestampdiff(MICROSECOND, timestamp_ntz'1970-01-01 00:00:00', {column})"


class Spark:
    """The native lines for Spark."""

    divides = True

    def typed(self, native: Any, wanted: list[Wanted]) -> Any:
        kinds = {field.name: field.dataType.simpleString() for field in native.schema.fields}
        return native.selectExpr(
            *(f"{_plain(one, kinds[one.column])} AS `{one.name}`" for one in wanted)
        )

    def hashed(self, native: Any, columns: list[str], key: str) -> Any:
        return native.selectExpr("*", f"xxhash64('{key}', {', '.join(columns)}) AS hash")

    def between(self, native: Any, column: str, edges: list[float]) -> Any:
        cells = self.placed(native, column, edges, "cell")
        return cells.groupBy("cell").count().selectExpr("cell", "count AS rows")

    def placed(self, native: Any, column: str, edges: list[float], name: str) -> Any:
        from pyspark.ml.feature import Bucketizer

        # Its binary search tells -0.0 from 0.0; adding 0.0 makes them one.
        plain = native.selectExpr("*", f"{column} + 0D AS plain")
        found = Bucketizer(
            splits=[edge + 0.0 for edge in edges],
            inputCol="plain",
            outputCol="place",
            handleInvalid="skip",
        ).transform(plain)
        return found.selectExpr("*", f"cast(place AS bigint) AS {name}").drop("plain", "place")

    def run(self, native: Any) -> Any:
        return native.toArrow()
