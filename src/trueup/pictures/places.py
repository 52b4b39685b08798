"""Where the cells of an axis stand in a picture, and the words for them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from trueup.arrays import Floats, Ints
from trueup.axis import Axis

MOST_BARS = 200  # on screen at once; more cannot be told apart


def bar_edges(size: int, most: int = MOST_BARS, start: int = 0, stop: int | None = None) -> Ints:
    """The cell edges of at most so many equal bars over the cells start … stop − 1.

    Bars are a power of two cells wide and stand on multiples of that, so that zooming in splits
    them and never moves them; the first and the last may reach a little further out.

    >>> bar_edges(100, 5, 10, 50).tolist()
    [0, 16, 32, 48, 64]
    """
    stop = size if stop is None else stop
    width = 1
    while -(-stop // width) - start // width > most:
        width *= 2
    inner = np.arange(start // width * width, stop, width)
    last = min(int(inner[-1]) + width, size) if len(inner) else stop
    return np.append(inner, last).astype(np.int64)


def even_width(size: int, most: int) -> int:
    """How many cells each of at most so many equal parts has: all alike if that makes few fewer.

    >>> even_width(100, 64), even_width(100, 24), even_width(365, 24)
    (2, 5, 16)
    """
    least = -(-size // most)
    whole = (width for width in range(least, min(2 * least, size) + 1) if size % width == 0)
    return next(whole, least)


def row_edges(size: int, most: int) -> Ints:
    """Where the lines of a table begin and end that has at most so many, in cells."""
    return np.append(np.arange(0, size, even_width(size, most)), size)


@dataclass(frozen=True, eq=False)
class Stretches:
    """Bars over stretches of an axis, drawn so that equal density has equal height.

    A bar of fewer cells than the others, as the last may be, is narrower and is raised to what it
    would be at full width: 365 days at two a bar do not end in half a bar. Cells of uneven width
    are drawn as counts per so much of the axis.
    """

    ends: Floats
    """Where bars begin and end: in cells, or in units of the axis where cells are uneven."""
    times: Floats
    """By what the count of each bar is multiplied to be its height."""
    label: str
    """What a height is."""
    unit: float | None = None
    """Of uneven cells: so much of the axis a height is the count of."""


def stretches(axis: Axis, edges: Ints) -> Stretches:
    """The bars between edges of an axis.

    >>> stretches(Axis.integers("day", 1, 365), np.array([0, 2, 4, 5])).times.tolist()
    [1.0, 1.0, 2.0]
    """
    if _uneven(axis):
        ends = axis.positions(edges)
        width = np.diff(ends)
        unit = 10.0 ** np.floor(np.log10(np.median(width)))
        return Stretches(ends, unit / width, f"count per {unit:,.12g} of {axis.name}", unit)
    cells = np.diff(edges)
    full = int(cells.max())
    label = "count" if cells.min() == full else f"count per {full:,} cells"
    return Stretches(edges.astype(np.float64), full / cells, label)


def _uneven(axis: Axis) -> bool:
    """Whether the cells of an axis lie on a line and differ in width."""
    if axis.traits.kind != "edges" or axis.traits.scale is None:
        return False
    width = np.diff(axis.positions(np.arange(axis.size + 1)))
    return bool(np.ptp(width) > 1e-9 * width.max())


def drawn(axis: Axis, edges: Ints) -> Floats:
    """Edges as plotly draws them; of time, milliseconds since 1970."""
    found = axis.positions(edges)
    return found / 1000.0 if axis.traits.scale == "time" else found


def moments(axis: Axis, places: Floats) -> Any:
    """Drawn places of time as dates, others as they are."""
    return (places * 1000).astype("datetime64[us]") if axis.traits.scale == "time" else places


def words(axis: Axis, edges: Ints) -> list[str]:
    """What each stretch between two edges is called."""
    return [axis.words(start, stop) for start, stop in pairwise(edges.tolist())]
