"""From values to cells: an expression inside the engine, and what its results mean out here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from trueup.arrays import Ints
from trueup.axis import Axis
from trueup.axis.bins import IntegerCells, RegularCells
from trueup.axis.dates import DateCells
from trueup.axis.edges import EdgeCells
from trueup.axis.ipv4 import Ipv4Cells
from trueup.owner.columns import Kind, Wanted
from trueup.owner.engines.spelling import EngineRows, Spelling, constant, real, whole
from trueup.owner.placing import whole_labels
from trueup.owner.request import Request

_DAY = 86_400_000_000
_MICROSECONDS = {"minute": 60_000_000, "hour": 3_600_000_000, "week": 7 * _DAY}


def placed(rows: EngineRows, axis: Axis, one: Wanted, name: str, spelling: Spelling) -> EngineRows:
    """The rows with their cell on an axis, or what tells it; null for a row that is not on it."""
    x, cells = one.name, axis.cells
    if axis.traits.labelled:
        labels = labels_of(axis, one.kind)
        listed = ", ".join(constant(label, one.kind, spelling) for label in labels)
        if not labels:
            return rows.adding(name, "CAST(NULL AS bigint)")
        return rows.adding(name, f"CASE WHEN {x} IN ({listed}) THEN {x} END")
    if axis.traits.coded:  # the code itself, which is placed out here
        low, high = (whole(int(str(axis.edge(cell)))) for cell in (0, axis.size - 1))
        return rows.adding(name, f"CASE WHEN {x} >= {low} AND {x} <= {high} THEN {x} END")
    match cells:
        case IntegerCells():
            first, last = whole(cells.first), whole(cells.last)
            return rows.adding(
                name, f"CASE WHEN {x} >= {first} AND {x} <= {last} THEN {x} - {first} END"
            )
        case RegularCells() if cells.bins <= spelling.searched:
            edges = cells.edges_at(np.arange(cells.bins + 1)).tolist()
            return rows.located(x, edges, name)
        case RegularCells():
            return _regular(rows, cells, x, name, spelling)
        case EdgeCells():
            return rows.located(x, cells.edges, name)
        case DateCells():
            start, stop, origin, width = _units(cells)
            return rows.adding(name, _ruled(x, (start, stop), origin, width, spelling))
        case Ipv4Cells():
            base, width = cells.base, 1 << cells.shift
            ends = (base, base + cells.size * width)
            return rows.adding(name, _ruled(x, ends, base, width, spelling))
        case _:
            raise AssertionError(f"There is no placing on cells of type {type(cells).__name__}.")


def _ruled(x: str, ends: tuple[int, int], origin: int, width: int, spelling: Spelling) -> str:
    """Whole numbers in cells of one width; compared with the ends first, none can overflow."""
    low, high = map(whole, ends)
    place = spelling.quotient(f"({x} - {whole(origin)})", width)
    return f"CASE WHEN {x} >= {low} AND {x} < {high} THEN {place} END"


def _regular(
    rows: EngineRows, cells: RegularCells, x: str, name: str, spelling: Spelling
) -> EngineRows:
    """Equal bins, as `RegularCells.locate` finds them: a guess, settled by its two edges.

    No float here overflows or underflows, which some engines take for an error: bins and widths
    are such that edges can be computed, and a value less than a bin above the low end is not
    divided.
    """
    low, width, bins = (
        real(value, spelling) for value in (cells.low, cells.high - cells.low, cells.bins)
    )
    high, last = real(cells.high, spelling), real(cells.bins - 1, spelling)
    offset, guess = f"({x} - {low}) * {bins}", f"{name}_guess"
    rows = rows.adding(
        guess,
        f"CASE WHEN {x} >= {low} AND {x} < {high} THEN CASE WHEN {offset} < {width} "
        f"THEN {real(0, spelling)} "
        f"ELSE least(CAST(floor({offset} / {width}) AS {spelling.number}), {last}) END END",
    )
    above = f"{low} + ({guess} * {width}) / {bins}"
    below = f"{low} + (({guess} + {real(1, spelling)}) * {width}) / {bins}"
    return rows.adding(
        name,
        f"CASE WHEN {guess} IS NOT NULL THEN CAST({guess} AS bigint) + CASE WHEN {x} < {above} "
        f"THEN -1 WHEN {guess} < {last} AND {x} >= {below} THEN 1 ELSE 0 END END",
    )


def _units(cells: DateCells) -> tuple[int, int, int, int]:
    """Ends, origin and width of the units that are counted: days, for months and years."""
    start, stop = int(cells.edges[0]), int(cells.edges[-1])
    width = _MICROSECONDS.get(cells.unit, _DAY)
    return start, stop, cells.origin if cells.unit == "week" else start - start % width, width


def labels_of(axis: Axis, kind: Kind) -> Mapping[Any, int]:
    """The labels that a column of this kind can hold, and their cells."""
    if kind == "text":
        return {label: cell for label, cell in axis.labels.items() if isinstance(label, str)}
    return whole_labels(axis.labels)


def numbers_of(axis: Axis, found: Sequence[Any]) -> Ints:
    """The cells that the results of `placed` stand for; -1 for what stands for none."""
    if axis.traits.labelled:
        known = {_bytes(label): cell for label, cell in axis.labels.items()}
        return np.array([known.get(_bytes(label), -1) for label in found], np.int64)
    cells, size = axis.cells, axis.size
    if axis.traits.coded:
        return axis.place(np.array(found, np.int64))
    if isinstance(cells, DateCells):
        start, stop, origin, width = _units(cells)
        begins = np.array([origin + (unit or 0) * width for unit in found], np.int64)
        inside = (begins > start - width) & (begins < stop)
        place = np.searchsorted(cells.edges, np.maximum(begins, start), side="right") - 1
        return np.where(inside, place, -1).astype(np.int64)
    return np.array([cell if 0 <= cell < size else -1 for cell in found], np.int64)


def _bytes(label: Any) -> Any:
    return label.encode() if isinstance(label, str) else label


def near_window(request: Request, names: Sequence[str], spelling: Spelling) -> Iterator[str]:
    """A condition that holds for all rows of a window, so that few others leave the engine.

    It is about the first axis, which runs slowest. `add_groups` picks out what is inside.
    """
    if request.window is None or any(len(group.axes) > 1 for group in request.groups[:1]):
        return
    inner = math.prod(request.sizes[1:])
    low, high = request.window[0] // inner, (request.window[1] - 1) // inner
    axis, name, kind = request.axes[0], names[0], request.values[0].kind
    if axis.traits.labelled:
        few = [label for label, cell in labels_of(axis, kind).items() if low <= cell <= high]
        listed = ", ".join(constant(label, kind, spelling) for label in few)
        yield f"{name} IN ({listed})" if few else "1 = 0"
        return
    if axis.traits.coded:
        low, high = (int(str(axis.edge(cell))) for cell in (low, high))
    elif isinstance(axis.cells, DateCells):
        _, _, origin, width = _units(axis.cells)
        edges = axis.cells.edges
        low, high = (int(edges[low]) - origin) // width, (int(edges[high + 1]) - origin) // width
    yield f"{name} >= {whole(low)} AND {name} <= {whole(high)}"
