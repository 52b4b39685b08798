"""Counts for people to read: the cells of a tree made non-negative, whole, or both.

Plain numpy around the kernels `nonnegative` and `rounding`.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from trueup._kernels.shape import Shape

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

WIDE = 64
GROUP = 16


def grouped(shape: Shape) -> Shape:
    """The tree with levels put in until no node has more than WIDE children.

    One family of thousands has one price for all: its many empty members would be paid for by
    the few large ones, and long ranges would be wrong. Runs of GROUP neighbours become nodes of
    their own, so that their totals are kept.
    """
    levels = [shape.starts(level) for level in range(shape.height)]
    cuts = [levels[0]]
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
    return Shape.irregular(shape.size, cuts[1:])


def nonnegative_cells(shape: Shape, cells: Floats) -> Floats:
    """The cells projected top-down: nothing negative, no total moved unless it is negative."""
    from trueup._kernels.nonnegative import node_sums, project_top_down

    first = grouped(shape).first
    return project_top_down(first, node_sums(first, cells))


def whole_cells(shape: Shape, cells: Floats, nonnegative: bool) -> Ints:
    """The cells as integers, every node of the tree within 1 of what it was."""
    from trueup._kernels.nonnegative import node_sums
    from trueup._kernels.rounding import whole_numbers

    first = grouped(shape).first
    values = node_sums(first, cells)
    whole = whole_numbers(first, values, int(np.floor(values[0] + 0.5)), nonnegative)
    return whole[len(whole) - shape.size :]
