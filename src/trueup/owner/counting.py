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

from trueup.arrays import Bools, Ints
from trueup.errors import InputError
from trueup.owner.columns import Wanted
from trueup.owner.dated import Dated
from trueup.owner.graph import Graph
from trueup.owner.lazily import pa, pc
from trueup.owner.placing import CellTally, combined, inside, placer
from trueup.owner.plain import Plain, names, plain, unwrapped
from trueup.owner.request import Count, Counts, Request
from trueup.owner.tally import Tally, bounded, sizes, summed, together, whole
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

    Where each is over periods that others share wholly or not at all, the rows of every period are
    sorted out first, and once.
    """
    sorting = _sorting([one.dated for one in requests])
    if sorting is None:
        starts = [_start(one) for one in requests]
        return lambda: _through(pieces, starts)
    starts = [_start(replace(one, dated=_left_of(one.dated))) for one in requests]
    return lambda: _through(pieces, starts, sorting)


def _left_of(dated: Dated | None) -> Dated | None:
    """What remains to be asked of the dates of rows that were sorted out: of one period nothing."""
    assert dated is not None
    return dated if len(dated.periods) > 1 or dated.share is not None else None


@dataclass(frozen=True)
class Sorting:
    """Which rows go where: all periods in order, the group of each, and each group's counts."""

    dated: Dated
    group: Ints
    counts: tuple[tuple[int, ...], ...]


def _sorting(dated: Sequence[Dated | None]) -> Sorting | None:
    """How rows are sorted by periods; None where that cannot be."""
    known = [one for one in dated if one is not None]
    if len(known) < len(dated) or any(
        (one.wanted, one.share) != (known[0].wanted, known[0].share) for one in known
    ):
        return None
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, one in enumerate(known):
        groups.setdefault(tuple(each.number for each in one.periods), []).append(place)
    each = {
        period.number: (period, group)
        for group, places in enumerate(groups.values())
        for period in known[places[0]].periods
    }
    if len(each) < sum(map(len, groups)):  # a period in two groups
        return None
    ordered = [each[number] for number in sorted(each)]
    return Sorting(
        replace(known[0], periods=tuple(period for period, _ in ordered)),
        np.array([group for _, group in ordered], np.int64),
        tuple(tuple(places) for places in groups.values()),
    )


def _through(
    pieces: Sequence[Piece], starts: Sequence[Start], sorting: Sorting | None = None
) -> list[Ints]:
    """One pass over a table, in which all counts go on together."""
    going = [start() for start in starts]
    if sorting is None:
        each_batch(pieces, lambda batch: _each_of(going, batch))
        return [one.found() for one in going]
    sieves = [Sieve([going[place] for place in places]) for places in sorting.counts]

    def add(batch: Batch) -> None:
        places = _places(batch, sorting.dated)
        target = np.where(places >= 0, sorting.group[places], -1)
        for group in np.unique(target[target >= 0]).tolist():
            sieves[group].add(batch, target == group)

    each_batch(pieces, add)
    for sieve in sieves:
        sieve.rest()
    return [one.found() for one in going]


def _each_of(going: Sequence[Going], batch: Batch) -> None:
    for one in going:
        one.add(batch)


class Sieve:
    """Lets some rows pass to some counts, put together into batches that are worth the while."""

    def __init__(self, onward: Sequence[Going]) -> None:
        self._onward = onward
        self._turn, self._kept, self._rows = threading.Lock(), list[Batch](), 0

    def add(self, batch: Batch, among: Bools) -> None:
        """Takes in some rows of a batch; passes on what was kept, once there is enough."""
        mask = pa.array(among)
        # Without dictionaries and the like, of which some cannot be filtered or put together.
        bare = {name: unwrapped(one) for name, one in batch.columns.items()}
        few = Batch(int(among.sum()), {name: one.filter(mask) for name, one in bare.items()})
        with self._turn:
            self._kept.append(few)
            self._rows += few.rows
            full = self._taken() if self._rows >= BATCH else []
        for enough in full:
            _each_of(self._onward, enough)

    def rest(self) -> None:
        """Passes on what is left."""
        for batch in self._taken():
            _each_of(self._onward, batch)

    def _taken(self) -> list[Batch]:
        """What was kept, as one batch if its types allow it: files may store a column in two."""
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
    first, stop = request.window or (0, size)
    _check_room(stop - first)
    placers = [placer(axis, one) for axis, one in zip(request.axes, request.values, strict=True)]

    def cells_of(batch: Batch) -> Ints:
        columns = _plain_columns(batch, request)
        cells = [
            place(columns[one.name]) for place, one in zip(placers, request.values, strict=True)
        ]
        return combined(request.cells_of(cells), request.sizes, kept_rows(batch, request, columns))

    if request.unit is not None:
        return lambda: _cells_of_units(request, cells_of, size)
    if request.window is None:
        return lambda: _cells(cells_of, size)
    return lambda: _cells(lambda batch: inside(cells_of(batch), first, stop), stop - first)


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
    each: dict[int, Tally] = {}  # a thread's own, so that none waits for another

    def count(batch: Batch) -> None:
        each.setdefault(threading.get_ident(), Tally()).add(names_of(batch))

    return Going(count, lambda: of(together(list(each.values()))))


def named(column: Plain, keep: Bools) -> Any:
    """The names of some rows, none of them unknown, as an Arrow array."""
    return column.values.filter(pa.array(keep))


def units_of(batch: Batch, request: Request) -> Plain:
    """The units of rows. Where there are several periods, a unit is another one in each."""
    unit = request.unit
    assert unit is not None
    found = _once(batch, unit, names)
    if request.several is None:
        return found
    return Plain(in_periods(found.values, _places(batch, request.several)), found.known)


def in_periods(units: Any, numbers: Ints) -> Any:
    """Names with a number behind each, in 8 bytes: two are equal only if both parts are."""
    if pa.types.is_int64(units.type):
        units = units.view(pa.binary(8))
    bytes_ = pa.Array.from_buffers(pa.binary(8), len(numbers), [None, pa.py_buffer(numbers)])
    parts = [each.cast(pa.large_binary()) for each in (units, bytes_)]
    return pc.binary_join_element_wise(*parts, pa.scalar(b"", pa.large_binary()))


def _cells_of_units(request: Request, cells_of: Callable[[Batch], Ints], size: int) -> Going:
    """How many rows are in each cell, of each unit no more than its bound."""

    def names_of(batch: Batch) -> dict[str, Any]:
        cells = cells_of(batch)
        units = units_of(batch, request)
        keep = units.known & (cells >= 0) & (cells < size)
        return {"unit": named(units, keep), "value": pa.array(cells[keep])}

    def counted(table: Any) -> Ints:
        first, stop = request.window or (0, size)
        counts = np.zeros(stop - first, np.int64)
        if table is not None:
            few = bounded(table, request.rows_per_unit, request.key)  # of all cells, then some
            cells = inside(whole(few["value"]), first, stop)
            np.add.at(counts, cells[cells >= 0], whole(few["rows"])[cells >= 0])
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
