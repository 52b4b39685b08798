"""Lattices of boxes: some products of levels of the axes' trees, each with a share of its own."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast, overload

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints
from trueup.ask.kinds import question_of_kind
from trueup.ask.margins import best_shares, centred, most_moved
from trueup.ask.question import Block, Space, Weights, listed, moved_in_each
from trueup.ask.several import TableQuestion, check_grid, grid_axis, grid_counts, nested_boxes
from trueup.axis import Axis
from trueup.axis.numbers import whole_number
from trueup.epsilon import exact, positive
from trueup.errors import InputError, shown
from trueup.intervaltree import IntervalTree

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from trueup.ask.adaptive_boxes import AdaptiveBoxCounts

Levels = tuple[int, ...]

_FINER = "1.3"  # times the share of the level above, of an adaptive quadtree
_WIDEST = 8  # parts of an axis: 64 boxes in a box of two axes


@dataclass(frozen=True, init=False, repr=False)
class BoxCounts(TableQuestion):
    """Counts of boxes: for each tuple of levels, every node of one axis with every of the others.

    Each axis is cut by `radices`, root first, into equal parts: their product must be its size.
    `shares` maps tuples of levels (0 is the root, all of the axis) to their part of ε. Quadtrees
    ask the diagonal, contingency tables some marginals. With `centred`, marginals are asked less
    their own marginals, in whole numbers (see `trueup.ask.margins`).

    >>> x, y = Axis.integers("x", 0, 15), Axis.integers("y", 0, 15)
    >>> quadtree = BoxCounts.quadtree(x, y, branching=4)
    >>> quadtree.levels, quadtree.length
    (((1, 1), (2, 2)), 272)
    >>> BoxCounts.marginals(x, y, marginals=[("x",), ("y",)]).levels
    ((1, 0), (0, 1))
    """

    axes: tuple[Axis, ...]
    radices: tuple[tuple[int, ...], ...]
    levels: tuple[Levels, ...]
    shares: tuple[Fraction, ...]
    centred: bool = False
    kinds = ("lattice",)

    def __init__(
        self,
        *axes: Axis | int,
        radices: Sequence[Sequence[int]],
        shares: Mapping[Levels, object],
        centred: bool = False,
    ) -> None:
        over = tuple(grid_axis(axis, number) for number, axis in enumerate(axes))
        put = object.__setattr__
        put(self, "axes", over)
        put(self, "radices", _checked_radices(over, radices))
        levels, parts = _checked_shares(shares, [len(each) for each in self.radices])
        put(self, "levels", levels)
        put(self, "shares", parts)
        put(self, "centred", bool(centred))
        if centred and any(
            len(each) > 1 or axis.size == 1 for axis, each in zip(over, self.radices, strict=True)
        ):
            raise InputError("Centred marginals are of axes of two cells or more, each as a whole.")
        check_grid(list(over), max(self.length, self.size))

    @staticmethod
    def marginals(
        *axes: Axis | int,
        marginals: Iterable[Iterable[str]],
        shares: Sequence[object] | None = None,
        gaussian: bool = False,
    ) -> BoxCounts:
        """The margins of a contingency table: the counts over each of these sets of axes.

        With `gaussian` they are asked in the way that is best under Gaussian noise: the total
        variance of all their cells is the least that any linear question can have.
        """
        over = [grid_axis(axis, number) for number, axis in enumerate(axes)]
        names = [axis.name for axis in over]
        asked: dict[Levels, object] = {}
        chosen = [(each,) if isinstance(each, str) else tuple(each) for each in marginals]
        parts = [Fraction(1, len(chosen))] * len(chosen) if shares is None else list(shares)
        if len(parts) != len(chosen):
            raise InputError(f"{len(chosen)} marginals were given with {len(parts)} shares.")
        for each, share in zip(chosen, parts, strict=True):
            for name in each:
                if name not in names:
                    listing = ", ".join(names)
                    raise InputError(f"There is no axis {name!r}. Axes: {listing}.")
            level = tuple(int(name in each) for name in names)
            if level in asked or len(set(each)) < len(each):
                raise InputError(f"The marginal {list(each)} is named twice.")
            asked[level] = share
        radices = [(axis.size,) for axis in over]
        if gaussian:
            if shares is not None:
                raise InputError("With gaussian=True the shares are the best ones: give none.")
            best = best_shares([axis.size for axis in over], list(asked))
            return BoxCounts(*over, radices=radices, shares=best, centred=True)
        return BoxCounts(*over, radices=radices, shares=asked)

    @overload
    @staticmethod
    def quadtree(
        *axes: Axis | int, branching: int = ..., finer: object = ..., adaptive: Literal[False] = ...
    ) -> BoxCounts: ...

    @overload
    @staticmethod
    def quadtree(
        *axes: Axis | int, branching: int = ..., finer: object = ..., adaptive: Literal[True]
    ) -> AdaptiveBoxCounts: ...

    @staticmethod
    def quadtree(
        *axes: Axis | int, branching: int = 4, finer: object = None, adaptive: bool = False
    ) -> BoxCounts | AdaptiveBoxCounts:
        """Boxes in boxes: each axis cut into about so many equal parts on every level.

        The root is not asked, and the levels share ε alike; with `finer`, each level has so many
        times the share of the one above. With `adaptive` it is an `AdaptiveBoxCounts`: few answers
        where counts are small, and 1.3 times the share on each level.

        A size that is no power of the branching is cut by other factors near it (100 by 5 · 5 · 4);
        one that has no such factors is refused. A short axis is not cut on the first levels.
        """
        over = [grid_axis(axis, number) for number, axis in enumerate(axes)]
        branching = whole_number(branching, "branching")
        if branching < 2:
            raise InputError(f"branching must be at least 2, got {branching}.")
        radices = []
        for axis in over:
            cut = equal_parts(axis.size, branching)
            if cut is None:
                raise InputError(
                    f"A quadtree cuts every axis into equal parts, about {branching} each time; "
                    f"the {axis.size:,} cells of '{axis.name}' cannot be. Ask GridCounts(…), a "
                    f"product of trees or hats."
                )
            radices.append(cut)
        if adaptive not in (True, False):
            raise InputError(f"adaptive must be True or False, got {shown(adaptive)}.")
        usual = _FINER if adaptive else 1
        times, levels = (
            positive(usual if finer is None else finer, "finer"),
            chain_of_levels(radices),
        )
        parts = [times**level for level in range(len(levels))]
        shares = {level: part / sum(parts) for level, part in zip(levels, parts, strict=True)}
        found = BoxCounts(*over, radices=radices, shares=shares)
        if not adaptive:
            return found
        return cast("type[AdaptiveBoxCounts]", question_of_kind("adaptive quadtree"))(found)

    @property
    def space(self) -> Space:
        margins = () if self.complete else self.marginal_names
        return Space("cells", self.axes, self.axes, margins=margins)

    @property
    def heaviest(self) -> int:
        return max(map(self._times, self.levels))

    def _times(self, levels: Levels) -> int:
        """By how much a centred marginal is multiplied, so that it is whole."""
        asked = (n for n, level in zip(self.sizes, levels, strict=True) if level)
        return math.prod(asked) if self.centred else 1

    @cached_property
    def widths(self) -> tuple[tuple[int, ...], ...]:
        """Per axis and level, how many cells a node has."""
        return tuple(
            tuple(axis.size // math.prod(radices[:level]) for level in range(len(radices) + 1))
            for axis, radices in zip(self.axes, self.radices, strict=True)
        )

    def block_shape(self, levels: Levels) -> tuple[int, ...]:
        """How many nodes each axis has on these levels."""
        return tuple(
            axis.size // widths[level]
            for axis, widths, level in zip(self.axes, self.widths, levels, strict=True)
        )

    @property
    def blocks(self) -> tuple[Block, ...]:
        lengths = (math.prod(self.block_shape(levels)) for levels in self.levels)
        weights = (
            share / self._times(levels)
            for share, levels in zip(self.shares, self.levels, strict=True)
        )
        return tuple(zip(lengths, weights, strict=True))

    @property
    def complete(self) -> bool:
        """Whether the cells themselves are asked; otherwise only margins of them are known."""
        return tuple(len(radices) for radices in self.radices) in self.levels

    @property
    def shapes(self) -> list[IntervalTree]:
        """A tree over each axis: what counts for people are handed down by, box by box."""
        return [
            IntervalTree.regular(axis.size, radices)
            if len(radices) > 1 and max(radices) <= _WIDEST
            else nested_boxes(axis.size, len(self.axes))
            for axis, radices in zip(self.axes, self.radices, strict=True)
        ]

    @property
    def marginal_names(self) -> tuple[tuple[str, ...], ...]:
        """The axes of each block asked: those of which more than the total is asked."""
        return tuple(
            tuple(axis.name for axis, level in zip(self.axes, levels, strict=True) if level)
            for levels in self.levels
        )

    def split(self, flat: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """The answers of each block, as arrays with one dimension an axis."""
        parts = np.split(flat, np.cumsum(self.block_lengths)[:-1])
        return [p.reshape(self.block_shape(at)) for p, at in zip(parts, self.levels, strict=True)]

    def moved(self, weights: Weights, power: int, replacing: bool) -> Fraction:
        if self.centred:
            return most_moved(self.sizes, self.levels, weights, power, replacing)
        # Boxes move by 1 each, so that squares add up as weights do.
        return moved_in_each(self.blocks, weights, replacing)

    def answers(self, counts: npt.ArrayLike) -> Ints:
        array = grid_counts(counts, self.sizes)
        found = []
        for levels in self.levels:
            pairs = [
                (axis.size // widths[level], widths[level])
                for axis, widths, level in zip(self.axes, self.widths, levels, strict=True)
            ]
            parted = array.reshape(list(itertools.chain(*pairs)))
            sums = parted.sum(axis=tuple(range(1, 2 * len(pairs), 2)))
            found.append((centred(sums, levels) if self.centred else sums).ravel())
        return np.concatenate(found)

    def matrix(self) -> csr_array[Any]:
        from scipy.sparse import csr_array, kron, vstack

        rows = []
        for levels in self.levels:
            product: csr_array[Any] = csr_array(np.ones((1, 1)))
            for axis, widths, level in zip(self.axes, self.widths, levels, strict=True):
                cells = np.arange(axis.size)
                pointer = np.arange(0, axis.size + 1, widths[level])
                shape = (len(pointer) - 1, axis.size)
                part = csr_array((np.ones(axis.size), cells, pointer), shape)
                if self.centred and level:
                    part = csr_array(axis.size * part.toarray() - 1)
                product = csr_array(kron(product, part))
            rows.append(product)
        return csr_array(vstack(rows))

    def to_json(self) -> dict[str, Any]:
        shares = [
            [list(levels), str(share)]
            for levels, share in zip(self.levels, self.shares, strict=True)
        ]
        return {
            "kind": "lattice",
            "axes": [axis.to_json() for axis in self.axes],
            "radices": [list(radices) for radices in self.radices],
            "shares": shares,
            **({"centred": True} if self.centred else {}),
        }

    @classmethod
    def from_json(cls, spec: dict[str, Any]) -> BoxCounts:
        """The question that `to_json` described; checked as if typed."""
        axes = [Axis.from_json(axis) for axis in spec["axes"]]
        shares = {tuple(levels): share for levels, share in spec["shares"]}
        asked = spec.get("centred", False)
        return BoxCounts(*axes, radices=spec["radices"], shares=shares, centred=asked)


def chain_of_levels(radices: Sequence[Sequence[int]]) -> tuple[Levels, ...]:
    """The levels of boxes in boxes: all axes reach their cells last, short ones are cut later."""
    height = max(len(cut) for cut in radices)
    return tuple(
        tuple(max(0, level + 1 - height + len(cut)) for cut in radices) for level in range(height)
    ) or ((0,) * len(radices),)


def equal_parts(size: int, branching: int) -> tuple[int, ...] | None:
    """Factors of a size near the branching, the largest first; None if it has none such.

    >>> equal_parts(256, 4), equal_parts(100, 4), equal_parts(101, 4)
    ((4, 4, 4, 4), (5, 5, 4), None)
    """
    primes, left = [], size
    for factor in range(2, 2 * branching + 1):
        while left % factor == 0:
            primes.append(factor)
            left //= factor
    if left > 1:
        return None
    found: list[int] = []
    for prime in reversed(primes):
        # Put together while that comes nearer to the branching, on a logarithmic scale.
        if found and found[-1] * prime <= branching + branching // 2:
            found[-1] *= prime
        else:
            found.append(prime)
    return tuple(sorted(found, reverse=True))


def _checked_radices(
    axes: tuple[Axis, ...], radices: Sequence[Sequence[int]]
) -> tuple[tuple[int, ...], ...]:
    if len(radices) != len(axes):
        raise InputError(f"There are {len(axes)} axes, but radices for {len(radices)}.")
    found = []
    for axis, each in zip(axes, radices, strict=True):
        parts = tuple(whole_number(radix, "A radix") for radix in listed(each, "radices"))
        if any(radix < 1 for radix in parts) or math.prod(parts) != axis.size:
            raise InputError(
                f"The radices of '{axis.name}' must multiply to its {axis.size:,} cells, got "
                f"{list(parts)}. For other sizes ask GridCounts(…), a product of trees or hats."
            )
        found.append(parts)
    return tuple(found)


def _checked_shares(
    shares: Mapping[Levels, object], heights: list[int]
) -> tuple[tuple[Levels, ...], tuple[Fraction, ...]]:
    if not isinstance(shares, Mapping) or not shares:
        raise InputError("Shares must map tuples of levels to parts of epsilon, at least one.")
    levels, parts = [], []
    for key, share in shares.items():
        level = tuple(whole_number(number, "A level") for number in key)
        if len(level) != len(heights) or any(
            not 0 <= number <= height for number, height in zip(level, heights, strict=True)
        ):
            raise InputError(f"There are no levels {key}; each axis has 0 to {heights}.")
        levels.append(level)
        parts.append(exact(share, "A share of epsilon"))
    if min(parts) <= 0 or sum(parts) != 1:
        raise InputError(f"Shares must be positive and add up to 1, not {sum(parts)}.")
    return tuple(levels), tuple(parts)
