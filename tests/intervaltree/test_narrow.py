"""The levels of a narrow tree by arithmetic are those that `grouped` lists."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from trueup.intervaltree import IntervalTree
from trueup.intervaltree.narrow import forest, lengths, narrow_levels
from trueup.intervaltree.readable import grouped

SHAPES = [
    (1, (1,)),
    (64, (64,)),
    (65, (65,)),
    (70_001, (70_001,)),
    (5_000, (3, 200, 10)),
    (6_000, (3, 200, 10)),
    (6_000, (300, 5, 5)),
    (999, (10, 1_000)),
    (500, (100, 10)),  # a root of fewer children than it may have: no level is put in
    (9_999, (2, 100, 50)),
    (129, (2, 65)),
    (700, (4, 4, 4, 4, 4)),
]


@pytest.mark.parametrize(("size", "radices"), SHAPES)
def test_levels_are_those_of_the_grouped_tree(size: int, radices: tuple[int, ...]) -> None:
    tree = IntervalTree.regular(size, radices)
    listed, own = grouped(tree)
    levels = narrow_levels(tree)
    assert [k for k, level in enumerate(levels) if level.own is not None] == own
    assert lengths(levels, 0, size) == [listed.length(k) for k in range(listed.height)]
    assert np.array_equal(forest(levels, 0, size), listed.first)
    for k, level in enumerate(levels):
        nodes = np.arange(listed.length(k))
        assert np.array_equal(level.starts(nodes), listed.starts(k))
        assert np.array_equal(level.node(np.arange(size)), listed.node_of(k, np.arange(size)))


@pytest.mark.parametrize(("size", "radices"), SHAPES)
def test_a_forest_is_a_piece_of_the_tree(size: int, radices: tuple[int, ...]) -> None:
    tree = IntervalTree.regular(size, radices)
    listed = grouped(tree)[0]
    levels = narrow_levels(tree)
    top = min(1, len(levels) - 1)
    starts = listed.starts(top)
    begin, end = len(starts) // 3, max(len(starts) // 3 + 1, len(starts) * 2 // 3)
    start, stop = int(starts[begin]), int(np.append(starts, size)[end])
    found = forest(levels[top:], start, stop)
    cuts = [listed.starts(k) for k in range(top, listed.height)]
    cuts = [each[(each >= start) & (each < stop)] for each in cuts]
    assert found[0] == len(cuts[0]) == end - begin
    node = 0
    for upper, lower in pairwise(cuts):
        after = node + len(upper)
        for k, cut in enumerate(upper):
            own = found[node + k] - after, found[node + k + 1] - after
            last = upper[k + 1] if k + 1 < len(upper) else stop
            assert lower[own[0]] == cut
            assert own[1] - own[0] == ((lower >= cut) & (lower < last)).sum()
        node = after
    assert len(found) == node + len(cuts[-1]) + 1
