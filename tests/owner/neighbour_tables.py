"""Tables of odd values: what a writer is given, what an owner is given, and Arrow between them.

All tables of a call are written alike (same types, same writer, same settings), as neighbours are:
only their rows differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from neighbour_values import Form, Value

Rows = Sequence[tuple[Value, ...]]


class Raw(bytes):
    """The text of one field of a CSV file, or one value of a line of JSON, as it stands."""


@dataclass
class Placed:
    """A table as an owner is given it."""

    source: object
    options: dict[str, Any] = field(default_factory=dict)
    close: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Servers:
    """Where PostgreSQL and Spark are to be had."""

    postgres: Callable[[], str]
    spark: Callable[[], Any]


@dataclass(frozen=True)
class Job:
    """What is to be written: the columns, the tables, and the dice for the writer's settings."""

    columns: dict[str, Form]
    tables: list[Rows]
    folder: Path
    named: tuple[str, str | None]
    random: Random
    servers: Servers

    def name(self, ending: str) -> tuple[str, str | None]:
        """The name of a file, and that of another which a pattern of that name would match."""
        name, other = self.named
        return f"{name}.{ending}", None if other is None else f"{other}.{ending}"


NAMES = [("t", None)] * 6 + [("t[1]", "t1"), ("[t]", "t"), ("t{1,2}", "t1"), ("t*", "tx")]
NAMES += [("t?", "tx"), ("a b", None), ("it's", None), ("ü%20", None)]


# Arrow, from which most of the others are made.


def arrow_type(form: Form) -> pa.DataType:
    """The Arrow type of a form."""
    match form.family:
        case "integer":
            return getattr(pa, f"{'' if form.signed else 'u'}int{form.bits}")()
        case "float":
            return pa.float32() if form.bits == 32 else pa.float64()
        case "decimal":
            return pa.decimal128(form.bits, form.scale)
        case "text":
            wide = {"large": pa.large_string(), "view": pa.string_view()}
            return wide.get(form.spelled, pa.string())
        case "date":
            return pa.date32()
        case "time":
            return pa.timestamp(form.step, tz=form.zone)
        case _:
            return pa.bool_()


def arrow_array(values: Sequence[Value], form: Form) -> pa.Array:
    """The values in their physical form; what is no UTF-8 stays so."""
    kind = arrow_type(form)
    match form.family:
        case "text":
            plain = pa.array(values, pa.large_binary() if form.spelled == "large" else pa.binary())
            if form.spelled == "view":
                return pa.array(values, pa.binary_view()).view(kind)
            text = plain.view(kind)
            return text.dictionary_encode() if form.spelled == "dictionary" else text
        case "time":
            return pa.array(values, pa.int64()).view(kind)
        case "date":
            return pa.array(values, pa.int32()).view(kind)
        case _:
            return pa.array(values, kind)


def arrow_table(columns: dict[str, Form], rows: Rows) -> pa.Table:
    """The rows as an Arrow table."""
    by_column = zip(*rows, strict=True) if rows else ((),) * len(columns)
    arrays = [arrow_array(v, f) for v, f in zip(by_column, columns.values(), strict=True)]
    return pa.table(arrays, names=list(columns))
