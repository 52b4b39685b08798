"""The counts in rising order, asked adaptively: rows where counts lie apart, columns where many
groups share them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, groupby, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.ask.question import Block, Constraints, Ints, Neighbours
from trueup.ask.sorted import SortedCounts
from trueup.axis.numbers import whole_number
from trueup.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from trueup._kernels.sorted.transcript import Transcript

_MOST_STRIPS = 1 << 24


@dataclass(frozen=True)
class Rows:
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

    @property
    def length(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True)
class Columns:
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

    @property
    def length(self) -> int:
        return len(self.edges) - 1


@dataclass(frozen=True)
class YoungCounts:
    """The counts of all groups in rising order, as `SortedCounts`, but asked adaptively.

    Every further question is chosen from the noisy answers so far, which costs nothing: all
    questions count disjoint sets of cells of one diagram, and a record is one cell of it. Put to
    data, it becomes the question that was asked: `asked` then says which sets were counted.

    >>> YoungCounts(11_342, ends=2).sensitivity()
    2
    """

    groups: int
    by: str | None = None
    ends: int = 1
    asked: tuple[Rows | Columns, ...] = ()

    def __post_init__(self) -> None:
        plain = SortedCounts(self.groups, self.by, self.ends)
        for name in ("groups", "by", "ends"):
            object.__setattr__(self, name, getattr(plain, name))
        object.__setattr__(self, "asked", tuple(self.asked))
        _check_disjoint(self.asked, self.groups)

    @property
    def plain(self) -> SortedCounts:
        """The question that asks for every count in turn."""
        return SortedCounts(self.groups, self.by, self.ends)

    @property
    def size(self) -> int:
        return self.groups

    @property
    def length(self) -> int:
        return sum(part.length for part in self.asked)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return ((self.length, Fraction(1)),)

    def sensitivity(self, neighbours: Neighbours = "add-remove") -> int:
        return self.plain.sensitivity(neighbours)

    def price(self, neighbours: Neighbours = "add-remove") -> Fraction:
        return Fraction(self.sensitivity(neighbours))

    def measure_adaptively(
        self, counts: npt.ArrayLike, scale: Fraction, draw: Callable[[int], Ints]
    ) -> tuple[YoungCounts, Ints]:
        """The question that was asked of these counts, and its noisy answers.

        `draw(size)` gives fresh noise of the scale. Nothing else of the counts comes back.
        """
        from trueup._kernels.sorted.young import walk

        rising = self.plain.answers(counts)
        found = walk(rising, float(scale), draw)
        asked = tuple(
            Rows(part.start, part.turn, part.stop, part.base)
            if part.edges is None
            else Columns(part.start, tuple(part.edges.tolist()))
            for part in found.stretches
        )
        return replace(self, asked=asked), found.noisy

    def answers(self, counts: npt.ArrayLike) -> Ints:
        """The true numbers of cells in the sets that were asked for."""
        rising = self.plain.answers(counts)
        found = [np.zeros(0, np.int64)]
        for part in self.asked:
            if isinstance(part, Rows):
                found.append(np.maximum(rising[part.start : part.stop] - part.base, 0))
            else:
                # Σ min(count, edge) over the groups, at every edge.
                edges, groups = np.array(part.edges), rising[part.start :]
                under = np.searchsorted(groups, edges)
                sums = np.concatenate([[0], np.cumsum(groups)])
                found.append(np.diff(sums[under] + (len(groups) - under) * edges))
        return np.concatenate(found)

    def in_order(self, answers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The answers in the order in which they were asked for."""
        pieces, taken = [answers[:0]], 0
        for part in self.asked:
            piece = answers[taken : taken + part.length]
            taken += part.length
            if isinstance(part, Rows):
                turn = part.turn - part.start
                pieces += [piece[:turn][::-1], piece[turn:]]
            else:
                pieces.append(piece)
        return np.concatenate(pieces)

    def transcript(self, noisy: npt.NDArray[Any]) -> Transcript:
        """The sets that were asked for, with their noisy answers, for a kernel."""
        from trueup._kernels.sorted.transcript import Stretch, Transcript

        if not self.asked:
            raise InputError("This question was not put to any data yet: measure it first.")
        parts = [
            Stretch(part.start, part.turn, part.stop, part.base, None)
            if isinstance(part, Rows)
            else Stretch(part.start, part.start, self.groups, 0, np.array(part.edges))
            for part in self.asked
        ]
        return Transcript(parts, np.asarray(noisy))

    def labels(self) -> dict[str, Any]:
        """Which cells each answer counts: ranks first … last, counts above … up_to (0: no end)."""
        parts = [np.zeros((0, 4), np.int64), *map(self._cells, self.asked)]
        first, last, above, up_to = np.concatenate(parts).T
        return {"first_rank": first, "last_rank": last, "above": above, "up_to": up_to}

    def _cells(self, part: Rows | Columns) -> Ints:
        cells = np.zeros((part.length, 4), np.int64)
        if isinstance(part, Rows):
            cells[:, 0] = cells[:, 1] = np.arange(part.start, part.stop) + 1
            cells[:, 2] = part.base
        else:
            cells[:, 0], cells[:, 1] = part.start + 1, self.groups
            cells[:, 2], cells[:, 3] = part.edges[:-1], part.edges[1:]
        return cells

    def matrix(self) -> csr_array[Any]:
        """Refused: which groups reach into a column depends on the counts."""
        raise InputError("The cells of a diagram are no linear function of the sorted counts.")

    def constraints(self) -> Constraints:
        """Rows rise; the columns of a strip hold no fewer groups than those of the next."""
        from scipy.sparse import block_diag, csr_array, diags_array

        parts: list[Any] = [csr_array((0, 0))]
        for part in self.asked:
            shape = (part.length - 1, part.length)
            if part.length < 2:
                parts.append(csr_array((0, part.length)))
            elif isinstance(part, Rows):
                parts.append(diags_array([-1.0, 1.0], offsets=[0, 1], shape=shape))
            else:
                wide = np.diff(part.edges).astype(np.float64)
                parts.append(diags_array([wide[1:], -wide[:-1]], offsets=[0, 1], shape=shape))
        return Constraints(csr_array(block_diag(parts)), ">=")

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "young",
            "groups": self.groups,
            "by": self.by,
            "ends": self.ends,
            "asked": [_part_to_json(part) for part in self.asked],
        }

    @staticmethod
    def from_json(spec: dict[str, Any]) -> YoungCounts:
        """The question that `to_json` described."""
        asked = tuple(_part_from_json(part) for part in spec["asked"])
        return YoungCounts(spec["groups"], spec["by"], spec["ends"], asked)


