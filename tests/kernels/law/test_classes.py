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


def kept(lines: np.ndarray, ends: list[int], scales: list[int]) -> list[list[tuple[float, ...]]]:
    """The classes of each line: scale, size, how many."""
    limits = class_limits([Fraction(scale) for scale in scales])
    assert limits is not None
    found = classes_of_lines(lines, np.array(ends), np.array(scales, float), limits)
    sizes, blocks, numbers, used = found
    return [
        [(scales[blocks[row, k]], sizes[row, k], numbers[row, k]) for k in range(used[row])]
        for row in range(len(lines))
    ]


@pytest.mark.parametrize("place", range(5))
def test_the_largest_coefficient_stands_anywhere(place: int) -> None:
    """What is dust, and what is weak, is told by it: at the first place and at the last, too."""
    line = np.array([[1e-3, 2e-14, 1e-3, 5e-4, 5e-4]])
    line[0, place] = 4.0
    left = [1e-3, 2e-14, 1e-3, 5e-4, 5e-4]
    del left[place]
    (found,) = kept(line, [2, 5], [3, 40])
    assert sum(number for _, _, number in found) == 1 + sum(size > 1e-13 * 4.0 for size in left)
    assert [size for _, size, _ in found if size > 1.0] == [4.0]
    squares = sum(size * size * number for _, size, number in found)
    assert squares == pytest.approx(16.0 + sum(size**2 for size in left), rel=1e-12)


def test_signs_of_coefficients_change_no_class_and_a_line_of_zeros_has_none() -> None:
    lines = np.array([[5.0, 1e-3, 2e-13, 3.0], [1.0, 0.0, 1e-14, 0.25], [0.0, 0.0, 0.0, 0.0]])
    found = kept(lines, [2, 4], [3, 40])
    assert found == kept(-lines, [2, 4], [3, 40])
    assert found == kept(lines * [1, -1, 1, -1], [2, 4], [3, 40])
    assert [sum(number for _, _, number in each) for each in found] == [3, 2, 0]
