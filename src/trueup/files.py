"""One file, one table: answers that any tool opens, and in its metadata all that explains them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trueup.durable import write_whole
from trueup.errors import FileError, InputError

FORMAT = 1
_KEY = b"trueup"
_ENDINGS = (".parquet", ".json")


def write(path: str | Path, kind: str, columns: Mapping[str, Any], about: dict[str, Any]) -> None:
    """Writes a table with its metadata in one step: the whole file is there, or none of it."""
    target = Path(path)
    if target.suffix not in _ENDINGS:
        raise InputError(f"A file must end in .parquet or .json, got {target.name!r}.")
    data = encode(kind, columns, about, target.suffix)
    try:
        write_whole(target, data, 0o666)
    except OSError as wrong:
        raise FileError(f"Cannot write {target}: {wrong.strerror}.") from None


def encode(
    kind: str, columns: Mapping[str, Any], about: dict[str, Any], ending: str = ".parquet"
) -> bytes:
    """The bytes of such a file, for a place that is not a path."""
    head = {"format": FORMAT, "kind": kind, "about": about, "digest": _digest(columns, about)}
    return _json(head, columns) if ending == ".json" else _parquet(head, columns)


def read(path: str | Path) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The kind, columns and metadata of a file, verified; never runs anything from it."""
    source = Path(path)
    if not source.is_file():
        raise FileError(f"There is no file {source}.")
    try:
        data = source.read_bytes()
    except OSError as wrong:
        raise FileError(f"Cannot read {source}: {wrong.strerror}.") from None
    return decode(data, source.name, source.suffix)


def decode(
    data: bytes, name: str, ending: str = ".parquet"
) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """As `read`, for bytes that `encode` made."""
    head, columns = _read_json(data, name) if ending == ".json" else _read_parquet(data, name)
    if not isinstance(head, dict) or not isinstance(head.get("about"), dict):
        raise FileError(f"{name} was not written by trueup.")
    if not isinstance(head.get("format"), int) or head["format"] > FORMAT:
        raise FileError(
            f"{name} has format {head.get('format')}; this version reads up to {FORMAT}. "
            f"Install a newer trueup."
        )
    if head.get("digest") != _digest(columns, head["about"]):
        raise FileError(f"{name} is damaged: its contents do not match its checksum.")
    return str(head.get("kind")), columns, head["about"]


def arrow_table(columns: Mapping[str, Any]) -> Any:
    """The columns as an Arrow table."""
    import pyarrow as pa

    return pa.table({name: pa.array(column) for name, column in columns.items()})


def _parquet(head: dict[str, Any], columns: Mapping[str, Any]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = arrow_table(columns)
    text = json.dumps(head, ensure_ascii=False).encode()
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), _KEY: text})
    stream = pa.BufferOutputStream()
    pq.write_table(table, stream, compression="zstd", write_page_checksum=True)
    return bytes(stream.getvalue())


def _read_parquet(data: bytes, name: str) -> tuple[Any, dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # ParquetFile, not read_table: that loads pandas, half a second, to find partitions.
        with pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True) as file:
            table = file.read()
        head = json.loads((table.schema.metadata or {}).get(_KEY, b"null"))
    except (pa.ArrowException, OSError, ValueError):
        raise FileError(f"{name} is damaged, or not a Parquet file.") from None
    columns = {}
    for label in table.column_names:
        column = table.column(label)
        columns[label] = column.to_pylist() if column.null_count else _values(column)
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


def _read_json(data: bytes, name: str) -> tuple[Any, dict[str, Any]]:
    try:
        head = json.loads(data.decode("utf-8"))
        kinds = head.pop("types")
        columns = head.pop("columns")
        return head, {
            label: np.array(column, dtype=_dtype(kinds[label])) if label in kinds else column
            for label, column in columns.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, OSError, OverflowError):
        raise FileError(f"{name} is damaged, or not a trueup file.") from None


def _dtype(name: object) -> np.dtype[Any]:
    if name not in ("int64", "float64", "datetime64[us]"):
        raise ValueError(name)
    return np.dtype(str(name))


def _is_array(column: Any) -> bool:
    return isinstance(column, np.ndarray) and column.dtype.kind in "ifM"


def _plain(column: Any) -> list[Any]:
    if isinstance(column, np.ndarray) and column.dtype.kind == "M":
        return [str(moment) for moment in column]
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def _digest(columns: Mapping[str, Any], about: dict[str, Any]) -> str:
    """A checksum of every value: the same for a table in Parquet, in JSON and in memory."""
    found = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name in columns:
        column = columns[name]
        found.update(name.encode() + b"\0")
        if isinstance(column, np.ndarray) and column.dtype.kind in "ifM":
            kind = {"i": "<i8", "f": "<f8", "M": "<M8[us]"}[column.dtype.kind]
            found.update(np.ascontiguousarray(column, dtype=kind).tobytes())
        else:
            found.update(json.dumps(_plain(column)).encode())
    return found.hexdigest()
