"""Counting in this process: whatever reads a table hands over raw columns, and this counts them.

Rows come in batches of raw Arrow columns. Each column takes the plain form of its kind, the filter
keeps its rows, each row gets a cell or none, and the cells are counted: functions of a value alone,
the same for every source. No step of it can fail for what a value is.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.axis.numbers import Ints
from trueup.errors import InputError
from trueup.owner.dated import Dated
from trueup.owner.graph import Graph
from trueup.owner.placing import Counts, combined, placer
from trueup.owner.plain import Bools, Plain, names, plain
from trueup.owner.request import Count, Request
from trueup.owner.tally import Tally, bounded, sizes, summed, whole
from trueup.owner.truth import kept

BATCH = 1 << 16  # rows that go through all steps together, and stay in the cache


@dataclass(frozen=True)
class Batch:
    """Some rows of a table: raw Arrow arrays by the names of their columns, as many as asked for.

    A column that these rows do not have is left out.
    """

    rows: int
    columns: Mapping[str, Any]


# A part of a table, which can be read by itself, from its beginning each time.
Piece = Callable[[], Iterator[Batch]]


def prepared(pieces: Sequence[Piece], request: Request) -> Count:
    """The count of a request over all pieces of a table."""
    if request.graph is not None:
        return lambda: _degrees(pieces, request, request.graph)  # type: ignore[arg-type]
    if not request.axes:
        return lambda: _groups(pieces, request)
    size = math.prod(request.sizes)
    _check_room(size)
    placers = [placer(axis, one) for axis, one in zip(request.axes, request.values, strict=True)]

    def cells_of(batch: Batch) -> Ints:
        columns = _plain_columns(batch, request)
        cells = [
            place(columns[one.name]) for place, one in zip(placers, request.values, strict=True)
        ]
        return combined(request.cells_of(cells), request.sizes, kept_rows(batch, request, columns))

    if request.unit is not None:
        return lambda: _cells_of_units(pieces, request, cells_of, size)
    return lambda: _cells(pieces, cells_of, size)


def _check_room(size: int) -> None:
    """Refuses, before the charge, more cells than memory has room for."""
    try:
        np.zeros(size, np.int64)
        return
    except (MemoryError, ValueError):
        pass
    raise InputError(f"There is no room in memory for {size:,} cells. Use wider bins.")


def _plain_columns(batch: Batch, request: Request) -> dict[str, Plain]:
    """All columns but the unit's; where there is no axis, values are names."""
    form = plain if request.axes else names
    asked = [(one, form) for one in request.values] + [(one, plain) for one in request.compared]
    return {one.name: read(batch.columns.get(one.column), batch.rows, one) for one, read in asked}


def kept_rows(batch: Batch, request: Request, columns: Mapping[str, Plain]) -> Bools | None:
    """The rows that are of the request's periods and that its filter keeps; None for all."""
    among = None if request.dated is None else _places(batch, request.dated) >= 0
    if request.where is None:
        return among
    compared = {one.column: (one, columns[one.name]) for one in request.compared}
    true = kept(request.where, compared)
    return true if among is None else true & among


def _places(batch: Batch, dated: Dated) -> Ints:
    return dated.places(batch.columns.get(dated.wanted.column), batch.rows)


def each_batch(pieces: Sequence[Piece], work: Callable[[Batch], None]) -> None:
    """Does the work for every batch, in as many threads as there are processors."""

    def through(piece: Piece) -> None:
        for batch in piece():
            if batch.rows:
                work(batch)

    threads = min(len(pieces), os.cpu_count() or 1)
    if threads <= 1:
        for piece in pieces:
            through(piece)
        return
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(through, piece) for piece in pieces]:
            done.result()


def _cells(pieces: Sequence[Piece], cells_of: Callable[[Batch], Ints], size: int) -> Ints:
    """How many rows are in each cell."""
    counts, turn = Counts(size), threading.Lock()

    def count(batch: Batch) -> None:
        cells = cells_of(batch)
        with turn:
            counts.add(cells)

    each_batch(pieces, count)
    return counts.cells


def tallied(pieces: Sequence[Piece], names_of: Callable[[Batch], dict[str, Any]]) -> Any:
    """A table of all names and how many rows have them; None if no row has any."""
    tally, turn = Tally(), threading.Lock()

    def count(batch: Batch) -> None:
        names = names_of(batch)
        with turn:
            tally.add(names)

    each_batch(pieces, count)
    return tally.table


