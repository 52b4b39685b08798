"""H̄: least squares on a tree of intervals, in two passes; and the error of every range after it."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup._kernels.error.fewest_nodes import FewestNodes
from trueup._kernels.tree.regular import RegularTree
from trueup._kernels.tree.regular_fit import fit_leaves, fit_prefix
from trueup.arrays import Floats, Ints
from trueup.ask import TreeCounts
from trueup.axis import Axis
from trueup.errors import InputError
from trueup.infer.display import METHODS
from trueup.infer.figures import TreeFigures
from trueup.infer.model import FOR_NONNEGATIVE, AskedLevels, AxisModel, Candidate, Line
from trueup.infer.tree_search import best_branching, best_own_levels, best_question, shown_question
from trueup.intervaltree import IntervalTree
from trueup.intervaltree.coefficients import TreeCoefficients
from trueup.intervaltree.variance import TreeVariance
from trueup.law import FINER, Combination, NoiseLaw, RangeErrors, steps
from trueup.measurement import Asked
from trueup.noise import GAUSSIAN, Noise, log_noise_variance
from trueup.workload import Figures, Workload

_MANY_CELLS = 1 << 15  # fewer are fitted as version 0.1 did, so that whole counts stay the same
_WIDEST_AT_RHO = 6  # children of a node: under Gaussian noise two or three are best
_PINNED = 1e14  # the weight of a known total, in units of the largest other


@dataclass(frozen=True, eq=False)
class TreeErrors(RangeErrors):
    """The error of ranges after least squares on a tree.

    `scales` holds, for each level, root first, the noise scales of its answers: none where it was
    not asked, several where it was asked more than once. `pinned` if the total is known.
    """

    shape: IntervalTree
    scales: tuple[tuple[Fraction, ...], ...]
    law: str = "discrete"
    pinned: bool = False

    @cached_property
    def _logs(self) -> list[list[float]]:
        return [[log_noise_variance(b, self.law) for b in level] for level in self.scales]

    @cached_property
    def _unit(self) -> float:
        """The logarithm of the cells' variance: all others are taken relative to it."""
        return min(self._logs[-1])

    @cached_property
    def _level_scales(self) -> Floats:
        """The noise scale of each level that was asked at most once, 1 where it was not."""
        return np.array([float(level[0]) if level else 1.0 for level in self.scales])

    @cached_property
    def _weights(self) -> list[list[float]]:
        return [
            [math.exp(min(max(self._unit - log, -345), 345)) for log in level]
            for level in self._logs
        ]

    @cached_property
    def _level_weights(self) -> list[float]:
        weights = [math.fsum(level) for level in self._weights]
        if self.pinned:
            weights[0] = _PINNED * max(weights)
        return weights

    @property
    def level_variances(self) -> tuple[float, ...]:
        """The variance of a node's own noisy answers taken together, level by level."""
        unit = math.exp(self._unit)
        return tuple(unit / weight if weight else math.inf for weight in self._level_weights)

    @cached_property
    def _coefficients(self) -> TreeCoefficients:
        return TreeCoefficients(TreeVariance(self.shape, self._level_weights))

    def figures(self) -> TreeFigures:
        """The expected squared errors of sets of ranges, in closed forms."""
        return TreeFigures(self._coefficients.tree, math.exp(self._unit))

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each range [start, stop) of cells; O(height) a range."""
        return self.figures().range_variances(starts, stops)

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of ranges."""
        return self.noise_law(combination).variance

    def noise_law(self, combination: Combination) -> NoiseLaw:
        """The law of the error of a combination of ranges."""
        cuts, values = steps(combination, self.shape.size)
        coefficients, levels, counts = self._coefficients.classes(cuts, values)
        if self.pinned:  # what is known has no noise
            below = levels > 0
            coefficients, levels, counts = coefficients[below], levels[below], counts[below]
        if max(map(len, self.scales)) == 1:
            return NoiseLaw(coefficients, self._level_scales[levels], counts, self.law)
        # A level asked more than once enters as the mean of its answers by weight.
        parts = []
        for level, (scales_, weights) in enumerate(zip(self.scales, self._weights, strict=True)):
            at = levels == level
            for scale, weight in zip(scales_, weights, strict=True):
                part = coefficients[at] * (weight / math.fsum(weights))
                parts.append((part, np.full(len(part), float(scale)), counts[at]))
        found = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return NoiseLaw(found[0], found[1], found[2], self.law)

    def many_half_widths(self, starts: Ints, stops: Ints, level: float) -> Floats | None:
        """The half widths of ranges of a regular tree, each level of it asked at most once."""
        simple = self._coefficients.tree.regular and max(map(len, self.scales)) == 1
        if not simple or self.pinned or self.law in GAUSSIAN:
            return None
        from trueup._kernels.law.laplace_rows import half_widths
        from trueup._kernels.law.range_coefficients import cells_alike, range_classes

        finer = FINER if self.law == "continuous" else 1
        scales = self._level_scales * finer
        room = 64 * len(self.scales)
        numbers = self._coefficients.numbers
        law = numbers.known, numbers.under, numbers.number
        if bool((stops - starts == 1).all()):  # cells: but for the last ones, all are alike
            which, first = cells_alike(numbers.known.widths, numbers.known.lengths, starts)
            if len(first) < len(starts):
                few = self.many_half_widths(starts[first], stops[first], level)
                return None if few is None else few[which]
        c, at, m, used = range_classes(*law, starts, stops, room)
        if used.min(initial=0) < 0:  # never seen: the room is several times what a range takes
            raise AssertionError("A range of a regular tree has more classes than expected.")
        return half_widths(c / finer, scales[at], m, used, level)


