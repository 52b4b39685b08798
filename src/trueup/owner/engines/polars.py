"""Polars: lazy frames, in its own streaming engine."""

from __future__ import annotations

from typing import Any

from trueup.owner.columns import Storage, Wanted
from trueup.owner.engines.duckdb import ADDRESS

_FARTHEST = 9_000_000_000_000_000  # milliseconds or so that still fit as microseconds


def schema(frame: Any) -> dict[str, Storage]:
    """The columns of a lazy frame and how they are stored."""
    return {name: _storage(kind) for name, kind in frame.collect_schema().items()}


def _storage(kind: Any) -> Storage:
    import polars as pl

    if kind.is_integer():
        return "integer"
    if kind.is_decimal():
        return "decimal"
    if kind.is_float():
        return "float"
    if isinstance(kind, (pl.String, pl.Categorical, pl.Enum)):
        return "text"
    if isinstance(kind, pl.Datetime):
        return "time"
    if isinstance(kind, pl.Date):
        return "date"
    return "boolean" if isinstance(kind, pl.Boolean) else "something else"


def _plain(wanted: Wanted, kind: Any) -> Any:
    import polars as pl

    column, storage = pl.col(wanted.column), wanted.storage
    if wanted.kind == "number":
        return column.cast(pl.Float64, strict=False)
    if wanted.kind == "text":
        return column.cast(pl.String)
    if wanted.kind == "boolean":
        return column
    if wanted.kind == "integer":
        if storage == "integer":
            return column.cast(pl.Int64, strict=False)
        number = column.cast(pl.Float64, strict=False)
        whole = number.is_between(-(2**62), 2**62) & (number == number.floor())
        return pl.when(whole).then(number).cast(pl.Int64, strict=False)
    if wanted.kind == "address":
        if storage == "integer":
            return column.cast(pl.Int64, strict=False)
        text = column.cast(pl.String)
        octets = [
            text.str.extract(f"^{ADDRESS}$", place + 1).cast(pl.Int64) * (1 << (24 - 8 * place))
            for place in range(4)
        ]
        return pl.sum_horizontal(octets, ignore_nulls=False)
    # The physical value of a time with a zone is its instant in UTC.
    steps = column.to_physical().cast(pl.Int64)
    if storage == "date":
        return pl.when(steps.abs() <= 100_000_000).then(steps) * 86_400_000_000
    if kind.time_unit == "ns":
        return steps.floordiv(1000)
    if kind.time_unit == "ms":
        return pl.when(steps.abs() <= _FARTHEST).then(steps) * 1000
    return steps


class Polars:
    """The native lines for Polars."""

    divides = False  # x / c is computed as x * (1 / c)

    def typed(self, native: Any, wanted: list[Wanted]) -> Any:
        kinds = native.collect_schema()
        return native.select(_plain(one, kinds[one.column]).alias(one.name) for one in wanted)

    def hashed(self, native: Any, columns: list[str], key: str) -> Any:
        import polars as pl

        whole = pl.struct(pl.lit(key).alias("key"), *columns)
        return native.with_columns(whole.hash(int(key[:16], 16)).alias("hash"))

    def between(self, native: Any, column: str, edges: list[float]) -> Any:
        import polars as pl

        cells = self.placed(native, column, edges, "cell")
        return cells.group_by("cell").agg(pl.len().alias("rows"))

    def placed(self, native: Any, column: str, edges: list[float], name: str) -> Any:
        import polars as pl

        place = pl.lit(pl.Series(edges)).search_sorted(pl.col(column), side="right")
        return native.with_columns((place.cast(pl.Int64) - 1).alias(name))

    def run(self, native: Any) -> Any:
        return native.collect(engine="streaming").to_arrow()
