"""H: the count of every node of a tree of intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup._kernels.error.radices import best_for_ranges
from trueup.arrays import Ints
from trueup.ask.kinds import question_of_kind
from trueup.ask.question import (
    Block,
    Question,
    Space,
    Weights,
    as_axis,
    cell_counts,
    even_radices,
    listed,
    moved_in_each,
)
from trueup.axis import Axis
from trueup.epsilon import exact
from trueup.errors import InputError, shown
from trueup.intervaltree import IntervalTree

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, init=False, repr=False)
class TreeCounts(Question):
    """H: the count of every node of a tree of intervals, breadth first.

    `branching=k, root=True` is the paper's tree. `radices` gives each level its own fan-out, root
    first; `levels` takes levels of the axis's own hierarchy instead (for a hierarchy, all of them
    by default). `shares` splits ε over the levels, root first, 0 for a level that is not asked;
    without it every level asked gets the same. Any number of cells will do: the last node of a
    level is cut short, and no noise is spent on padding. Given the axis alone, radices and shares
    are those that answer all ranges best (`trueup.plan`). With `adaptive=True` it is asked from the
    root down, and small neighbours are pooled: see `AdaptiveTreeCounts`.

    >>> TreeCounts(Axis.integers("age", 0, 99), branching=2).sensitivity()
    8
    """

    axis: Axis
    radices: tuple[int, ...]
    levels: tuple[str, ...]
    shares: tuple[Fraction, ...]
    kinds = ("tree",)

    def __new__(
        cls,
        axis: Axis | int,
        branching: int | None = None,
        root: bool | None = None,
        *,
        adaptive: bool = False,
        **others: Any,
    ) -> Any:
        """The tree; with `adaptive`, an `AdaptiveTreeCounts` of it."""
        if adaptive is False:
            return super().__new__(cls)
        if adaptive is not True:
            raise InputError(f"adaptive must be True or False, got {shown(adaptive)}.")
        asked: Any = question_of_kind("adaptive tree")
        if branching is None and root is None and not others:
            return asked(axis)
        return asked(cls(axis, branching, root, **others))

    def __getnewargs__(self) -> tuple[Axis]:  # for copies: the rest is what it holds
        return (self.axis,)

    def __init__(
        self,
        axis: Axis | int,
        branching: int | None = None,
        root: bool | None = None,
        *,
        radices: Sequence[int] | None = None,
        levels: Sequence[str] | None = None,
        shares: Sequence[object] | None = None,
        adaptive: bool = False,
    ) -> None:
        axis = as_axis(axis)
        if sum(given is not None for given in (branching, radices, levels)) > 1:
            raise InputError("Give one of branching, radices and levels, not several.")
        if root not in (None, True, False):
            raise InputError(f"root must be True or False, got {shown(root)}.")
        put = object.__setattr__
        put(self, "axis", axis)
        put(self, "radices", ())
        put(self, "levels", ())
        if levels is None and branching is None and radices is None:
            if axis.traits.nested:
                levels = tuple(axis.levels())
            else:
                radices, best = best_for_ranges(axis.size)
                shares = best if shares is None and root is None else shares
            root = False if root is None else root
        if levels is not None:
            put(self, "levels", _checked_levels(axis, levels))
        elif branching is not None:
            put(self, "radices", _radices(axis.size, branching))
        else:
            put(self, "radices", _checked_radices(axis.size, () if radices is None else radices))
        put(self, "shares", _checked_shares(shares, self.height, root is None or root))

    @property
    def space(self) -> Space:
        return Space("cells", (self.axis,), (self.answer_axis,))

    @property
    def heaviest(self) -> int:
        return 1

    @cached_property
    def shape(self) -> IntervalTree:
        """The tree over the cells of `answer_axis`."""
        if not self.levels:
            return IntervalTree.regular(self.size, self.radices)
        known = self.axis.every_level()
        finest = known[self.levels[-1]]
        cuts = [np.searchsorted(finest, known[level]).astype(np.int64) for level in self.levels]
        return IntervalTree.irregular(len(finest), cuts)

    @cached_property
    def answer_axis(self) -> Axis:
        """The axis that a release of this question is over: cut at the finest level asked."""
        if not self.levels or self.levels[-1] == list(self.axis.levels())[-1]:
            return self.axis
        return self.axis.coarsen(self.levels[-1])

    @property
    def height(self) -> int:
        """The number of levels, the root's included, whether asked or not."""
        return len(self.levels or self.radices) + 1

    @property
    def asked(self) -> tuple[int, ...]:
        """The levels that are asked, root first."""
        return tuple(level for level, share in enumerate(self.shares) if share)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple((self.shape.length(level), self.shares[level]) for level in self.asked)

    def moved(self, weights: Weights, power: int, replacing: bool) -> Fraction:
        # Squares add up as weights do: nodes move by 1 each.
        return moved_in_each(self.blocks, weights, replacing)

    def cells_of(self, counts: npt.ArrayLike) -> Ints:
        """The cell counts added up to the cells of `answer_axis`."""
        counts = cell_counts(counts, self.size)
        if self.answer_axis.size == self.size:
            return counts
        return np.add.reduceat(counts, self.axis.every_level()[self.levels[-1]])

    def answers(self, counts: npt.ArrayLike) -> Ints:
        cells = self.cells_of(counts)
        answers = np.empty(self.length, np.int64)
        stop = self.length
        below, level_below = cells, self.shape.height - 1
        for level in reversed(range(self.shape.height)):
            if level < level_below:
                below = np.add.reduceat(below, self.shape.children(level)[:-1])
                level_below = level
            if self.shares[level]:
                answers[stop - len(below) : stop] = below
                stop -= len(below)
        return answers

    def labels(self) -> dict[str, Any]:
        starts = np.concatenate([self.shape.starts(level) for level in self.asked])
        stops = np.concatenate([self.shape.stops(level) for level in self.asked])
        lengths = [self.shape.length(level) for level in self.asked]
        level = np.repeat(self.asked, lengths)
        return {"level": level, **self.answer_axis.columns(starts, stops)}

    def matrix(self) -> csr_array[Any]:
        from scipy.sparse import csr_array, vstack

        fine = self.axis.every_level()[self.levels[-1]] if self.levels else np.arange(self.size)
        rows = []
        for level in self.asked:
            starts = fine[self.shape.starts(level)]
            pointer = np.append(starts, self.size)
            cells = np.arange(self.size)
            rows.append(csr_array((np.ones(self.size), cells, pointer), (len(starts), self.size)))
        return csr_array(vstack(rows))

    def to_json(self) -> dict[str, Any]:
        shape = {"levels": list(self.levels)} if self.levels else {"radices": list(self.radices)}
        shares = [str(share) for share in self.shares]
        return {"kind": "tree", "axis": self.axis.to_json(), **shape, "shares": shares}

    @classmethod
    def from_json(cls, spec: dict[str, Any]) -> TreeCounts:
        axis = Axis.from_json(spec["axis"])
        if "levels" in spec:
            return cls(axis, levels=spec["levels"], shares=spec["shares"])
        return cls(axis, radices=spec["radices"], shares=spec["shares"])


