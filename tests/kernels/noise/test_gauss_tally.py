"""Counting Gaussian samples: the chances are those of the law, and faults show."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from trueup._kernels.noise import gauss
from trueup._kernels.noise.gauss_tally import GaussTally


@pytest.mark.parametrize("variance", ["1/2", "9", "100/7", "4000000", "4200000", "1e10"])
def test_chances_of_cells_are_sums_of_the_law(variance: str) -> None:
    """On both sides of where a cell holds more than one value."""
    tally = GaussTally(Fraction(variance))
    chances = tally.cell_probabilities()
    assert abs(chances.sum() - 1) < 1e-9
    half, width = (tally.cells.size - 2) // 2, 1 << tally.shift
    assert (width > 1) == (Fraction(variance) > 2048**2)
    twice = 2 * mpmath.mpf(Fraction(variance).numerator) / Fraction(variance).denominator
    whole = (
        mpmath.jtheta(3, 0, mpmath.exp(-1 / twice))
        if twice < 100
        else mpmath.sqrt(mpmath.pi * twice)
    )
    for cell in {-1, 0, 1, half // 10, -(half // 10)}:
        values = range(cell * width, (cell + 1) * width)
        exact = mpmath.fsum(mpmath.exp(-mpmath.mpf(x * x) / twice) for x in values) / whole
        assert chances[1 + half + cell] == pytest.approx(float(exact), rel=1e-7)


def test_every_sample_is_counted_once_far_ones_at_the_ends() -> None:
    tally = GaussTally(Fraction(4))
    samples = np.array([-(10**6), -3, 0, 0, 7, 10**6])
    tally.add(samples)
    assert tally.cells.sum() == samples.size
    assert tally.cells[0] == tally.cells[-1] == 1
    assert tally.cells[1 + (tally.cells.size - 2) // 2] == 2


@pytest.mark.parametrize("variance", ["9", "1e10"])
@pytest.mark.parametrize("fault", ["shifted", "even", "cut", "none"])
def test_faults_of_samples_show(variance: str, fault: str) -> None:
    tally, spread = GaussTally(Fraction(variance)), float(Fraction(variance)) ** 0.5
    for _ in range(4):
        samples = gauss.draw(1 << 18, variance)
        if fault == "shifted":
            samples += int(spread / 10) + 1
        elif fault == "even":
            samples &= ~np.int64(1)
        elif fault == "cut":
            samples = samples[np.abs(samples) < 2.5 * spread]
        tally.add(samples)
    assert (tally.p_value() < 1e-9) == (fault != "none")
