"""The files in which a release is handed out: one table, or the folder that it is in."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from trueup.errors import InputError
from trueup.files.codec import arrow_table, csv_bytes, encode
from trueup.files.packed import packed
from trueup.owner.lazily import pa
from trueup.release import Release
from trueup.server.answers import Version
from trueup.server.errors import FieldError
from trueup.server.keyed import OpenedKeys
from trueup.server.opened import Opened, OpenedMeasurement

Format = Literal["parquet", "json", "arrow", "csv"]
MEDIA: dict[str, str] = {
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
    "arrow": "application/vnd.apache.arrow.stream",
    "csv": "text/csv; charset=utf-8",
    "tar": "application/x-tar",
}
RowsFormat = Literal["parquet", "csv", "arrow", "json"]
_MOST_WRITTEN = 1 << 18  # counts in a file of text, and of a folder in one file
_MOST_ROWS = 1 << 21  # synthetic rows in a file


def measurement_file(opened: Opened | OpenedKeys, kind: Format) -> bytes:
    """The noisy answers as a file; as Parquet, the very bytes that were stored."""
    if isinstance(opened, OpenedKeys):
        _check_written(len(opened.measurement.noisy), kind)
        return opened.stored if kind == "parquet" else _written(opened.table(True), kind)
    if not isinstance(opened, OpenedMeasurement):
        raise FieldError(
            "The noisy answers of this release are in its folder: take its file as tar; with a "
            "client, download(release, to=…).",
            "/format",
        )
    measured = opened.measurement
    _check_written(len(measured.noisy), kind)
    if kind == "parquet":
        return opened.stored
    return _written(("measurement", measured.columns(), measured.facts.to_json()), kind)


def _many_on_disk(opened: Opened) -> bool:
    """Whether it is in a folder, with more counts than are read at once."""
    return opened.folder is not None and opened.facts.noise.question.size > _MOST_WRITTEN


def release_file(opened: Opened | OpenedKeys, version: Version, kind: Format) -> bytes:
    """A version of the release as a file."""
    if isinstance(opened, OpenedKeys):
        _check_written(len(opened.measurement.noisy), kind)
        return _written(opened.table(False), kind)
    cells = opened.facts.noise.question.size
    if _many_on_disk(opened):
        raise FieldError(
            f"{cells:,} counts are more than the {_MOST_WRITTEN:,} that are sent in one file. "
            f"Take tar: the folder that they are in.",
            "/format",
        )
    _check_written(cells, kind)
    return _written(opened.version(version).contents(), kind)


def folder_file(opened: Opened | OpenedKeys) -> tuple[int, Iterator[bytes]]:
    """The folder of a release as a tar file: its length, and its bytes piece by piece."""
    folder = opened.folder if isinstance(opened, Opened) else None
    if folder is None:
        raise FieldError("This release is not in a folder: take parquet.", "/format")
    return packed(folder, opened.id)


def rows_file(opened: Opened, kind: RowsFormat, inside: Literal["uniform", "middle"]) -> bytes:
    """Synthetic rows whose tabulations are the whole counts; as JSON, the report about them."""
    if _many_on_disk(opened):
        raise FieldError(
            f"Rows are made from all counts, and this folder has more than the {_MOST_WRITTEN:,} "
            f"that are read at once. Take its file as tar, and make them with "
            f"trueup.load(folder).rows().",
            "/format",
        )
    release = opened.version("whole")
    if not isinstance(release, Release):
        raise InputError("Rows are made of counts over columns: this release has none.")
    most = _MOST_WRITTEN if kind == "csv" else _MOST_ROWS
    number = int(release.total().value)
    if number > most:
        raise FieldError(
            f"{number:,} rows are more than the {most:,} that are sent as {kind}. Take the "
            f"measurement, and make them with trueup.infer(m, nonnegative=True, "
            f"integers=True).rows().",
            "/format",
        )
    made = release.rows(inside)
    if kind == "json":
        return json.dumps(made.report, ensure_ascii=False).encode()
    with tempfile.TemporaryDirectory(prefix="trueup-rows-") as folder:
        file = Path(folder) / f"rows.{kind}"
        made.save(file)
        return file.read_bytes()


def _written(contents: tuple[str, Mapping[str, Any], Mapping[str, Any]], kind: Format) -> bytes:
    name, columns, about = contents
    if kind in ("parquet", "json"):
        return encode(name, dict(columns), dict(about), f".{kind}")
    return _table(columns, about, kind)


def _check_written(rows: int, kind: Format) -> None:
    """Refuses to write out as text what would take many seconds."""
    if kind in ("csv", "json") and rows > _MOST_WRITTEN:
        raise FieldError(
            f"{rows:,} counts are more than the {_MOST_WRITTEN:,} that are written as {kind}. "
            f"Take parquet or arrow.",
            "/format",
        )


def _table(columns: Mapping[str, Any], metadata: Mapping[str, Any], kind: Format) -> bytes:
    if kind == "csv":
        return csv_bytes(columns, metadata)
    table = arrow_table(columns)
    sink = pa.BufferOutputStream()
    said = {b"trueup": json.dumps(metadata).encode()}
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), **said})
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())
