"""Boxes in boxes against the definition: every node is a product of nodes of its sides."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trueup.intervaltree import IntervalTree
from trueup.intervaltree.boxes import nested

PRODUCTS = {
    "equal": [IntervalTree.regular(8, (2, 2, 2)), IntervalTree.regular(4, (2, 2))],
    "cut short": [IntervalTree.regular(7, (3, 3)), IntervalTree.regular(5, (2, 2, 2))],
    "three": [IntervalTree.regular(n, (n,)) for n in (3, 2, 4)],
    "irregular": [
        IntervalTree.irregular(6, [np.array([0, 1, 4]), np.arange(6)]),
        IntervalTree.regular(4, (2, 2)),
    ],
    "one cell each": [IntervalTree.irregular(1, []), IntervalTree.irregular(1, [])],
    "one cell": [IntervalTree.regular(1, (2, 2)), IntervalTree.regular(3, (3,))],
}


def sides(shape, level, height):
    """The cells of each node of a level of the product: no split on the first ones if shorter."""
    own = max(0, level - (height - shape.height))
    return [
        range(a, b)
        for a, b in zip(shape.starts(own).tolist(), shape.stops(own).tolist(), strict=True)
    ]


@pytest.mark.parametrize("name", PRODUCTS)
def test_every_node_is_a_product_of_nodes_and_no_product_is_missing(name):
    shapes = PRODUCTS[name]
    order, tree = nested(shapes)
    sizes = [shape.size for shape in shapes]
    assert sorted(order.tolist()) == list(range(math.prod(sizes)))
    assert tree.height == max(shape.height for shape in shapes)
    numbers = np.arange(math.prod(sizes)).reshape(sizes)
    for level in range(tree.height):
        parts = [sides(shape, level, tree.height) for shape in shapes]
        wanted = {
            frozenset(numbers[np.ix_(*(part[i] for part, i in zip(parts, at, strict=True)))].flat)
            for at in np.ndindex(*map(len, parts))
        }
        found = [
            frozenset(order[a:b].tolist())
            for a, b in zip(tree.starts(level).tolist(), tree.stops(level).tolist(), strict=True)
        ]
        assert len(found) == len(wanted)
        assert set(found) == wanted
