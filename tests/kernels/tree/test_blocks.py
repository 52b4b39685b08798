"""Blocks in the cache against the passes for any tree, which are tested against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup._kernels.tree import blocks as in_cache
from trueup._kernels.tree.blocks import Blocks, fit_leaves
from trueup._kernels.tree.tree import fit
from trueup.intervaltree import IntervalTree


@st.composite
def trees(draw: st.DrawFn) -> tuple[int, tuple[int, ...], tuple[float, ...]]:
    """A size that need not fill the tree, radices, and a weight a level, some not asked."""
    radices = tuple(draw(st.lists(st.integers(2, 6), min_size=1, max_size=6)))
    size = draw(st.integers(1, int(np.prod(radices))))
    weight = st.one_of(st.just(0.0), st.floats(1e-3, 1e3))
    weights = tuple(draw(weight) for _ in radices)
    return size, radices, (*weights, draw(st.floats(1e-3, 1e3)))


def by_any_tree(shape: IntervalTree, noisy: np.ndarray, weights: tuple[float, ...]) -> np.ndarray:
    lengths = [shape.length(level) for level in range(shape.height)]
    return fit(shape.first, noisy, np.repeat(weights, lengths))[-shape.size :]


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@pytest.mark.parametrize("span", [1, 5, 16, 1 << 15])
@settings(max_examples=40, deadline=None)
@given(tree=trees(), seed=st.integers(0, 2**32))
def test_blocks_give_the_least_squares_leaves(
    kind: type,
    span: int,
    tree: tuple[int, tuple[int, ...], tuple[float, ...]],
    seed: int,
) -> None:
    size, radices, weights = tree
    shape = IntervalTree.regular(size, radices)
    noisy = np.random.default_rng(seed).integers(-99, 99, int(shape.level_starts[-1])).astype(kind)
    expected = by_any_tree(shape, noisy, weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(in_cache, "SPAN", span)
        found = fit_leaves(Blocks(size, radices, weights), noisy, shape.level_starts[:-1])
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_a_large_tree_in_many_spans_with_a_ragged_end() -> None:
    size, radices = (1 << 18) - 12_345, (2,) * 18
    shape = IntervalTree.regular(size, radices)
    noisy = np.random.default_rng(1).integers(-99, 99, int(shape.level_starts[-1]))
    weights = tuple(1.0 + level % 3 for level in range(19))
    expected = by_any_tree(shape, noisy, weights)
    blocks = Blocks(size, radices, weights)
    assert blocks.rest
    assert blocks.full > 1
    assert np.allclose(fit_leaves(blocks, noisy, shape.level_starts[:-1]), expected, rtol=1e-9)


def test_levels_not_asked_are_not_read() -> None:
    """Answers of asked levels alone, packed: the starts of the others point anywhere."""
    shape = IntervalTree.regular(64, (4, 4, 4))
    noisy = np.random.default_rng(2).integers(0, 9, int(shape.level_starts[-1]))
    weights = (0.0, 2.0, 0.0, 1.0)
    packed = np.concatenate([noisy[1:5], noisy[21:]])
    found = fit_leaves(Blocks(64, (4, 4, 4), weights), packed, np.array([0, 0, 0, 4]))
    assert np.allclose(found, by_any_tree(shape, noisy, weights))
