"""What all readers have in common: a public schema, and pieces of raw columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from trueup.errors import SourceError
from trueup.owner.columns import Schema, Storage
from trueup.owner.counting import Batch, Piece
from trueup.owner.plain import storage_of, unified

_PIECES = 4  # a thread: one that is slow keeps no other waiting for long


@dataclass(frozen=True)
class Reader:
    """A table that is read in this process.

    `pieces` gives the parts of the table with the columns that are asked for. It opens what there
    is to open, and fails if a column is no longer stored as the schema says; it reads no row.
    """

    schema: Schema
    pieces: Callable[[Sequence[str]], list[Piece]]


def arrow_schema(schema: Any) -> dict[str, Storage]:
    """The columns of an Arrow schema and how they are stored."""
    check_names(schema.names)
    return {field.name: storage_of(field.type) for field in schema}


def check_names(names: Sequence[str]) -> None:
    """Refuses a table that has two columns of one name."""
    if len(set(names)) < len(names):
        raise SourceError("Two columns of the table have one name: rename one.")


def check_unchanged(now: Schema, then: Schema, columns: Sequence[str]) -> None:
    """Fails if a column is not stored as it was when the source was opened."""
    if now is not None and then is not None:
        for column in columns:
            if now.get(column) != then.get(column):
                raise ValueError(column)


def spans(length: int, most: int | None = None) -> list[range]:
    """So many things cut into runs, enough of them to keep all processors busy."""
    wanted = most or _PIECES * (os.cpu_count() or 1)
    step = max(1, -(-length // wanted))
    return [range(begin, min(begin + step, length)) for begin in range(0, length, step)]


@dataclass(frozen=True)
class Parts:
    """Files that together are one table: how to see a file's schema and read some of its parts."""

    schema: Callable[[str], tuple[Any, int]]  # Arrow schema, number of parts
    read: Callable[[str, range, list[str]], Iterator[Batch]]


def of_files(found: Sequence[str], parts: Parts) -> Reader:
    """A reader of files whose columns may differ: what a file lacks is null there."""

    def whole() -> dict[str, Storage]:
        each: dict[str, list[Storage]] = {}
        for path in found:
            for name, storage in arrow_schema(parts.schema(path)[0]).items():
                each.setdefault(name, []).append(storage)
        return {name: unified(storages) for name, storages in each.items()}

    schema = whole()

    def pieces(columns: Sequence[str]) -> list[Piece]:
        check_unchanged(whole(), schema, columns)
        made: list[Piece] = []
        for path in found:
            names, length = parts.schema(path)
            there = [name for name in columns if name in names.names]
            runs = spans(length, None if len(found) == 1 else max(1, 64 // len(found)))
            made += [partial(parts.read, path, run, there) for run in runs if there]
        return made

    return Reader(schema, pieces)
