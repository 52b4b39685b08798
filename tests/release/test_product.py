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
    """Every pair of noises by its probability, none drawn; what lies further out is a miss."""
    noise = np.arange(-16, 17)
    chance = np.exp(-np.abs(noise)) * np.tanh(0.5)  # discrete Laplace of scale 1
    question = tu.CellCounts(1)
    first, second = (
        [tu.infer(tu.Measurement(question, [true + x], 1)).total() for x in noise.tolist()]
        for true in (12, 5)
    )
    held = 0.0
    for one, p in zip(first, chance, strict=True):
        for other, q in zip(second, chance, strict=True):
            low, high = (one * other).interval(0.8)
            held += p * q * (low <= 60 <= high)
    assert 0.8 <= held < 0.99
