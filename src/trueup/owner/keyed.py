"""Counting keys: from the columns of a table to the keys that are there, and how often each is.

Values become keys by the universe's own function of plain values, out of the engine's reach. Of a
unit the keys that count are chosen as rows are (`tally.bounded`). Memory grows with how many
different keys there are, and where there are units with how many pairs, not with the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.axis.numbers import Ints
from trueup.owner.columns import Wanted
from trueup.owner.counting import Batch, Piece, kept_rows, named, tallied, units_of
from trueup.owner.plain import plain
from trueup.owner.request import Count, Request
from trueup.owner.tally import bounded, summed, whole


@dataclass(frozen=True, eq=False)
class KeyTally:
    """The keys present, each once, as an array of numbers or of bytes; and their counts."""

    keys: Any
    counts: Ints


def prepared(pieces: Sequence[Piece], request: Request) -> Count:
    """The count of a request for keys over all pieces of a table."""
    return lambda: _bounded(tallied(pieces, lambda batch: _names(batch, request)), request)


def _names(batch: Batch, request: Request) -> dict[str, Any]:
    """The keys of the rows that have one, and their units."""
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
    keys, known = _placed(request, [columns[one.name].values for one in request.values], known)
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
    import pyarrow as pa

    return pa.array(keys[known]) if isinstance(keys, np.ndarray) else keys.filter(pa.array(known))


def answered(request: Request, found: Mapping[str, Sequence[Any]]) -> KeyTally:
    """The keys present, from the different values that an engine found and their rows."""
    import pyarrow as pa

    rows = np.array(found["rows"], np.int64)
    values = [_column(one, found[one.name]) for one in request.values]
    keys, known = _placed(request, values, np.ones(len(rows), np.bool_))
    names = {"value": _some(keys, known)}
    if request.unit is not None:
        kind = pa.large_binary() if request.unit.kind == "text" else pa.int64()
        names["unit"] = pa.array(found["unit"], kind).filter(pa.array(known))
    table = pa.table({**names, "rows": pa.array(rows[known])})
    return _bounded(summed(table), request)


def _column(one: Wanted, values: Sequence[Any]) -> Any:
    """Values that an engine gave, in the plain form of their kind; none is missing."""
    import pyarrow as pa

    if one.kind == "text":
        return pa.array([bytes(value) for value in values], pa.large_binary())
    return np.array(values, np.float64 if one.kind == "number" else np.int64)


def _bounded(table: Any, request: Request) -> KeyTally:
    """The keys of a table of keys, units and rows: of each unit no more than its bound."""
    import pyarrow as pa

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
