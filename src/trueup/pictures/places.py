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
