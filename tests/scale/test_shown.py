"""Counts made to be shown run by run are those made in memory, whatever the tree and the runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from trueup._kernels.tree import blocks
from trueup.intervaltree import IntervalTree
from trueup.intervaltree.readable import large_first_cells, projected_cells, whole_cells
from trueup.scale.shown import Roots, ShownTree

Ints = npt.NDArray[np.int64]

SHAPES: list[tuple[int, tuple[int, ...], tuple[float, ...]]] = [
    (1, (1,), (0.0, 1.0)),
    (50, (50,), (0.3, 0.5)),
    (3_001, (3_001,), (0.0, 1.0)),
    (2_000, (2_000,), (0.5, 1.0)),
    (700, (4, 4, 4, 4, 4), (1.0, 1.0, 0.25, 1.0, 0.5, 1.0)),
    (1_024, (2,) * 10, (0.0, *[1.0] * 10)),
    (1_990, (2, 100, 10), (0.3, 0.0, 1.0, 0.7)),
    (2_500, (130, 20), (1.0, 0.1, 1.0)),
    (999, (10, 1_000), (1.0, 0.5, 1.0)),
    (500, (100, 10), (1.0, 1.0, 0.5)),
]


def noisy(
    tree: IntervalTree, weights: tuple[float, ...], counts: Ints, rng: np.random.Generator
) -> tuple[dict[int, Ints], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The answers of each asked level; of all nodes, the answers and the weights."""
    levels, nodes, each = {}, [], []
    for level, weight in enumerate(weights):
        true = np.add.reduceat(counts, tree.starts(level))
        if weight:
            drawn = np.rint(rng.laplace(0, 4 / weight**0.5, len(true))).astype(np.int64)
            levels[level] = true + drawn
        nodes.append(levels.get(level, np.zeros(len(true))))
        each.append(np.full(len(true), weight))
    return levels, np.concatenate(nodes).astype(float), np.concatenate(each)


@pytest.mark.parametrize("full", [0.0, 0.05, 0.6])
@pytest.mark.parametrize(("size", "radices", "weights"), SHAPES)
def test_runs_give_the_whole_counts_of_the_tree_in_memory(
    size: int,
    radices: tuple[int, ...],
    weights: tuple[float, ...],
    full: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(size)
    counts = rng.integers(1, 40, size) * (rng.random(size) < full)
    check_runs(size, radices, weights, counts, rng, monkeypatch)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("size", "radices", "weights"), [shape for shape in SHAPES if shape[2][0] and shape[0] > 50]
)
def test_small_children_of_the_root_below_nothing_are_empty_in_runs_too(
    size: int,
    radices: tuple[int, ...],
    weights: tuple[float, ...],
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One cell has all the counts: the others' noise alone decides whether the root is special."""
    rng, counts = np.random.default_rng(seed), np.zeros(size, np.int64)
    counts[seed * size // 7] = 5_000
    check_runs(size, radices, weights, counts, rng, monkeypatch)


def check_runs(
    size: int,
    radices: tuple[int, ...],
    weights: tuple[float, ...],
    counts: Ints,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The whole counts made run by run, beside those made in memory."""
    tree, unit = IntervalTree.regular(size, radices), 32**0.5
    levels, values, each = noisy(tree, weights, counts, rng)
    settled = large_first_cells(tree, values, each, unit)
    expected = whole_cells(tree, settled, True)
    asked = {level: weight for level, weight in enumerate(weights) if weight}
    read: list[int] = []

    def nodes(level: int, first: int, stop: int) -> Ints:
        read.append(stop - first)
        return levels[level][first:stop]

    def made(most: int) -> ShownTree:
        read.clear()
        return ShownTree(tree, asked, unit, nodes, most, threads=2)

    for most in same_in_runs(made, expected, monkeypatch):
        assert max(read) <= most, "no run reads more than its own nodes"


def same_in_runs(
    made: Callable[[int], ShownTree], expected: Ints, monkeypatch: pytest.MonkeyPatch
) -> Iterator[int]:
    """The whole counts made run by run are the expected ones; how many nodes a run may read."""
    size = len(expected)
    for span, most in ((40, 100), (16, 1), (1 << 16, 1 << 22)):
        monkeypatch.setattr(blocks, "SPAN", span)
        shown = made(most)
        up: Any = [np.concatenate(part) for part in zip(*map(shown.rise, range(shown.runs)))]  # noqa: B905
        yield max(most, span)
        final = shown.settle_above(*up)
        sums = np.concatenate([shown.sums(run, final) for run in range(shown.runs)])
        roots = Roots(final, shown.whole_above(sums))
        whole, before = shown.whole(0, size, roots)
        assert before == 0
        assert np.array_equal(whole, expected)
        for start, stop in ((size // 3, size // 3 + 1), (size // 2, size)):
            part, before = shown.whole(start, stop, roots)
            assert np.array_equal(part, expected[start:stop])
            assert before == expected[:start].sum()


@pytest.mark.parametrize(("size", "radices", "weights"), SHAPES)
def test_cells_that_are_projected_in_runs_are_those_projected_in_memory(
    size: int,
    radices: tuple[int, ...],
    weights: tuple[float, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No node but the cells has a noisy count of its own, and many cells are below nothing."""
    rng, tree = np.random.default_rng(size), IntervalTree.regular(size, radices)
    cells = np.rint(rng.laplace(1, 6, size)) * (rng.random(size) < 0.8)
    expected = whole_cells(tree, projected_cells(tree, cells), True)
    assert (expected >= 0).all()
    assert size < 50 or (cells < 0).sum() > 5

    def made(most: int) -> ShownTree:
        def nodes(level: int, first: int, stop: int) -> npt.NDArray[Any]:
            assert level == tree.height - 1
            return cells[first:stop]

        own = {tree.height - 1: 1.0}
        return ShownTree(tree, own, 1.0, nodes, most, threads=2, projected=True)

    for _ in same_in_runs(made, expected, monkeypatch):
        pass
