"""The paper's baselines, kept for comparison. None of them adds up, so none is a release."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.ask import CellCounts, SortedCounts, TreeCounts
from trueup.errors import InputError
from trueup.infer import axis_model
from trueup.intervaltree import IntervalTree
from trueup.measurement import Measurement


def noisy_cells(measurement: Measurement, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Any:
    """L̃: each range [start, stop) of cells as the sum of its noisy cell counts."""
    if not isinstance(measurement.question, CellCounts):
        raise InputError("L̃ needs measured CellCounts.")
    prefix = np.concatenate([[0], np.cumsum(measurement.noisy)])
    return prefix[np.asarray(stops)] - prefix[np.asarray(starts)]


def noisy_sorted(measurement: Measurement) -> npt.NDArray[Any]:
    """S̃: the noisy counts as they came."""
    if not isinstance(measurement.question, SortedCounts):
        raise InputError("S̃ needs measured SortedCounts.")
    return measurement.noisy


def sorted_and_rounded(measurement: Measurement) -> Ints:
    """S̃r: the noisy counts sorted, each rounded to a whole number, none below zero."""
    return np.maximum(np.rint(np.sort(noisy_sorted(measurement))), 0).astype(np.int64)


def noisy_nodes(measurement: Measurement) -> Floats:
    """H̃: the noisy answer of every node, breadth first. Every level must have been asked."""
    question = _tree(measurement)
    if len(question.asked) != question.height:
        raise InputError("H̃ answers by the fewest nodes: it needs every level, the root too.")
    return axis_model(measurement.noise).nodes(measurement.noisy)[0]


def zeroed_nodes(measurement: Measurement) -> Floats:
    """The paper's heuristic: H̄ with each subtree of count ≤ 0 set to zero.

    It breaks consistency: children no longer sum to their parents. Answer ranges by the fewest
    nodes.
    """
    from trueup._kernels.tree.any_tree import fit

    question = _tree(measurement)
    noisy, weights = axis_model(measurement.noise).nodes(measurement.noisy)
    shape = question.shape
    fitted = fit(shape.first, noisy, weights)
    dead = fitted <= 0
    for level in range(1, shape.height):
        start, stop = shape.level_starts[level], shape.level_starts[level + 1]
        parents = shape.parents(level - 1, np.arange(stop - start))
        dead[start:stop] |= dead[shape.level_starts[level - 1] + parents]
    return np.where(dead, 0.0, fitted)


def fewest_nodes(
    shape: IntervalTree, nodes: Floats, starts: npt.ArrayLike, stops: npt.ArrayLike
) -> Floats:
    """Each range [start, stop) of cells as the sum of the fewest nodes that make it up."""
    left = np.atleast_1d(np.asarray(starts, np.int64))
    right = np.atleast_1d(np.asarray(stops, np.int64))
    answer = np.zeros(len(left))
    # From the leaves up, [left, right) in nodes of the level: what does not fill a parent is
    # added here, the rest is left to the level above.
    for level in reversed(range(shape.height)):
        begin, end = shape.level_starts[level : level + 2]
        sums = np.concatenate([[0.0], np.cumsum(nodes[begin:end])])
        if level == 0:
            return answer + sums[right] - sums[left]
        up_left = shape.parents(level - 1, left)
        up_left = up_left + (shape.first_child(level - 1, up_left) < left)
        up_right = shape.parents(level - 1, right)
        up_right = np.where(right == end - begin, shape.length(level - 1), up_right)
        alone = up_left >= up_right
        up_left, up_right = np.where(alone, 0, up_left), np.where(alone, 0, up_right)
        inner_left = np.where(alone, left, shape.first_child(level - 1, up_left))
        inner_right = np.where(alone, left, shape.first_child(level - 1, up_right))
        answer += sums[inner_left] - sums[left] + sums[right] - sums[inner_right]
        left, right = up_left, up_right
    return answer


def _tree(measurement: Measurement) -> TreeCounts:
    if not isinstance(measurement.question, TreeCounts):
        raise InputError("This baseline needs a measured TreeCounts.")
    return measurement.question
