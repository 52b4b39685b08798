"""Counting keys: from the columns of a table to the keys that are there, and how often each is.

Values become keys by the universe's own function of plain values, out of the engine's reach. Texts
are put together first, byte by byte, so that each different one becomes a key once. Of a unit the
keys that count are chosen as rows are (`tally.bounded`). Memory grows with how many different
values there are, and where there are units with how many pairs, not with the rows.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup._kernels.threads import cores
from trueup.arrays import Ints
from trueup.owner.columns import Wanted
from trueup.owner.counting import (
    Batch,
    Piece,
    each_batch,
    in_periods,
    kept_rows,
    named,
    tallied,
    units_of,
)
from trueup.owner.distinct import distinct
from trueup.owner.lazily import pa
from trueup.owner.plain import plain, short_texts
from trueup.owner.request import Count, Request
from trueup.owner.tally import bounded, summed, whole
from trueup.owner.texts import TextTally, counted

_AT_ONCE = 1 << 24  # numbers put in order together, by all threads


@dataclass(frozen=True, eq=False)
class KeyTally:
    """The keys present, each once, as an array of numbers or of bytes; and their counts."""

    keys: Any
    counts: Ints


def prepared(pieces: Sequence[Piece], request: Request) -> Count:
    """The count of a request for keys over all pieces of a table."""
    assert request.universe is not None
    if request.universe.reads == ("text",):
        return lambda: _of_texts(pieces, request)
    if request.universe.whole and request.unit is None:
        return lambda: _numbers(pieces, request)
    return lambda: _bounded(tallied(pieces, lambda batch: _names(batch, request)), request)


def _numbers(pieces: Sequence[Piece], request: Request) -> KeyTally:
    """The keys of rows, where they are whole numbers and each row counts."""
    each: dict[int, NumberTally] = {}  # a thread's own, so that none waits for another

    def count(batch: Batch) -> None:
        keys, known = _keys(batch, request)
        tally = each.setdefault(threading.get_ident(), NumberTally())
        tally.add(keys if known.all() else keys[known])

    each_batch(pieces, count)
    first, *rest = [*each.values(), NumberTally()]
    for tally in rest:
        first.merge(tally)
    return first.whole()


class NumberTally:
    """How often each whole number occurs; memory grows with how many different ones there are."""

    def __init__(self) -> None:
        self._keys = self._counts = np.zeros(0, np.int64)
        self._fresh = np.zeros(0, np.int64)
        self._rows, self._at_once = 0, max(_AT_ONCE // cores(), 1)

    def add(self, numbers: Ints) -> None:
        """More numbers, in any order."""
        rows = self._rows + len(numbers)
        if rows > len(self._fresh):
            grown = np.empty(max(rows, 2 * len(self._fresh)), np.int64)
            grown[: self._rows] = self._fresh[: self._rows]
            self._fresh = grown
        self._fresh[self._rows : rows] = numbers
        self._rows = rows
        if rows >= max(self._at_once, len(self._keys)):
            self._count()

    def _count(self) -> None:
        """Puts the numbers that were added in order, and adds up those that are the same."""
        fresh, self._rows = self._fresh[: self._rows], 0
        fresh.sort()
        begins = np.flatnonzero(_changes(fresh))
        self._add(fresh[begins], np.diff(begins, append=len(fresh)))

    def _add(self, keys: Ints, counts: Ints) -> None:
        """Adds counts of different numbers, which are in order."""
        place = np.searchsorted(self._keys, keys)
        known = np.zeros(len(keys), np.bool_)
        inside = place < len(self._keys)
        known[inside] = self._keys[place[inside]] == keys[inside]
        self._counts[place[known]] += counts[known]
        if known.all():
            return
        together = np.concatenate([self._keys, keys[~known]])
        order = np.argsort(together, kind="stable")
        self._keys = together[order]
        self._counts = np.concatenate([self._counts, counts[~known]])[order]

    def merge(self, other: NumberTally) -> None:
        """All numbers of another tally."""
        found = other.whole()
        self.whole()
        self._add(found.keys, found.counts)

    def whole(self) -> KeyTally:
        """The different numbers and how often each was added."""
        if self._rows:
            self._count()
        return KeyTally(self._keys, self._counts)


def _changes(ordered: Ints) -> Any:
    """Where another number begins."""
    changes = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=changes[1:])
    return changes


def _keys(batch: Batch, request: Request) -> tuple[Any, Any]:
    """The keys of rows, and which rows have one and are kept by the filter."""
    columns = {
        one.name: plain(batch.columns.get(one.column), batch.rows, one)
        for one in [*request.values, *request.compared]
    }
    known = np.ones(batch.rows, np.bool_)
    for one in request.values:
        known &= columns[one.name].known
    among = kept_rows(batch, request, columns)
    if among is not None:
        known &= among
    return _placed(request, [columns[one.name].values for one in request.values], known)


def _names(batch: Batch, request: Request) -> dict[str, Any]:
    """The keys of the rows that have one, and their units."""
    keys, known = _keys(batch, request)
    if request.unit is None:
        return {"value": _some(keys, known)}
    units = units_of(batch, request)
    known = known & units.known
    return {"unit": named(units, known), "value": _some(keys, known)}


def _placed(request: Request, values: Sequence[Any], known: Any) -> tuple[Any, Any]:
    assert request.universe is not None
    return request.universe.place(*values, known=known)


def _some(keys: Any, known: Any) -> Any:
    """The keys of some rows, as an Arrow array."""
    if isinstance(keys, np.ndarray):
        return pa.array(keys[known])
    return keys if known.all() else keys.filter(pa.array(known))


def _of_texts(pieces: Sequence[Piece], request: Request) -> KeyTally:
    """The keys of rows that are texts: each different text is looked at once."""
    if request.unit is None:
        each: dict[int, TextTally] = {}  # a thread's own, so that none waits for another

        def count(batch: Batch) -> None:
            tally = each.setdefault(threading.get_ident(), TextTally())
            tally.add(_texts(batch, request)["value"])

        each_batch(pieces, count)
        values, rows = counted(list(each.values()))
        return _placed_once(request, [values], rows, None)
    kinds = {"value": pa.binary(), "unit": pa.large_binary()}
    batches = (batch for piece in pieces for batch in piece() if batch.rows)
    found = distinct((_texts(batch, request) for batch in batches), kinds)
    values = found["value"].combine_chunks()
    return _placed_once(request, [values], whole(found["rows"]), found["unit"])


def _texts(batch: Batch, request: Request) -> dict[str, Any]:
    """The texts of rows that the filter keeps, without those longer than any key; their units."""
    assert request.universe is not None
    (value,) = request.values
    texts = short_texts(batch.columns.get(value.column), batch.rows, request.universe.longest)
    known = texts.known
    compared = {
        one.name: plain(batch.columns.get(one.column), batch.rows, one) for one in request.compared
    }
    among = kept_rows(batch, request, compared)
    if among is not None:
        known = known & among
    found = {}
    if request.unit is not None:
        units = units_of(batch, request)
        known = known & units.known
        found["unit"] = named(units, known).cast(pa.large_binary())
    found["value"] = _some(texts.values, known)
    if request.unit is not None:
        found["value"] = found["value"].cast(pa.binary())
    return found


def answered(request: Request, found: Mapping[str, Sequence[Any]]) -> KeyTally:
    """The keys present, from the different values that an engine found and their rows."""
    unit = None
    if request.unit is not None:
        kind = pa.large_binary() if request.unit.kind == "text" else pa.int64()
        unit = pa.array(found["unit"], kind)
        if request.several is not None:
            unit = in_periods(unit, np.array(found["period_number"], np.int64))
    values = [_column(one, found[one.name]) for one in request.values]
    return _placed_once(request, values, np.array(found["rows"], np.int64), unit)


def _placed_once(request: Request, values: Sequence[Any], rows: Ints, unit: Any) -> KeyTally:
    """The keys present, from different values, their rows and, where it counts, whose they are."""
    keys, known = _placed(request, values, np.ones(len(rows), np.bool_))
    names = {"value": _some(keys, known)}
    if unit is not None:
        names["unit"] = unit.filter(pa.array(known))
    table = pa.table({**names, "rows": pa.array(rows[known])})
    # Two values may be one key, unless keys are the values themselves.
    return _bounded(table if keys is values[0] else summed(table), request)


def _column(one: Wanted, values: Sequence[Any]) -> Any:
    """Values that an engine gave, in the plain form of their kind; none is missing."""
    if one.kind == "text":
        return pa.array([bytes(value) for value in values], pa.large_binary())
    return np.array(values, np.float64 if one.kind == "number" else np.int64)


def _bounded(table: Any, request: Request) -> KeyTally:
    """The keys of a table of keys, units and rows: of each unit no more than its bound."""
    assert request.universe is not None
    if table is None or not len(table):
        nothing = np.zeros(0, np.int64)
        none = nothing if request.universe.whole else pa.array([], pa.large_binary())
        return KeyTally(none, nothing)
    if request.unit is not None:
        if request.once:
            place = table.column_names.index("rows")
            table = table.set_column(place, "rows", pa.array(np.ones(len(table), np.int64)))
        table = bounded(table, request.rows_per_unit, request.key)
        table = summed(table.select(["value", "rows"]))
    keys = whole(table["value"]) if request.universe.whole else table["value"].combine_chunks()
    return KeyTally(keys, whole(table["rows"]))
