"""Counts for people to read: the cells of a tree made non-negative, whole, or both.

Plain numpy around the kernels `topdown` and `rounding`.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from trueup.arrays import Floats, Ints
from trueup.intervaltree import IntervalTree

WIDE = 64
GROUP = 16


def grouped(shape: IntervalTree) -> tuple[IntervalTree, list[int]]:
    """The tree with levels put in until no node has more than WIDE children, and where its own
    levels are now.

    One family of thousands has one price for all: its many empty members would be paid for by
    the few large ones, and long ranges would be wrong. Runs of GROUP neighbours become nodes of
    their own, so that their totals are kept.
    """
    widths = shape.widths
    widest = (
        max((above // below for above, below in pairwise(widths)), default=1)
        if widths
        else np.diff(shape.first).max()
    )
    if widest <= WIDE:
        return shape, list(range(shape.height))
    levels = [shape.starts(level) for level in range(shape.height)]
    cuts, own = [levels[0]], [0]
    for above, below in pairwise(levels):
        inserted = []
        starts = below
        while True:
            position = np.searchsorted(starts, above)
            counts = np.diff(np.append(position, len(starts)))
            if counts.max() <= WIDE:
                break
            rank = np.arange(len(starts)) - np.repeat(position, counts)
            starts = starts[rank % GROUP == 0]
            inserted.append(starts)
        cuts += [*reversed(inserted), below]
        own.append(len(cuts) - 1)
    return IntervalTree.irregular(shape.size, cuts[1:]), own


def projected_cells(shape: IntervalTree, cells: Floats) -> Floats:
    """The cells projected top-down: nothing negative, no total moved unless it is negative."""
    from trueup._kernels.display.nonnegative import node_sums
    from trueup._kernels.display.topdown import project_top_down

    first = grouped(shape)[0].first
    return project_top_down(first, node_sums(first, cells))


def large_first_cells(shape: IntervalTree, noisy: Floats, weights: Floats, unit: float) -> Floats:
    """The cells settled large first, from the noisy answers of all nodes and their weights."""
    from trueup._kernels.display.topdown import settle_large_first

    narrow, own = grouped(shape)
    values, each = (np.zeros(int(narrow.level_starts[-1])) for _ in range(2))
    for level, place in enumerate(own):
        here = slice(narrow.level_starts[place], narrow.level_starts[place + 1])
        there = slice(shape.level_starts[level], shape.level_starts[level + 1])
        values[here], each[here] = noisy[there], weights[there]
    return settle_large_first(narrow.first, values, each, unit, 0.0)


def kept_large_first_cells(shape: IntervalTree, cells: Floats, variances: list[float]) -> Floats:
    """The cells with clear counts kept, from those of least squares and a variance a level."""
    from trueup._kernels.display.nonnegative import node_sums
    from trueup._kernels.display.topdown import keep_large_first

    first = shape.first
    each = np.repeat(np.maximum(variances, 1e-300), np.diff(shape.level_starts))
    return keep_large_first(first, node_sums(first, cells), each)


def whole_cells(shape: IntervalTree, cells: Floats, nonnegative: bool) -> Ints:
    """The cells as integers, every node of the tree within 1 of what it was."""
    from trueup._kernels.display.nonnegative import node_sums
    from trueup._kernels.display.rounding import whole_numbers

    first = grouped(shape)[0].first
    values = node_sums(first, cells)
    whole = whole_numbers(first, values, int(np.floor(values[0] + 0.5)), nonnegative)
    return whole[len(whole) - shape.size :]
