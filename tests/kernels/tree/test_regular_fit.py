"""The fit of a regular tree: one to the bit for any threads, and on both sides of its threshold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trueup as tu
from trueup._kernels.tree import prefix, regular_fit
from trueup._kernels.tree.prefix import prefix_on_grid
from trueup._kernels.tree.regular import RegularTree, fit_by_level
from trueup._kernels.tree.regular_fit import fit_leaves, fit_prefix

from .regular_trees import level_starts, noisy_answers, regular_trees


def test_levels_not_asked_are_not_read() -> None:
    """Answers of asked levels alone, packed: the starts of the others point anywhere."""
    tree = RegularTree(64, (4, 4, 4), (0.0, 2.0, 0.0, 1.0))
    noisy = noisy_answers(tree, 2)
    packed = np.concatenate([noisy[1:5], noisy[21:]])
    for many in (1, 1 << 15):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(regular_fit, "MANY", many)
            found = fit_leaves(tree, packed, np.array([0, 0, 0, 4]))
        assert np.array_equal(found, fit_by_level(tree, noisy, level_starts(tree)))


@pytest.mark.parametrize("branching", [None, 2, 3, 16])
@pytest.mark.parametrize("size", [(1 << 15) - 1, 1 << 15, (1 << 15) + 1, 100_003])
def test_an_inference_is_the_same_to_the_bit_for_any_threads_on_both_sides_of_the_threshold(
    size: int, branching: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = np.random.default_rng(size).poisson(3, size)
    question = (
        tu.TreeCounts(size) if branching is None else tu.TreeCounts(size, branching=branching)
    )
    measurement = tu.measure(counts, question, "0.1")
    monkeypatch.setattr(regular_fit, "MANY", 1 << 40)
    expected = tu.infer(measurement).prefix
    monkeypatch.setattr(regular_fit, "MANY", 1)
    for threads in (1, 2, 3, 7):
        for module in (regular_fit, prefix):
            monkeypatch.setattr(module, "cores", lambda threads=threads: threads)
        assert np.array_equal(tu.infer(measurement).prefix, expected)


@settings(max_examples=30, deadline=None)
@given(tree=regular_trees(), seed=st.integers(0, 2**32))
def test_prefixes_are_those_of_the_leaves(tree: RegularTree, seed: int) -> None:
    noisy, starts = noisy_answers(tree, seed), level_starts(tree)
    expected = prefix_on_grid(fit_leaves(tree, noisy, starts))
    assert np.array_equal(fit_prefix(tree, noisy, starts), expected)
