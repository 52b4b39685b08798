"""The Haar wavelet of the counts (the paper's related work, Xiao et al.)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup._kernels.tree.haar import differences, pairs, widths_of
from trueup.arrays import Ints
from trueup.ask.question import AxisQuestion, Block, Weights, as_axis, cell_counts
from trueup.axis import Axis
from trueup.epsilon import exact
from trueup.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, init=False, repr=False)
class WaveletCounts(AxisQuestion):
    """The total, and for every node of a binary tree the count of its left part less its right.

    As many answers as cells, with no constraints between them. `shares` splits ε over the total and
    the levels, root first; without it each gets the same, as in the wavelet mechanism.

    >>> WaveletCounts(4).answers([2, 0, 10, 2]).tolist()
    [14, -10, 2, 8]
    """

    axis: Axis
    shares: tuple[Fraction, ...]
    kinds = ("haar",)

    def __init__(self, axis: Axis | int, shares: Sequence[object] | None = None) -> None:
        axis = as_axis(axis)
        number = len(widths_of(axis.size))
        if shares is None:
            parts = (Fraction(1, number),) * number
        else:
            parts = tuple(exact(share, "A share of epsilon") for share in shares)
        if len(parts) != number:
            raise InputError(
                f"The wavelet of {axis.size:,} cells has {number} levels, the total included; "
                f"{len(parts)} shares were given."
            )
        if min(parts) <= 0 or sum(parts) != 1:
            raise InputError(f"Shares must be positive and must add up to 1, not {sum(parts)}.")
        object.__setattr__(self, "axis", axis)
        object.__setattr__(self, "shares", parts)

    @property
    def heaviest(self) -> int:
        return 1

    @property
    def widths(self) -> tuple[int, ...]:
        """The cells under a full node of each level, root first."""
        return widths_of(self.size)

    @property
    def blocks(self) -> tuple[Block, ...]:
        lengths = [1, *(pairs(self.size, width) for width in self.widths[:-1])]
        return tuple(zip(lengths, self.shares, strict=True))

    def moved(self, weights: Weights, power: int, replacing: bool) -> Fraction:
        # A record moves the total and one difference a level. Moved from cell to cell it leaves
        # the total, moves the difference where the cells part by 2, and one each on every level
        # below for each of the two. The last node may have fewer levels with two parts.
        total, *each = [Fraction(weight) for weight in weights]
        one, parted = total + sum(each, Fraction(0)), 2**power
        if not replacing:
            return one
        worst, full, last = one, Fraction(0), Fraction(0)  # the most below a node of either kind
        for level in range(len(each) - 1, -1, -1):
            width, weight = self.widths[level], each[level]
            if self.size > width:
                worst = max(worst, parted * weight + 2 * full)
            if (self.size - 1) % width >= width // 2:
                worst = max(worst, parted * weight + full + last)
                last = weight + full  # its left part is a full node
            full = weight + full
        return worst

    def answers(self, counts: npt.ArrayLike) -> Ints:
        return np.concatenate(differences(cell_counts(counts, self.size)))

    def labels(self) -> dict[str, Any]:
        levels = np.arange(len(self.blocks)) - 1  # −1 is the total
        lengths = self.block_lengths
        halves = [(w, np.arange(n) * w) for w, n in zip(self.widths, lengths[1:], strict=False)]
        starts = np.concatenate([[0], *(start for _, start in halves)]).astype(np.int64)
        stops = np.concatenate([[self.size], *(start + w for w, start in halves)])
        stops = np.minimum(stops, self.size).astype(np.int64)
        return {"level": np.repeat(levels, lengths), **self.axis.columns(starts, stops)}

    def matrix(self) -> csr_array[Any]:
        from scipy.sparse import csr_array

        cells = np.arange(self.size)
        rows, columns, signs = [np.zeros(self.size, np.int64)], [cells], [np.ones(self.size)]
        first = 1
        for width in self.widths[:-1]:
            node = cells // width
            inside = node < pairs(self.size, width)
            rows.append(first + node[inside])
            columns.append(cells[inside])
            signs.append(np.where(cells % width < width // 2, 1.0, -1.0)[inside])
            first += pairs(self.size, width)
        place = (np.concatenate(rows), np.concatenate(columns))
        return csr_array((np.concatenate(signs), place), (self.length, self.size))
