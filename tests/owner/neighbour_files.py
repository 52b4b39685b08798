"""Files of odd values: Arrow, Parquet by three writers, CSV and lines of JSON."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from neighbour_tables import Job, Placed, Raw, Rows, arrow_table
from neighbour_values import Form, Value


def _each(job: Job, ending: str, write: Callable[[pa.Table, str], object]) -> list[Placed]:
    """Each table in a folder of its own, beside another file that must not matter."""
    name, other = job.name(ending)
    made = []
    for number, rows in enumerate(job.tables):
        place = job.folder / str(number)
        place.mkdir()
        table = arrow_table(job.columns, rows)
        write(table, str(place / name))
        if other is not None:
            beside = arrow_table(job.columns, job.tables[0][: 1 + number % 2] * (3 * number))
            write(beside, str(place / other))
        made.append(Placed(place / name if job.random.random() < 0.5 else str(place / name)))
    return made


def arrow_file(job: Job) -> list[Placed]:
    pieces = job.random.choice([2, 1000])

    def write(table: pa.Table, path: str) -> None:
        # A file has one dictionary a column.
        table = table.unify_dictionaries()
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=pieces)

    return _each(job, "arrow", write)


def parquet_pyarrow(job: Job) -> list[Placed]:
    settings = {
        "row_group_size": job.random.choice([1, 4, 1000]),
        "use_dictionary": job.random.random() < 0.5,
        "write_statistics": job.random.random() < 0.8,
        "data_page_version": job.random.choice(["1.0", "2.0"]),
        "store_schema": job.random.random() < 0.8,
        "write_page_index": job.random.random() < 0.3,
    }
    return _each(job, "parquet", lambda table, path: pq.write_table(table, path, **settings))


def parquet_polars(job: Job) -> list[Placed]:
    import polars as pl

    size = job.random.choice([1, 4, 1000])
    statistics = job.random.choice([True, "full", False])
    return _each(
        job,
        "parquet",
        lambda table, path: pl.from_arrow(table).write_parquet(  # type: ignore[union-attr]
            path, row_group_size=size, statistics=statistics
        ),
    )


def narrow(form: Form) -> bool:
    """Whether Parquet keeps the form in 32 bits."""
    decimal = form.family == "decimal" and form.bits <= 9
    return decimal or form.family == "date" or (form.family == "integer" and form.bits <= 32)


def parquet_duckdb(job: Job) -> list[Placed]:
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    version = job.random.choice(["V1", "V2"])
    if any(narrow(form) for form in job.columns.values()):
        version = "V1"  # the owner refuses 32-bit columns of the second version
    size = job.random.choice([2048, 100_000])

    def write(table: pa.Table, path: str) -> None:
        connection.register("made", table)
        place = path.replace("'", "''")
        connection.execute(
            f"COPY made TO '{place}' (FORMAT parquet, PARQUET_VERSION {version}, "
            f"ROW_GROUP_SIZE {size})"
        )

    made = _each(job, "parquet", write)
    connection.close()
    return made


# Text: every value spelled out.


def picked(value: Value, salt: int) -> int:
    """A number that follows from the value alone, so that a row is spelled alike everywhere."""
    return zlib.crc32(repr(value).encode(), salt)


def spelled(value: Value, form: Form, salt: int) -> bytes:
    """A value as a text file has it, the same in every table of a call."""
    if isinstance(value, Raw):
        return bytes(value)
    match form.family:
        case "text":
            return bytes(value)
        case "integer":
            return str(value).encode() + (b"", b"", b".0")[picked(value, salt) % 3]
        case "decimal":
            return str(value).encode()
        case "float":
            return repr(value).encode()
        case "date":
            return str(np.datetime64(value, "D")).encode()
        case "time":
            return str(np.datetime64(value, form.step)).replace("T", " ").encode()
        case _:
            return str(value).lower().encode()


ODD_FIELDS = [b"0x1", b" 1 ", b"1e0", b"1e400", b"-1e400", b"nan", b"Infinity", b"-inf", b"1_0"]
ODD_FIELDS += [b"\xd9\xa1", b"\xff", b"1\x00", b"", b"+1", b"--1", b"1.", b".5", b"1e-400", b"inf"]
ODD_FIELDS += [b"9223372036854775808", b"100000000000000001.0", b"1" * 40, b"0001-01-01", b"true"]
ODD_FIELDS += [
    b"infinity",
    b"epoch",
    b"99999-01-01",
    b"294247-01-10 04:00:54.775807",
    b"2013-02-30",
]
ODD_FIELDS += [b"1970-01-01T00:00:00+14:00", b"12:00", b"NULL", b"null", b"a\nb", b'x"y', b"a,b"]


def csv(job: Job) -> list[Placed]:
    line = job.random.choice([b"\n", b"\r\n"])
    salt = job.random.getrandbits(31)

    def cell(value: Value, form: Form) -> bytes:
        if value is None:
            return b""
        text = spelled(value, form, salt)
        if form.family == "text" or any(c in text for c in b'\n\r",'):
            return b'"' + text.replace(b'"', b'""') + b'"'
        return text

    return _texts(
        job,
        job.random.choice(["csv", "csv", "csv.gz"]),
        lambda rows: line.join(
            [
                ",".join(job.columns).encode(),
                *(b",".join(map(cell, row, job.columns.values())) for row in rows),
                b"",
            ]
        ),
    )


ODD_JSON = [b"1e999", b"-1e999", b"true", b"[1]", b'{"a":1}', b'"\\ud800"', b'"\\u0000"', b"1e0"]
ODD_JSON += [b"1.0", b'" 1 "', b'"\xff"', b'"1', b"-0", b"-0.0", b"01", b"NaN", b'""', b"{"]
ODD_JSON += [b"9223372036854775808", b"100000000000000001.0", b"1" * 400, b'"1\\n"', b'"nan"']


def json_lines(job: Job) -> list[Placed]:
    salt = job.random.getrandbits(31)

    def cell(name: str, value: Value, form: Form) -> bytes | None:
        if value is None:
            return None if salt % 2 else json.dumps(name).encode() + b":null"
        if isinstance(value, Raw):
            return json.dumps(name).encode() + b":" + value
        text = spelled(value, form, salt)
        if form.family in ("integer", "decimal") and picked(value, salt + 1) % 2:
            return json.dumps(name).encode() + b":" + text
        inside = text.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
        return json.dumps(name).encode() + b':"' + inside.replace(b"\x00", b"\\u0000") + b'"'

    def line(row: tuple[Value, ...]) -> bytes:
        cells = map(cell, job.columns, row, job.columns.values())
        return b"{" + b",".join(one for one in cells if one is not None) + b"}\n"

    return _texts(job, "jsonl", lambda rows: b"".join(map(line, rows)))


def _texts(job: Job, ending: str, whole: Callable[[Rows], bytes]) -> list[Placed]:
    name, other = job.name(ending)
    made = []
    for number, rows in enumerate(job.tables):
        place = job.folder / str(number)
        place.mkdir()
        data = whole(rows)
        (place / name).write_bytes(gzip.compress(data, 1) if ending.endswith("gz") else data)
        if other is not None:
            data = whole(job.tables[0][:1] * (3 * number))
            (place / other).write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
        made.append(Placed(place / name))
    return made
