"""The parts of a dataset folder: Parquet whose numbers are stored plain, found by their places."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats

Sums = npt.NDArray[Any]
"""Counts up to each of some cells: whole numbers, or numbers of 8 bytes."""

ROWS = 1 << 17  # cells of a row group
BYTES_A_CELL = 17  # two numbers of 8 bytes, and the cell's own in a few bits
BLOCK = 1 << 14  # cells of a block of which four numbers are kept
UPTO, UNBIASED = "upto", "unbiased_upto"
_HEADER = 1 << 10  # bytes that stand before the numbers of a column in a row group, at most


def part_bytes(
    first: int, upto: Sums, before: float, unbiased: tuple[Floats, float] | None = None
) -> Any:
    """The bytes of a part whose first cell is `first`, from the counts up to each of its cells.

    `unbiased` are such counts once more, with the one before them, where `upto` is made to be
    shown.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, Sums] = {
        "cell": np.arange(first, first + len(upto), dtype=np.int64),
        "count": np.diff(upto, prepend=upto.dtype.type(before)),
        UPTO: upto,
    }
    if unbiased is not None:
        columns["unbiased"] = np.diff(unbiased[0], prepend=unbiased[1])
        columns[UNBIASED] = unbiased[0]
    kinds = {name: pa.from_numpy_dtype(values.dtype) for name, values in columns.items()}
    schema = pa.schema([pa.field(name, kind, nullable=False) for name, kind in kinds.items()])
    table = pa.Table.from_arrays(
        [
            pa.Array.from_buffers(kinds[name], len(values), [None, pa.py_buffer(values)])
            for name, values in columns.items()
        ],
        schema=schema,
    )
    sink = pa.BufferOutputStream()
    plain = dict.fromkeys(columns, "PLAIN")
    with pq.ParquetWriter(
        sink,
        schema,
        compression="none",
        use_dictionary=False,
        column_encoding={**plain, "cell": "DELTA_BINARY_PACKED"},
        data_page_size=1 << 30,  # one page a column and row group: numbers lie without a gap
        max_rows_per_page=ROWS,
        write_statistics=["cell", UPTO],  # the manifest has a checksum of the whole file
        store_schema=False,
    ) as writer:
        writer.write_table(table, row_group_size=ROWS)
    return sink.getvalue()


def number_places(data: Any, column: str = UPTO) -> tuple[int, ...]:
    """The byte at which the numbers of a column begin in each row group of a part's bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    about = pq.read_metadata(pa.BufferReader(data))
    place = about.schema.names.index(column)
    groups = (about.row_group(k) for k in range(about.num_row_groups))
    return tuple(_begin(group.column(place), group.num_rows) for group in groups)


def _begin(column: Any, rows: int) -> int:
    """Where the numbers of a column begin in a row group: one page, whose numbers come last."""
    numbers = 8 * rows
    plain = column.compression == "UNCOMPRESSED"
    if not plain or not numbers <= column.total_compressed_size <= numbers + _HEADER:
        raise ValueError(column)
    return int(column.data_page_offset + column.total_compressed_size - numbers)


def block_sums(upto: Sums, before: float) -> Floats:
    """Four numbers of every block of a part, a row for each.

    The count up to its first cell, without it; by how much the counts up to its cells exceed that,
    added up; the least and the largest of them.
    """
    upto = upto.astype(np.float64, copy=False)
    starts = np.arange(0, len(upto), BLOCK)
    own = np.concatenate([[before], upto[starts[1:] - 1]])
    lengths = np.diff(np.append(starts, len(upto)))
    above = np.add.reduceat(upto - np.repeat(own, lengths), starts)
    least, most = np.minimum.reduceat(upto, starts), np.maximum.reduceat(upto, starts)
    return np.stack([own, above, least, most], axis=1)
