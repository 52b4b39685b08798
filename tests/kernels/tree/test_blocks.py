"""Blocks in the cache, in any number of threads, give the bits of the passes level by level."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup._kernels.tree import blocks
from trueup._kernels.tree.prefix import BLOCK
from trueup._kernels.tree.regular import RegularTree, fit_by_level
from trueup._kernels.tree.running_sums import block_totals

from .regular_trees import level_starts, noisy_answers, regular_trees


def fitted(tree: RegularTree, noisy: np.ndarray, threads: int) -> np.ndarray:
    leaves = np.full(tree.size, np.nan)
    blocks.fit_into(tree, noisy, level_starts(tree), leaves, threads)
    return leaves


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("span", [1, 5, 16, 1 << 15])
@settings(max_examples=40, deadline=None)
@given(tree=regular_trees(), seed=st.integers(0, 2**32))
def test_no_span_and_no_number_of_threads_changes_a_bit(
    kind: type, threads: int, span: int, tree: RegularTree, seed: int
) -> None:
    noisy = noisy_answers(tree, seed).astype(kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "SPAN", span)
        found = fitted(tree, noisy, threads)
    assert np.array_equal(found, fit_by_level(tree, noisy, level_starts(tree)))


@pytest.mark.parametrize(
    ("size", "radices"),
    [
        ((1 << 18) - 12_345, (2,) * 18),
        (200_001, (14, 18, 17, 16, 16)),
        (1 << 18, (4,) * 9),
        (100_000, (2, 50_000)),
        (70_000, (2, 70_001)),  # the blocks are wider than the tree
        (80_000, (80_000,)),  # no blocks at all
        (5, (2,) * 60),
    ],
)
def test_large_trees_give_the_same_bits(size: int, radices: tuple[int, ...]) -> None:
    tree = RegularTree(size, radices, tuple(level % 3 + 0.5 for level in range(len(radices) + 1)))
    noisy = noisy_answers(tree, 1)
    expected = fit_by_level(tree, noisy, level_starts(tree))
    sums = block_totals(expected, BLOCK, 1)
    for threads in (1, 2, 5):
        assert np.array_equal(fitted(tree, noisy, threads), expected)
        leaves, totals = np.empty(size), np.zeros(len(sums))
        blocks.fit_into(tree, noisy, level_starts(tree), leaves, threads, totals)
        assert np.array_equal(leaves, expected)
        assert np.array_equal(totals, sums)  # also of blocks in which two threads met


@pytest.mark.parametrize("asked", range(6))
def test_levels_that_are_not_asked_at_the_top_give_the_same_bits(asked: int) -> None:
    weights = tuple(float(level >= asked) for level in range(6))
    tree = RegularTree(200_001, (14, 18, 17, 16, 16), weights)
    noisy = noisy_answers(tree, asked)
    expected = fit_by_level(tree, noisy, level_starts(tree))
    assert np.array_equal(fitted(tree, noisy, 2), expected)


@pytest.mark.parametrize("span", [1, 16, 1 << 15])
def test_levels_that_are_not_asked_are_not_read(span: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where blocks are of several nodes, and in the levels above the blocks."""
    monkeypatch.setattr(blocks, "SPAN", span)
    for number in range(16):
        weights = (*(float(number >> level & 1) for level in range(4)), 1.0)
        tree = RegularTree(150, (3, 4, 2, 7), weights)
        noisy = noisy_answers(tree, number).astype(np.float64)
        asked = np.repeat(tree.weights, tree.lengths) > 0.0
        found = fitted(tree, np.where(asked, noisy, np.nan), 2)
        assert np.array_equal(found, fit_by_level(tree, noisy, level_starts(tree)))
