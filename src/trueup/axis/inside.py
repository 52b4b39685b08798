"""Values that lie in given cells: what rows made from counts hold in their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trueup.arrays import Floats, Ints
from trueup.axis.bins import IntegerCells
from trueup.axis.codes import CodeCells
from trueup.axis.dates import DateCells
from trueup.axis.ipv4 import Ipv4Cells
from trueup.errors import InputError

if TYPE_CHECKING:
    from trueup.axis import Axis

Draws = np.random.Generator | None
"""Where values inside a cell come from; None takes the middle."""

_DAY = 86_400_000_000
_SECOND = 1_000_000


def invented(axis: Axis) -> bool:
    """Whether a cell holds several values, so that the value of a row is made up inside it."""
    match axis.cells:
        case DateCells():
            return axis.cells.unit != "day"
        case Ipv4Cells():
            return axis.cells.shift > 0
        case _:
            return axis.traits.bins


def values_inside(axis: Axis, cells: Ints, draws: Draws) -> Any:
    """A value in each of these cells, as a column of Arrow.

    Uniform inside a bin, a period or a prefix, or its middle. A bin without an end gives the end it
    has. Every value lies in its cell: `axis.locate` gives the cells back.
    """
    import pyarrow as pa

    match axis.cells:
        case IntegerCells():
            return pa.array(cells + axis.cells.first)
        case CodeCells():
            return pa.array(axis.cells.codes[cells])
        case DateCells():
            return _moments(axis.cells, cells, draws)
        case Ipv4Cells():
            return _addresses(axis.cells, cells, draws)
        case _ if axis.traits.labelled:
            return pa.DictionaryArray.from_arrays(
                pa.array(cells.astype(np.int32)), pa.array(label_values(axis))
            )
        case _:
            return pa.array(_numbers(axis, cells, draws))


def _numbers(axis: Axis, cells: Ints, draws: Draws) -> Floats:
    """Numbers in half-open bins."""
    ends = axis.edges_at(np.arange(axis.size + 1))
    edges = np.array([np.nan if end is None else end for end in ends], np.float64)
    low, high = edges[cells], edges[cells + 1]
    # A bin below all edges: the largest number in it.
    low = np.where(np.isnan(low), np.nextafter(high, -np.inf), low)
    share: Any = 0.5 if draws is None else draws.random(len(cells))
    with np.errstate(over="ignore", invalid="ignore"):
        found = low + share * (high - low)
    # Where sums round past the bin, or it has no other end: its low end, which is inside.
    return np.where(axis.place(found) == cells, found, low)


def _moments(cells: DateCells, at: Ints, draws: Draws) -> Any:
    """Days where cells are days or longer, otherwise whole seconds."""
    import pyarrow as pa

    days = bool((cells.edges % _DAY == 0).all())
    step = _DAY if days else _SECOND
    low, high = cells.edges[at], cells.edges[at + 1]
    steps = np.maximum((high - low) // step, 1)
    share: Any = 0.5 if draws is None else draws.random(len(at))
    place = (share * steps).astype(np.int64)
    moments = (low + place * step).view("datetime64[us]")
    return pa.array(moments.astype("datetime64[D]") if days else moments)


def _addresses(cells: Ipv4Cells, at: Ints, draws: Draws) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    wide = 1 << cells.shift
    place = wide // 2 if draws is None else draws.integers(0, wide, len(at))
    numbers = cells.base + (at << cells.shift) + place
    bytes_ = pa.array([str(byte) for byte in range(256)])
    parts = [bytes_.take(pa.array((numbers >> shift) & 255)) for shift in (24, 16, 8, 0)]
    return pc.binary_join_element_wise(*parts, ".")


def label_values(axis: Axis) -> list[str] | list[int]:
    """What stands in a column for each label: whole numbers if all labels are, otherwise text.

    Of a hierarchy, its last label where no other cell has it, otherwise the path with slashes.
    """
    named: list[Any] = [axis.edge(cell) for cell in range(axis.size)]
    if axis.paths:
        known = axis.labels
        named = [
            path[-1] if known.get(path[-1]) == cell else "/".join(map(str, path))
            for cell, path in enumerate(axis.paths)
        ]
    if all(isinstance(label, int) for label in named):
        return named
    written = [str(label) for label in named]
    if len(set(written)) < len(written):
        raise InputError(
            f"Two labels of axis '{axis.name}' are written alike, one as a number and one as "
            f"text: no column can tell them apart."
        )
    return written
