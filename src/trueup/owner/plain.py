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

from trueup.axis.dates import ticks
from trueup.axis.numbers import Floats, Ints, whole_numbers
from trueup.owner import written
from trueup.owner.columns import Storage, Wanted

Bools = npt.NDArray[np.bool_]
UNKNOWN_TIME = np.iinfo(np.int64).min
_EXACT = 1 << 53  # up to here every whole number is a float
_POWERS = 22  # up to here every power of ten is


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
    import pyarrow as pa

    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
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
        return "time"
    if types.is_date(kind):
        return "date"
    if types.is_boolean(kind):
        return "boolean"
    return "text" if _is_text(kind) else "something else"


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

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
    return "time" if found <= {"date", "time"} else "something else"


def plain(column: Any, rows: int, wanted: Wanted) -> Plain:
    """A raw Arrow column in the form of its kind; a column that is not there is unknown."""
    if column is None:
        return _nothing(rows, wanted)
    column = _unwrapped(column)
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


def _unwrapped(column: Any) -> Any:
    """The column without dictionaries and extensions; text as bytes with 64-bit offsets."""
    import pyarrow as pa

    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        if _is_uuid(kind):
            raw = column.storage.to_pylist()
            return pa.array([None if v is None else _uuid(v) for v in raw], pa.large_binary())
        return _unwrapped(column.storage)
    if pa.types.is_dictionary(kind):
        return _unwrapped(column.dictionary).take(column.indices)
    if _is_text(kind) and not pa.types.is_large_binary(kind):
        return column.cast(pa.large_binary())
    return column


def _uuid(raw: bytes) -> bytes:
    digits = raw.hex()
    parts = digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]
    return "-".join(parts).encode()


def _nothing(rows: int, wanted: Wanted) -> Plain:
    import pyarrow as pa

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


def _integer(column: Any, wanted: Wanted) -> Plain:
    known = known_bits(column)
    if _kind_of(column) == "decimal":
        values, whole = _whole_decimals(column, known)
    elif _kind_of(column) in ("integer", "float"):
        values, whole = whole_numbers(_numbers(column))
    else:
        return _nothing(len(column), wanted)
    return Plain(values, known & whole)


def _number(column: Any, wanted: Wanted) -> Plain:
    known = known_bits(column)
    if _kind_of(column) == "decimal":
        x = _real_decimals(column, known)
    elif _kind_of(column) in ("integer", "float"):
        x = _numbers(column).astype(np.float64, copy=False)
    else:
        return _nothing(len(column), wanted)
    if not known.all():
        x = np.where(known, x, np.nan)
    return Plain(x, known)


def _text(column: Any, wanted: Wanted) -> Plain:
    if _kind_of(column) != "text":
        return _nothing(len(column), wanted)
    return Plain(column, known_bits(column))


def _time(column: Any, wanted: Wanted) -> Plain:
    import pyarrow as pa

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


# Decimals: whole numbers of some power of ten, in 4 to 32 bytes.


def _unscaled(column: Any) -> tuple[Ints, Bools]:
    """The unscaled numbers that fit 64 bits, and which do."""
    words = column.type.bit_width // 64
    if words == 0:
        return _signed(column, 4).astype(np.int64), np.ones(len(column), np.bool_)
    parts = _signed(column, 8).reshape(len(column), words)
    low = np.ascontiguousarray(parts[:, 0])
    return low, (parts[:, 1:] == (low >> 63)[:, None]).all(axis=1)


def _signed(column: Any, width: int) -> npt.NDArray[Any]:
    bytes_each = column.type.bit_width // 8
    count = len(column) * bytes_each // width
    values = column.buffers()[1]
    if values is None:
        return np.zeros(count, f"i{width}")
    return np.frombuffer(values, f"<i{width}", count, column.offset * bytes_each)


def _large(column: Any, places: Ints) -> list[int]:
    """The unscaled numbers at some places, however long."""
    each = column.type.bit_width // 8
    raw = bytes(column.buffers()[1])
    starts = [(column.offset + place) * each for place in places.tolist()]
    return [int.from_bytes(raw[s : s + each], "little", signed=True) for s in starts]


def _whole_decimals(column: Any, known: Bools) -> tuple[Ints, Bools]:
    """Decimals as 64-bit whole numbers, exact to the last digit, and which are."""
    number, fits = _unscaled(column)
    scale = column.type.scale
    if 0 <= scale <= 18:
        values = number // 10**scale
        whole = fits & (values * 10**scale == number)
    else:
        values, whole = np.zeros(len(column), np.int64), fits & (number == 0)
        fits = fits & (number == 0)
    rest = np.flatnonzero(known & ~fits)
    values = values.copy()
    for place, large in zip(rest.tolist(), _large(column, rest) if len(rest) else [], strict=True):
        exact, left = divmod(large, 10**scale) if scale >= 0 else (large * 10**-scale, 0)
        if left == 0 and -(1 << 63) <= exact < 1 << 63:
            values[place], whole[place] = exact, True
    return values, whole


def _real_decimals(column: Any, known: Bools) -> Floats:
    """Decimals as the nearest float64."""
    number, fits = _unscaled(column)
    scale = column.type.scale
    exact = fits & (number >= -_EXACT) & (number <= _EXACT) & (0 <= scale <= _POWERS)
    # Both sides are exact, so the quotient is rounded once.
    x = np.where(exact, number, 0).astype(np.float64) / (10.0**scale if scale <= _POWERS else 1.0)
    rest = np.flatnonzero(known & ~exact)
    for place, large in zip(rest.tolist(), _large(column, rest) if len(rest) else [], strict=True):
        x[place] = large / 10**scale if scale >= 0 else float(large * 10**-scale)
    return x