def _check_disjoint(asked: tuple[Rows | Columns, ...], groups: int) -> None:
    """Refuses sets that share a cell: sensitivity rests on their being disjoint.

    Rows and columns come in turns. Columns take all groups from where the rows before them
    stop, right of all columns before; rows take some of those groups, right of the columns; the
    last rows go to the last group.
    """
    rank, count = 0, 0  # groups before `rank` are done; all cells up to `count` are
    for turn, part in enumerate(asked):
        if isinstance(part, Columns) != bool(turn % 2):
            raise InputError("Rows and columns must come in turns, rows first.")
        if isinstance(part, Rows):
            fits = part.start >= rank and part.base == count
            rank = part.stop
        else:
            fits = part.start == rank and part.edges[0] >= count
            count = part.edges[-1]
        if not fits or rank > groups:
            raise InputError("The sets asked for must be disjoint, and within the groups.")
    if asked and (isinstance(asked[-1], Columns) or rank != groups):
        raise InputError("The last to be asked are rows, up to the last group.")


def _part_to_json(part: Rows | Columns) -> dict[str, Any]:
    if isinstance(part, Rows):
        return {"rows": [part.start, part.turn, part.stop], "base": part.base}
    # Neighbouring strips are mostly of one width.
    runs = [[wide, len(list(run))] for wide, run in groupby(_widths(part))]
    return {"from": part.start, "first": part.edges[0], "widths": runs}


def _widths(part: Columns) -> Iterator[int]:
    return (b - a for a, b in pairwise(part.edges))


def _part_from_json(spec: dict[str, Any]) -> Rows | Columns:
    if "rows" in spec:
        start, turn, stop = spec["rows"]
        return Rows(start, turn, stop, spec["base"])
    runs = [(whole_number(w, "a width"), whole_number(n, "a number")) for w, n in spec["widths"]]
    if sum(number for _, number in runs) > _MOST_STRIPS:
        raise InputError(f"Columns of more than {_MOST_STRIPS:,} strips are never asked.")
    widths = (wide for wide, number in runs for _ in range(number))
    return Columns(spec["from"], tuple(accumulate(widths, initial=spec["first"])))
