"""A column in memory: what it is declared to hold, its values, and which of them are missing.

What a column holds is said by its type, never by its values: numpy's, pandas', Arrow's or Polars'
dtype. A list, and a column of Python objects, declare nothing; they are "raw", and each of their
values is read by itself, as the text that a file would have for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from trueup.arrays import Bools
from trueup.axis.dates import microseconds, ticks
from trueup.errors import InputError, shown

LIST = "list"  # the type of a column that declares none, though all its values are numbers
Holds = Literal["integer", "float", "decimal", "text", "time", "boolean", "raw", "something else"]


@dataclass(frozen=True)
class Column:
    """Values of one kind: numbers as numbers, times as microseconds, text and the rest as objects.

    `type` is what the column's library calls its type.
    """

    holds: Holds
    values: npt.NDArray[Any]
    missing: Bools
    type: str


def column_of(values: object, what: str) -> Column:
    """The column that was given; anything but one column of values is refused."""
    library = type(values).__module__.partition(".")[0].lstrip("_")
    if library == "narwhals" and hasattr(values, "to_native"):
        values = values.to_native()
        library = type(values).__module__.partition(".")[0].lstrip("_")
    own = type(values)  # a pandas Series has the names of its index for attributes
    if hasattr(own, "columns") or hasattr(own, "schema") or library in ("duckdb", "pyspark"):
        raise InputError(
            f"{what} counts one column, got a {library} {type(values).__name__}. Name the column: "
            f'table["age"]. tu.publish takes the whole table.'
        )
    if library == "pandas" and hasattr(own, "dtype"):
        return _of_pandas(values, what)
    if library == "polars" and hasattr(own, "to_arrow"):
        return _of_polars(values)
    if library == "pyarrow" and hasattr(own, "null_count"):
        return _of_arrow(values)
    if np.ma.isMA(values):
        hidden = np.ma.getmaskarray(values)
        found = _of_array(np.ma.getdata(values), what)
        return Column(found.holds, found.values, found.missing | hidden, found.type)
    if isinstance(values, np.ndarray) or hasattr(values, "__array__"):
        return _of_array(np.asarray(values), what)
    if isinstance(values, Sequence) and not isinstance(values, (str, bytes, bytearray)):
        return _of_list(values, what)
    raise InputError(f"{what} needs a column, an array or a list of values, got {shown(values)}.")


def _of_array(array: npt.NDArray[Any], what: str) -> Column:
    if array.ndim != 1:
        raise InputError(
            f"{what} needs values in one dimension, got {array.ndim}: give one column, or counts "
            f"over several axes as a table."
        )
    known = np.zeros(array.shape, np.bool_)
    kind = array.dtype.kind
    if kind in "iu":
        return Column("integer", array, known, str(array.dtype))
    if kind == "f":
        x = array.astype(np.float64, copy=False)
        return Column("float", x, np.isnan(x), str(array.dtype))
    if kind == "M":
        times = microseconds(array, what)
        return Column("time", times, np.isnat(array), str(array.dtype))
    if kind in "US":
        return Column("text", array.astype(object), known, "text")
    if kind == "b":
        return Column("boolean", array, known, "bool")
    if kind == "O":
        return _of_objects(array, what)
    return Column("something else", array, known, str(array.dtype))


def _of_objects(array: npt.NDArray[Any], what: str) -> Column:
    missing = np.fromiter((_is_missing(value) for value in array), np.bool_, len(array))
    return Column("raw", array, missing, "object")


def _of_list(values: Sequence[Any], what: str) -> Column:
    kinds = set(map(type, values))
    if kinds & {list, np.ndarray, dict, set}:
        raise InputError(f"{what} needs a flat list of values, got lists inside a list.")
    if kinds == {int} or kinds == {float}:  # as value by value, and faster
        try:
            array = np.array(values, np.int64 if kinds == {int} else np.float64)
        except OverflowError:
            return _of_objects(np.fromiter(values, object, len(values)), what)
        found = _of_array(array, what)
        return Column(found.holds, found.values, found.missing, LIST)
    return _of_objects(np.fromiter(values, object, len(values)), what)


def _is_missing(value: object) -> bool:
    """Whether a Python object stands for no value: None, NaN, NaT, NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    try:
        return bool(value != value)
    except Exception:  # a stranger's comparison may raise what it likes
        return False