@dataclass(frozen=True, eq=False)
class TreeLine:
    """The asked nodes of a tree: `first` as of its shape, one share a level, root first."""

    first: Ints
    level_starts: Ints
    shares: tuple[Fraction, ...]

    @property
    def size(self) -> int:
        """How many cells a line has."""
        return int(self.level_starts[-1] - self.level_starts[-2])

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """How many answers each asked level has."""
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

    def fit_lines(self, noisy: Floats) -> Floats:
        """The fitted cells of each line of noisy answers."""
        from trueup._kernels.tree.fits_along_rows import tree_lines

        nodes = tree_lines(self.first, self._nodes(noisy), self._weights)
        return nodes[:, nodes.shape[1] - self.size :]

    def coefficients(self, values: Floats) -> Floats:
        """What each noisy answer counts for in the sum of the cells times these values."""
        from trueup._kernels.tree.fits_along_rows import tree_lines

        # Cells that read value / weight, and nothing elsewhere, are fitted to (A'WA)⁻¹ values.
        nodes = np.zeros((len(values), int(self.level_starts[-1])))
        nodes[:, nodes.shape[1] - self.size :] = values / self._weights[-1]
        fitted = tree_lines(self.first, nodes, self._weights) * self._weights
        return fitted[:, self._weights > 0]