def named(column: Plain, keep: Bools) -> Any:
    """The names of some rows, none of them unknown, as an Arrow array."""
    import pyarrow as pa

    return column.values.filter(pa.array(keep))


def units_of(batch: Batch, request: Request) -> Plain:
    """The units of rows. Where there are several periods, a unit is another one in each."""
    unit = request.unit
    assert unit is not None
    found = names(batch.columns.get(unit.column), batch.rows, unit)
    if request.several is None:
        return found
    return Plain(_numbered(found.values, _places(batch, request.several)), found.known)


def _numbered(units: Any, numbers: Ints) -> Any:
    """Names with a number behind each, in 8 bytes: two are equal only if both parts are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    bytes_ = pa.Array.from_buffers(pa.binary(8), len(numbers), [None, pa.py_buffer(numbers)])
    parts = [each.cast(pa.large_binary()) for each in (units, bytes_)]
    return pc.binary_join_element_wise(*parts, pa.scalar(b"", pa.large_binary()))


def _cells_of_units(
    pieces: Sequence[Piece], request: Request, cells_of: Callable[[Batch], Ints], size: int
) -> Ints:
    """How many rows are in each cell, of each unit no more than its bound."""
    import pyarrow as pa

    def names_of(batch: Batch) -> dict[str, Any]:
        cells = cells_of(batch)
        units = units_of(batch, request)
        keep = units.known & (cells >= 0) & (cells < size)
        return {"unit": named(units, keep), "value": pa.array(cells[keep])}

    counts = np.zeros(size, np.int64)
    table = tallied(pieces, names_of)
    if table is not None:
        few = bounded(table, request.rows_per_unit, request.key)
        np.add.at(counts, whole(few["value"]), whole(few["rows"]))
    return counts


def _groups(pieces: Sequence[Piece], request: Request) -> Ints:
    """The sizes of the groups that the values of a column make, or their number."""
    (value,) = request.values

    def names_of(batch: Batch) -> dict[str, Any]:
        columns = _plain_columns(batch, request)
        keep, among = columns[value.name].known, kept_rows(batch, request, columns)
        keep = keep if among is None else keep & among
        if request.unit is None:
            return {"value": named(columns[value.name], keep)}
        units = units_of(batch, request)
        keep = keep & units.known
        return {
            "unit": named(units, keep),
            "value": named(columns[value.name], keep),
        }

    table = tallied(pieces, names_of)
    if table is not None and request.unit is not None:
        few = bounded(table, request.rows_per_unit, request.key)
        table = summed(few.select(["value", "rows"]))
    return _sized(table, request)


def _degrees(pieces: Sequence[Piece], request: Request, graph: Graph) -> Ints:
    """The degrees of a graph's nodes, or the number of nodes that have an edge."""
    import pyarrow as pa
    import pyarrow.compute as pc

    source, target = request.values

    def names_of(batch: Batch) -> dict[str, Any]:
        columns = _plain_columns(batch, request)
        keep = columns["source"].known & columns["target"].known
        among = kept_rows(batch, request, columns)
        keep = keep if among is None else keep & among
        first, second = (named(columns[one.name], keep) for one in (source, target))
        if graph.kind != "bipartite" and first.type == second.type:
            edges = pc.not_equal(first, second)
            first, second = first.filter(edges), second.filter(edges)
        if graph.kind == "undirected":
            first, second = pa.concat_arrays([first, second]), pa.concat_arrays([second, first])
        return {"value": first, "other": second}

    table = tallied(pieces, names_of)
    if table is not None:
        once = table.set_column(2, "rows", pa.array(np.ones(len(table), np.int64)))
        table = summed(once.select(["value", "rows"]))
    return _sized(table, request)


def _sized(table: Any, request: Request) -> Ints:
    groups = 0 if table is None else len(table)
    if request.number:
        return np.array([groups], np.int64)
    return sizes(table, request.size) if groups else np.zeros(0, np.int64)


def arrow_batches(batches: Iterable[Any]) -> Iterator[Batch]:
    """Arrow record batches as batches of their columns, none of them too long."""
    for whole_batch in batches:
        for begin in range(0, whole_batch.num_rows, BATCH):
            some = whole_batch.slice(begin, BATCH)
            yield Batch(some.num_rows, dict(zip(some.schema.names, some.columns, strict=True)))
