"""Plain columns: a raw column as an engine stores it, in the one form of its kind.

Every function here takes every value: what is missing, does not fit or cannot be read becomes
unknown, each value by itself. Nothing is validated, cast with checks, or compared by a collation.
Text is the bytes it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Bools, Ints
from trueup.axis import written
from trueup.axis.dates import ticks
from trueup.axis.numbers import whole_numbers
from trueup.owner import decimals
from trueup.owner.columns import Storage, Wanted
from trueup.owner.lazily import pa

UNKNOWN_TIME = np.iinfo(np.int64).min
_KNOWN_EXTENSIONS = ("arrow.uuid", "arrow.json")


@dataclass(frozen=True)
class Plain:
    """A column in the form of its kind: an array, or bytes for text, and which values are known.

    Unknown numbers are NaN, unknown times the least int64, unknown addresses -1; unknown text is
    null. What stands in the place of another unknown value means nothing.
    """

    values: Any
    known: Bools


def storage_of(kind: Any) -> Storage:
    """How a type of Arrow is stored, in our words."""
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        # What others mean by their numbers and bytes is theirs to say.
        if kind.extension_name not in _KNOWN_EXTENSIONS:
            return "something else"
        return "text" if _is_uuid(kind) else storage_of(kind.storage_type)
    if types.is_dictionary(kind):
        return storage_of(kind.value_type)
    if types.is_integer(kind):
        return "integer"
    if types.is_floating(kind):
        return "float"
    if types.is_decimal(kind):
        return "decimal"
    if types.is_timestamp(kind):
        return "time" if kind.tz is None else "zoned"
    if types.is_date(kind):
        return "date"
    if types.is_boolean(kind):
        return "boolean"
    return "text" if _is_text(kind) else "something else"


def _is_text(kind: Any) -> bool:
    return any(
        test(kind)
        for test in (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_string_view,
            pa.types.is_binary,
            pa.types.is_large_binary,
            pa.types.is_binary_view,
            pa.types.is_fixed_size_binary,
        )
    )


def _is_uuid(kind: Any) -> bool:
    return getattr(kind, "extension_name", "") == "arrow.uuid"


def unified(storages: list[Storage]) -> Storage:
    """The storage of a column that differs from file to file."""
    found = set(storages)
    if len(found) == 1:
        return storages[0]
    if found <= {"integer", "float", "decimal"}:
        return "decimal"
    if found <= {"date", "time"}:
        return "time"
    return "times" if found <= {"date", "time", "zoned", "times"} else "something else"


def plain(column: Any, rows: int, wanted: Wanted) -> Plain:
    """A raw Arrow column in the form of its kind; a column that is not there is unknown."""
    if column is None:
        return _nothing(rows, wanted)
    column = unwrapped(column)
    if wanted.storage == "raw":
        return _read(column, wanted, written.READERS)
    return _FORMS[wanted.kind](column, wanted)


def known_bits(column: Any) -> Bools:
    """Which values of an Arrow array are not null."""
    bits = column.buffers()[0]
    if column.null_count == 0 or bits is None:
        return np.ones(len(column), np.bool_)
    return _bits(bits, column.offset, len(column))


def _bits(buffer: Any, offset: int, length: int) -> Bools:
    first = offset // 8
    some = np.frombuffer(buffer, np.uint8)[first : (offset + length + 7) // 8]
    return np.unpackbits(some, bitorder="little")[offset - 8 * first :][:length].view(np.bool_)


def unwrapped(column: Any) -> Any:
    """The column without dictionaries and extensions; text as bytes with 64-bit offsets."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        if _is_uuid(kind):
            raw = column.storage.to_pylist()
            return pa.array([None if v is None else _uuid(v) for v in raw], pa.large_binary())
        return unwrapped(column.storage)
    if pa.types.is_dictionary(kind):
        return unwrapped(column.dictionary).take(column.indices)
    if _is_text(kind) and not pa.types.is_large_binary(kind):
        return column.cast(pa.large_binary())
    return column


