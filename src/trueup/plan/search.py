"""The best tree for a workload: what the search minimises, and the question it finds."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from trueup._kernels.radices import (
    Error,
    Widths,
    best_shares,
    best_tree,
    weights_of,
    whole_parts,
    widths_of,
)
from trueup._kernels.shape import Shape
from trueup._kernels.tree_error import mean_over_prefixes, mean_over_ranges
from trueup._kernels.tree_variance import TreeVariance
from trueup.ask import TreeCounts
from trueup.axis import Axis
from trueup.axis.labels import HierarchyCells
from trueup.plan.workload import Workload

_SAMPLED = 400  # ranges looked at while searching, where there is no closed form quick enough
_BRANCHINGS = range(2, 65)


def tree_error(axis: Axis, workload: Workload) -> Error:
    """The error of a tree, by widths and weights, that a search for this workload minimises."""
    size = axis.size
    if workload.kind == "ranges":
        return lambda widths, weights: mean_over_ranges(size, widths, weights)
    if workload.kind == "prefixes":
        return lambda widths, weights: mean_over_prefixes(size, widths, weights)
    starts, stops, likely = workload.sample(axis, _SAMPLED)

    def sampled(widths: Widths, weights: Sequence[float]) -> float:
        tree = TreeVariance(Shape(size, widths=widths), weights)
        return float(tree.range_variances(starts, stops) @ likely)

    return sampled


def best_question(axis: Axis, workload: Workload) -> TreeCounts:
    """The tree of least error for the workload: its radices and its shares of ε."""
    if workload.kind == "ranges" and not isinstance(axis.cells, HierarchyCells):
        return TreeCounts(axis)
    radices, shares = best_tree(tree_error(axis, workload), axis.size)
    return TreeCounts(axis, radices=radices, shares=shares)


def best_branching(axis: Axis, workload: Workload) -> TreeCounts:
    """The tree of one fan-out and equal shares, its root not asked, of least error."""
    error = tree_error(axis, workload)

    def of(branching: int) -> float:
        height = 1
        while branching**height < axis.size:
            height += 1
        widths = widths_of(axis.size, (branching,) * (height - 1))
        return error(widths, weights_of([0.0] + [1 / height] * height))

    branching = min((k for k in _BRANCHINGS if k == 2 or k < axis.size), key=of)
    return TreeCounts(axis, branching=branching, root=False)


def best_own_levels(axis: Axis, workload: Workload) -> TreeCounts:
    """The tree of the axis's own levels, with the best shares for the workload."""
    equal = TreeCounts(axis, levels=list(axis.levels()), root=False)
    starts, stops, likely = workload.sample(axis, _SAMPLED)

    def error(widths: Widths, weights: Sequence[float]) -> float:
        tree = TreeVariance(equal.shape, weights)
        return float(tree.range_variances(starts, stops) @ likely)

    shares, _ = best_shares(error, (), [float(share) for share in equal.shares])
    parts: tuple[Fraction, ...] = whole_parts(error, (), shares)
    return TreeCounts(axis, levels=list(axis.levels()), shares=parts)
