"""Expected squared errors of a question, exactly, before anything is asked."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trueup._kernels.error import tree_error
from trueup._kernels.error.fewest_nodes import FewestNodes
from trueup._kernels.tree import haar
from trueup.ask import CellCounts, HatCounts, TreeCounts, WaveletCounts
from trueup.errors import InputError
from trueup.intervaltree import irregular_error, length_error, worst_range
from trueup.intervaltree.variance import TreeVariance
from trueup.linear_errors import HatErrors
from trueup.noise import Noise
from trueup.plan.hats import HatFigures
from trueup.plan.workload import Figures

Floats = npt.NDArray[np.float64]
Planned = CellCounts | TreeCounts | WaveletCounts | HatCounts


@dataclass(frozen=True, eq=False)
class TreeFigures:
    """The errors of least squares on a tree; weights are relative to 1/unit."""

    tree: TreeVariance
    unit: float

    def mean_over_ranges(self) -> float:
        """Averaged over all ranges."""
        if not self.tree.regular:
            return self.unit * irregular_error.mean_over_ranges(self.tree)
        size, widths = self.tree.shape.size, self.tree.shape.widths
        return self.unit * tree_error.mean_over_ranges(size, widths, *self._kinds())

    def mean_over_prefixes(self) -> float:
        """Averaged over all prefixes."""
        if not self.tree.regular:
            return self.unit * irregular_error.mean_over_prefixes(self.tree)
        size, widths = self.tree.shape.size, self.tree.shape.widths
        return self.unit * tree_error.mean_over_prefixes(size, widths, *self._kinds())

    def _kinds(self) -> tuple[list[float], list[float]]:
        """The weights of full nodes and of last nodes, root first."""
        full = [float(level.weight[0]) for level in self.tree.levels]
        return full, [float(level.weight[1]) for level in self.tree.levels]

    def mean_by_length(self, lengths: npt.ArrayLike) -> Floats:
        """For each length, averaged over all ranges of it."""
        module = length_error if self.tree.regular else irregular_error
        return self.unit * module.mean_by_length(self.tree, lengths)

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """Of each range [start, stop) of cells."""
        return self.unit * self.tree.range_variances(starts, stops)

    def worst_range(self) -> float:
        """Of the range that has the largest."""
        module = worst_range if self.tree.regular else irregular_error
        return self.unit * module.worst_range(self.tree)


def figures_of(noise: Noise, *, inferred: bool = True) -> Figures:
    """The expected errors of a question: after inference, or (H̃) by the fewest noisy nodes."""
    question, logs = noise.question, noise.log_variances
    if isinstance(question, HatCounts):
        size, strides, ends = question.size, question.strides, question.ends
        return HatFigures(HatErrors(size, strides, ends, noise.lengths, noise.scales, noise.law))
    if isinstance(question, CellCounts):
        return TreeFigures(TreeVariance(question.shape, (0.0, 1.0)), math.exp(logs[0]))
    finest = logs[-1]
    weights = [math.exp(min(max(finest - log, -345), 345)) for log in logs]
    if isinstance(question, WaveletCounts):
        tree = TreeVariance(question.shape, haar.tree_weights(question.size, weights))
        return TreeFigures(tree, math.exp(finest))
    if not isinstance(question, TreeCounts):
        raise InputError(f"A plan does not know the errors of {type(question).__name__}.")
    each = dict(zip(question.asked, weights, strict=True))
    by_level = [each.get(level, 0.0) for level in range(question.height)]
    if inferred:
        return TreeFigures(TreeVariance(question.shape, by_level), math.exp(finest))
    if not question.radices:
        raise InputError("Errors without inference are known for trees of equal fan-outs only.")
    variances = [math.exp(finest) / w if w else math.inf for w in by_level]
    return FewestNodes(question.size, question.shape.widths, variances)
