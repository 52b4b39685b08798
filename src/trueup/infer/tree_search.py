"""The best tree for a workload: what the search minimises, and the question it finds."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from trueup._kernels.error.radices import (
    Error,
    Widths,
    best_shares,
    best_tree,
    weights_of,
    whole_parts,
    widths_of,
)
from trueup._kernels.error.tree_error import mean_over_prefixes, mean_over_ranges
from trueup.ask import CellCounts, TreeCounts
from trueup.axis import Axis
from trueup.intervaltree import IntervalTree
from trueup.intervaltree.range_walk import RangeWalk
from trueup.intervaltree.variance import TreeVariance
from trueup.workload import Workload

_SAMPLED = 400  # ranges looked at while searching, where there is no closed form quick enough
_BRANCHINGS = range(2, 65)
ROOT_SHARE = Fraction(1, 10)
_NEAR = 1.5


def tree_error(axis: Axis, workload: Workload) -> Error:
    """The error of a tree, by widths and weights, that a search for this workload minimises."""
    size = axis.size
    if workload.kind == "ranges":
        return lambda widths, weights: mean_over_ranges(size, widths, weights)
    if workload.kind == "prefixes":
        return lambda widths, weights: mean_over_prefixes(size, widths, weights)
    starts, stops, likely = workload.sample(axis, _SAMPLED)

    @lru_cache(maxsize=8)
    def walk(widths: Widths) -> RangeWalk:
        return RangeWalk.of(IntervalTree(size, widths=widths), starts, stops)

    return lambda widths, weights: float(walk(widths).variances(weights) @ likely)


def best_question(axis: Axis, workload: Workload) -> TreeCounts:
    """The tree of least error for the workload: its radices and its shares of ε."""
    if workload.kind == "ranges" and not axis.traits.nested:
        return TreeCounts(axis)
    radices, shares = best_tree(tree_error(axis, workload), axis.size)
    return TreeCounts(axis, radices=radices, shares=shares)


def shown_question(axis: Axis, workload: Workload) -> CellCounts | TreeCounts:
    """The question whose non-negative counts are best where many cells may be empty.

    The tree that is best for all ranges, with a tenth of ε for its root: a total that is known
    well keeps the noise of empty cells from adding up. Where that tree is far from the best for
    the workload, the workload's own tree likewise; where the cells alone are best, the cells. A
    rule, from measurements (docs/plan.md): the error of non-negative counts depends on the data,
    so that nothing public can tell it exactly.
    """
    if axis.traits.nested or workload.by_level:
        return _rooted(best_own_levels(axis, workload))
    own = best_question(axis, workload)
    if len(own.shares) < 3 or len(own.asked) == 1:
        return CellCounts(axis)
    tree = _rooted(TreeCounts(axis))
    error = tree_error(axis, workload)
    usual, best = (
        error(each.shape.widths, weights_of([float(share) for share in each.shares]))
        for each in (tree, own)
    )
    return tree if usual <= _NEAR * best else _rooted(own)


def _rooted(tree: TreeCounts) -> TreeCounts:
    """The tree with a tenth of ε for its root."""
    left = (1 - ROOT_SHARE) / (1 - tree.shares[0])
    shares = (ROOT_SHARE, *(share * left for share in tree.shares[1:]))
    if tree.levels:
        return TreeCounts(tree.axis, levels=tree.levels, shares=shares)
    return TreeCounts(tree.axis, radices=tree.radices, shares=shares)


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
