"""Least squares on a product of questions, one axis at a time, and the error of every box.

With noise scales that are products of the axes' own, W is a Kronecker product, and so is the
least-squares solution: the one-dimensional solution along each axis in turn. The coefficients of a
box are products of those of its ranges. Weights are 1/scale²; for whole noise, whose variance is
a little below 2·scale², that is not quite the best choice, but the errors given are those of the
answers as they are.

With noise on the real line the variance of a box is 2 · Π (variance of the side / 2). So the mean
over all boxes is the same product of the axes' means, and the best product is that of each axis's
best question.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.ask import CellCounts, GridCounts, TreeCounts
from trueup.ask.grid import Factor
from trueup.axis import Axis
from trueup.coefficient_classes import law_of
from trueup.errors import InputError
from trueup.infer.box_search import quadtree
from trueup.infer.hat_search import best_hats
from trueup.infer.lattice import TableErrors
from trueup.infer.model import FOR_NONNEGATIVE, Candidate, Line, TableModel, axis_model
from trueup.infer.tree_search import best_question
from trueup.intervaltree import IntervalTree
from trueup.law import Combination, NoiseLaw
from trueup.noise import Noise, noise_variance
from trueup.workload import Workload

_TOGETHER = 1 << 22  # numbers worked on at once
_SAMPLED = 48  # ranges of an axis: for what whole noise does to the figure of noise on the line
_WIDE = 16


@dataclass(frozen=True, eq=False)
class GridErrors(TableErrors):
    """The error of every box; `scales` are those of the blocks, the last axis running fastest."""

    lines: tuple[Line, ...]
    scales: tuple[Fraction, ...]
    law: str = "discrete"

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(line.size for line in self.lines)

    @property
    def variance_work(self) -> int:
        """What one variance takes: the coefficients of every cell of each axis."""
        return sum(self.sizes)

    def fit(self, noisy: Floats) -> Floats:
        """The least-squares cells, from the answers as an array with one dimension an axis."""
        for number, line in enumerate(self.lines):
            turned = np.moveaxis(noisy, number, -1)
            flat = np.ascontiguousarray(turned).reshape(-1, turned.shape[-1])
            fitted = line.fit_lines(flat).reshape(*turned.shape[:-1], line.size)
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

    def variance_of_several(self, combination: Combination) -> float:
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
        return law_of([part.ravel() for part in parts], self.scales, self.law)


class GridModel(TableModel[GridCounts]):
    """The nearest counts to the noisy answers of a product: made of its factors' models."""

    asks = GridCounts

    @cached_property
    def errors(self) -> GridErrors:
        """The error of every combination of boxes."""
        lines = [axis_model(Noise.of_unit(factor)).line for factor in self.question.factors]
        return GridErrors(tuple(lines), self.noise.scales, self.noise.law)

    @property
    def methods(self) -> tuple[str, ...]:
        """Every box has a count of known error, but none that is independent of the others."""
        return ("large-first", "top-down")

    @property
    def trees(self) -> list[IntervalTree]:
        """A tree over each axis."""
        return self.question.shapes

    def fit(self, noisy: npt.NDArray[Any]) -> Floats:
        """The least-squares cells, one axis after the other."""
        return self.errors.fit(self.question.as_array(noisy).astype(np.float64))

    def fit_nonnegative(self, noisy: npt.NDArray[Any]) -> Floats:
        """Never wanted: the cells are asked."""
        raise NotImplementedError

    def mean_over_boxes(self, workloads: Sequence[Workload]) -> tuple[float, float]:
        """The products of the axes' means; what whole noise does to them as of some ranges."""
        factors, axes = self.question.factors, self.question.axes
        one = 2 * math.prod(
            _mean(factor, workload, axis) / 2
            for factor, axis, workload in zip(factors, axes, workloads, strict=True)
        )
        continuous = one * self.noise.variance_on_the_line / 2
        squares = []
        for number, (axis, workload) in enumerate(zip(axes, workloads, strict=True)):
            starts, stops, likely = workload.sample(axis, _SAMPLED)
            squares.append(likely @ self.errors.squares(number, starts, stops))
        whole, line = (
            replace(self.errors, law=law).mean_variance(squares) for law in self.noise.laws
        )
        return continuous * whole / line, continuous

    @classmethod
    def candidates(
        cls, axes: Sequence[Axis], workloads: Sequence[Workload], nonnegative: bool
    ) -> list[Candidate]:
        """Products of cells, of trees, of hats, and of what is best for each axis."""
        if len(axes) == 1:
            return []
        flat: list[Factor] = [CellCounts(axis) for axis in axes]
        binary: list[Factor] = [TreeCounts(axis, branching=2) for axis in axes]
        each = list(zip(axes, workloads, strict=True))
        trees: list[Factor] = [
            TreeCounts(axis) if axis.traits.nested else best_question(axis, workload)
            for axis, workload in each
        ]
        wide = [best_hats(axis, workload) for axis, workload in each]
        hats: list[Factor] = [some or cells for some, cells in zip(wide, flat, strict=True)]
        best = [
            _best(several, workload, axis)
            for *several, (axis, workload) in zip(flat, trees, hats, each, strict=True)
        ]
        products = {"cells alone": flat, "binary trees": binary, "best trees": trees}
        if any(wide):
            products["hats"] = hats
        if best not in products.values():
            products["each axis's best"] = best
        words = dict(zip(products, ("flat", "binary", "tree", "hats"), strict=False))
        words.pop("each axis's best", None)
        last = len(products) - 1
        found = [
            Candidate(name, _fitting(factors), 10 * place + 50 * (place == last), words.get(name))
            for place, (name, factors) in enumerate(products.items())
        ]
        if nonnegative and quadtree(axes) is None:
            shown = partial(GridCounts, *map(_shown_factor, axes))
            found.append(Candidate("for non-negative counts", shown, FOR_NONNEGATIVE, "shown"))
        return found


def _mean(factor: Factor, workload: Workload, axis: Axis) -> float:
    """The expected squared error of one axis's question, with noise on the real line at ε = 1."""
    return workload.mean(axis_model(Noise(factor, Fraction(1), law="continuous")).figures(), axis)


def _best(several: Sequence[Factor], workload: Workload, axis: Axis) -> Factor:
    """The question of the least error; of equal ones, the first and simplest."""
    errors = np.array([_mean(factor, workload, axis) for factor in several])
    return several[int(np.argmin(errors * (1 + 1e-9 * np.arange(len(several)))))]


def _fitting(factors: Sequence[Factor]) -> Callable[[], GridCounts | None]:
    """The product, if it fits into memory with all its answers."""

    def ask() -> GridCounts | None:
        try:
            found = GridCounts(*factors)
            found.check_new()
        except InputError:
            return None
        return found

    return ask


def _shown_factor(axis: Axis) -> Factor:
    """Where boxes in boxes cannot be asked: a wide tree of each axis."""
    if axis.traits.nested:
        return TreeCounts(axis)
    if axis.traits.labelled or axis.size <= 2 * _WIDE:
        return CellCounts(axis)
    return TreeCounts(axis, branching=_WIDE, root=False)
