"""Whose rows count: at most so many of each unit, chosen fairly and from that unit's rows alone.

A row is known by its unit, its value and its number among equal ones. The rows of a unit are put in
the order of the engine's own hash of these three and a random key of this measurement, and the
first few are kept: every row of a unit has the same chance, whatever its value, and another unit's
rows have no part in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trueup.owner.columns import Engine


def bounded(native: Any, engine: Engine, most: int, key: str, values: Sequence[str]) -> Any:
    """A native frame of the values, with at most so many rows of each `unit`; a null unit has none.

    The values are the columns that say which cell a row is in.
    """
    import narwhals as nw

    rows = nw.from_native(native).filter(~nw.col("unit").is_null())
    # A constant has no order: equal rows are numbered as they come.
    numbered = rows.with_columns(nw.lit(0).alias("equal")).with_columns(
        nw.col("equal").rank("ordinal").over("unit", *values).alias("number")
    )
    hashed = engine.hashed(numbered.to_native(), ["unit", *values, "number"], key)
    placed = nw.from_native(hashed).with_columns(
        nw.col("hash").rank("ordinal").over("unit").alias("place")
    )
    return placed.filter(nw.col("place") <= most).select(*values).to_native()
