"""Different rows of a table, and how often each occurs: DuckDB groups bytes and whole numbers.

It is given arrays that were read here, and nothing but arrays: bytes, compared byte by byte, and
whole numbers. No value is cast, collated or checked, and no statistic of a file is looked at, so
what one row holds cannot change how the others are counted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from trueup.owner.lazily import duckdb, pa

_SETTINGS: dict[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "arrow_large_buffer_size": True,  # what comes back may hold more than 2^31 bytes
    "preserve_insertion_order": False,
    "temp_directory": "",  # rows are never written to a disk
    "memory_limit": "1000TB",  # what there is, as for any other array
}


def without_progress(connection: Any) -> None:
    """Shows no progress bar; in a notebook without widgets there is none to turn off."""
    with contextlib.suppress(duckdb.Error):
        connection.execute("SET enable_progress_bar = false")


def distinct(batches: Iterator[Mapping[str, Any]], kinds: Mapping[str, Any]) -> Any:
    """A table of all different rows, and its column `rows`, how often each occurs.

    Batches are Arrow arrays by name, of one length and without nulls; `kinds` has their types,
    whole numbers of 64 bits or bytes. Bytes come back with offsets of 64 bits.
    """
    schema = pa.schema(list(kinds.items()))
    reader = pa.RecordBatchReader.from_batches(
        schema,
        (pa.record_batch([each[name] for name in kinds], schema=schema) for each in batches),
    )
    named = ", ".join(f'"{name}"' for name in kinds)
    with duckdb.connect(":memory:", config=_SETTINGS) as connection:
        without_progress(connection)
        relation = connection.from_arrow(reader)
        statement = f'SELECT {named}, count(*) AS "rows" FROM every_row GROUP BY {named}'
        found: Any = relation.query("every_row", statement)
        return found.to_arrow_table()
