"""Rows that leave an engine as they are: wanted columns in their plain forms, for this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trueup.owner.columns import Kind, Wanted
from trueup.owner.counting import Batch
from trueup.owner.engines.spelling import EngineRows, Spelling
from trueup.owner.lazily import pa

_LONGEST = (1 << 31) - 1  # bytes: no text of an engine is longer


def plain_rows(rows: EngineRows, wanted: Sequence[Wanted], spelling: Spelling) -> EngineRows:
    """Every row with these columns in their plain forms, by their new names; text as its bytes."""
    columns = {one.name: spelling.plain(one) for one in wanted}
    texts = [one.name for one in wanted if one.kind == "text"]
    return rows.select(columns | {name: spelling.raw(columns[name], _LONGEST) for name in texts})


def plain_batch(found: Mapping[str, Any], rows: int, wanted: Sequence[Wanted]) -> Batch:
    """Rows of `plain_rows` as a batch that is read like any other's: each kind in its own type."""
    kinds: dict[Kind, Any] = {
        "integer": pa.int64(),
        "number": pa.float64(),
        "text": pa.large_binary(),
        "time": pa.int64(),
        "address": pa.int64(),
        "boolean": pa.bool_(),
    }
    columns = {}
    for one in wanted:
        column = found[one.name]
        arrow = isinstance(column, pa.Array)
        column = column.cast(kinds[one.kind]) if arrow else pa.array(column, kinds[one.kind])
        columns[one.name] = column.cast(pa.timestamp("us")) if one.kind == "time" else column
    return Batch(rows, columns)
