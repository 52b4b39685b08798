"""Cells between given edges, which may be uneven and may have no end."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.axis.numbers import (
    check_size,
    finite_number,
    off_grid,
    outside,
    real_numbers,
    typed_number,
)
from trueup.axis.traits import CellTraits
from trueup.errors import InputError, shown

_FURTHEST = sys.float_info.max  # where an axis without an end is cut
_CLOSED = CellTraits("edges", "number", scale="number", bins=True)
_OPEN = CellTraits("edges", "number", bins=True)


@dataclass(frozen=True)
class EdgeCells:
    """Half-open bins between given edges, the last bin too.

    The first edge may be −∞ and the last ∞: "250,000 and more". Such an end is kept as the furthest
    float, so that it is an edge like every other to whatever places values; an infinite value is
    in no cell. A bin without an end has no width: bins are then drawn side by side, as labels are.
    """

    name: str
    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        if isinstance(self.edges, str) or not isinstance(self.edges, (Sequence, np.ndarray)):
            raise InputError(f"Axis '{self.name}' needs a list of edges, got {shown(self.edges)}.")
        edges = self._checked(list(self.edges))
        if len(edges) < 2:
            raise InputError(f"Axis '{self.name}' needs at least 2 edges, got {len(edges)}.")
        for number, (left, right) in enumerate(itertools.pairwise(edges), start=1):
            if not left < right:
                raise InputError(
                    f"The edges of axis '{self.name}' must rise: edge number {number + 1} is not "
                    f"above edge number {number}."
                )
        inner = edges[edges[0] == -_FURTHEST : len(edges) - (edges[-1] == _FURTHEST)]
        if inner and not math.isfinite(inner[-1] - inner[0]):
            raise InputError(f"Axis '{self.name}' is wider than a float can hold.")
        object.__setattr__(self, "edges", edges)
        check_size(len(edges) - 1, self.name)

    def _checked(self, given: list[Any]) -> tuple[float, ...]:
        ends = {0: -math.inf, len(given) - 1: math.inf}
        return tuple(
            math.copysign(_FURTHEST, edge)
            if isinstance(edge, (float, np.floating)) and edge == ends.get(place)
            else finite_number(edge, f"An edge of axis '{self.name}'")
            for place, edge in enumerate(given)
        )

    @property
    def traits(self) -> CellTraits:
        """What is declared of its kind: on a line, unless an end is open."""
        open_ended = self.edges[0] == -_FURTHEST or self.edges[-1] == _FURTHEST
        return _OPEN if open_ended else _CLOSED

    @property
    def size(self) -> int:
        return len(self.edges) - 1

    @cached_property
    def _array(self) -> Floats:
        return np.array(self.edges)

    def place(self, x: Floats) -> Ints:
        """The cell of each float64; -1 for what is outside, and for NaN."""
        with np.errstate(invalid="ignore"):
            inside = (x >= self.edges[0]) & (x < self.edges[-1])
        cells = np.searchsorted(self._array, np.where(inside, x, self.edges[0]), side="right") - 1
        return np.where(inside, cells, -1).astype(np.int64)

    def boundary(self, value: object) -> int:
        """The number of cells left of an edge given in axis units."""
        if value in (math.inf, -math.inf) and self.traits.scale is None:
            return int(self.boundaries(np.array([value]))[0])
        number = finite_number(value, f"A range end on axis '{self.name}'")
        return int(self.boundaries(np.array([number]))[0])

    def boundaries(self, values: npt.ArrayLike) -> Ints:
        """As `boundary`, for an array."""
        x = real_numbers(values, self.name)
        if self.traits.scale is None:
            x = np.clip(x, -_FURTHEST, _FURTHEST)
        with np.errstate(invalid="ignore"):
            beyond = ~((x >= self.edges[0]) & (x <= self.edges[-1]))
        if beyond.any():
            raise outside(self.name, float(x[beyond][0]), self.edges[0], self.edges[-1])
        index = np.searchsorted(self._array, x, side="left")
        off = self._array[index] != x
        if off.any():
            at = int(index[off][0])
            raise off_grid(self.name, float(x[off][0]), self.edges[at - 1], self.edges[at])
        return index.astype(np.int64)

    def edge(self, index: int) -> float | None:
        """The edge with that many cells left of it; None where the axis has no end."""
        edge = self.edges[index]
        return None if abs(edge) == _FURTHEST else edge

    def edges_at(self, places: Ints) -> Floats:
        """The edges with that many cells left of them."""
        return self._array[places]

    def parse(self, text: str) -> int | float:
        """An end of a range as typed."""
        return typed_number(text)

    def words(self, start: int, stop: int) -> str:
        """The bin from the first cell's low edge to the last one's high edge."""
        low, high = self.edge(start), self.edge(stop)
        if self.traits.scale is not None:
            return f"{low} – {high}"
        if low is None:
            return "all" if high is None else f"below {high:,.10g}"
        return f"{low:,.10g} and more" if high is None else f"{low:,.10g} – {high:,.10g}"

    def describe(self) -> str:
        """The axis in words."""
        low, high = self.edge(0), self.edge(self.size)
        start = f"below {self.edges[1]:,.10g}" if low is None else f"from {low:,.10g}"
        end = f"{self.edges[-2]:,.10g} and more" if high is None else f"{high:,.10g}"
        return f"numbers {start} to {end} in {self.size:,} uneven cells"

    def part(self, start: int, stop: int, bins: int) -> EdgeCells:
        """The cells start … stop − 1, as they are: uneven bins are put together by nobody."""
        if bins != stop - start:
            raise InputError(
                f"The bins of '{self.name}' are uneven and are asked as they are: leave cells "
                f"out, or ask for {stop - start:,}."
            )
        return EdgeCells(self.name, self.edges[start : stop + 1])

    def columns(self, starts: Ints, stops: Ints) -> dict[str, Any]:
        """The intervals [starts, stops) as columns of a table."""
        if self.traits.scale is not None:
            return {"low": self._array[starts], "high": self._array[stops]}
        return {"low": self._known(starts), "high": self._known(stops)}

    def _known(self, places: Ints) -> Any:
        """The edges, and None where the axis has no end."""
        if np.abs(self._array[places]).max(initial=0.0) < _FURTHEST:
            return self._array[places]
        return [self.edge(place) for place in places.tolist()]

    def to_json(self) -> dict[str, Any]:
        return {"kind": "edges", "edges": list(self.edges)}
