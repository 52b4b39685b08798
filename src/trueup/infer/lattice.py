"""Least squares on a lattice of boxes, and the error of every box.

With equal parts on every level the averages over nodes of one axis are nested projections, which
commute. E_j, the average on level j less that on level j − 1, splits an axis into orthogonal parts,
on which the Gram matrix of every level is a number: the width of its nodes for j up to the level,
0 below; of centred marginals, for j at the level alone. So the normal equations are one number λ_j
for each tuple j of levels, whatever was asked.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.ask.margins import centred
from trueup.coefficient_classes import law_of
from trueup.law import Combination, NoiseLaw
from trueup.noise import noise_variance

Levels = tuple[int, ...]


def _spread(
    coarse: Floats, nodes: int, axis: int, fine: Floats | None = None, times: float = 1.0
) -> Floats:
    """An array with its nodes of an axis parted into more, times a factor, plus another array."""
    head, have, tail = coarse.shape[:axis], coarse.shape[axis], coarse.shape[axis + 1 :]
    if fine is None:
        return coarse if have == nodes else np.repeat(coarse, nodes // have, axis=axis)
    parted = fine.reshape(*head, have, nodes // have, *tail)
    return (parted + times * coarse.reshape(*head, have, 1, *tail)).reshape(fine.shape)


class TableErrors(ABC):
    """The errors of boxes that are found from the cells of a table, or for one box without them."""

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, ...]:
        """How many cells each axis has."""

    @property
    def work(self) -> int:
        """What one law takes: the coefficients of every cell."""
        return math.prod(self.sizes)

    @property
    def variance_work(self) -> int:
        """What one variance takes: a few numbers, unless it says more."""
        return 1

    @abstractmethod
    def box_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each box, one column an axis."""

    @abstractmethod
    def variance_of_several(self, combination: Combination) -> float:
        """The variance of a combination of two boxes or more."""

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of boxes."""
        if len(combination) != 1:
            return self.variance_of_several(combination)
        ((box, coefficient),) = combination
        ends = np.array(box, np.int64)
        return coefficient**2 * float(self.box_variances(ends[None, :, 0], ends[None, :, 1])[0])

    def values(self, combination: Combination) -> Floats:
        """How often each cell counts in a combination of boxes, one dimension an axis."""
        found = np.zeros(self.sizes)
        for box, coefficient in combination:
            found[tuple(slice(start, stop) for start, stop in box)] += coefficient
        return found


@dataclass(frozen=True, eq=False)
class LatticeErrors(TableErrors):
    """The error of boxes; `widths` per axis and level, `scales` per tuple of levels asked."""

    widths: tuple[tuple[int, ...], ...]
    levels: tuple[Levels, ...]
    scales: tuple[Fraction, ...]
    law: str = "discrete"
    centred: bool = False

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(widths[0] for widths in self.widths)

    @cached_property
    def _weights(self) -> list[float]:
        return [1 / max(noise_variance(scale, self.law), 1e-200) for scale in self.scales]

    @cached_property
    def spectrum(self) -> Floats:
        """λ_j for every tuple j of levels; 0 where nothing asked tells anything of it."""
        found = np.zeros([len(widths) for widths in self.widths])
        for levels, weight in zip(self.levels, self._weights, strict=True):
            box = 1.0
            for widths, level in zip(self.widths, levels, strict=True):
                box *= widths[level]
            if self.centred:
                times = math.prod(n for n, lv in zip(self.sizes, levels, strict=True) if lv)
                found[levels] += weight * box * float(times) ** 2
            else:
                found[tuple(slice(level + 1) for level in levels)] += weight * box
        return found

    @cached_property
    def _inverse(self) -> Floats:
        known = self.spectrum > 0
        return np.where(known, 1 / np.where(known, self.spectrum, 1.0), 0.0)

    def _filtered(self, array: Floats, factors: Floats, axis: int = 0) -> Floats:
        """Σ_j factor_j · E_j array.

        A part is as long along an axis as its level has nodes: what few levels asked takes little
        more than going through the array.
        """
        if axis == array.ndim:
            return array * factors
        head, tail = array.shape[:axis], array.shape[axis + 1 :]
        found, before = np.zeros((*head, 1, *tail)), np.zeros((*head, 1, *tail))
        for width, each in zip(self.widths[axis], factors, strict=True):
            nodes = array.shape[axis] // width
            mean = array.reshape(*head, nodes, width, *tail).mean(axis=axis + 1)
            part = _spread(before, nodes, axis, mean, -1.0)
            if np.any(each):
                found = _spread(found, nodes, axis, self._filtered(part, each, axis + 1), 1.0)
            before = mean
        return _spread(found, array.shape[axis], axis)

    def gram(self, cells: Floats) -> Floats:
        """A'WA times an array of cells."""
        return self._filtered(cells, self.spectrum)

    def weighed(self, blocks: Sequence[Floats]) -> Floats:
        """A'W times the answers of each block: every cell gets those of the boxes it is in."""
        found = np.zeros(self.sizes)
        for block, levels, weight in zip(blocks, self.levels, self._weights, strict=True):
            spread = np.asarray(block, np.float64) * weight
            spread = centred(spread, levels) if self.centred else spread
            for axis, level in enumerate(levels):
                spread = np.repeat(spread, self.widths[axis][level], axis=axis)
            found += spread
        return found

    def fit(self, blocks: Sequence[Floats]) -> Floats:
        """The least-squares cells, the smallest where some are not determined."""
        return self._filtered(self.weighed(blocks), self._inverse)

    def energies(self, axis: int, starts: Ints, stops: Ints) -> Floats:
        """Per range of an axis and level j the squared length of E_j of its indicator."""
        found = []
        for width in self.widths[axis]:
            first, last = -(-starts // width), stops // width
            inside = first <= last
            ends = (first * width - starts) ** 2 + (stops - last * width) ** 2
            squares = np.where(inside, (last - first) * width**2 + ends, (stops - starts) ** 2)
            found.append(squares / width)
        energies = np.diff(np.stack(found, axis=-1), axis=-1, prepend=0.0)
        return np.maximum(np.where(energies < 1e-9, 0.0, energies), 0.0)

    @cached_property
    def _variances(self) -> Floats:
        return np.where(self.spectrum > 0, self._inverse, np.inf)

    def mean_variance(self, energies: Sequence[Floats]) -> float:
        """The mean variance of boxes, from the mean of `energies` on each axis."""
        found = self._inverse
        for each in energies:
            found = np.tensordot(each, found, axes=(0, 0))
        return float(found)

    def box_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each box, one column an axis; infinite where it is not determined."""
        low, high = np.asarray(starts, np.int64), np.asarray(stops, np.int64)
        energy = np.ones((len(low), *([1] * len(self.widths))))
        for axis in range(len(self.widths)):
            each = self.energies(axis, low[:, axis], high[:, axis])
            place = [-1 if number == axis else 1 for number in range(len(self.widths))]
            energy = energy * each.reshape(len(low), *place)
        some = np.where(energy > 0, energy, 0.0)
        every = np.where(energy > 0, self._variances, 0.0)
        return (some * every).reshape(len(low), -1).sum(axis=1)

    def product_variances(self, cuts: Sequence[Ints]) -> Floats:
        """The variances of all boxes between neighbouring cuts of each axis, as an array."""
        energies = [
            self.energies(axis, np.asarray(each[:-1]), np.asarray(each[1:]))
            for axis, each in enumerate(cuts)
        ]
        found = np.zeros([len(each) - 1 for each in cuts])
        for levels in itertools.product(*(range(len(widths)) for widths in self.widths)):
            product = np.ones(())
            for each, level in zip(energies, levels, strict=True):
                product = np.multiply.outer(product, each[:, level])
            found += np.where(product > 0, self._variances[levels], 0.0) * np.maximum(product, 0)
        return found

    def variance_of_several(self, combination: Combination) -> float:
        values = self.values(combination)
        return max(float((values * self._filtered(values, self._inverse)).sum()), 0.0)

    def noise_law(self, combination: Combination) -> NoiseLaw:
        """The law of the error of a combination of boxes."""
        solved = self._filtered(self.values(combination), self._inverse)
        blocks = []
        for levels, weight in zip(self.levels, self._weights, strict=True):
            block = solved
            for axis, level in enumerate(levels):
                at = np.arange(0, self.widths[axis][0], self.widths[axis][level])
                block = np.add.reduceat(block, at, axis=axis)
            block = centred(block, levels) if self.centred else block
            blocks.append(weight * block.ravel())
        return law_of(blocks, self.scales, self.law)

    def nonnegative(self, blocks: Sequence[Floats], steps: int = 400) -> Floats:
        """Cells ≥ 0 that are nearest to the answers, by accelerated projected steps."""
        right = self.weighed(blocks)
        most = float(self.spectrum.max())
        cells = np.maximum(self.fit(blocks), 0.0)
        ahead, pace = cells, 1.0
        for _ in range(steps):
            new = np.maximum(ahead - (self.gram(ahead) - right) / most, 0.0)
            moved = new - cells
            if np.abs(moved).max() <= 1e-6 * max(1.0, float(np.abs(new).max())):
                return new
            if float((moved * (ahead - new)).sum()) > 0:  # overshot: begin anew from here
                pace = 1.0
            faster = (1 + (1 + 4 * pace * pace) ** 0.5) / 2
            ahead = new + (pace - 1) / faster * moved
            cells, pace = new, faster
        return cells