def one_array(column: Any) -> Any:
    """A column of a table as one array."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _uuid(raw: bytes) -> bytes:
    digits = raw.hex()
    parts = digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]
    return "-".join(parts).encode()


def _nothing(rows: int, wanted: Wanted) -> Plain:
    if wanted.kind == "text":
        values: Any = pa.nulls(rows, pa.large_binary())
    elif wanted.kind == "number":
        values = np.full(rows, np.nan)
    else:
        values = np.full(rows, -1 if wanted.kind == "address" else UNKNOWN_TIME, np.int64)
    return Plain(values, np.zeros(rows, np.bool_))


def _read(column: Any, wanted: Wanted, readers: dict[str, Callable[[bytes], Any]]) -> Plain:
    """Text, each value read by itself; equal ones are read once."""
    if wanted.kind == "text":
        return Plain(column, known_bits(column))
    coded = column.dictionary_encode()
    reader = readers[wanted.kind]
    read = [reader(value) for value in coded.dictionary.to_pylist()]
    there = known_bits(coded.indices)
    places = _numbers(coded.indices).astype(np.int64)
    known = np.array([value is not None for value in read] + [False], np.bool_)
    unknown = {"number": np.nan, "address": -1, "time": UNKNOWN_TIME}.get(wanted.kind, 0)
    kind: type = np.float64 if wanted.kind == "number" else np.int64
    values: Any = np.array(
        [unknown if value is None else value for value in read] + [unknown], kind
    )
    places = np.where(there, places, len(read))
    return Plain(values[places], known[places])


def read_text(column: Any, reader: Callable[[bytes], int], unknown: int) -> Ints:
    """What a function makes of each text of a raw column; equal ones are read once."""
    coded = unwrapped(column).dictionary_encode()
    read = np.array([*map(reader, coded.dictionary.to_pylist()), unknown], np.int64)
    places = _numbers(coded.indices).astype(np.int64)
    return read[np.where(known_bits(coded.indices), places, len(read) - 1)]


def _numbers(column: Any) -> npt.NDArray[Any]:
    """The numbers of an Arrow array as they lie in memory; nulls hold anything."""
    width = column.type.bit_width // 8
    sign = "f" if _kind_of(column) == "float" else "u" if "uint" in str(column.type) else "i"
    values = column.buffers()[1]
    if values is None:
        return np.zeros(len(column), f"{sign}{width}")
    return np.frombuffer(values, f"{sign}{width}", len(column), column.offset * width)


def _kind_of(column: Any) -> Storage:
    return storage_of(column.type)


def short_texts(column: Any, rows: int, longest: int) -> Plain:
    """The texts of a raw column as bytes, known where they have at most so many; see `plain`.

    Their offsets are as the column has them, of 32 bits or of 64.
    """
    if column is None:
        return Plain(pa.nulls(rows, pa.binary()), np.zeros(rows, np.bool_))
    if pa.types.is_string(column.type):
        column = column.view(pa.binary())  # the same bytes, not copied
    if not pa.types.is_binary(column.type):
        column = unwrapped(column)
        if not pa.types.is_large_binary(column.type):
            return short_texts(None, rows, longest)
    width = 4 if pa.types.is_binary(column.type) else 8
    ends = np.frombuffer(column.buffers()[1], f"i{width}", rows + 1, column.offset * width)
    return Plain(column, known_bits(column) & (np.diff(ends) <= longest))


def _integer(column: Any, wanted: Wanted) -> Plain:
    low, high, known = _wide(column)
    return Plain(low, known & (high == low >> 63))


def _wide(column: Any) -> tuple[Ints, Ints, Bools]:
    """Whole numbers of 128 bits, low and high half, and which are."""
    known = known_bits(column)
    storage = _kind_of(column)
    if storage == "decimal":
        low, high, whole = decimals.whole(column, known)
        return low, high, known & whole
    if storage not in ("integer", "float"):
        return _zeros(len(column)), _zeros(len(column)), np.zeros(len(column), np.bool_)
    numbers = _numbers(column)
    if numbers.dtype == np.uint64:
        return numbers.view(np.int64), _zeros(len(column)), known
    low, whole = whole_numbers(numbers)
    return low, low >> 63, known & whole


def _zeros(rows: int) -> Ints:
    return np.zeros(rows, np.int64)


def names(column: Any, rows: int, wanted: Wanted) -> Plain:
    """A column that names units, groups or nodes, as an Arrow array of bytes.

    Whole numbers are the 16 bytes of their 128 bits, so that no two that differ become one.
    """
    if column is None or wanted.kind == "text":
        found = plain(column, rows, wanted)
        if wanted.kind == "text":
            return found
        low, high, known = _zeros(rows), _zeros(rows), found.known
    else:
        column = unwrapped(column)
        if wanted.storage == "raw":
            low, high, known = _read_wide(column)
        else:
            low, high, known = _wide(column)
    halves = np.ascontiguousarray(np.stack([low, high], axis=1))
    return Plain(pa.Array.from_buffers(pa.binary(16), rows, [None, pa.py_buffer(halves)]), known)


def _read_wide(column: Any) -> tuple[Ints, Ints, Bools]:
    """Whole numbers of up to 128 bits that are written as text."""
    coded = column.dictionary_encode()
    read = [written.wide(value) for value in coded.dictionary.to_pylist()]
    raw = b"".join((v or 0).to_bytes(16, "little", signed=True) for v in [*read, None])
    halves = np.frombuffer(raw, np.int64).reshape(-1, 2)
    known = np.array([v is not None for v in read] + [False], np.bool_)
    places = np.where(
        known_bits(coded.indices), _numbers(coded.indices).astype(np.int64), len(read)
    )
    return halves[places, 0], halves[places, 1], known[places]


def _number(column: Any, wanted: Wanted) -> Plain:
    known = known_bits(column)
    if _kind_of(column) == "decimal":
        x = decimals.real(column, known)
    elif _kind_of(column) in ("integer", "float"):
        x = _numbers(column).astype(np.float64, copy=False)
    else:
        return _nothing(len(column), wanted)
    if not known.all():
        x = x.copy()
        np.copyto(x, np.nan, where=~known)
    return Plain(x, known)


def _text(column: Any, wanted: Wanted) -> Plain:
    if _kind_of(column) != "text":
        return _nothing(len(column), wanted)
    return Plain(column, known_bits(column))


def _time(column: Any, wanted: Wanted) -> Plain:
    if pa.types.is_date32(column.type):
        unit = "D"
    elif pa.types.is_date64(column.type):
        unit = "ms"
    elif pa.types.is_timestamp(column.type):
        unit = column.type.unit
    else:
        return _nothing(len(column), wanted)
    known = known_bits(column)
    t = ticks(_numbers(column).astype(np.int64), unit)
    t = np.where(known, t, UNKNOWN_TIME)
    return Plain(t, t != UNKNOWN_TIME)


def _address(column: Any, wanted: Wanted) -> Plain:
    if _kind_of(column) == "text":
        return _read(column, wanted, {"address": written.dotted})
    if _kind_of(column) not in ("integer", "decimal"):  # DuckDB's HUGEINT comes as a decimal
        return _nothing(len(column), wanted)
    whole = _integer(column, wanted)
    known = whole.known & (whole.values >= 0) & (whole.values < 1 << 32)
    return Plain(np.where(known, whole.values, -1), known)


def _boolean(column: Any, wanted: Wanted) -> Plain:
    if _kind_of(column) != "boolean":
        return _nothing(len(column), wanted)
    bits = column.buffers()[1]
    values = np.zeros(len(column), np.bool_)
    if bits is not None:
        values = _bits(bits, column.offset, len(column))
    return Plain(values.astype(np.int64), known_bits(column))


_FORMS: dict[str, Callable[[Any, Wanted], Plain]] = {
    "integer": _integer,
    "number": _number,
    "text": _text,
    "time": _time,
    "address": _address,
    "boolean": _boolean,
}
