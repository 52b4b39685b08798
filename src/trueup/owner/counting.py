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
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trueup.axis.numbers import Ints
from trueup.errors import InputError
from trueup.owner.columns import Wanted
from trueup.owner.dated import Dated
from trueup.owner.graph import Graph
from trueup.owner.placing import CellTally, combined, placer
from trueup.owner.plain import Bools, Plain, names, plain, unwrapped
from trueup.owner.request import Count, Counts, Request
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
    plain: dict[Any, Plain] = field(default_factory=dict, compare=False)  # read once for all counts


# A part of a table, which can be read by itself, from its beginning each time.
Piece = Callable[[], Iterator[Batch]]


@dataclass(frozen=True)
class Going:
    """A count that goes on: it is shown batch after batch, and then says what it found."""

    add: Callable[[Batch], None]
    found: Callable[[], Any]


Start = Callable[[], Going]


def prepared(pieces: Sequence[Piece], request: Request) -> Count:
    """The count of a request over all pieces of a table."""
    start = _start(request)
    return lambda: _through(pieces, [start])[0]


def prepared_together(pieces: Sequence[Piece], requests: Sequence[Request]) -> Counts:
    """The counts of several requests, in one pass over all pieces of a table.

    Where all are over the same periods, the rows of these are sorted out first, and once.
    """
    dated = requests[0].dated
    if dated is None or any(one.dated != dated for one in requests):
        starts = [_start(one) for one in requests]
        return lambda: _through(pieces, starts)
    # Of one period all rows that are left are, and nothing remains to be asked of their dates.
    one_period = dated if len(dated.periods) > 1 or dated.share is not None else None
    starts = [_start(replace(one, dated=one_period)) for one in requests]
    return lambda: _through(pieces, starts, dated)


def _through(
    pieces: Sequence[Piece], starts: Sequence[Start], dated: Dated | None = None
) -> list[Ints]:
    """One pass over a table, in which all counts go on together."""
    going = [start() for start in starts]

    def add(batch: Batch) -> None:
        for one in going:
            one.add(batch)

    if dated is None:
        each_batch(pieces, add)
    else:
        sieve = Sieve(dated, add)
        each_batch(pieces, sieve.add)
        sieve.rest()
    return [one.found() for one in going]


class Sieve:
    """Lets the rows of some periods pass, put together into batches that are worth the while."""

    def __init__(self, dated: Dated, onward: Callable[[Batch], None]) -> None:
        self._dated, self._onward = dated, onward
        self._turn, self._kept, self._rows = threading.Lock(), list[Batch](), 0

    def add(self, batch: Batch) -> None:
        """Takes in some rows; passes those on that were kept, once there are enough."""
        import pyarrow as pa

        among = _places(batch, self._dated) >= 0
        rows = int(among.sum())
        if rows == 0:
            return
        mask = pa.array(among)
        # Without dictionaries and the like, of which some cannot be filtered or put together.
        bare = {name: unwrapped(one) for name, one in batch.columns.items()}
        few = Batch(rows, {name: one.filter(mask) for name, one in bare.items()})
        with self._turn:
            self._kept.append(few)
            self._rows += rows
            full = self._taken() if self._rows >= BATCH else []
        for enough in full:
            self._onward(enough)

    def rest(self) -> None:
        """Passes on what is left."""
        for batch in self._taken():
            self._onward(batch)

    def _taken(self) -> list[Batch]:
        """What was kept, as one batch if its types allow it: files may store a column in two."""
        import pyarrow as pa

        each, self._kept, self._rows = self._kept, [], 0
        kinds = [{name: one.type for name, one in batch.columns.items()} for batch in each]
        if any(kind != kinds[0] for kind in kinds):
            return each
        columns = {
            name: pa.concat_arrays([batch.columns[name] for batch in each])
            for name in (kinds[0] if kinds else ())
        }
        return [Batch(sum(batch.rows for batch in each), columns)] if each else []


def _start(request: Request) -> Start:
    """What begins the count of a request, as often as it is tried."""
    if request.graph is not None:
        return lambda: _degrees(request, request.graph)  # type: ignore[arg-type]
    if not request.axes:
        return lambda: _groups(request)
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
        return lambda: _cells_of_units(request, cells_of, size)
    return lambda: _cells(cells_of, size)


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
    return {one.name: _once(batch, one, read) for one, read in asked}


