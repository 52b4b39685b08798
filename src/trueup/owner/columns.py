"""Kinds of columns: what the counting asks for, and what an engine has in store.

Types are declared or part of a table's public schema, never guessed from values. An engine turns
each wanted column into one plain form, so that all that follows is the same for every engine:

    integer   64-bit whole numbers; what is not whole, or does not fit, is null
    number    float64, NaN and infinities included
    text      text
    time      microseconds since 1970 in UTC, as 64-bit whole numbers
    address   IPv4 addresses as whole numbers
    boolean   true or false
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from trueup.axis import Axis
from trueup.draft import NATURAL
from trueup.errors import InputError, SourceError, shown

Kind = Literal["integer", "number", "text", "time", "address", "boolean"]
# "zoned" are moments that have a time zone, "times" those that have one in some files only.
# "raw" is the text of a CSV or JSON file, or a column of Python objects: read value by value.
Storage = Literal[
    "integer", "float", "decimal", "text", "date", "time", "zoned", "times", "boolean", "raw",
    "something else",
]  # fmt: skip

_LISTED = 12  # columns that a message names
_SEPARATORS = (";", "\t", "|")  # of other programs' CSV files
DECLARABLE: tuple[Kind, ...] = ("integer", "number", "text", "time", "boolean")
_HOLDS: dict[Kind, tuple[Storage, ...]] = {
    "integer": ("integer", "float", "decimal", "raw"),
    "number": ("float", "decimal", "integer", "raw"),
    "text": ("text", "raw"),
    "time": ("time", "zoned", "times", "date", "raw"),
    "address": ("text", "integer", "raw"),
    "boolean": ("boolean", "raw"),
}
_TO_NUMBERS = (
    'Make numbers of it first: pd.to_numeric(column, errors="coerce"). If it has labels, declare '
    "them: Axis.categories, or --categories."
)
_ADVICE: dict[tuple[Kind, Storage], str] = {
    ("integer", "text"): _TO_NUMBERS,
    ("number", "text"): _TO_NUMBERS,
    ("time", "text"): (
        "Make dates of it first, by the format they have: pd.to_datetime(column, "
        'format="%d/%m/%Y"), or format="ISO8601".'
    ),
    ("time", "integer"): 'Make times of it first: pd.to_datetime(column, unit="s").',
    ("text", "integer"): "Declare labels that are whole numbers.",
    ("text", "float"): "Declare labels that are whole numbers.",
    ("integer", "boolean"): "Make numbers of it first: column.astype(int).",
    ("number", "boolean"): "Make numbers of it first: column.astype(int).",
}
_ELSE = (
    "It is none of numbers, text, times and true or false, or not the same in every file. Convert "
    "the column, or choose another axis."
)


@dataclass(frozen=True)
class Wanted:
    """A column to be read: its name, what it is stored as, the kind it becomes, its new name."""

    column: str
    storage: Storage
    kind: Kind
    name: str


Schema = Mapping[str, Storage] | None  # None: any column may be there, as in lines of JSON


@dataclass(frozen=True)
class Columns:
    """The public schema together with the types that the owner declared."""

    schema: Schema
    declared: Mapping[str, Kind] | None

    def __post_init__(self) -> None:
        for column, kind in (self.declared or {}).items():
            if kind not in DECLARABLE:
                raise InputError(
                    f"The type of column {column!r} must be one of {', '.join(DECLARABLE)}, "
                    f"got {shown(kind)}."
                )
            self.wanted(column, kind, "declared")

    def storage(self, column: str) -> Storage:
        """How a column is stored; a column that is not there is refused."""
        if self.schema is None:
            return "raw"
        if column not in self.schema:
            known = _columns(column, self.schema)
            raise SourceError(f"The source has no column {column!r}. {known}")
        return self.schema[column]

    def wanted(self, column: str, kind: Kind, name: str) -> Wanted:
        """A column to be read as a kind, refused by the schema alone if that cannot be."""
        storage = self.storage(column)
        if storage not in _HOLDS[kind]:
            needed = "text is" if kind == "text" else f"{_plural(kind)} are"
            raise SourceError(
                f"Column {column!r} holds {_plural(storage)}, where {needed} needed. "
                f"{_advice(kind, storage)}"
            )
        return Wanted(column, storage, kind, name)

    def counted(self, axis: Axis, name: str) -> Wanted:
        """An axis's column, to be read as the kind that the axis takes."""
        if axis.traits.values != "label":
            return self.wanted(axis.name, axis.traits.values, name)
        has = {type(label) for label in axis.labels}
        storage = self.storage(axis.name)
        text = str in has and storage not in ("integer", "float", "decimal")
        return self.wanted(axis.name, "text" if text or int not in has else "integer", name)

    def compared(self, column: str, name: str) -> Wanted:
        """A column of a filter: of its declared kind, or its own kind in a typed source.

        Once the owner has declared columns, a filter may use only those.
        """
        storage = self.storage(column)
        if self.declared is not None and column in self.declared:
            return self.wanted(column, self.declared[column], name)
        if self.declared is not None or storage not in NATURAL:
            raise SourceError(
                f"The filter uses column {column!r}, whose type was not declared. "
                f'Name it when the source is opened: columns={{{column!r}: "text"}}; on the '
                f"command line: --type {column}=text."
            )
        return self.wanted(column, NATURAL[storage], name)

    def naming(self, column: str, name: str) -> Wanted:
        """A column whose values name units, groups or nodes: text or whole numbers."""
        storage = self.storage(column)
        kind = (self.declared or {}).get(column, NATURAL.get(storage, "text"))
        if kind not in ("text", "integer"):
            raise SourceError(
                f"Column {column!r} holds {_plural(storage)}; text or whole numbers are needed "
                f"where values are names."
            )
        return self.wanted(column, kind, name)


def _columns(wanted: str, schema: Mapping[str, Storage]) -> str:
    """The names of the columns, which are public, the nearest first."""
    by_case = {name.lower(): name for name in schema}
    near = difflib.get_close_matches(str(wanted).lower(), by_case, 1)
    meant = f"Did you mean {by_case[near[0]]!r}? " if near else ""
    names = list(schema)
    if not names:
        return "It has no column whose name is text."
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    listed = f"{meant}Columns: {', '.join(names[:_LISTED])}{more}."
    between = [sign for sign in _SEPARATORS if len(names) == 1 and sign in names[0]]
    if between:
        listed += (
            f" Are its fields separated by {between[0]!r}? A .csv file is read with commas, a "
            f".tsv file with tabs."
        )
    return listed


def _advice(kind: Kind, storage: Storage) -> str:
    """What to do about a column that cannot be read as a kind."""
    if storage == "something else":
        return _ELSE
    return _ADVICE.get((kind, storage), "Convert the column, or choose another axis.")


def _plural(kind: str) -> str:
    return {
        "integer": "whole numbers",
        "number": "numbers",
        "float": "numbers",
        "decimal": "numbers",
        "text": "text",
        "time": "times",
        "zoned": "times",
        "date": "dates",
        "address": "addresses",
        "boolean": "true or false",
    }.get(kind, kind)
