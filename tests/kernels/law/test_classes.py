"""Classes of coefficients, for many sums at once: those of each sum by itself."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from trueup._kernels.law.classes import classes_of_lines
from trueup.coefficient_classes import class_limits, law_of


@pytest.mark.parametrize("scales", [(3, 40), (1000, 1), (5, 5), (700, 3, 29)])
def test_classes_of_every_line_are_those_of_the_line_alone(scales: tuple[int, ...]) -> None:
    """Strong and weak blocks, coefficients over ten orders of magnitude, zeros, rounding dust."""
    generator = np.random.default_rng(5)
    lengths = [40, 300, 7][: len(scales)]
    lines = generator.normal(size=(20, sum(lengths))) * 10.0 ** generator.uniform(-10, 0, (20, 1))
    lines *= 10.0 ** generator.uniform(-8, 0, lines.shape)
    lines[:, ::5] = 0.0
    lines[:, 1::17] *= 1e-15
    exact = [Fraction(scale) for scale in scales]
    limits = class_limits(exact)
    assert limits is not None
    ends = np.cumsum(lengths)
    sizes, blocks, numbers, used = classes_of_lines(lines, ends, np.array(scales, float), limits)
    for row, line in enumerate(lines):
        law = law_of(np.split(line, ends[:-1]), exact, "discrete")
        some = slice(0, used[row])
        found = sorted(zip(np.array(scales)[blocks[row, some]], sizes[row, some], strict=True))
        expected = sorted(zip(law.scales, law.coefficients, strict=True))
        assert np.allclose(found, expected, rtol=1e-12)
        assert numbers[row, some].sum() == law.counts.sum()
        kept = np.abs(line) > 1e-13 * np.abs(line).max()
        assert law.counts.sum() == kept.sum()
