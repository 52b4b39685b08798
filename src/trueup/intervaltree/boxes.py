"""Boxes in boxes: the product of trees over several axes as one tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trueup.arrays import Ints
from trueup.intervaltree import IntervalTree


def nested(shapes: Sequence[IntervalTree]) -> tuple[Ints, IntervalTree]:
    """The product of trees as one tree, and the order in which its leaves come.

    The children of a box are the products of its sides' children; all axes reach their cells on
    the last level, and an axis of fewer levels is not split on the first ones. Entry i of the
    order is the number, the last axis running fastest, of the cell that is leaf i.
    """
    height = max(shape.height for shape in shapes)
    sizes = [shape.size for shape in shapes]
    keys = []
    for level in range(1, height):
        nodes = []
        for shape in shapes:
            own = max(0, level - (height - shape.height))
            nodes.append(shape.node_of(own, np.arange(shape.size)))
        counts = [int(each[-1]) + 1 for each in nodes]
        key = np.zeros(sizes, np.int64)
        for axis, (each, count) in enumerate(zip(nodes, counts, strict=True)):
            key *= count
            key += each.reshape([-1 if other == axis else 1 for other in range(len(sizes))])
        keys.append(key.ravel())
    if not keys:  # one cell
        return np.zeros(1, np.int64), IntervalTree.irregular(1, [])
    order = np.lexsort(keys[::-1]).astype(np.int64)
    cuts = []
    for key in keys:
        sorted_key = key[order]
        changes = np.flatnonzero(sorted_key[1:] != sorted_key[:-1]) + 1
        cuts.append(np.concatenate([[0], changes]))
    return order, IntervalTree.irregular(len(order), cuts)