def _of_pandas(values: Any, what: str) -> Column:
    import pandas as pd  # type: ignore[import-untyped]

    kind = values.dtype
    if getattr(values, "ndim", 1) != 1:
        raise InputError(f"{what} counts one column, got a {type(values).__name__}.")
    if isinstance(kind, pd.CategoricalDtype):
        categories = _of_pandas(kind.categories, what)
        codes = np.asarray(values.cat.codes if hasattr(values, "cat") else values.codes)
        return _taken(categories, codes)
    missing = np.asarray(pd.isna(values), np.bool_)
    name = str(kind)
    if isinstance(kind, np.dtype):
        found = _of_array(values.to_numpy(), what)
        return Column(found.holds, found.values, missing, name)
    if isinstance(kind, pd.StringDtype):
        return Column("text", values.to_numpy(dtype=object), missing, name)
    if isinstance(kind, pd.DatetimeTZDtype):
        moments = pd.DatetimeIndex(values).tz_convert("UTC").tz_localize(None).to_numpy()
        return Column("time", microseconds(moments, what), missing, name)
    if isinstance(kind, pd.ArrowDtype):
        array = values if hasattr(values, "__arrow_array__") else values.array
        found = _of_arrow(array.__arrow_array__())
        return Column(found.holds, found.values, found.missing, name)
    if hasattr(kind, "numpy_dtype"):  # numbers with missing ones among them
        plain = values.to_numpy(dtype=kind.numpy_dtype, na_value=kind.numpy_dtype.type(0))
        found = _of_array(plain, what)
        return Column(found.holds, found.values, missing | found.missing, name)
    return Column("something else", np.empty(len(values), object), missing, name)


def _taken(categories: Column, codes: npt.NDArray[Any]) -> Column:
    """A column of places among categories; −1 is missing."""
    missing = codes < 0
    name = f"category of {categories.type}"
    if not len(categories.values):
        return Column(categories.holds, np.empty(len(codes), object), missing, name)
    places = np.where(missing, 0, codes)
    hidden = missing | categories.missing[places]
    return Column(categories.holds, categories.values[places], hidden, name)


def _of_polars(series: Any) -> Column:
    name = str(series.dtype)
    if name == "Object":  # which Arrow would take for bytes
        return Column("something else", np.empty(len(series), object), np.zeros(0, np.bool_), name)
    found = _of_arrow(series.to_arrow())
    return Column(found.holds, found.values, found.missing, name)


def _of_arrow(array: Any) -> Column:
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # too long to be one: in parts
        parts = [_of_arrow(chunk) for chunk in array.chunks]
        values = np.concatenate([part.values for part in parts])
        missing = np.concatenate([part.missing for part in parts])
        return Column(parts[0].holds, values, missing, parts[0].type)
    kind, types = array.type, pa.types
    name = str(kind)
    if isinstance(kind, pa.BaseExtensionType):
        if getattr(kind, "extension_name", "") == "arrow.uuid":
            texts = [None if v is None else str(v) for v in array.to_pylist()]
            return _of_arrow(pa.array(texts, pa.string()))
        return Column("something else", _nothing(array), np.zeros(len(array), np.bool_), name)
    if types.is_dictionary(kind):
        indices = array.indices.cast(pa.int64())  # Polars' are unsigned, and have no -1
        codes = indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return _taken(_of_arrow(array.dictionary), codes)
    missing = array.is_null().to_numpy(zero_copy_only=False)
    if types.is_integer(kind) or types.is_floating(kind):
        holds: Holds = "integer" if types.is_integer(kind) else "float"
        values = array.fill_null(0).to_numpy(zero_copy_only=False)
        if holds == "float":
            values = values.astype(np.float64, copy=False)
            missing = missing | np.isnan(values)
        return Column(holds, values, missing, name)
    if types.is_timestamp(kind) or types.is_date(kind):
        width = pa.int32() if types.is_date32(kind) else pa.int64()
        count = array.view(width).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        unit = kind.unit if types.is_timestamp(kind) else "D" if types.is_date32(kind) else "ms"
        return Column("time", ticks(count, unit), missing, name)
    if types.is_boolean(kind):
        return Column("boolean", array.fill_null(False).to_numpy(False), missing, name)
    if types.is_decimal(kind):
        return Column("decimal", _objects(array), missing, name)
    if any(is_text(kind) for is_text in _texts()):
        return Column("text", _objects(_as_bytes(array)), missing, name)
    return Column("something else", _nothing(array), missing, name)


def _texts() -> tuple[Any, ...]:
    from pyarrow import types

    names = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
    return (*(getattr(types, f"is_{name}") for name in names), types.is_fixed_size_binary)


def _as_bytes(array: Any) -> Any:
    import pyarrow as pa

    return array.cast(pa.large_binary())  # it may be no UTF-8, which Python's text cannot hold


def _objects(array: Any) -> npt.NDArray[Any]:
    return np.fromiter(array.to_pylist(), object, len(array))


def _nothing(array: Any) -> npt.NDArray[Any]:
    return np.empty(len(array), object)
