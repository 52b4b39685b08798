"""One file, one table: answers that any tool opens, and in its metadata all that explains them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import FileError, InputError, shown
from trueup.files.atomic import write_whole

FORMAT = 1
_KEY = b"trueup"
_ENDINGS = (".parquet", ".json", ".csv")
_MOST_METADATA = 1 << 30
_MOMENT = re.compile(r"-?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}", re.ASCII)
_AS_THEY_ARE = np.array([32 <= byte < 127 and byte not in b'"\\' for byte in range(256)])  # JSON
_LONGEST_JOINED = 1 << 31
_UNREADABLE = (
    ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, OSError,
    MemoryError, RecursionError,
)  # fmt: skip


def write(
    path: str | Path, kind: str, columns: Mapping[str, Any], metadata: dict[str, Any]
) -> None:
    """Writes a table with its metadata in one step: the whole file is there, or none of it."""
    target = _path(path)
    if target.suffix not in _ENDINGS:
        raise InputError(f"A file must end in .parquet, .json or .csv, got {shown(target.name)}.")
    data = encode(kind, columns, metadata, target.suffix)
    try:
        write_whole(target, data, 0o666)
    except OSError as wrong:
        raise FileError(f"Cannot write {target}: {wrong.strerror}.") from None


def encode(
    kind: str, columns: Mapping[str, Any], metadata: dict[str, Any], ending: str = ".parquet"
) -> bytes:
    """The bytes of such a file, for a place that is not a path."""
    if ending == ".csv":
        return csv_bytes(columns, metadata)
    head = {"format": FORMAT, "kind": kind, "about": metadata}
    head["digest"] = _digest(head, columns)
    return _json(head, columns) if ending == ".json" else _parquet(head, columns)


def read(path: str | Path) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The kind, columns and metadata of a file, verified; never runs anything from it."""
    source = _path(path)
    if not source.is_file():
        raise FileError(f"There is no file {source}.")
    if source.suffix == ".csv":
        raise FileError(
            f"{source.name} is a table for other programs, without what trueup needs to know of "
            f"it. Load the .parquet or .json file that it was made from."
        )
    try:
        data = source.read_bytes()
    except OSError as wrong:
        raise FileError(f"Cannot read {source}: {wrong.strerror}.") from None
    return decode(data, source.name, source.suffix)


def decode(
    data: bytes, name: str, ending: str = ".parquet"
) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """As `read`, for bytes that `encode` made."""
    try:
        head, columns = _read_json(data) if ending == ".json" else _read_parquet(data)
        if not isinstance(head, dict) or not isinstance(head.get("about"), dict):
            raise FileError(f"{name} was not written by trueup.")
        _check_format(head.get("format"), name)
        if head.get("digest") != _digest(head, columns):
            raise FileError(f"{name} is damaged: its contents do not match its checksum.")
    except _UNREADABLE:
        raise FileError(f"{name} is damaged, or not a trueup file.") from None
    return str(head.get("kind")), columns, head["about"]


def _check_format(number: object, name: str) -> None:
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise FileError(f"{name} is damaged: it has no format number.")
    if number > FORMAT:
        raise FileError(
            f"{name} has format {number}; this version reads up to {FORMAT}. "
            f"Install a newer trueup."
        )


def _path(path: object) -> Path:
    if isinstance(path, (str, os.PathLike)):
        return Path(path)
    raise InputError(f"A file is named by text or a Path, got {shown(path)}.")


def arrow_table(columns: Mapping[str, Any]) -> Any:
    """The columns as an Arrow table."""
    import pyarrow as pa

    return pa.table({name: _column(column) for name, column in columns.items()})


def csv_bytes(columns: Mapping[str, Any], metadata: Mapping[str, Any]) -> bytes:
    """The columns as CSV, for spreadsheets and other programs; it is not read back.

    What must be said of every number stands in a column of its own: a CSV file has no other place.
    """
    import pyarrow as pa
    from pyarrow import csv

    table = arrow_table(columns)
    stamp = "NOT PRIVATE: an experiment" if metadata.get("private") is False else ""
    said = "; ".join(each for each in (stamp, str(metadata.get("counted", ""))) if each)
    if said:
        table = table.append_column("note", pa.array([said] * len(table), pa.string()))
    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink)
    return bytes(sink.getvalue())


def _column(values: Any) -> Any:
    """The values as an Arrow array; numbers as they lie in memory.

    pa.array(…) of a numpy array would load pandas, a quarter of a second, to ask whether it is one.
    """
    import pyarrow as pa

    if _is_text(values):
        return values
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf" and values.dtype.isnative:
        flat = np.ascontiguousarray(values)
        kind = pa.from_numpy_dtype(flat.dtype)
        return pa.Array.from_buffers(kind, len(flat), [None, pa.py_buffer(flat)])
    return pa.array(values)


