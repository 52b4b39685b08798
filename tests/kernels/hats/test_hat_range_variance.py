from __future__ import annotations

import numpy as np
import pytest

from trueup._kernels.hats.hat_range_variance import fill_variances

from .hats_written_out import random_hats


@pytest.mark.parametrize("seed", range(12))
def test_every_range_equals_dense_linear_algebra(seed: int) -> None:
    hats = random_hats(300 + seed, most=40)
    i, j = np.triu_indices(hats.size + 1, 1)
    found = np.empty(len(i))
    tables = hats.tables()
    if len(tables.strides):
        fill_variances.plain(tables, i, j, found)  # type: ignore[attr-defined]
        np.testing.assert_allclose(found, hats.range_variances()[i, j], rtol=1e-9, atol=1e-12)
