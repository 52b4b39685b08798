"""The sets of a Young diagram that are counted: stretches of rows and of columns.

Counts in rising order, drawn as rows of cells, make a Young diagram; one record is one cell of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from typing import Any

import numpy as np

from trueup.arrays import Ints
from trueup.axis.numbers import whole_number
from trueup.errors import InputError

_MOST_STRIPS = 1 << 24
_HIGHEST = 1 << 62  # no count is larger, and sums of counts up to here fit 64 bits


@dataclass(frozen=True)
class CountedRows:
    """The groups start … stop − 1 in rising order: by how much each count exceeds `base`.

    They were asked from `turn` − 1 down to `start`, then from `turn` up.
    """

    start: int
    turn: int
    stop: int
    base: int

    def __post_init__(self) -> None:
        for name in ("start", "turn", "stop", "base"):
            object.__setattr__(self, name, whole_number(getattr(self, name), name))
        if not 0 <= self.start <= self.turn <= self.stop or self.base < 0:
            raise InputError("Rows need 0 <= start <= turn <= stop and a base of at least 0.")
        if max(self.stop, self.base) > _HIGHEST:
            raise InputError("Rows reach past 2^62, where there is no count.")

    @property
    def length(self) -> int:
        return self.stop - self.start

    def answers(self, rising: Ints) -> Ints:
        """The true numbers of cells, from the counts in rising order."""
        return np.maximum(rising[self.start : self.stop] - self.base, 0)

    def cells(self, groups: int) -> Ints:
        """Per answer: first and last rank, 1 the largest; counts above … up to (0: no end)."""
        cells = np.zeros((self.length, 4), np.int64)
        cells[:, 0] = cells[:, 1] = groups - np.arange(self.start, self.stop)
        cells[:, 2] = self.base
        return cells


@dataclass(frozen=True)
class CountedColumns:
    """The groups from `start` on in rising order: what their counts have between two edges, added
    up, for all neighbouring edges.
    """

    start: int
    edges: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", whole_number(self.start, "start"))
        object.__setattr__(self, "edges", tuple(whole_number(e, "an edge") for e in self.edges))
        rising = all(a < b for a, b in pairwise(self.edges))
        if self.start < 0 or len(self.edges) < 2 or self.edges[0] < 0 or not rising:
            raise InputError("Columns need a start of at least 0 and two or more rising edges.")
        if max(self.start, self.edges[-1]) > _HIGHEST:
            raise InputError("Columns reach past 2^62, where there is no count.")

    @property
    def length(self) -> int:
        return len(self.edges) - 1

    def answers(self, rising: Ints) -> Ints:
        """The true numbers of cells: differences of Σ min(count, edge) over the groups."""
        edges, groups = np.array(self.edges), rising[self.start :]
        under = np.searchsorted(groups, edges)
        sums = np.concatenate([[0], np.cumsum(groups)])
        return np.diff(sums[under] + (len(groups) - under) * edges)

    def cells(self, groups: int) -> Ints:
        """Per answer: first and last rank, 1 the largest; counts above … up to."""
        cells = np.zeros((self.length, 4), np.int64)
        cells[:, 0], cells[:, 1] = 1, groups - self.start
        cells[:, 2], cells[:, 3] = self.edges[:-1], self.edges[1:]
        return cells


def check_disjoint(asked: tuple[CountedRows | CountedColumns, ...], groups: int) -> None:
    """Refuses sets that share a cell: sensitivity rests on their being disjoint.

    Rows and columns come in turns. Columns take all groups from where the rows before them
    stop, right of all columns before; rows take some of those groups, right of the columns; the
    last rows go to the last group.
    """
    rank, count = 0, 0  # groups before `rank` are done; all cells up to `count` are
    for turn, part in enumerate(asked):
        if isinstance(part, CountedColumns) != bool(turn % 2):
            raise InputError("Rows and columns must come in turns, rows first.")
        if isinstance(part, CountedRows):
            fits = part.start >= rank and part.base == count
            rank = part.stop
        else:
            fits = part.start == rank and part.edges[0] >= count
            count = part.edges[-1]
        if not fits or rank > groups:
            raise InputError("The sets asked for must be disjoint, and within the groups.")
    if asked and (isinstance(asked[-1], CountedColumns) or rank != groups):
        raise InputError("The last to be asked are rows, up to the last group.")


def part_to_json(part: CountedRows | CountedColumns) -> dict[str, Any]:
    if isinstance(part, CountedRows):
        return {"rows": [part.start, part.turn, part.stop], "base": part.base}
    # Neighbouring strips are mostly of one width.
    runs = [[wide, len(list(run))] for wide, run in groupby(_widths(part))]
    return {"from": part.start, "first": part.edges[0], "widths": runs}


def _widths(part: CountedColumns) -> Iterator[int]:
    return (b - a for a, b in pairwise(part.edges))


def part_from_json(spec: dict[str, Any]) -> CountedRows | CountedColumns:
    if "rows" in spec:
        start, turn, stop = spec["rows"]
        return CountedRows(start, turn, stop, spec["base"])
    runs = [(whole_number(w, "a width"), whole_number(n, "a number")) for w, n in spec["widths"]]
    if sum(number for _, number in runs) > _MOST_STRIPS:
        raise InputError(f"Columns of more than {_MOST_STRIPS:,} strips are never asked.")
    widths = (wide for wide, number in runs for _ in range(number))
    return CountedColumns(spec["from"], tuple(accumulate(widths, initial=spec["first"])))
