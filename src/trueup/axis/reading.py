"""From the values of a column in memory to cells: the same value, the same cell, as an owner has.

Whether a column can be read is decided by its type alone. Then every value falls into a cell or
into none, by itself: no value makes another count, or the reading fail.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.arrays import Bools, Ints
from trueup.axis.column import LIST, Column, Holds
from trueup.axis.labels import by_text
from trueup.axis.numbers import whole_numbers
from trueup.axis.written import READERS, dotted
from trueup.errors import InputError

_HOLDS: dict[str, tuple[Holds, ...]] = {
    "integer": ("integer", "float", "decimal", "raw"),
    "number": ("integer", "float", "decimal", "raw"),
    "time": ("time", "raw"),
    "address": ("text", "integer", "raw"),
    "text": ("text", "raw"),
}
_WORDS = {
    "integer": "whole numbers",
    "float": "numbers",
    "decimal": "numbers",
    "number": "numbers",
    "time": "dates or times",
    "address": "IPv4 addresses",
    "text": "text",
    "boolean": "true or false",
}
_ADVICE = {
    ("integer", "text"): 'Make numbers of it: pd.to_numeric(column, errors="coerce").',
    ("number", "text"): 'Make numbers of it: pd.to_numeric(column, errors="coerce").',
    ("integer", "boolean"): "Make numbers of it: column.astype(int).",
    ("number", "boolean"): "Make numbers of it: column.astype(int).",
    ("time", "text"): 'Make dates of it: pd.to_datetime(column, format="%d/%m/%Y").',
    ("time", "integer"): 'Make times of it: pd.to_datetime(column, unit="s").',
    ("text", "integer"): "Declare labels that are whole numbers, or use column.astype(str).",
    ("text", "float"): "Declare labels that are whole numbers, or use column.astype(str).",
    ("text", "boolean"): 'Make text of it: column.map({True: "yes", False: "no"}).',
}
_SPACE = {"integer": "numbers", "number": "numbers", "time": "dates", "text": "text"}


@dataclass(frozen=True)
class Read:
    """The cell of each value, −1 if none; which values are missing; which could not be read."""

    cells: Ints
    missing: Bools
    unreadable: Bools


@dataclass(frozen=True)
class Check:
    """How many values of a column are on an axis. FOR THE OWNER'S EYES ONLY: these are true counts.

    Nothing protects these numbers: do not publish them, and do not choose bins by them.
    """

    on: int
    off: int
    missing: int
    unreadable: int

    def __str__(self) -> str:
        return (
            f"{self.on:,} on the axis, {self.off:,} off it, {self.missing:,} missing, "
            f"{self.unreadable:,} unreadable (owner's eyes only: true counts, not private)"
        )

    __repr__ = __str__


def kind_read(name: str, values: str, labels: Mapping[Any, int], column: Column) -> str:
    """What a column is read as, for an axis that takes such values; refused by types alone."""
    kind = values
    if values == "label":
        has = {type(label) for label in labels}
        kind = "text" if str in has and column.holds not in ("integer", "float", "decimal") else ""
        kind = kind or ("integer" if int in has else "text")
    if column.holds in _HOLDS[kind]:
        return kind
    space = _SPACE.get(kind, _WORDS[kind])
    advice = _ADVICE.get((kind, column.holds), f"Make {space} of it before you count it.")
    takes = f"takes {_WORDS[kind]}"
    if values == "label":
        takes = f"has labels that are {_WORDS[kind]}"
        advice = "Declare the labels as text." if column.holds == "text" else advice
    holds = f"holds {_WORDS[column.holds]}" if column.holds in _WORDS else "cannot be read"
    raise InputError(
        f"Axis '{name}' {takes}, but this column {holds} (type {column.type}). {advice}"
    )


def read(axis: Any, column: Column) -> Read:
    """The cells of a column over an axis."""
    if column.type == LIST and axis.traits.values not in ("integer", "number"):
        column = Column("raw", column.values.astype(object), column.missing, LIST)
    kind = kind_read(axis.name, axis.traits.values, axis.labels, column)
    if axis.traits.labelled:
        return _labels(axis.labels, kind, column)
    plain, known = _plain(kind, column)
    cells = np.where(known & ~column.missing, axis.place(plain), -1)
    unreadable = ~known & ~column.missing
    if column.holds in ("integer", "float", "decimal"):
        unreadable[:] = False  # a number that is not whole, or too large, is off the axis
    return Read(cells, column.missing, unreadable)


def _plain(kind: str, column: Column) -> tuple[Any, Bools]:
    """The values in the plain form of a kind, and which of them have one."""
    every = np.ones(len(column.values), np.bool_)
    if column.holds in ("integer", "float"):
        if kind == "number":
            return column.values.astype(np.float64, copy=False), every
        whole, known = whole_numbers(column.values)
        if kind == "address":
            known = known & (whole >= 0) & (whole < 1 << 32)
            return np.where(known, whole, -1), known
        return whole, known
    if column.holds == "time":
        return column.values, column.values != np.iinfo(np.int64).min
    reader = dotted if (kind, column.holds) == ("address", "text") else READERS[kind]
    return _each(column, reader, np.float64 if kind == "number" else np.int64)


def _each(column: Column, reader: Callable[[bytes], Any], form: type) -> tuple[Any, Bools]:
    """Each value read by itself; equal texts once."""
    seen: dict[bytes, Any] = {}
    found: Any = np.zeros(len(column.values), form)
    known = np.zeros(len(column.values), np.bool_)
    for place in np.flatnonzero(~column.missing).tolist():
        text = as_text(column.values[place])
        if text is None:
            continue
        if text not in seen:
            seen[text] = reader(text)
        if seen[text] is not None:
            found[place], known[place] = seen[text], True
    return found, known


def as_text(value: object) -> bytes | None:
    """A Python object as the text of a file would have it; None for what has no such text."""
    if isinstance(value, bytes):
        return value
    try:
        # Half a character stays what it is, and is like no other text.
        return str(value).encode("utf-8", "surrogatepass")
    except Exception:  # a stranger's __str__ may raise what it likes
        return None


def group_sizes(column: Column) -> Ints:
    """How often each value of a column occurs, of those that occur; what is missing is no value."""
    values = column.values[~column.missing]
    if column.holds == "something else":
        raise InputError(f"Values of type {column.type} cannot be told apart. Make text of them.")
    if column.holds in ("text", "raw", "decimal"):
        found = Counter(map(as_text, values))
        found.pop(None, 0)
        return np.fromiter(found.values(), np.int64, len(found))
    return np.unique(values, return_counts=True)[1].astype(np.int64)


def _labels(labels: Mapping[Any, int], kind: str, column: Column) -> Read:
    """Labels are looked up as the text or whole numbers that they are."""
    if kind == "integer":
        if column.holds in ("integer", "float"):
            whole, known = whole_numbers(column.values)
        else:
            whole, known = _each(column, READERS["integer"], np.int64)
        distinct, inverse = np.unique(whole, return_inverse=True)
        at = np.array([labels.get(value, -1) for value in distinct.tolist()], np.int64)
        cells = np.where(known & ~column.missing, at[inverse] if len(at) else -1, -1)
        unreadable = ~known & ~column.missing & (column.holds == "raw")
        return Read(cells, column.missing, unreadable)
    places = by_text(labels, column.holds == "raw")
    cells = np.full(len(column.values), -1, np.int64)
    for place in np.flatnonzero(~column.missing).tolist():
        value = column.values[place]
        if isinstance(value, tuple):  # a path of labels, which only Python holds
            cells[place] = labels.get(value, -1)
            continue
        text = as_text(value)
        cells[place] = -1 if text is None else places.get(text, -1)
    return Read(cells, column.missing, np.zeros(len(cells), np.bool_))