def _parquet(head: dict[str, Any], columns: Mapping[str, Any]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = arrow_table(columns)
    text = json.dumps(head, ensure_ascii=False).encode()
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), _KEY: text})
    stream = pa.BufferOutputStream()
    pq.write_table(table, stream, compression="zstd", write_page_checksum=True)
    return bytes(stream.getvalue())


def _read_parquet(data: bytes) -> tuple[Any, dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # ParquetFile, not read_table: that loads pandas, half a second, to find partitions.
    try:
        with pq.ParquetFile(
            pa.BufferReader(data),
            page_checksum_verification=True,
            thrift_string_size_limit=_MOST_METADATA,
        ) as file:
            # Arrow's threads may still run when a short process ends, and then abort it.
            table = file.read(use_threads=False)
    except pa.ArrowException as wrong:
        raise ValueError(wrong) from None
    head = json.loads((table.schema.metadata or {}).get(_KEY, b"null"))
    columns = {
        label: column.to_pylist() if column.null_count else _values(column)
        for label, column in zip(table.column_names, table.columns, strict=True)
    }
    return head, columns


def _values(column: Any) -> Any:
    """A column without gaps as an array, or as a list if it holds no numbers or moments."""
    kinds = {"int64": "<i8", "double": "<f8", "timestamp[us]": "<M8[us]"}
    kind = kinds.get(str(column.type))
    if kind is None:
        return column.to_pylist()
    # Straight from the buffers: pyarrow's own to_numpy loads pandas, half a second.
    parts = [np.zeros(0, kind)]
    for chunk in column.chunks:
        whole = np.frombuffer(chunk.buffers()[1], kind)
        parts.append(whole[chunk.offset : chunk.offset + len(chunk)])
    return np.concatenate(parts)


def _json(head: dict[str, Any], columns: Mapping[str, Any]) -> bytes:
    plain = {name: _plain(column) for name, column in columns.items()}
    kinds = {name: str(np.asarray(c).dtype) for name, c in columns.items() if _is_array(c)}
    text = json.dumps({**head, "types": kinds, "columns": plain}, ensure_ascii=False, indent=1)
    return text.encode()


def _read_json(data: bytes) -> tuple[Any, dict[str, Any]]:
    head = json.loads(data.decode("utf-8"))
    kinds = head.pop("types")
    columns = head.pop("columns")
    return head, {
        label: _typed(column, kinds[label]) if label in kinds else column
        for label, column in columns.items()
    }


def _typed(column: Any, kind: object) -> Any:
    if kind not in ("int64", "float64", "datetime64[us]"):
        raise ValueError(kind)
    if kind == "datetime64[us]" and not all(_MOMENT.fullmatch(moment) for moment in column):
        raise ValueError(column)
    return np.array(column, dtype=str(kind))


def _is_array(column: Any) -> bool:
    return isinstance(column, np.ndarray) and column.dtype.kind in "ifM"


def _is_text(column: Any) -> bool:
    """Whether a column is text in an Arrow array."""
    return hasattr(column, "to_pylist")


def _plain(column: Any) -> list[Any]:
    if _is_text(column):
        found: list[Any] = column.to_pylist()
        return found
    if isinstance(column, np.ndarray) and column.dtype.kind == "M":
        return [str(moment) for moment in column]
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def _digest(head: dict[str, Any], columns: Mapping[str, Any]) -> str:
    """A checksum of every value: the same for a table in Parquet, in JSON and in memory."""
    import hashlib  # with it comes OpenSSL: not before a file is read or written

    said = [head["format"], head["kind"], head["about"]]
    found = hashlib.sha256(json.dumps(said, sort_keys=True).encode())
    for name in columns:
        column = columns[name]
        found.update(name.encode() + b"\0")
        if isinstance(column, np.ndarray) and column.dtype.kind in "ifM":
            kind = {"i": "<i8", "f": "<f8", "M": "<M8[us]"}[column.dtype.kind]
            found.update(np.ascontiguousarray(column, dtype=kind).tobytes())
        else:
            found.update(_as_json(column))
    return found.hexdigest()


def _as_json(column: Any) -> Any:
    """The bytes of a list in JSON, of which a checksum is taken.

    Text of plain letters in an Arrow array need not become Python's for it.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, pa.StringArray) and len(column) and not column.null_count:
        ends = np.frombuffer(column.buffers()[1], np.int32, len(column) + 1, 4 * column.offset)
        first, last = int(ends[0]), int(ends[-1])
        held = np.frombuffer(column.buffers()[2] or b"", np.uint8)[first:last]
        if _AS_THEY_ARE[held].all() and len(held) + 4 * len(column) < _LONGEST_JOINED:
            listed = pa.ListArray.from_arrays(pa.array([0, len(column)], pa.int32()), column)
            joined = pc.binary_join(listed, pa.scalar('", "'))[0].as_buffer()
            return b"".join([b'["', joined, b'"]'])
    return json.dumps(_plain(column)).encode()
