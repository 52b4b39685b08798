"""Parquet files: row groups decoded one after the other, whatever their statistics say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trueup.errors import SourceError
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
        _check_writer(file.metadata, path)
        return file.schema_arrow, file.metadata.num_row_groups


def _check_writer(metadata: Any, path: str) -> None:
    """Refuses, by who wrote it and how, a file that some values would make unreadable.

    DuckDB's second version of Parquet packs differences of 32-bit numbers into more than 32 bits
    where neighbouring values lie far apart, and Arrow then stops: one value would decide whether a
    count can be answered. Writer, version and types are public; the values play no part here.
    """
    columns = (metadata.schema.column(number) for number in range(metadata.num_columns))
    packed = any(column.physical_type == "INT32" for column in columns)
    later = metadata.format_version != "1.0"
    if packed and later and str(metadata.created_by).lower().startswith("duckdb"):
        raise SourceError(
            f"{path!r} was written by DuckDB with PARQUET_VERSION V2 and has columns of 32 bits, "
            f"which cannot be read whatever they hold. Write it again with PARQUET_VERSION V1, "
            f"DuckDB's default."
        )


def _read(path: str, groups: range, columns: list[str]) -> Iterator[Batch]:
    with _file(path) as file:
        yield from arrow_batches(
            file.iter_batches(BATCH, row_groups=list(groups), columns=columns, use_threads=False)
        )
