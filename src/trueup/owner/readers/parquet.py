"""Parquet files: row groups decoded one after the other, whatever their statistics say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trueup.owner.counting import BATCH, Batch, arrow_batches
from trueup.owner.readers.reader import Parts, Reader, of_files

_BUFFER = 1 << 20  # bytes of a column read at a time


def opened(found: Sequence[str]) -> Reader:
    """A reader of Parquet files."""
    return of_files(found, Parts(_schema, _read))


def _file(path: str) -> Any:
    import pyarrow.parquet as pq

    # A time in 96 bits is read as microseconds; as nanoseconds it would end in 2262.
    return pq.ParquetFile(
        path, buffer_size=_BUFFER, pre_buffer=False, coerce_int96_timestamp_unit="us"
    )


def _schema(path: str) -> tuple[Any, int]:
    with _file(path) as file:
        return file.schema_arrow, file.metadata.num_row_groups


def _read(path: str, groups: range, columns: list[str]) -> Iterator[Batch]:
    with _file(path) as file:
        yield from arrow_batches(
            file.iter_batches(BATCH, row_groups=list(groups), columns=columns, use_threads=False)
        )
