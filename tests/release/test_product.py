"""A product of estimates holds the truth at least as often as it says."""

from __future__ import annotations

import numpy as np
import pytest

import trueup as tu
from trueup.release.product import Product


def test_the_interval_spans_the_products_of_the_factors_intervals():
    release = tu.infer(tu.Measurement(tu.CellCounts(3), [40, -3, 7], 1))
    for a, b in ((0, 1), (0, 2), (1, 2), (1, 1)):
        one, other = release.range(a, a + 1), release.range(b, b + 1)
        found = one * other
        assert isinstance(found, Product)
        assert found.value == one.value * other.value
        ends = np.multiply.outer(one.interval(0.975), other.interval(0.975))
        assert found.interval() == (ends.min(), ends.max())
    with pytest.raises(tu.InputError, match="no standard error of its own"):
        _ = found.std_error
    assert float(found) == found.value
    assert f"{found:.1f}".startswith(f"{found.value:.1f} (95 %: ")
    assert "with probability 95 % or more" in found.describe()


def test_products_hold_the_truth_at_least_as_often_as_they_say():
    counts, held = np.array([12, 5]), 0
    for _ in range(400):
        one, other = (tu.infer(tu.measure(counts, tu.CellCounts(2), 1)) for _ in range(2))
        low, high = (one.range(0, 1) * other.range(1, 2)).interval(0.8)
        held += low <= 60 <= high
    assert held >= 290  # of 400 at 80 %: fewer would come about once in 10,000 times
