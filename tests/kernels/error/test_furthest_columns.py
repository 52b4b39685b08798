"""The largest distance of two columns against all pairs written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from trueup._kernels.error.furthest_columns import furthest_columns


@pytest.mark.parametrize("seed", range(12))
def test_the_distance_is_the_largest_over_all_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dense = rng.integers(-5, 6, (rng.integers(1, 9), rng.integers(1, 9)))
    dense[rng.random(dense.shape) < 0.5] = 0
    by_row, by_column = sparse.csr_array(dense), sparse.csc_array(dense)
    parts = [
        part.astype(np.int64)
        for half in (by_row, by_column)
        for part in (half.indptr, half.indices, half.data)
    ]
    found = furthest_columns(*parts, np.abs(dense).sum(axis=0))
    columns = dense.T
    assert found == max(np.abs(a - b).sum() for a in columns for b in columns)
