"""The geometry of trees against sets of cells written out."""

from __future__ import annotations

import numpy as np
import pytest

from trueup.intervaltree import IntervalTree


def split(cells, radices):
    """The nodes of each level as lists of cells, cut left to right from the first."""
    levels = [[cells]]
    width = int(np.prod(radices, dtype=object))
    for radix in radices:
        width //= radix
        levels.append(
            [node[i : i + width] for node in levels[-1] for i in range(0, len(node), width)]
        )
    return levels


def random_cuts(rng, size, height):
    """Levels of random nodes, each a refinement of the one above, cells last."""
    levels, cuts = [], {0}
    for _ in range(height - 2):
        cuts |= set(rng.choice(size, rng.integers(0, size + 1), replace=False).tolist())
        levels.append(np.array(sorted(cuts)))
    return [*levels, np.arange(size)]


def written_out(size, levels):
    whole = [[list(range(size))]]
    for starts in levels:
        stops = [*starts[1:].tolist(), size]
        whole.append([list(range(a, b)) for a, b in zip(starts.tolist(), stops, strict=True)])
    return whole


def every_shape():
    for size in (1, 2, 3, 7, 16, 33, 100):
        for radix in (2, 3, 5, 16):
            height = 0
            while radix**height < size:
                height += 1
            yield (
                IntervalTree.regular(size, (radix,) * height),
                split(list(range(size)), (radix,) * height),
            )
    for radices in ((2, 3, 5), (5, 3, 2), (30,), (4, 4, 4), (2, 2, 2, 2, 2)):
        for size in (17, 23, 29, 30):
            yield IntervalTree.regular(size, radices), split(list(range(size)), radices)
    rng = np.random.default_rng(2)
    for size in (1, 2, 9, 40):
        for height in (2, 3, 5):
            levels = random_cuts(rng, size, height)
            yield IntervalTree.irregular(size, levels), written_out(size, levels)


@pytest.mark.parametrize(("shape", "levels"), list(every_shape()))
def test_nodes_cover_the_cells_written_out(shape, levels):
    assert shape.height == len(levels)
    for level, nodes in enumerate(levels):
        assert shape.length(level) == len(nodes)
        assert shape.starts(level).tolist() == [node[0] for node in nodes]
        assert shape.stops(level).tolist() == [node[-1] + 1 for node in nodes]
        for number, node in enumerate(nodes):
            assert shape.bounds(level, number) == (node[0], node[-1] + 1)
            assert (shape.node_of(level, np.array(node)) == number).all()


@pytest.mark.parametrize(("shape", "levels"), list(every_shape()))
def test_children_make_up_their_parent(shape, levels):
    numbered = [node for nodes in levels for node in nodes]
    assert shape.level_starts.tolist() == np.cumsum([0, *map(len, levels)]).tolist()
    assert len(shape.first) == len(numbered) + 1
    leaves = len(levels[-1])
    for v, node in enumerate(numbered):
        children = numbered[shape.first[v] : shape.first[v + 1]]
        if v < len(numbered) - leaves:
            assert [cell for child in children for cell in child] == node
        else:
            assert children == []
            assert len(node) == 1


@pytest.mark.parametrize(("shape", "levels"), list(every_shape()))
def test_parents_and_first_children_agree(shape, levels):
    for level in range(shape.height - 1):
        below = np.arange(shape.length(level + 1))
        owner = [
            i for i, node in enumerate(levels[level]) for b in levels[level + 1] if b[0] in node
        ]
        assert shape.parents(level, below).tolist() == owner
        here = np.arange(shape.length(level) + 1)
        assert shape.first_child(level, here).tolist() == shape.children(level).tolist()
