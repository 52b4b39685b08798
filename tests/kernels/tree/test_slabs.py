"""A tree in slabs is fitted to the same bits as in one piece."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest

from trueup._kernels.tree import blocks
from trueup._kernels.tree.fused import Run
from trueup._kernels.tree.regular import RegularTree, fit_by_level
from trueup._kernels.tree.slabs import Slabs

Ints = npt.NDArray[np.int64]

TREES = [
    RegularTree(4096, (2,) * 12, (1.0,) * 13),
    RegularTree(4096, (16, 16, 16), (0.0, 0.5, 0.25, 1.0)),
    RegularTree(3001, (16, 16, 16), (0.3, 0.0, 0.25, 1.0)),
    RegularTree(2000, (10, 200), (0.1, 0.0, 1.0)),
    RegularTree(1000, (3, 7, 50), (0.1, 0.2, 0.4, 1.0)),
    RegularTree(100, (10, 10), (1.0, 1.0, 1.0)),  # one block
    RegularTree(5000, (20, 250), (0.0, 0.0, 1.0)),  # cells alone
]


class Given:
    """Noise that was drawn before, for every node of a tree: for tests alone."""

    def __init__(self, tree: RegularTree, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.levels = [rng.integers(-50, 50, length) for length in tree.lengths]

    def __call__(self, values: Ints, runs: Sequence[Run], span: int) -> None:
        for run in runs:
            first = run.first + run.step * span
            values[run.begin : run.end] += self.levels[run.level][
                first : first + run.end - run.begin
            ]


def nodes(tree: RegularTree, cells: Ints) -> list[Ints]:
    """The true count of every node, level by level."""
    return [
        np.add.reduceat(cells, np.arange(0, tree.size, width)).astype(np.int64)
        for width in tree.widths
    ]


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("most", [1, 700, 10**9])
def test_slabs_give_the_bits_of_the_whole_tree(
    tree: RegularTree, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "SPAN", 256)
    cells = np.random.default_rng(4).integers(0, 9, tree.size)
    given, slabs = Given(tree, 5), Slabs(tree, most)
    drawn = [slabs.draw(k, cells[slice(*slabs.cells(k))], given) for k in range(slabs.number)]
    assert [len(answers) for answers, _ in drawn] == [slabs.length(k) for k in range(slabs.number)]
    totals = np.concatenate([total for _, total in drawn])
    above = slabs.draw_above(totals, given)
    up = [slabs.rise(k, answers) for k, (answers, _) in enumerate(drawn)]
    final = slabs.final_steps(above, *(np.concatenate(each) for each in zip(*up, strict=True)))
    leaves = np.empty(tree.size)
    for k, (answers, _) in enumerate(drawn):
        place = slice(*slabs.cells(k))
        slabs.fall(k, answers, final[slabs.blocks(k)], leaves[place])

    true = nodes(tree, cells)
    noisy = [own + noise for own, noise in zip(true, given.levels, strict=True)]
    starts = np.cumsum([0, *map(len, noisy)])[:-1]
    expected = fit_by_level(tree, np.concatenate(noisy), starts)
    assert leaves.tobytes() == expected.tobytes()
    stored = np.sort(np.concatenate([above, *(answers for answers, _ in drawn)]))
    asked = [own for own, w in zip(noisy, tree.weights, strict=True) if w > 0]
    assert (stored == np.sort(np.concatenate(asked))).all()  # and nothing of what is not asked


def test_slabs_cover_every_cell_and_block_once() -> None:
    for tree in TREES:
        slabs = Slabs(tree, 700)
        spans = [slabs.cells(k) for k in range(slabs.number)]
        own = [slabs.blocks(k) for k in range(slabs.number)]
        assert (spans[0][0], spans[-1][1]) == (0, tree.size)
        assert all(a[1] == b[0] for a, b in pairwise(spans))
        assert own[-1].stop == slabs.roots
        assert all(a.stop == b.start for a, b in pairwise(own))


def test_every_cell_is_in_the_slab_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those behind the last full block, which may come after as many full slabs."""
    monkeypatch.setattr(blocks, "SPAN", 16)
    for size in range(30, 140):
        slabs = Slabs(RegularTree(size, (16, 4, 4), (1.0, 1.0, 1.0, 1.0)), 32)
        spans = [slabs.cells(k) for k in range(slabs.number)]
        assert [slabs.slab_of(cell) for cell in range(size)] == [
            k for k, span in enumerate(spans) for _ in range(*span)
        ]
