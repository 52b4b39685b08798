"""Regular trees level by level against dense algebra and against the passes for any tree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup._kernels.tree.any_tree import fit
from trueup._kernels.tree.regular import RegularTree, fit_by_level
from trueup.intervaltree import IntervalTree

from .regular_trees import level_starts, noisy_answers, regular_trees


@settings(max_examples=150, deadline=None)
@given(tree=regular_trees(most=4), seed=st.integers(0, 2**32))
def test_leaves_are_dense_weighted_least_squares(tree: RegularTree, seed: int) -> None:
    shape = IntervalTree.regular(tree.size, tree.radices)
    assert tree.lengths == tuple(shape.length(level) for level in range(shape.height))
    if tree.size > 300:
        return
    cells = np.arange(tree.size)
    rows = [
        (cells >= a) & (cells < b)
        for level in range(shape.height)
        for a, b in zip(shape.starts(level), shape.stops(level), strict=True)
    ]
    noisy = noisy_answers(tree, seed)
    root = np.sqrt(np.repeat(tree.weights, tree.lengths))
    matrix = np.array(rows, float) * root[:, None]
    expected, *_ = np.linalg.lstsq(matrix, noisy * root, rcond=None)
    found = fit_by_level(tree, noisy, level_starts(tree))
    assert np.allclose(found, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@settings(max_examples=60, deadline=None)
@given(tree=regular_trees(), seed=st.integers(0, 2**32))
def test_leaves_are_those_of_the_passes_for_any_tree(
    kind: type, tree: RegularTree, seed: int
) -> None:
    first = IntervalTree.regular(tree.size, tree.radices).first
    noisy = noisy_answers(tree, seed).astype(kind)
    expected = fit(first, noisy, np.repeat(tree.weights, tree.lengths))[-tree.size :]
    found = fit_by_level(tree, noisy, level_starts(tree))
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@settings(max_examples=40, deadline=None)
@given(tree=regular_trees(), seed=st.integers(0, 2**32))
def test_levels_that_are_not_asked_are_not_read(tree: RegularTree, seed: int) -> None:
    noisy = noisy_answers(tree, seed).astype(np.float64)
    asked = np.repeat(tree.weights, tree.lengths) > 0.0
    with_nothing = np.where(asked, noisy, np.nan)
    found = fit_by_level(tree, with_nothing, level_starts(tree))
    assert np.array_equal(found, fit_by_level(tree, noisy, level_starts(tree)))
