"""Regular trees drawn at random, for the tests of every way to fit them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from trueup._kernels.tree.regular import RegularTree


@st.composite
def regular_trees(draw: st.DrawFn, most: int = 6) -> RegularTree:
    """A size that need not fill the tree, radices, and a weight a level, some not asked."""
    radices = tuple(draw(st.lists(st.integers(2, most), min_size=1, max_size=6)))
    size = draw(st.integers(1, int(np.prod(radices))))
    weight = st.one_of(st.just(0.0), st.floats(1e-3, 1e3))
    weights = tuple(draw(weight) for _ in radices)
    return RegularTree(size, radices, (*weights, draw(st.floats(1e-3, 1e3))))


def level_starts(tree: RegularTree) -> np.ndarray:
    """Where each level begins, breadth first."""
    return np.cumsum([0, *tree.lengths[:-1]])


def noisy_answers(tree: RegularTree, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-99, 99, sum(tree.lengths))
