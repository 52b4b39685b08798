"""A tree of intervals, asked from the root down: where little is left, neighbours are pooled."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints
from trueup.ask.pooled import (
    NO_RUNS,
    RULE,
    Descent,
    Pooled,
    PooledQuestion,
    Reached,
    Rule,
    Runs,
    pooled_from,
    reached_by,
)
from trueup.ask.question import Block, Draw
from trueup.ask.tree import TreeCounts
from trueup.axis import Axis
from trueup.errors import InputError
from trueup.intervaltree import IntervalTree
from trueup.intervaltree.readable import grouped

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SOONER = 0.88  # a level's share, against that of the level above, beside what suits plain trees
FIRST = 1.19  # and the first level has so much more
_PARTS = 100  # shares are whole hundredths


@dataclass(frozen=True, init=False, repr=False)
class AdaptiveTreeCounts(PooledQuestion):
    """The counts of a tree, asked from the root down, with few answers where it is empty.

    A node whose noisy count is small is not split. It is pooled with small neighbours, and the
    run they make is asked once more, with all the budget that is left on that path. Choosing costs
    nothing: it reads noisy answers alone, and in every case the shares of the answers that count a
    cell add up to 1. `tree` says what is asked where nothing is small: a `TreeCounts`, or an axis
    for its default. `TreeCounts(axis, adaptive=True)` is the same.

    Put to data, the question becomes what was asked: `pooled` then says which runs were.

    >>> asked = AdaptiveTreeCounts(4096)
    >>> asked.tree.radices, [float(share) for share in asked.tree.shares], asked.settled
    ((14, 18, 17), [0.0, 0.38, 0.32, 0.3], False)
    """

    tree: TreeCounts
    pooled: Pooled | None
    kinds = ("adaptive tree",)
    again = "TreeCounts(axis, adaptive=True)"

    def __init__(self, tree: TreeCounts | Axis | int, pooled: Pooled | None = None) -> None:
        put = object.__setattr__
        put(self, "tree", tree if isinstance(tree, TreeCounts) else _default(TreeCounts(tree)))
        put(self, "pooled", pooled)
        if pooled is not None:
            if not isinstance(pooled, Pooled):
                raise InputError("pooled= says what was asked: leave it out.")
            self.reached  # noqa: B018  checks what it says

    @property
    def axis(self) -> Axis:
        """The axis that is counted over."""
        return self.tree.axis

    @property
    def at_once(self) -> TreeCounts:
        return self.tree

    @cached_property
    def _narrow(self) -> tuple[IntervalTree, list[int]]:
        return grouped(self.tree.shape)

    @property
    def shape(self) -> IntervalTree:
        """The tree that is gone down: that of `tree`, wide families in groups that are not asked.

        The members of a run have one parent, so that a run is never wider than such a group.
        """
        return self._narrow[0]

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        """The share of ε of each level of `shape`; 0 where it is not asked."""
        found = [Fraction(0)] * self.shape.height
        for own, share in zip(self._narrow[1], self.tree.shares, strict=True):
            found[own] = share
        return tuple(found)

    def left(self, level: int) -> Fraction:
        """The share of ε that is left on a path below a level: what a run of that level gets."""
        return sum(self.shares[level + 1 :], Fraction(0))

    def can_pool(self, level: int) -> bool:
        """Whether nodes of a level may be pooled: it is asked, and something is left below it."""
        return level > 0 and bool(self.shares[level]) and bool(self.left(level))

    def split_from(self, level: int, scale: Fraction) -> float:
        """From which noisy count on a node of a level is split, whatever its siblings are."""
        rule = RULE if self.pooled is None else self.pooled.rule
        return rule.small * _deviation(scale, self.shares[level])

    @cached_property
    def reached(self) -> Reached:
        """What was asked of the tree; refused where nothing was yet."""
        if self.pooled is None:
            raise InputError("This question was not put to any data yet: measure it first.")
        return reached_by(self.shape, self.shares, self.pooled)

    def _blocks(self, nodes: list[int], runs: list[int]) -> tuple[Block, ...]:
        found = []
        for level in range(self.shape.height):
            if self.shares[level]:
                found.append((nodes[level], self.shares[level]))
            if self.can_pool(level):
                found.append((runs[level], self.left(level)))
        return tuple(found)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Level by level its nodes, then its runs; not yet put to data, no answers of each."""
        if self.pooled is None:
            none = [0] * self.shape.height
            return self._blocks(none, none)
        found = self.reached
        return self._blocks([len(n) for n in found.nodes], [len(r[0]) for r in found.runs])

    def square_left(self, level: int) -> Fraction:
        """The sum of the squared shares below a level: the square of a run of that level."""
        return sum((share * share for share in self.shares[level + 1 :]), Fraction(0))

    @property
    def squares(self) -> tuple[Fraction, ...]:
        """As `blocks`: of a level its squared share, of its runs what squares are left below."""
        found = []
        for level, share in enumerate(self.shares):
            if share:
                found.append(share * share)
            if self.can_pool(level):
                found.append(self.square_left(level))
        return tuple(found)

    def measure_adaptively(
        self, counts: npt.ArrayLike, scale: Fraction, draw: Draw
    ) -> tuple[AdaptiveTreeCounts, Ints]:
        return self.measure_by(counts, scale, draw, RULE)

    def measure_by(
        self, counts: npt.ArrayLike, scale: Fraction, draw: Draw, rule: Rule
    ) -> tuple[AdaptiveTreeCounts, Ints]:
        """As `measure_adaptively`, by another rule of what is small."""
        ask = _answers_with_noise(self.tree.cells_of(counts), draw)
        return self._asked(ask, scale, rule)

    def _asked(self, ask: Ask, scale: Fraction, rule: Rule) -> tuple[AdaptiveTreeCounts, Ints]:
        """Goes down the tree by noisy answers: true counts are only behind `ask`."""
        from trueup._kernels.tree.pooled import small_runs

        down, noisy, runs, totals = Descent(self.shape), [], [], []
        for level, share in enumerate(self.shares):
            found: Runs = NO_RUNS
            total = NO_RUNS[0]
            if share:
                starts, stops = down.spans()
                noisy.append(ask(starts, stops, share, share * share))
                if self.can_pool(level):
                    noise = _deviation(scale, share)
                    found = small_runs(noisy[-1], down.families, noise, rule.limits)
                    rest = self.left(level), self.square_left(level)
                    total = ask(starts[found[0]], stops[found[1] - 1], *rest)
                    noisy.append(total)
            own = down.nodes[-1]
            runs.append((own[found[0]], own[found[1] - 1] + 1) if len(found[0]) else NO_RUNS)
            totals.append(total)
            down.pool(found)
        asked = AdaptiveTreeCounts(self.tree)
        pooled = Pooled(tuple(runs), tuple(totals), rule)
        object.__setattr__(asked, "pooled", pooled)
        object.__setattr__(asked, "reached", down.reached())
        return asked, np.concatenate(noisy)

    def check_answers(self, noisy: npt.NDArray[Any], scale: Fraction) -> None:
        """Refuses answers that cannot have led to these runs, or differ from their totals."""
        from trueup._kernels.tree.pooled import small_runs

        if self.pooled is None:
            return
        for level, (own, totals) in enumerate(self.by_level(noisy)):
            if totals is None:
                continue
            if not np.array_equal(totals, self.pooled.totals[level]):
                raise InputError("The totals of runs differ from their noisy answers.")
            noise = _deviation(scale, self.shares[level])
            families = self.reached.below(level - 1, level)
            found = small_runs(own, families, noise, self.pooled.rule.limits)
            if not all(map(np.array_equal, found, self.reached.runs[level])):
                raise InputError("These noisy answers would have been pooled into other runs.")

    def in_order(self, answers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The answers as they are: level by level is the order in which they were asked."""
        return answers

    def by_level(self, answers: npt.NDArray[Any]) -> list[tuple[Any, Any]]:
        """The answers of each level: those of its nodes, then those of its runs; None if not
        asked."""
        blocks = iter(np.split(answers, np.cumsum(self.block_lengths)))
        return [
            (
                next(blocks) if self.shares[level] else None,
                next(blocks) if self.can_pool(level) else None,
            )
            for level in range(self.shape.height)
        ]

    def _spans(self) -> tuple[Ints, Ints, Ints, Ints]:
        """The level, first cell and last of every answer, and whether it is a run's."""
        spans, levels, runs = [], [], []
        for level in range(self.shape.height):
            both = [self.reached.spans(level)] if self.shares[level] else []
            both += [self.reached.run_spans(level)] if self.can_pool(level) else []
            own = self._narrow[1].index(level) if both else 0
            for run, found in enumerate(both):
                spans.append(found)
                levels.append(np.full(len(found[0]), own))
                runs.append(np.full(len(found[0]), run))
        starts, stops = (np.concatenate(each) for each in zip(*spans, strict=True))
        return np.concatenate(levels), starts, stops, np.concatenate(runs)

    def answers(self, counts: npt.ArrayLike) -> Ints:
        _, starts, stops, _ = self._spans()
        sums = np.concatenate([[0], np.cumsum(self.tree.cells_of(counts))])
        return sums[stops] - sums[starts]

    def labels(self) -> dict[str, Any]:
        levels, starts, stops, runs = self._spans()
        where = self.tree.answer_axis.columns(starts, stops)
        return {"level": levels, "pooled": runs > 0, **where}

    def matrix(self) -> csr_array[Any]:
        from scipy.sparse import csr_array

        _, starts, stops, _ = self._spans()
        if self.tree.levels:  # cells of the axis, where the finest level asked is coarser
            first = np.append(self.axis.every_level()[self.tree.levels[-1]], self.size)
            starts, stops = first[starts], first[stops]
        pointer = np.concatenate([[0], np.cumsum(stops - starts)])
        cells = np.arange(pointer[-1]) + np.repeat(starts - pointer[:-1], stops - starts)
        return csr_array((np.ones(len(cells)), cells, pointer), (len(starts), self.size))

    def to_json(self) -> dict[str, Any]:
        return self.with_pooled({"kind": self.kinds[0], "tree": self.tree.to_json()})

    @classmethod
    def from_json(cls, spec: dict[str, Any]) -> AdaptiveTreeCounts:
        return cls(TreeCounts.from_json(spec["tree"]), pooled_from(spec))


Ask = Callable[[Ints, Ints, Fraction, Fraction], Ints]


def _deviation(scale: Fraction, share: Fraction) -> float:
    """About the standard deviation of the noise in an answer with this share of ε."""
    return math.sqrt(2) * float(scale / share)


def _answers_with_noise(cells: Ints, draw: Draw) -> Ask:
    """A function from spans of cells, a share of ε and a square to their noisy counts.

    The only place where true counts are read: they come out with noise.
    """
    sums = np.concatenate([[0], np.cumsum(cells)])

    def ask(starts: Ints, stops: Ints, share: Fraction, square: Fraction) -> Ints:
        answers: Ints = sums[stops]
        answers -= sums[starts]
        if len(starts):
            answers += draw(len(starts), share, square)
        return answers

    return ask


def _default(tree: TreeCounts) -> TreeCounts:
    """The tree with more of ε for its upper levels: what lies below may never be asked."""
    asked = [float(share) * SOONER**level for level, share in enumerate(tree.shares)]
    asked[tree.asked[0]] *= FIRST
    parts = [max(1, math.floor(share / sum(asked) * _PARTS)) if share else 0 for share in asked]
    for level in sorted(range(len(parts)), key=lambda lv: parts[lv] - asked[lv] / sum(asked) * 100):
        parts[level] += 1 if parts[level] and sum(parts) < _PARTS else 0
    shares = [Fraction(part, sum(parts)) for part in parts]
    if tree.levels:
        return TreeCounts(tree.axis, levels=tree.levels, shares=shares)
    return TreeCounts(tree.axis, radices=tree.radices, shares=shares)
