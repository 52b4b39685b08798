"""What was asked of a tree whose small neighbours are pooled: nodes, level by level, and runs.

A node that is pooled is a member of one run: siblings beside each other on one level. A run has one
more answer, its total, with all the budget that its members' children would have had; below it
nothing is asked. So a cell's path ends in a run, or on the last level, and on either the shares of
all answers that count it add up to the same.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from trueup._kernels.tree.pooled import CROWDED, SMALL, STILL, UNEVEN, Limits
from trueup.arrays import Ints
from trueup.ask.question import AdaptiveQuestion, Neighbours, Question, Space
from trueup.errors import InputError
from trueup.intervaltree import IntervalTree

Runs = tuple[Ints, Ints]  # where runs of nodes begin and end
NO_RUNS: Runs = (np.empty(0, np.int64), np.empty(0, np.int64))


class Rule(NamedTuple):
    """Which answers are small: those below so many deviations of their noise.

    Where the sum of small ones is above `crowded` deviations of its own noise, only answers below
    `still` are. That is the sum of a run; or `by_family`, of all small ones that have the same
    parent. By families, the same goes for those that differ by more than noise does: where the
    squares of their differences are `uneven`.
    """

    small: float
    crowded: float
    by_family: bool = False
    uneven: float = math.inf
    still: float = 0.0

    @property
    def limits(self) -> Limits:
        """The rule as the kernel takes it."""
        return self.small, self.crowded, self.by_family, self.uneven, self.still

    def to_json(self) -> list[Any]:
        """Two numbers; by families, a third value that says so, and two more numbers if it has
        them."""
        if not self.by_family:
            return [self.small, self.crowded]
        return list(self) if self.uneven < math.inf else list(self[:3])

    @staticmethod
    def from_json(spec: Any) -> Rule:
        """What `to_json` wrote."""
        small, crowded = map(float, spec[:2])
        uneven, still = map(float, spec[3:]) if len(spec) == 5 else (math.inf, 0.0)
        known = spec[2:3] in ([], [True]) and len(spec) in (2, 3, 5)
        if not (known and 0 <= still < small < math.inf and 0 < crowded < math.inf and uneven > 0):
            raise InputError("The rule of runs has two positive numbers, and may be by families.")
        return Rule(small, crowded, bool(spec[2:]), uneven, still)


RULE = Rule(SMALL, CROWDED, by_family=True, uneven=UNEVEN, still=STILL)


@dataclass(frozen=True, eq=False)
class Pooled:
    """The runs that were pooled on each level of a tree, by the numbers of their nodes.

    `totals` are their noisy counts, as they are among the answers: what is known of what lies
    inside a run, so that a release can say it without the measurement. `rule` says what was small.
    """

    runs: tuple[Runs, ...]
    totals: tuple[Ints, ...]
    rule: Rule = RULE

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pooled) and self._plain == other._plain

    def __hash__(self) -> int:
        return hash(self._plain)

    @cached_property
    def _plain(self) -> tuple[object, ...]:
        arrays = [each for level in self.runs for each in level] + list(self.totals)
        return (*self.rule, *(each.tobytes() for each in arrays))

    def to_json(self) -> list[Any]:
        """As plain values, level by level: where runs begin, their lengths, their totals."""
        levels = zip(self.runs, self.totals, strict=True)
        return [[a.tolist(), (b - a).tolist(), total.tolist()] for (a, b), total in levels]

    @staticmethod
    def from_json(spec: Any, rule: Any) -> Pooled:
        """What `to_json` wrote, and the rule; the question checks what they say."""
        found = Rule.from_json(rule)
        runs, totals = [], []
        for level in spec:
            first, long, total = (_whole_numbers(each) for each in level)
            if not len(first) == len(long) == len(total):
                raise InputError("Runs need one length and one total for each beginning.")
            runs.append((first, first + long))
            totals.append(total)
        return Pooled(tuple(runs), tuple(totals), found)


class PooledQuestion(AdaptiveQuestion):
    """A question whose small neighbours are pooled: what is the same of ranges and of boxes.

    `pooled` says which runs were, once it was put to data.
    """

    pooled: Pooled | None
    again: ClassVar[str]
    """How it is asked anew, for people."""

    @property
    @abstractmethod
    def at_once(self) -> Question:
        """What is asked where nothing is small."""

    @property
    def space(self) -> Space:
        return self.at_once.space

    @property
    def heaviest(self) -> int:
        return 1

    # The weights of the answers that count a cell add up to those of all levels: a run is asked
    # where at least one level below is not, and has what is left for these. So have squares. Two
    # cells that share a node of a level share all answers above it, as where nothing is pooled.

    def sensitivity(self, neighbours: Neighbours = "add-remove") -> int:
        return self.at_once.sensitivity(neighbours)

    def price(self, neighbours: Neighbours = "add-remove") -> Fraction:
        return self.at_once.price(neighbours)

    def square_price(self, neighbours: Neighbours = "add-remove") -> Fraction:
        return self.at_once.square_price(neighbours)

    @property
    def settled(self) -> bool:
        return self.pooled is not None

    @property
    def anew(self) -> Self:
        made: Any = type(self)
        found: Self = made(self.at_once)
        return found

    def check_new(self) -> None:
        if self.settled:
            raise InputError(
                f"This {self.kinds[0]} was asked already: what it pools follows from its noisy "
                f"answers. Ask {self.again} anew."
            )

    def with_pooled(self, found: dict[str, Any]) -> dict[str, Any]:
        """What `to_json` says, and what was pooled by which rule."""
        if self.pooled is None:
            return {**found, "pooled": None}
        return {**found, "pooled": self.pooled.to_json(), "rule": self.pooled.rule.to_json()}


def pooled_from(spec: dict[str, Any]) -> Pooled | None:
    """What `with_pooled` wrote."""
    pooled = spec["pooled"]
    return None if pooled is None else Pooled.from_json(pooled, spec["rule"])


def _whole_numbers(values: Any) -> Ints:
    found = np.array(values, ndmin=1)
    if found.size and (found.ndim != 1 or found.dtype != np.int64):
        raise InputError("Runs are told by lists of whole numbers.")
    return found.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Reached:
    """The nodes of a tree that were reached, level by level, and the runs among them.

    `nodes` are their numbers on each level, `first` is the tree they make (the children of the
    v-th node reached are first[v] … first[v + 1] − 1), `runs` count the nodes of a level that were
    reached, from 0.
    """

    shape: IntervalTree
    nodes: tuple[Ints, ...]
    first: Ints
    runs: tuple[Runs, ...]

    @cached_property
    def level_starts(self) -> Ints:
        """How many nodes were reached before each level, and after the last."""
        return np.cumsum([0, *(len(nodes) for nodes in self.nodes)])

    def spans(self, level: int) -> tuple[Ints, Ints]:
        """The cells start … stop − 1 of every node reached on a level."""
        return _bounds(self.shape, level, self.nodes[level])

    def ends(self, level: int) -> npt.NDArray[np.bool]:
        """Which nodes reached on a level have nothing asked below them."""
        begin, end = self.level_starts[level], self.level_starts[level + 1]
        return np.asarray(self.first[begin + 1 : end + 1] == self.first[begin:end])

    def below(self, above: int, level: int) -> Ints:
        """Where the nodes of a level begin under each node of a level above, and where they end."""
        places = self.first[self.level_starts[above] : self.level_starts[above + 1] + 1]
        for _ in range(above + 1, level):
            places = self.first[places]
        return np.asarray(places - self.level_starts[level])

    def run_spans(self, level: int) -> tuple[Ints, Ints]:
        """The cells start … stop − 1 of every run of a level."""
        starts, stops = self.runs[level]
        return self.spans(level)[0][starts], self.spans(level)[1][stops - 1]


class Descent:
    """Going down a tree level by level: what is reached once it is known what is pooled above."""

    def __init__(self, shape: IntervalTree) -> None:
        self.shape = shape
        self.nodes: list[Ints] = [np.zeros(1, np.int64)]
        self.families = np.array([0, 1])
        self._runs: list[Runs] = []
        self._children: list[Ints] = []

    @property
    def level(self) -> int:
        """The level that has been reached."""
        return len(self.nodes) - 1

    def spans(self) -> tuple[Ints, Ints]:
        """The cells start … stop − 1 of every node of this level that has been reached."""
        return _bounds(self.shape, self.level, self.nodes[-1])

    def pool(self, runs: Runs) -> None:
        """Goes one level down, but not under these runs of the nodes reached."""
        from trueup._kernels.tree.pooled import children_of

        own, (starts, stops) = self.nodes[-1], runs
        self._runs.append(runs)
        if self.level == self.shape.height - 1:
            return
        first = self.shape.children(self.level)
        number = first[own + 1] - first[own]
        if len(starts):
            inside = np.zeros(len(own) + 1, np.int8)
            inside[starts] += 1
            inside[stops] -= 1
            number[np.cumsum(inside[:-1], dtype=np.int8) > 0] = 0
        self._children.append(number)
        below, self.families = children_of(first[own], number)
        self.nodes.append(below)

    def reached(self) -> Reached:
        """All that was reached, once the last level was."""
        numbers = np.concatenate([[1], *self._children])
        nodes = sum(map(len, self.nodes))
        first = np.full(nodes + 1, nodes)  # on the last level none has children
        np.cumsum(numbers, out=first[: len(numbers)])
        return Reached(self.shape, tuple(self.nodes), first, tuple(self._runs))


def _bounds(shape: IntervalTree, level: int, nodes: Ints) -> tuple[Ints, Ints]:
    if shape.widths:
        width = shape.widths[level]
        if width == 1:
            return nodes, nodes + 1
        return nodes * width, np.minimum(nodes * width + width, shape.size)
    return shape.starts(level)[nodes], shape.stops(level)[nodes]


def reached_by(shape: IntervalTree, shares: Sequence[Fraction], pooled: Pooled) -> Reached:
    """The nodes that were reached and the runs among them; refused if they cannot have been.

    Runs lie apart, on levels that are asked and have asked levels below; their members were reached
    and have one parent.
    """
    if len(pooled.runs) != shape.height or len(pooled.totals) != shape.height:
        raise InputError(f"The tree has {shape.height} levels; runs are told of another number.")
    down = Descent(shape)
    for level, (starts, stops) in enumerate(pooled.runs):
        if not len(starts) == len(stops) == len(pooled.totals[level]):
            raise InputError("Every run has a beginning, an end and a total.")
        if not len(starts):
            down.pool(NO_RUNS)
            continue
        if not (level and shares[level] and any(shares[level + 1 :])):
            raise InputError(f"On level {level} nothing can have been pooled.")
        apart = bool((stops > starts).all() and (starts[1:] >= stops[:-1]).all())
        own = down.nodes[-1]
        if not apart or starts[0] < 0 or stops[-1] > shape.length(level):
            raise InputError("Runs must lie apart, in rising order, on nodes of their level.")
        places = np.searchsorted(own, starts)
        ends = places + (stops - starts)
        known = ends[-1] <= len(own) and bool(
            (own[places] == starts).all() and (own[ends - 1] == stops - 1).all()
        )
        family = np.searchsorted(down.families, places, side="right")
        if not known or (np.searchsorted(down.families, ends, side="left") != family).any():
            raise InputError("A run must be of siblings that were reached.")
        down.pool((places, ends))
    return down.reached()
