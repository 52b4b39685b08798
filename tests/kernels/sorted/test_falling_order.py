"""The compiled order against numpy's stable sort."""

from __future__ import annotations

import numpy as np
import pytest

from trueup._kernels.sorted.falling_order import falling


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 64, 1000])
@pytest.mark.parametrize("distinct", [1, 3, 10**9])
def test_keys_fall_and_equal_ones_keep_their_order(size: int, distinct: int) -> None:
    keys = np.random.default_rng(size).integers(0, distinct, size).astype(np.float64)
    assert falling(keys).tolist() == np.argsort(-keys, kind="stable").tolist()
