"""Coefficients that are alike are put together, and intervals stay what they are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from trueup.coefficient_classes import law_of
from trueup.law import NoiseLaw

SPREAD = np.random.default_rng(1)
BLOCKS = {
    "even": [SPREAD.uniform(0, 1, 300), SPREAD.uniform(0, 2, 200)],
    "falling": [np.exp(-SPREAD.uniform(0, 9, 400)), np.exp(-SPREAD.uniform(0, 9, 50))],
    "few large": [np.append(SPREAD.uniform(-1, -0.5, 3), SPREAD.uniform(0, 0.2, 300)), np.ones(2)],
}


@pytest.mark.parametrize("kind", ["discrete", "gaussian"])
@pytest.mark.parametrize("name", BLOCKS)
def test_coefficients_put_together_make_the_interval_of_each_by_itself(
    name: str, kind: str
) -> None:
    """Within a part in ten thousand; where noise is mostly 0, never less than it."""
    blocks = BLOCKS[name]
    for scales in ((3, 7), (Fraction(1, 5), 2), (Fraction(1, 5), Fraction(1, 3))):
        found = law_of(blocks, [Fraction(scale) for scale in scales], kind)
        each = np.repeat([float(scale) for scale in scales], [len(block) for block in blocks])
        alone = NoiseLaw(np.abs(np.concatenate(blocks)), each, np.ones(len(each)), kind)
        assert found.variance == pytest.approx(alone.variance, rel=1e-9)
        for level in (0.95, 0.999):
            off = found.half_width(level) / alone.half_width(level) - 1
            assert (0 if min(scales) < 0.5 and kind == "discrete" else -1e-4) <= off <= 1.1e-4
