"""Counting: the cell counts of an axis, inside the engine; only counts leave it.

Each kind of axis gives one expression, the same for every engine, that keeps the rows on the axis
and names their cells. Ends are compared first, so no value is cast that might not fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from trueup.axis import Axis
from trueup.axis.bins import EdgeCells, IntegerCells, RegularCells
from trueup.axis.dates import DateCells
from trueup.axis.hierarchy import HierarchyCells
from trueup.axis.ipv4 import Ipv4Cells
from trueup.axis.labels import CategoryCells
from trueup.axis.numbers import Ints
from trueup.owner.columns import Kind

if TYPE_CHECKING:
    import narwhals as nw

_DAY = 86_400_000_000
_MICROSECONDS = {"minute": 60_000_000, "hour": 3_600_000_000, "week": 7 * _DAY}
_MOST_CHECKED = 1 << 22  # edges that are worth checking before a count


@dataclass(frozen=True)
class Counting:
    """How to count over one axis: the kind its column is read as, which rows, which cells.

    `cell` names a group for each row; `place` turns the groups' names into numbers of cells. Where
    the edges follow no rule there is no such expression, and the engine is given `edges`.
    """

    kind: Kind
    size: int
    keep: Callable[[nw.Expr], nw.Expr]
    cell: Callable[[nw.Expr], nw.Expr]
    place: Callable[[Any], Ints]
    edges: tuple[float, ...] | None = None


def fold(plans: Sequence[Counting], keys: Sequence[Any], rows: Ints) -> Ints:
    """The cell counts, from the names and sizes of the groups; the last axis runs fastest."""
    cells = np.zeros(len(rows), np.int64)
    for plan, names in zip(plans, keys, strict=True):
        cells = cells * plan.size + np.asarray(plan.place(names), np.int64)
    counts = np.zeros(math.prod(plan.size for plan in plans), np.int64)
    np.add.at(counts, cells, rows)
    return counts


def counting(axis: Axis, kind: Kind, divides: bool = True) -> Counting:
    """How to count over an axis whose column is read as that kind.

    `divides` is False for an engine that multiplies by the reciprocal of a constant instead of
    dividing by it, which may end one float away.
    """
    cells = axis.cells
    match cells:
        case IntegerCells():
            return Counting(
                "integer",
                cells.size,
                lambda x: (x >= cells.first) & (x <= cells.last),
                lambda x: x,
                lambda keys: np.asarray(keys, np.int64) - cells.first,
            )
        case RegularCells():
            by_hand = divides or _arithmetic(cells)[0] == "multiply"
            return Counting(
                "number",
                cells.size,
                lambda x: (x >= cells.low) & (x < cells.high),
                lambda x: _regular(x, cells),
                _numbers,
                None if by_hand else tuple(cells.edges_at(np.arange(cells.bins + 1)).tolist()),
            )
        case EdgeCells():
            return Counting(
                "number",
                cells.size,
                lambda x: (x >= cells.edges[0]) & (x < cells.edges[-1]),
                lambda x: x,
                _numbers,
                cells.edges,
            )
        case DateCells():
            return _dates(cells)
        case Ipv4Cells():
            width, last = 1 << cells.shift, cells.base + (cells.size << cells.shift)
            return Counting(
                "address",
                cells.size,
                lambda x: (x >= cells.base) & (x < last),
                lambda x: _quotient(x - cells.base, width),
                _numbers,
            )
        case CategoryCells() | HierarchyCells():
            return _labels(cells, kind)


def _numbers(keys: Any) -> Ints:
    return np.asarray(keys, np.int64)


def _labels(cells: CategoryCells | HierarchyCells, kind: Kind) -> Counting:
    """Rows are grouped by their own label; only declared labels are let through."""
    known = cells.by_label
    labels: list[Any] = [
        label for label in known if isinstance(label, str if kind == "text" else int)
    ]

    def place(keys: Any) -> Ints:
        return np.array([known[key] for key in keys], np.int64)

    return Counting(kind, cells.size, lambda x: x.is_in(labels), lambda x: x, place)


def _dates(cells: DateCells) -> Counting:
    """Units of one width; months and years are counted as days, and added up out here."""
    start, stop = int(cells.edges[0]), int(cells.edges[-1])
    width = _MICROSECONDS.get(cells.unit, _DAY)
    origin = start if cells.unit == "week" else start - start % width

    def place(keys: Any) -> Ints:
        begins = np.maximum(origin + np.asarray(keys, np.int64) * width, start)
        return np.searchsorted(cells.edges, begins, side="right") - 1

    return Counting(
        "time",
        cells.size,
        lambda t: (t >= start) & (t < stop),
        lambda t: _quotient(t - origin, width),
        place,
    )


def _quotient(whole: nw.Expr, width: int) -> nw.Expr:
    """A whole number of at least 0 divided by another, rounded down.

    Some engines divide whole numbers as floats: the quotient is settled by multiplying back.
    """
    import narwhals as nw

    if width == 1:
        return whole
    guess = (whole // width).cast(nw.Int64)
    low = nw.when(guess * width > whole).then(guess - 1).otherwise(guess)
    return nw.when((guess + 1) * width <= whole).then(guess + 1).otherwise(low)


def _regular(x: nw.Expr, cells: RegularCells) -> nw.Expr:
    """The bin of a value on the axis, as `RegularCells.locate` finds it."""
    import narwhals as nw

    start, width, bins = cells.low, cells.high - cells.low, cells.bins
    offset = x - start if start else x
    way, reach = _arithmetic(cells)
    if way == "multiply and divide":
        return (offset * float(bins) / width).floor().cast(nw.Int64)
    per = bins / width
    place = offset * per if np.isfinite(per) else offset * float(bins) / width
    guess = place.floor()
    if way == "multiply":
        return guess.cast(nw.Int64)

    def edge(index: nw.Expr) -> nw.Expr:
        return (index * width) / float(bins) + start

    if way == "multiply and step back":
        before = nw.when(x < edge(guess)).then(guess - 1).otherwise(guess)
        return nw.when(place - guess > reach).then(guess).otherwise(before).cast(nw.Int64)
    low = nw.when(x < edge(guess)).then(guess - 1).otherwise(guess)
    settled = nw.when(x >= edge(guess + 1)).then(guess + 1).otherwise(low)
    settled = nw.when(settled > bins - 1).then(nw.lit(float(bins - 1))).otherwise(settled)
    # Away from the edges, rounding cannot reach across one, and the guess is the bin.
    near = 4 * float(np.spacing(max(abs(cells.low), abs(cells.high)))) * bins / width
    near += bins * 2.0**-50
    if near >= 0.25:
        return settled.cast(nw.Int64)
    rest = place - guess
    inside = (rest >= near) & (rest <= 1 - near)
    return nw.when(inside).then(guess).otherwise(settled).cast(nw.Int64)


@lru_cache(maxsize=256)
def _arithmetic(cells: RegularCells) -> tuple[str, float]:
    """How much arithmetic finds the bin of every float64 on the axis, with few edges compared.

    Each way is a rising function of the value, so it is right for all values if it is right at
    every edge and at the last value before it. Where it is right at the edges alone, the values
    that it puts too high lie no further above a whole number than an edge does: the number given.
    """
    if cells.bins > _MOST_CHECKED:
        return "compare", 0.0
    index = np.arange(cells.bins + 1, dtype=np.int64)
    edges = cells.edges_at(index)
    before = np.nextafter(edges[1:], -np.inf)
    width, bins = cells.high - cells.low, float(cells.bins)
    ways: dict[str, Callable[[Any], Any]] = {
        "multiply": lambda x: (x - cells.low) * (bins / width),
        "multiply and divide": lambda x: (x - cells.low) * bins / width,
    }
    for name, way in ways.items():
        right = np.array_equal(np.floor(way(edges[:-1])), index[:-1])
        if right and np.array_equal(np.floor(way(before)), index[:-1]):
            return name, 0.0
    place = ways["multiply"](edges)
    if np.array_equal(np.floor(place), index):
        return "multiply and step back", float((place - index).max())
    return "compare", 0.0
