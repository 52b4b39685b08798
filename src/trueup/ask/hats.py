"""Leaves and hats: overlapping triangular windows, better for ranges than any tree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, groupby, pairwise
from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints
from trueup.ask.moves import moved_by_matrix
from trueup.ask.question import (
    AxisQuestion,
    Block,
    Neighbours,
    as_axis,
    cell_counts,
    check_neighbours,
    listed,
)
from trueup.axis import Axis
from trueup.axis.numbers import whole_number
from trueup.epsilon import exact
from trueup.errors import InputError, shown

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_SPARE = 5  # with so many stretches two cells between the ends can be far enough apart
_STEPS = 8
_WIDEST = 1 << 20  # stride of any axis, or 16 times its cells: wider hats are all but flat


@dataclass(frozen=True, init=False, repr=False)
class HatCounts(AxisQuestion):
    """The count of every cell, and of overlapping triangular windows ("hats") at several strides.

    A hat of stride k stands on every k-th edge of the axis and weighs the cells on either side
    2k − 1, 2k − 3, …, 3, 1 (cut off at the ends of the axis): every cell weighs 2k in all, shared
    by two hats. `strides` rise, each dividing the next. `shares` splits ε: the cells' share first,
    then one a stride. Without them both are chosen for the number of cells alone, to answer all
    ranges well. Answers come cells first, then the hats of each stride from left to right.

    The two hats of the largest stride that stand on the ends of the axis are of little use. Unless
    `ends` is True they are left out where they can be spared, and the answers of the next finer
    level below them, hats or cells, get their share instead, as far as they weigh there: in steps
    of an eighth, so that there are few kinds of noise.

    >>> hats = HatCounts(12, strides=(2, 6))
    >>> hats.matrix().toarray()[12:14].astype(int).tolist()[1]
    [1, 3, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    >>> hats.sensitivity(), hats.price()
    (17, Fraction(1, 1))
    """

    axis: Axis
    strides: tuple[int, ...]
    shares: tuple[Fraction, ...]
    ends: bool
    kinds = ("hats",)

    def __init__(
        self,
        axis: Axis | int,
        strides: Sequence[int] | None = None,
        shares: Sequence[object] | None = None,
        ends: bool | None = None,
    ) -> None:
        axis = as_axis(axis)
        chosen = strides_for(axis.size) if strides is None else _checked_strides(strides, axis.size)
        object.__setattr__(self, "axis", axis)
        object.__setattr__(self, "strides", chosen)
        object.__setattr__(self, "shares", _checked_shares(shares, len(chosen)))
        if ends not in (None, True, False):
            raise InputError(f"ends must be True or False, got {shown(ends)}.")
        spare = bool(chosen) and self.intervals(chosen[-1]) >= _SPARE
        if ends is False and not spare:
            raise InputError(
                f"The hats at the ends can be left out only if the largest stride fits "
                f"{_SPARE - 1} times into the {axis.size:,} cells with some cells left over."
            )
        object.__setattr__(self, "ends", bool(ends) or not spare)

    @property
    def heaviest(self) -> int:
        """No cell weighs more in an answer, nor in a sum on the way to it."""
        return 2 * self.strides[-1] if self.strides else 1

    def intervals(self, stride: int) -> int:
        """How many stretches of a stride cover the cells; there is one hat more."""
        return -(-self.size // stride)

    def hats(self, stride: int) -> range:
        """The knots, in strides, on which hats are asked."""
        knots = self.intervals(stride) + 1
        return range(knots) if self.ends or stride < self.strides[-1] else range(1, knots - 1)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        # A cell weighs 2k on a level, so noise of scale 2k/(share · ε) pays for the level.
        levels = [[(self.size, self.shares[0])]]
        for k, share in zip(self.strides, self.shares[1:], strict=True):
            levels.append([(len(self.hats(k)), share / (2 * k))])
        if not self.ends:
            levels[-2] = self._heirs()
        return tuple(block for level in levels for block in level)

    def _heirs(self) -> list[Block]:
        """The blocks of the level that inherits from the hats left out.

        A hat on the end of the axis is the sum of the finer hats beside it, times 1, 1 − 1/r,
        1 − 2/r, …, r the ratio of the strides; and of the cells likewise, in odd parts of 2k. So
        giving each of them as much of its share leaves every cell with what it had to pay.
        """
        k, share = self.strides[-1], self.shares[-1]
        start = (self.intervals(k) - 1) * k  # of the last stretch, in cells
        if len(self.strides) == 1:
            count, own, unit = self.size, self.shares[0], Fraction(1)
            left = [Fraction(2 * k - 2 * t - 1, 2 * k) for t in range(k)]
            right = [Fraction(2 * t + 1, 2 * k) for t in range(self.size - start)]
        else:
            fine = self.strides[-2]
            count, own, unit = self.intervals(fine) + 1, self.shares[-2], Fraction(1, 2 * fine)
            left = [Fraction(k - knot, k) for knot in range(0, k, fine)]
            last = (count - 1) * fine
            right = [Fraction(knot - start, k) for knot in range(start + fine, last + 1, fine)]
        between = count - len(left) - len(right)
        runs = [*((1, part) for part in left), (between, Fraction(0)), *((1, p) for p in right)]
        steps = [(length, math.floor(_STEPS * part)) for length, part in runs]
        return [
            (sum(length for length, _ in run), (own + share * Fraction(step, _STEPS)) * unit)
            for step, run in groupby(steps, key=lambda run: run[1])
        ]

    def _weighed(self, neighbours: Neighbours, weights: Sequence[Fraction | int]) -> Fraction:
        one = Fraction(weights[0]) + sum(
            (2 * k * Fraction(w) for k, w in zip(self.strides, weights[1:], strict=True)),
            Fraction(0),
        )
        if check_neighbours(neighbours) == "add-remove" or self.size == 1:
            return one
        if not self.ends:
            return 2 * one  # two cells under no hat left out, and under no common one
        # Two cells are the further apart, on every level, the more cells lie between them: the
        # first and the last are furthest. They share a hat where there are only three, and both
        # where there are only two.
        apart = 2 * Fraction(weights[0])
        for k, weight in zip(self.strides, weights[1:], strict=True):
            apart += Fraction(weight) * _distance(k, self.size)
        return max(one, apart)

    def sensitivity(self, neighbours: Neighbours = "add-remove") -> int:
        return int(self._weighed(neighbours, [1] * len(self.shares)))

    def price(self, neighbours: Neighbours = "add-remove") -> Fraction:
        own = [Fraction(1), *(Fraction(1, 2 * k) for k in self.strides)]
        weights = [share * unit for share, unit in zip(self.shares, own, strict=True)]
        return self._weighed(neighbours, weights)

    @cached_property
    def _one_square(self) -> Fraction:
        """The greatest sum of squares of a cell: beside a knot of the largest stride, or an end.

        A cell weighs a and 2k − a in two hats: squared, the more the nearer it is to a knot. The
        first cell stands beside a knot of every stride. Where end hats are left out, cells under
        them have heavier answers instead.
        """
        weights = zip((1, *self.strides), self.shares, strict=True)
        (_, cells), *levels = weights
        squares = [((2 * k - 1) ** 2 + 1) * (share / (2 * k)) ** 2 for k, share in levels]
        inside = cells * cells + sum(squares, Fraction(0))
        if self.ends:
            return inside
        last = (self.intervals(self.strides[-1]) - 1) * self.strides[-1]
        heirs = [*range(self.strides[-1]), *range(last, self.size)]
        under = self.matrix()[:, heirs]
        return max(inside, moved_by_matrix(under, self.block_lengths, self.squares, 2))

    def square_price(self, neighbours: Neighbours = "add-remove") -> Fraction:
        # No weight is negative: two cells are at most as far apart as under no common answer.
        one = self._one_square
        return one if check_neighbours(neighbours) == "add-remove" or self.size == 1 else 2 * one

    def answers(self, counts: npt.ArrayLike) -> Ints:
        counts = cell_counts(counts, self.size)
        parts = [counts]
        # Falling and rising: what each stretch puts into the hats at its left and right end. On
        # the next level they are sums of these: the lines are straight.
        falling = rising = counts
        below = 1
        for k in self.strides:
            stretches = self.intervals(k)
            falling, rising = straight_sums(falling, rising, k // below, stretches)
            below = k
            hats = np.zeros(stretches + 1, np.int64)
            hats[:-1] += falling
            hats[1:] += rising
            asked = self.hats(k)
            parts.append(hats[asked.start : asked.stop])
        return np.concatenate(parts)

    def labels(self) -> dict[str, Any]:
        """The stretch that each hat covers, and its stride; a cell has stride 0."""
        cells = np.arange(self.size)
        strides, starts, stops = [np.zeros_like(cells)], [cells], [cells + 1]
        for k in self.strides:
            knots = np.array(self.hats(k)) * k
            strides.append(np.full(len(knots), k))
            starts.append(np.maximum(knots - k, 0))
            stops.append(np.minimum(knots + k, self.size))
        spans = self.axis.columns(np.concatenate(starts), np.concatenate(stops))
        return {"stride": np.concatenate(strides), **spans}

    def matrix(self) -> csr_array[Any]:
        from scipy.sparse import csr_array, eye_array, vstack

        cells = np.arange(self.size)
        rows = [csr_array(eye_array(self.size))]
        for k in self.strides:
            at, rising = cells // k, 2.0 * (cells % k) + 1
            data = np.concatenate([2 * k - rising, rising])
            where = (np.concatenate([at, at + 1]), np.concatenate([cells, cells]))
            hats = csr_array((data, where), (self.intervals(k) + 1, self.size))
            asked = self.hats(k)
            rows.append(hats[asked.start : asked.stop])
        return csr_array(vstack(rows))


def straight_sums(falling: Ints, rising: Ints, ratio: int, stretches: int) -> tuple[Ints, Ints]:
    """What stretches of so many finer ones put into the hats at their left and right ends.

    From what the finer ones do, cells being the finest; the last stretch may be cut short.
    """
    padding = np.zeros(stretches * ratio - len(falling), np.int64)
    left = np.concatenate([falling, padding]).reshape(stretches, ratio)
    right = np.concatenate([rising, padding]).reshape(stretches, ratio)
    i = np.arange(ratio)
    down = np.asarray(left @ (ratio - i) + right @ (ratio - i - 1), np.int64)
    return down, np.asarray(left @ i + right @ (i + 1), np.int64)


def strides_for(size: int) -> tuple[int, ...]:
    """The strides that answer all ranges of so many cells well, every level having one share.

    With L levels, cells included, the best ratios of strides lie a little above n^(1/L), and the
    largest stride fits about three quarters of that many times. One level more pays for itself
    with every 19-fold of cells. Within a percent of what a search finds.

    >>> strides_for(4096), strides_for(1 << 20), strides_for(20)
    ((18, 342), (17, 289, 4913, 88434), ())
    """
    levels = math.ceil((math.log(size) - 0.6) / 2.93)
    if levels < 2 and size < 34:
        return ()
    return tuple(accumulate(ratios_for(size, max(levels, 2) - 1), mul))


def ratios_for(span: int, levels: int) -> tuple[int, ...]:
    """Near-equal ratios of that many strides whose largest fits a good few times into the span."""
    largest = max(span / (0.75 * span ** (1 / (levels + 1))), 2.0)
    found: list[int] = []
    below = 1
    for left in range(levels, 0, -1):
        found.append(max(2, round((largest / below) ** (1 / left))))
        below *= found[-1]
    return tuple(found)


def _distance(stride: int, size: int) -> int:
    """How far apart, in L1, the hats' weights at the first and at the last cell are."""
    first, last = np.zeros(4, np.int64), np.zeros(4, np.int64)
    first[:2] = 2 * stride - 1, 1
    at = min((size - 1) // stride, 2)  # beyond the second stretch, none is shared
    rising = 2 * ((size - 1) % stride) + 1
    last[at : at + 2] = 2 * stride - rising, rising
    return int(np.abs(first - last).sum())


def _checked_strides(strides: Sequence[int], size: int) -> tuple[int, ...]:
    chosen = tuple(whole_number(stride, "A stride") for stride in listed(strides, "strides"))
    if any(stride < 1 for stride in chosen):
        raise InputError(f"Strides must be at least 1, got {list(chosen)}.")
    for fine, coarse in pairwise(chosen):
        if coarse <= fine or coarse % fine:
            raise InputError(
                f"Strides must rise, each dividing the next; {fine} does not divide {coarse}. "
                f"Try {max(2, round(coarse / fine)) * fine} instead of {coarse}."
            )
    widest = max(_WIDEST, 16 * size)
    if chosen and chosen[-1] > widest:
        raise InputError(
            f"Strides over {size:,} cells may go up to {widest:,}, got {chosen[-1]:,}."
        )
    return chosen


def _checked_shares(shares: Sequence[object] | None, strides: int) -> tuple[Fraction, ...]:
    if shares is None:
        return (Fraction(1, strides + 1),) * (strides + 1)
    parts = tuple(exact(share, "A share of epsilon") for share in listed(shares, "shares"))
    if len(parts) != strides + 1:
        raise InputError(
            f"There are {strides} strides, so {strides + 1} shares are needed, the cells' first; "
            f"{len(parts)} were given."
        )
    if min(parts) <= 0 or sum(parts) != 1:
        raise InputError(
            f"Shares must be positive and add up to 1, not {sum(parts)}. "
            f"A stride that is to have none is left out."
        )
    return parts