def _radices(size: int, branching: object) -> tuple[int, ...]:
    """As many levels of one fan-out as it takes to reach every cell."""
    if not isinstance(branching, (int, np.integer)) or isinstance(branching, bool):
        raise InputError(f"branching must be a whole number, got {shown(branching)}.")
    if branching < 2:
        raise InputError(f"branching must be at least 2, got {branching}.")
    branching = min(int(branching), max(size, 2))  # a wider root has no more children
    return even_radices(size, branching)


def _checked_radices(size: int, radices: Sequence[int]) -> tuple[int, ...]:
    reach = 1
    for radix in listed(radices, "radices"):
        if not isinstance(radix, (int, np.integer)) or isinstance(radix, bool) or radix < 2:
            raise InputError(
                f"Each radix must be a whole number of at least 2, got {shown(radix)}."
            )
        reach *= int(radix)
    if reach < size:
        raise InputError(
            f"Radices {list(radices)} reach {reach:,} cells; the axis has {size:,}. "
            f"Their product must be at least that."
        )
    if reach > 1 << 62:
        raise InputError(f"Radices {list(radices)} reach past 2^62 cells; {size:,} are there.")
    return tuple(int(radix) for radix in radices)


def _checked_levels(axis: Axis, levels: Sequence[str]) -> tuple[str, ...]:
    known = axis.every_level()
    chosen = (levels,) if isinstance(levels, str) else listed(levels, "levels")
    for level in chosen:
        if level not in known:
            names = ", ".join(known) or "none"
            raise InputError(f"Axis '{axis.name}' has no level {level!r}. Levels: {names}.")
    order = list(axis.levels())
    nested = [level for level in chosen if level in order]
    if not chosen or sorted(nested, key=order.index) != nested or len(set(chosen)) < len(chosen):
        raise InputError(f"Levels must be named once each, coarsest first, got {list(chosen)}.")
    for coarse, fine in pairwise(chosen):
        if not np.isin(known[coarse], known[fine]).all():
            raise InputError(
                f"Each {fine} must lie in one {coarse}, and some do not: weeks nest in no month "
                f"and no year. Ask one of the two, or name the coarser level first."
            )
    return chosen


def _checked_shares(
    shares: Sequence[object] | None, height: int, root: bool
) -> tuple[Fraction, ...]:
    if shares is None:
        asked = [1 if root or height == 1 else 0] + [1] * (height - 1)
        return tuple(Fraction(one, sum(asked)) for one in asked)
    parts = tuple(exact(share, "A share of epsilon") for share in listed(shares, "shares"))
    if len(parts) == height - 1:
        parts = (Fraction(0), *parts)
    if len(parts) != height:
        raise InputError(
            f"The tree has {height} levels, root included; {len(parts)} shares were given."
        )
    if min(parts) < 0 or sum(parts) != 1:
        raise InputError(f"Shares must not be negative and must add up to 1, not {sum(parts)}.")
    if not parts[-1]:
        raise InputError("The finest level must be asked: its share is 0. Ask a coarser tree.")
    return parts