def _once(batch: Batch, one: Wanted, read: Callable[[Any, int, Wanted], Plain]) -> Plain:
    """A column of a batch in a plain form, which several counts may ask for."""
    key = one.column, one.kind, read
    if key not in batch.plain:
        batch.plain[key] = read(batch.columns.get(one.column), batch.rows, one)
    return batch.plain[key]


def kept_rows(batch: Batch, request: Request, columns: Mapping[str, Plain]) -> Bools | None:
    """The rows that are of the request's periods and that its filter keeps; None for all."""
    among = None if request.dated is None else _among(batch, request, request.dated)
    if request.where is None:
        return among
    compared = {one.column: (one, columns[one.name]) for one in request.compared}
    true = kept(request.where, compared)
    return true if among is None else true & among


def _among(batch: Batch, request: Request, dated: Dated) -> Bools:
    """The rows of some periods; where units count in a share of them, those in their turn."""
    places = _places(batch, dated)
    if dated.share is None or request.unit is None:
        return places >= 0
    units = _once(batch, request.unit, names).values
    turns = dated.share.turns(units, request.unit.kind != "text")
    return (places >= 0) & dated.share.counts(turns, dated.numbers[places])


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


def _cells(cells_of: Callable[[Batch], Ints], size: int) -> Going:
    """How many rows are in each cell."""
    counts, turn = CellTally(size), threading.Lock()

    def count(batch: Batch) -> None:
        cells = cells_of(batch)
        with turn:
            counts.add(cells)

    return Going(count, lambda: counts.cells)


def tallied(pieces: Sequence[Piece], names_of: Callable[[Batch], dict[str, Any]]) -> Any:
    """A table of all names and how many rows have them; None if no row has any."""
    going = _tallied(names_of, lambda table: table)
    each_batch(pieces, going.add)
    return going.found()


def _tallied(names_of: Callable[[Batch], dict[str, Any]], of: Callable[[Any], Any]) -> Going:
    """A count of a table of all names and how many rows have them; None if no row has any."""
    tally, turn = Tally(), threading.Lock()

    def count(batch: Batch) -> None:
        names = names_of(batch)
        with turn:
            tally.add(names)

    return Going(count, lambda: of(tally.table))


def named(column: Plain, keep: Bools) -> Any:
    """The names of some rows, none of them unknown, as an Arrow array."""
    import pyarrow as pa

    return column.values.filter(pa.array(keep))


def units_of(batch: Batch, request: Request) -> Plain:
    """The units of rows. Where there are several periods, a unit is another one in each."""
    unit = request.unit
    assert unit is not None
    found = _once(batch, unit, names)
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


def _cells_of_units(request: Request, cells_of: Callable[[Batch], Ints], size: int) -> Going:
    """How many rows are in each cell, of each unit no more than its bound."""
    import pyarrow as pa

    def names_of(batch: Batch) -> dict[str, Any]:
        cells = cells_of(batch)
        units = units_of(batch, request)
        keep = units.known & (cells >= 0) & (cells < size)
        return {"unit": named(units, keep), "value": pa.array(cells[keep])}

    def counted(table: Any) -> Ints:
        counts = np.zeros(size, np.int64)
        if table is not None:
            few = bounded(table, request.rows_per_unit, request.key)
            np.add.at(counts, whole(few["value"]), whole(few["rows"]))
        return counts

    return _tallied(names_of, counted)


def _groups(request: Request) -> Going:
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

    def counted(table: Any) -> Ints:
        if table is not None and request.unit is not None:
            few = bounded(table, request.rows_per_unit, request.key)
            table = summed(few.select(["value", "rows"]))
        return _sized(table, request)

    return _tallied(names_of, counted)


def _degrees(request: Request, graph: Graph) -> Going:
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

    def counted(table: Any) -> Ints:
        if table is not None:
            once = table.set_column(2, "rows", pa.array(np.ones(len(table), np.int64)))
            table = summed(once.select(["value", "rows"]))
        return _sized(table, request)

    return _tallied(names_of, counted)


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
