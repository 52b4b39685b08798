"""Fits along the rows of an array against one fit a row."""

from __future__ import annotations

import numpy as np

from trueup._kernels.tree.any_tree_by_level import fit_by_levels
from trueup._kernels.tree.fits_along_rows import tree_lines
from trueup.intervaltree import IntervalTree


def test_every_row_is_fitted_as_if_alone() -> None:
    rng = np.random.default_rng(1)
    first = IntervalTree.regular(23, (3, 3, 3)).first
    noisy = rng.normal(10, 30, (5, len(first) - 1))
    weights = rng.uniform(0.1, 3, len(first) - 1)
    found = tree_lines(first, noisy, weights)
    for row, fitted in zip(noisy, found, strict=True):
        np.testing.assert_allclose(fitted, fit_by_levels(first, row, weights), atol=1e-9)
