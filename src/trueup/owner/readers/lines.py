"""CSV and lines of JSON: text formats, in which every value is text and is read by itself.

A record that cannot be read is left out, and no other with it.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from trueup.errors import SourceError
from trueup.owner.counting import BATCH, Batch, Piece
from trueup.owner.lazily import pa
from trueup.owner.readers.reader import Reader

_BLOCK = 1 << 22  # bytes read at a time
_LONGEST = 1 << 26  # bytes of a record of CSV; a longer one is left out
_LONGEST_LINE = 1 << 24  # the same of a line of JSON, which takes thirty times its room in memory
_MARK = b"\xef\xbb\xbf"  # with which some programs begin a file
_SPACES = " \t\r"


def _stream(path: str) -> Any:
    return pa.input_stream(path, compression="detect")


def of_csv(found: Sequence[str], comma: str) -> Reader:
    """A reader of CSV files; the names are the first line of the file, the same in all files."""
    names, *others = [_header(path, comma) for path in found]
    if not names:
        raise SourceError("The first line of a CSV file must name its columns; it is empty.")
    if any(other != names for other in others):
        raise SourceError("The CSV files have different first lines; they must name one table.")
    if len(set(names)) < len(names) or not all(names):
        raise SourceError("The first line of a CSV file must name each column, and each one once.")

    def pieces(columns: Sequence[str]) -> list[Piece]:
        if any(_header(path, comma) != names for path in found):
            raise ValueError("another first line")
        wanted = list(dict.fromkeys(columns))
        return [partial(_csv_batches, path, ord(comma), names, wanted) for path in found]

    return Reader(dict.fromkeys(names, "raw"), pieces)


def _header(path: str, comma: str) -> list[str]:
    """The names in the first record of a file."""
    from trueup._kernels.cells.fields import past_record

    with _stream(path) as stream:
        text, stop = b"", -1
        while stop < 0 and len(text) <= _LONGEST and (more := stream.read(_BLOCK)):
            text = (text + more).removeprefix(_MARK)
            stop = past_record(np.frombuffer(text, np.uint8), ord(comma), 0)[0]
    try:
        line = (text if stop < 0 else text[:stop]).decode().rstrip("\r\n")
    except UnicodeDecodeError:  # which quotes the file
        line = None
    if line is None:
        raise SourceError(
            "The first line of a CSV file must be UTF-8, and this one is not. Save the file as "
            "UTF-8, or read it with pandas.read_csv(…, encoding=…) and give the DataFrame."
        )
    return next(csv.reader([line], delimiter=comma), [])


def _csv_batches(path: str, comma: int, names: list[str], columns: list[str]) -> Iterator[Batch]:
    """The records after the first line."""
    from trueup._kernels.cells.fields import past_record, split

    slots = np.array([columns.index(name) if name in columns else -1 for name in names], np.int64)
    ends = np.zeros((len(columns), BATCH + 1), np.int64)
    known = np.zeros((len(columns), BATCH), np.bool_)
    with _stream(path) as stream:
        text, first, last = b"", True, False
        state, skipping = 0, True  # over the first record
        while not last or text:
            if not last:
                more = stream.read(max(_BLOCK, len(text)))
                last = not more
                text = (text + more).removeprefix(_MARK) if first else text + more
                first = False
            if skipping:
                stop, state = past_record(np.frombuffer(text, np.uint8), comma, state)
                skipping, text = stop < 0, text[stop:] if stop >= 0 else b""
                continue
            out = np.empty((len(columns), len(text)), np.uint8)
            rest = np.frombuffer(text, np.uint8)
            while True:
                rows, stop = split(rest, last, comma, _LONGEST, slots, out, ends, known)
                if rows:
                    made = {
                        name: _texts(out[place], ends[place], known[place], rows)
                        for place, name in enumerate(columns)
                    }
                    yield Batch(rows, made)
                rest = rest[stop:]
                if rows < BATCH:
                    break
            text = rest.tobytes()
            if len(text) > _LONGEST:
                stop, state = past_record(rest, comma, 0)
                skipping, text = True, b""


def _texts(out: Any, ends: Any, known: Any, rows: int) -> Any:
    """Values that stand one after the other, as an Arrow array of bytes."""
    bits = np.packbits(known[:rows], bitorder="little")
    buffers = [bits, ends[: rows + 1].copy(), out[: ends[rows]].copy()]
    return pa.Array.from_buffers(
        pa.large_binary(), rows, [pa.py_buffer(buffer) for buffer in buffers]
    )


def of_json(found: Sequence[str]) -> Reader:
    """A reader of lines of JSON, an object each; which columns a line has is data."""

    def pieces(columns: Sequence[str]) -> list[Piece]:
        for path in found:
            _stream(path).close()
        return [partial(_json_batches, path, list(columns)) for path in found]

    return Reader(None, pieces)


def _json_batches(path: str, columns: list[str]) -> Iterator[Batch]:
    for lines in _lines(path):
        read = [found for line in lines if (found := _object(line)) is not None]
        made = {
            name: pa.array((_value(found.get(name)) for found in read), pa.large_binary())
            for name in columns
        }
        yield Batch(len(read), made)


def _lines(path: str) -> Iterator[list[bytes]]:
    """The lines of a file, some at a time, without those that are too long."""
    with _stream(path) as stream:
        rest, skipping = b"", False
        while more := stream.read(_BLOCK):
            first, *others = more.split(b"\n")
            if others:
                yield [b"" if skipping else rest + first, *others[:-1]]
                rest, skipping = others[-1], False
            elif not skipping:
                rest += first
            if len(rest) > _LONGEST_LINE:
                rest, skipping = b"", True
        if rest:
            yield [rest]


# Numbers are kept as they are written, to the last digit. `decode` calls this and takes four times
# as long.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
_scan = _DECODER.scan_once  # type: ignore[attr-defined]


def _object(line: bytes) -> dict[str, Any] | None:
    """The object that a line is; None if it is none."""
    if len(line) > _LONGEST_LINE:
        return None
    try:
        text = line.decode()
        if text[:1] != "{":
            text = text.removeprefix("\ufeff").lstrip(_SPACES)
        found, end = _scan(text, 0)
    except (ValueError, RecursionError, StopIteration):
        return None
    whole = end == len(text) or not text[end:].strip(_SPACES)
    return found if whole and isinstance(found, dict) else None


def _value(value: object) -> bytes | None:
    """A value as text; what is nested has none."""
    if isinstance(value, bool):
        return b"true" if value else b"false"
    # Half a character stays what it is, and is like no other text.
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else None
