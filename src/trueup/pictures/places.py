"""Where the cells of an axis stand in a picture, and the words for them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.axis import Axis
from trueup.axis.dates import DateCells
from trueup.axis.labels import CategoryCells, HierarchyCells
from trueup.axis.numbers import EdgeCells, IntegerCells, RegularCells

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MOST_BARS = 200  # on screen at once; more cannot be told apart


def bar_edges(size: int, most: int = MOST_BARS) -> Ints:
    """The cell edges of at most that many equal bars.

    They are as many cells wide as a power of two, the last cut short, so that zooming in splits
    them and never moves them.
    """
    width = 1
    while -(-size // width) > most:
        width *= 2
    return np.append(np.arange(0, size, width), size).astype(np.int64)


def is_time(axis: Axis) -> bool:
    """Whether places are moments."""
    return isinstance(axis.cells, DateCells)


def has_positions(axis: Axis) -> bool:
    """Whether cells lie on a line, so that bars have a width."""
    return isinstance(axis.cells, (IntegerCells, RegularCells, EdgeCells, DateCells))


def positions(axis: Axis, edges: Ints) -> Floats:
    """Edges as numbers; moments as milliseconds since 1970, plotly's own."""
    cells = axis.cells
    if isinstance(cells, DateCells):
        return cells.edges[edges] / 1000.0
    if isinstance(cells, RegularCells):
        return cells.edges_at(edges)
    if isinstance(cells, EdgeCells):
        return np.array(cells.edges)[edges]
    assert isinstance(cells, IntegerCells)
    return (cells.first + edges).astype(np.float64)


def drawn(axis: Axis, places: Floats) -> Any:
    """Positions as plotly draws them: moments are dates."""
    return (places * 1000).astype("datetime64[us]") if is_time(axis) else places


def words(axis: Axis, edges: Ints) -> list[str]:
    """What each stretch between two edges is called."""
    if isinstance(axis.cells, (CategoryCells, HierarchyCells)) or not has_positions(axis):
        columns = axis.columns(edges[:-1], edges[1:])
        return [" / ".join(str(v) for v in row if v) for row in zip(*columns.values(), strict=True)]
    return [f"{axis.cells.edge(int(a))} – {axis.cells.edge(int(b))}" for a, b in pairwise(edges)]
