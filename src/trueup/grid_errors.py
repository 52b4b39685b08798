"""Least squares on a product of questions, one axis at a time, and the error of every box.

With noise scales that are products of the axes' own, W is a Kronecker product, and so is the
least-squares solution: the one-dimensional solution along each axis in turn. The coefficients of a
box are products of those of its ranges. Weights are 1/scale²; for whole noise, whose variance is
a little below 2·scale², that is not quite the best choice, but the errors given are those of the
answers as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from trueup.linear_errors import HatErrors, noise_law
from trueup.noise import noise_variance
from trueup.uncertainty import Combination, Errors, Law, NoiseLaw

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Box = tuple[tuple[int, int], ...]

_TOGETHER = 1 << 22  # numbers worked on at once


class Line(Protocol):
    """Least squares of one axis's question, along many lines at once."""

    @property
    def size(self) -> int:
        """How many cells a line has."""

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many answers of each noise scale."""

    def fit(self, noisy: Floats) -> Floats:
        """The fitted cells of each line of noisy answers."""

    def coefficients(self, values: Floats) -> Floats:
        """What each noisy answer counts for in the sum of the cells times these values."""


@dataclass(frozen=True)
class FlatLine:
    """Every cell asked once."""

    size: int

    @property
    def lengths(self) -> tuple[int, ...]:
        return (self.size,)

    def fit(self, noisy: Floats) -> Floats:
        return noisy

    def coefficients(self, values: Floats) -> Floats:
        return values


@dataclass(frozen=True, eq=False)
class HatLine:
    """Cells and hats; the errors are those of one axis alone."""

    errors: HatErrors

    @property
    def size(self) -> int:
        return self.errors.size

    @property
    def lengths(self) -> tuple[int, ...]:
        return self.errors.lengths

    def fit(self, noisy: Floats) -> Floats:
        return self.errors.fit_lines(noisy)

    def coefficients(self, values: Floats) -> Floats:
        return self.errors.coefficients(values)


@dataclass(frozen=True, eq=False)
class TreeLine:
    """The asked nodes of a tree: `first` as of its shape, one share a level, root first."""

    first: Ints
    level_starts: Ints
    shares: tuple[Fraction, ...]

    @property
    def size(self) -> int:
        return int(self.level_starts[-1] - self.level_starts[-2])

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        each = np.diff(self.level_starts)
        return tuple(int(n) for n, share in zip(each, self.shares, strict=True) if share)

    @cached_property
    def _weights(self) -> Floats:
        each = [float(share / max(self.shares)) ** 2 for share in self.shares]
        return np.repeat(each, np.diff(self.level_starts))

    def _nodes(self, answers: Floats) -> Floats:
        nodes = np.zeros((len(answers), int(self.level_starts[-1])))
        nodes[:, self._weights > 0] = answers
        return nodes

    def fit(self, noisy: Floats) -> Floats:
        from trueup._kernels.tree.fits_along_rows import tree_lines

        nodes = tree_lines(self.first, self._nodes(noisy), self._weights)
        return nodes[:, nodes.shape[1] - self.size :]

    def coefficients(self, values: Floats) -> Floats:
        from trueup._kernels.tree.fits_along_rows import tree_lines

        # Cells that read value / weight, and nothing elsewhere, are fitted to (A'WA)⁻¹ values.
        nodes = np.zeros((len(values), int(self.level_starts[-1])))
        nodes[:, nodes.shape[1] - self.size :] = values / self._weights[-1]
        fitted = tree_lines(self.first, nodes, self._weights) * self._weights
        return fitted[:, self._weights > 0]


@dataclass(frozen=True, eq=False)
class GridErrors:
    """The error of every box; `scales` are those of the blocks, the last axis running fastest."""

    lines: tuple[Line, ...]
    scales: tuple[Fraction, ...]
    law: str = "discrete"

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many cells each axis has."""
        return tuple(line.size for line in self.lines)

    def fit(self, noisy: Floats) -> Floats:
        """The least-squares cells, from the answers as an array with one dimension an axis."""
        for number, line in enumerate(self.lines):
            turned = np.moveaxis(noisy, number, -1)
            flat = np.ascontiguousarray(turned).reshape(-1, turned.shape[-1])
            fitted = line.fit(flat).reshape(*turned.shape[:-1], line.size)
            noisy = np.moveaxis(fitted, -1, number)
        return np.ascontiguousarray(noisy)

    @cached_property
    def _variances(self) -> Floats:
        each = [noise_variance(scale, self.law) for scale in self.scales]
        return np.array(each).reshape([len(line.lengths) for line in self.lines])

    def squares(self, number: int, starts: Ints, stops: Ints) -> Floats:
        """Per range of an axis and block of its answers the sum of the squared coefficients."""
        line = self.lines[number]
        cells = np.arange(line.size)
        at = np.cumsum([0, *line.lengths[:-1]])
        found = np.empty((len(starts), len(line.lengths)))
        step = max(1, _TOGETHER // line.size)
        for begin in range(0, len(starts), step):
            some = slice(begin, begin + step)
            inside = (cells >= starts[some, None]) & (cells < stops[some, None])
            each = line.coefficients(inside.astype(np.float64))
            found[some] = np.add.reduceat(each * each, at, axis=1)
        return found

    def mean_variance(self, squares: Sequence[Floats]) -> float:
        """The mean variance of boxes, from the mean of `squares` on each axis."""
        found = self._variances
        for each in squares:
            found = np.tensordot(each, found, axes=(0, 0))
        return float(found)

    def box_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each box: a row of `starts` and of `stops` each, one column an axis."""
        starts, stops = np.asarray(starts, np.int64), np.asarray(stops, np.int64)
        found: Floats | None = None
        for number in range(len(self.lines)):
            ends = np.stack([starts[:, number], stops[:, number]], axis=1)
            distinct, which = np.unique(ends, axis=0, return_inverse=True)
            squares = self.squares(number, distinct[:, 0], distinct[:, 1])[which.ravel()]
            if found is None:
                found = np.tensordot(squares, self._variances, axes=(1, 0))
            else:
                found = np.einsum("rb,rb...->r...", squares, found)
        assert found is not None
        return found

    def product_variances(self, cuts: Sequence[Ints]) -> Floats:
        """The variances of all boxes between neighbouring cuts of each axis, as an array."""
        found = self._variances
        for number, each in enumerate(cuts):
            squares = self.squares(number, each[:-1], each[1:])
            found = np.moveaxis(np.tensordot(squares, found, axes=(1, number)), 0, number)
        return found

    def _coefficients(self, combination: Combination) -> Floats:
        """The coefficients of a combination of boxes, one dimension an axis."""
        found = np.zeros([sum(line.lengths) for line in self.lines])
        for box, coefficient in combination:
            each = []
            for line, (start, stop) in zip(self.lines, box, strict=True):
                inside = np.zeros((1, line.size))
                inside[0, start:stop] = 1
                each.append(line.coefficients(inside)[0])
            product = each[0]
            for other in each[1:]:
                product = np.multiply.outer(product, other)
            found += coefficient * product
        return found

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of boxes."""
        if len(combination) == 1:
            ((box, coefficient),) = combination
            ends = np.array(box, np.int64)
            return coefficient**2 * float(self.box_variances(ends[None, :, 0], ends[None, :, 1])[0])
        squares = self._coefficients(combination) ** 2
        for number, line in enumerate(self.lines):
            squares = np.add.reduceat(squares, np.cumsum([0, *line.lengths[:-1]]), axis=number)
        return float((squares * self._variances).sum())

    def noise_law(self, combination: Combination) -> NoiseLaw:
        """The law of the error of a combination of boxes."""
        parts = [self._coefficients(combination)]
        for number, line in enumerate(self.lines):
            cuts = np.cumsum(line.lengths)[:-1]
            parts = [piece for part in parts for piece in np.split(part, cuts, axis=number)]
        return noise_law([part.ravel() for part in parts], self.scales, self.law)


class BoxErrors(Errors, Protocol):
    """The error of every box of a release."""

    def box_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each box, one column an axis."""

    def product_variances(self, cuts: Sequence[Ints]) -> Floats:
        """The variances of all boxes between neighbouring cuts of each axis."""


@dataclass(frozen=True, eq=False)
class SliceErrors:
    """The errors of a grid with some axes fixed to a range: those of what is left of it."""

    grid: BoxErrors
    fixed: tuple[tuple[int, int] | None, ...]  # None where the axis is left

    def _boxes(self, combination: Combination) -> Combination:
        return tuple((self._box(key), coefficient) for key, coefficient in combination)

    def _box(self, key: Any) -> Box:
        left = iter((key,) if isinstance(key[0], int) else key)
        return tuple(next(left) if ends is None else ends for ends in self.fixed)

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of ranges or boxes of what is left."""
        return self.grid.variance(self._boxes(combination))

    def noise_law(self, combination: Combination) -> Law:
        """The law of the error of a combination of ranges or boxes of what is left."""
        return self.grid.noise_law(self._boxes(combination))

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each range of the one axis that is left."""
        starts, stops = np.atleast_1d(np.asarray(starts)), np.atleast_1d(np.asarray(stops))
        return self.box_variances(starts[:, None], np.maximum(starts, stops)[:, None])

    def box_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each box of what is left."""
        starts, stops = np.asarray(starts, np.int64), np.asarray(stops, np.int64)
        whole = np.empty((2, len(starts), len(self.fixed)), np.int64)
        left = 0
        for number, ends in enumerate(self.fixed):
            whole[0, :, number] = starts[:, left] if ends is None else ends[0]
            whole[1, :, number] = stops[:, left] if ends is None else ends[1]
            left += ends is None
        return self.grid.box_variances(whole[0], whole[1])

    def product_variances(self, cuts: Sequence[Ints]) -> Floats:
        """The variances of all boxes between neighbouring cuts of what is left."""
        left = iter(cuts)
        every = [next(left) if ends is None else np.array(ends) for ends in self.fixed]
        found = self.grid.product_variances(every)
        return found.squeeze(tuple(n for n, ends in enumerate(self.fixed) if ends is not None))
