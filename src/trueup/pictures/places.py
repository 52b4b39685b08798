"""Where the cells of an axis stand in a picture, and the words for them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.axis import Axis

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
    return axis.traits.scale == "time"


def has_positions(axis: Axis) -> bool:
    """Whether cells lie on a line, so that bars have a width."""
    return axis.traits.scale is not None


def positions(axis: Axis, edges: Ints) -> Floats:
    """Edges as numbers; moments as milliseconds since 1970, plotly's own."""
    found = axis.positions(edges)
    return found / 1000.0 if is_time(axis) else found


def drawn(axis: Axis, places: Floats) -> Any:
    """Positions as plotly draws them: moments are dates."""
    return (places * 1000).astype("datetime64[us]") if is_time(axis) else places


def words(axis: Axis, edges: Ints) -> list[str]:
    """What each stretch between two edges is called."""
    return [axis.words(start, stop) for start, stop in pairwise(edges.tolist())]
