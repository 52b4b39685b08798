"""S: the counts in rising order, asked adaptively or one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints
from trueup.ask.diagram import (
    CountedColumns,
    CountedRows,
    check_disjoint,
    part_from_json,
    part_to_json,
)
from trueup.ask.question import AdaptiveQuestion, Block, Draw, Space, Weights, cell_counts
from trueup.axis.labels import text
from trueup.axis.numbers import whole_number
from trueup.errors import InputError, shown

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from trueup._kernels.sorted.transcript import Transcript


@dataclass(frozen=True, repr=False)
class SortedCounts(AdaptiveQuestion):
    """S: the counts of all groups in rising order, whoever they belong to.

    `groups` is public. `by` names the column whose values are the groups. `ends` is how many
    groups one record counts for: 2 for an undirected edge, which adds to two degrees.

    Every further answer is chosen from the noisy answers so far, which costs nothing: all answers
    count disjoint sets of cells of one diagram, and a record is one cell of it. Put to data, the
    question becomes what was asked: `asked` then says which sets were counted. The paper's S, which
    asks for every count in turn, is `adaptive=False`.

    >>> SortedCounts(11_342, ends=2).sensitivity(), SortedCounts(4, adaptive=False).length
    (2, 4)
    """

    groups: int
    by: str | None = None
    ends: int = 1
    adaptive: bool = True
    asked: tuple[CountedRows | CountedColumns, ...] = ()
    kinds = ("sorted", "young")

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "groups", whole_number(self.groups, "groups"))
        put(self, "ends", whole_number(self.ends, "ends"))
        if self.by is not None:
            put(self, "by", text(self.by, "by, the column of the groups,"))
        if self.groups < 1:
            raise InputError(f"groups must be at least 1, got {self.groups}.")
        if self.groups > 1 << 32:
            raise InputError(f"groups must be at most 2^32, got {self.groups}.")
        if not 1 <= self.ends <= 2:
            raise InputError(f"ends must be 1, or 2 for undirected edges, got {self.ends}.")
        if self.adaptive not in (True, False):
            raise InputError(f"adaptive must be True or False, got {shown(self.adaptive)}.")
        put(self, "asked", tuple(self.asked))
        if self.asked and not self.adaptive:
            raise InputError("asked= says what an adaptive question asked: leave it out.")
        check_disjoint(self.asked, self.groups)

    @property
    def space(self) -> Space:
        return Space("ranks", groups=self.groups, by=self.by, ends=self.ends)

    @property
    def heaviest(self) -> int:
        return 1

    @property
    def blocks(self) -> tuple[Block, ...]:
        length = sum(part.length for part in self.asked) if self.adaptive else self.groups
        return ((length, Fraction(1)),)

    def moved(self, weights: Weights, power: int, replacing: bool) -> Fraction:
        # By rows, a record's ends move different counts by 1 each. Adaptively, both ends may lie
        # in one set, which then moves by 2.
        together = self.ends if self.adaptive and power == 2 else 1
        replaced = replacing and self.groups > 1
        return Fraction(weights[0] * together * self.ends * (2 if replaced else 1))

    @property
    def settled(self) -> bool:
        return not self.adaptive or bool(self.asked)

    def measure_adaptively(
        self, counts: npt.ArrayLike, scale: Fraction, draw: Draw
    ) -> tuple[SortedCounts, Ints]:
        from trueup._kernels.sorted.young import walk

        found = walk(self.rising(counts), float(scale), draw)
        asked = tuple(
            CountedRows(part.start, part.turn, part.stop, part.base)
            if part.edges is None
            else CountedColumns(part.start, tuple(part.edges.tolist()))
            for part in found.stretches
        )
        return replace(self, asked=asked), found.noisy

    def rising(self, counts: npt.ArrayLike) -> Ints:
        """The counts sorted; groups that do not appear have count 0."""
        rising = np.sort(cell_counts(counts, self.groups, at_most=True))
        missing = self.groups - len(rising)
        return np.concatenate([np.zeros(missing, np.int64), rising]) if missing else rising

    def answers(self, counts: npt.ArrayLike) -> Ints:
        """The sorted counts, or the numbers of cells in the sets that were asked for."""
        rising = self.rising(counts)
        if not self.adaptive:
            return rising
        return np.concatenate([rising[:0], *(part.answers(rising) for part in self.asked)])

    def in_order(self, answers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The answers in the order in which they were asked for."""
        pieces, taken = [answers[:0]], 0
        for part in self.asked:
            piece = answers[taken : taken + part.length]
            taken += part.length
            if isinstance(part, CountedRows):
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
            if isinstance(part, CountedRows)
            else Stretch(part.start, part.start, self.groups, 0, np.array(part.edges))
            for part in self.asked
        ]
        return Transcript(parts, np.asarray(noisy))

    def labels(self) -> dict[str, Any]:
        """The rank of each answer, 1 the largest; of adaptive ones, which ranks and counts."""
        if not self.adaptive:
            return {"rank": np.arange(self.groups, 0, -1)}
        parts = [np.zeros((0, 4), np.int64), *(part.cells(self.groups) for part in self.asked)]
        first, last, above, up_to = np.concatenate(parts).T
        return {"first_rank": first, "last_rank": last, "above": above, "up_to": up_to}

    def matrix(self) -> csr_array[Any]:
        """The identity on the sorted counts; refused for an adaptive question.

        Which groups reach into a column of the diagram depends on the counts.
        """
        from scipy.sparse import csr_array, eye_array

        if self.adaptive:
            raise InputError("The cells of a diagram are no linear function of the sorted counts.")
        return csr_array(eye_array(self.groups))

    def to_json(self) -> dict[str, Any]:
        facts = {"groups": self.groups, "by": self.by, "ends": self.ends}
        if not self.adaptive:
            return {"kind": "sorted", **facts}
        return {"kind": "young", **facts, "asked": [part_to_json(part) for part in self.asked]}

    @classmethod
    def from_json(cls, spec: dict[str, Any]) -> SortedCounts:
        groups, by, ends = spec["groups"], spec["by"], spec["ends"]
        if spec["kind"] == "sorted":
            return cls(groups, by, ends, adaptive=False)
        return cls(groups, by, ends, asked=tuple(part_from_json(part) for part in spec["asked"]))