class NodeModel(AxisModel[Asked]):
    """The model of a question whose answers count nodes of a tree of intervals, level by level."""

    @property
    @abstractmethod
    def shares(self) -> tuple[Fraction, ...]:
        """The share of ε of each level, root first; 0 where it is not asked."""

    @abstractmethod
    def levels(self) -> AskedLevels:
        """The noisy answers as levels of the tree."""

    @property
    def tree(self) -> IntervalTree:
        """The tree that is asked."""
        return self.levels().tree

    @property
    def methods(self) -> tuple[str, ...]:
        """All: every node has a noisy count, or none that is asked."""
        return METHODS

    @cached_property
    def errors(self) -> TreeErrors:
        """The error of every combination of ranges."""
        asked = iter(self.noise.scales)
        scales = tuple((next(asked),) if share else () for share in self.shares)
        return TreeErrors(self.tree, scales, self.noise.law)

    def figures(self) -> TreeFigures:
        """The expected squared errors of sets of ranges, in closed forms."""
        return self.errors.figures()

    def nodes(self, noisy: npt.NDArray[Any]) -> tuple[Floats, Floats]:
        """The noisy answer and weight of every node, breadth first; 0 where not asked."""
        levels = self.levels()
        return by_node(levels.tree, levels.asked, self.noise.relative_weights, noisy)

    def raw(self, noisy: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The noisy counts of the cells."""
        return noisy[len(noisy) - self.tree.size :]


def by_node(
    tree: IntervalTree, asked: Sequence[int], weights: Sequence[float], noisy: npt.NDArray[Any]
) -> tuple[Floats, Floats]:
    """The noisy answer and weight of every node, breadth first, from those of the levels asked."""
    starts = tree.level_starts
    values, each = np.zeros(starts[-1]), np.zeros(starts[-1])
    taken = 0
    for level, weight in zip(asked, weights, strict=True):
        length = tree.length(level)
        values[starts[level] : starts[level + 1]] = noisy[taken : taken + length]
        each[starts[level] : starts[level + 1]] = weight
        taken += length
    return values, each


class TreeModel(NodeModel[TreeCounts]):
    """H̄: the nearest counts to those of a noisy tree."""

    asks = TreeCounts

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The share of ε of each level, root first."""
        return self.question.shares

    def levels(self) -> AskedLevels:
        """The noisy answers as levels of the tree."""
        asked = self.question
        first = None
        if asked.answer_axis.size < asked.size:
            first = np.asarray(asked.axis.every_level()[asked.levels[-1]], np.int64)
        return AskedLevels(asked.shape, asked.asked, first, asked.radices)

    @property
    def line(self) -> Line:
        """The tree along the lines of a grid."""
        return TreeLine(self.tree.first, self.tree.level_starts, self.shares)

    def fit(self, noisy: npt.NDArray[Any]) -> Floats:
        """The least-squares cells, in two passes."""
        if self.question.radices and self.question.size >= _MANY_CELLS:
            return fit_leaves(*self._regular(noisy))
        from trueup._kernels.tree.any_tree_by_level import fit_by_levels

        fitted = fit_by_levels(self.tree.first, *self.nodes(noisy))
        return fitted[len(fitted) - self.tree.size :]

    def fit_prefix(self, noisy: npt.NDArray[Any]) -> Floats | None:
        """The prefix sums of the least-squares cells, in the same passes for equal fan-outs."""
        return fit_prefix(*self._regular(noisy)) if self.question.radices else None

    def _regular(self, noisy: npt.NDArray[Any]) -> tuple[RegularTree, npt.NDArray[Any], Ints]:
        """A tree of equal fan-outs, its noisy answers, and where those of each level begin."""
        asked = self.question
        weights, starts = [0.0] * asked.height, np.zeros(asked.height, np.int64)
        taken = 0
        for level, weight in zip(asked.asked, self.noise.relative_weights, strict=True):
            weights[level], starts[level] = weight, taken
            taken += asked.shape.length(level)
        return RegularTree(asked.size, asked.radices, tuple(weights)), noisy, starts

    @classmethod
    def candidates_over(cls, axis: Axis, workload: Workload, nonnegative: bool) -> list[Candidate]:
        """The paper's tree, raw and inferred; one fan-out; the axis's own levels; the best."""

        def paper() -> TreeCounts:
            return TreeCounts(axis, branching=2)

        word = "tree" if axis.size > 1 else None  # a tree of one cell is the cell
        best = Candidate(
            "best tree",
            lambda: best_question(axis, workload),
            50,
            word,
            at_rho=lambda: _narrow_tree(axis, workload),
        )
        found = [best]
        if nonnegative:
            shown = Candidate(
                "for non-negative counts",
                lambda: shown_question(axis, workload),
                FOR_NONNEGATIVE,
                "shown",
            )
            found.append(shown)
        if axis.size == 1:
            return found
        found += [
            Candidate("the paper's tree, fewest nodes (H̃)", paper, 10, figures=fewest_nodes),
            Candidate("the paper's tree, inferred (H̄)", paper, 11, "binary"),
            Candidate(
                "{0.radices[0]}-ary, root not asked",
                lambda: best_branching(axis, workload),
                30,
                at_rho=lambda: None,
            ),
        ]
        if axis.traits.nested or workload.by_level:
            alike = TreeCounts(axis, levels=list(axis.levels()), root=False)
            found += [
                Candidate("the axis's own levels", lambda: alike, 40),
                Candidate(
                    "the axis's own levels, best shares",
                    lambda: best_own_levels(axis, workload),
                    41,
                ),
            ]
        return found


def _narrow_tree(axis: Axis, workload: Workload) -> TreeCounts:
    """The best tree of one fan-out for Gaussian noise: narrower than for Laplace noise."""
    if axis.traits.nested:
        return TreeCounts(axis)
    widest = range(2, min(_WIDEST_AT_RHO, max(axis.size, 2)) + 1)
    several = [TreeCounts(axis, branching=k, root=False) for k in widest]

    def mean(tree: TreeCounts) -> float:
        at_one = Noise(tree, rho=Fraction(1), law="normal")
        return workload.mean(TreeModel(at_one).figures(), axis)

    return min(several, key=mean)


def fewest_nodes(noise: Noise) -> Figures:
    """The errors of H̃: each range added up from the fewest noisy nodes, nothing inferred."""
    model = TreeModel(noise)
    if not model.levels().radices:
        raise InputError("Errors without inference are known for trees of equal fan-outs only.")
    return FewestNodes(model.tree.size, model.tree.widths, model.errors.level_variances)
