"""Samples counted against their law: faults planted in copies of the sampler are caught."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare, dlaplace

from trueup._kernels.noise.laplace_tables import tables
from trueup._kernels.noise.tally import SampleTally, _pooled, chi_squares, worst
from trueup.audit import noise_fit

from .sampler_oracle import LEVEL, sampler, seeded


@pytest.mark.parametrize("scale", ["1/20", "1/2", "3", "50", "4096", "4097", "100000"])
def test_chances_of_cells_and_digits_are_those_of_scipys_law(scale: str) -> None:
    tally = SampleTally(Fraction(scale))
    law = dlaplace(float(1 / Fraction(scale)))
    half, width = len(tally.cells) // 2 - 1, 1 << tally.shift
    assert width / 2 < max(Fraction(scale) / 4096, 1) <= width
    ends = np.arange(-half, half + 1) * width
    below = law.cdf(ends - 1)
    wanted = np.concatenate([[below[0]], np.diff(below), [law.sf(ends[-1] - 1)]])
    np.testing.assert_allclose(tally.cell_probabilities(), wanted, rtol=1e-6, atol=1e-13)
    assert tally.cell_probabilities().sum() == pytest.approx(1)
    reach = np.arange(int(60 * Fraction(scale)) + 2)
    for number in range(len(tally.digits)):
        digit = (reach >> (9 * number)) & 511
        found = tally.digit_probabilities(number)
        for sign, values in enumerate((reach, -1 - reach)):
            wanted = np.bincount(digit, law.pmf(values), 512)
            np.testing.assert_allclose(found[sign], wanted, rtol=1e-6, atol=1e-13)


@pytest.mark.parametrize("scale", ["1/2", "30", "5000", "1000000"])
def test_samples_are_counted_in_their_cells_and_digits(scale: str) -> None:
    tally = SampleTally(Fraction(scale))
    rng = np.random.default_rng(1)
    samples = np.rint(rng.laplace(0, 4 * float(Fraction(scale)), 5_000)).astype(np.int64)
    samples[:2] = -(2**62), 2**62
    tally.add(samples[:100])
    tally.add(samples[100:])
    assert tally.total == 5_000
    half = len(tally.cells) // 2 - 1
    inside = np.clip(np.floor_divide(samples, 1 << tally.shift), -half - 1, half)
    assert (tally.cells == np.bincount(inside + half + 1, minlength=2 * half + 2)).all()
    far = np.where(samples < 0, -1 - samples, samples)
    for number, counted in enumerate(tally.digits):
        digit = (far >> (9 * number)) & 511
        for sign in (0, 1):
            own = digit[(samples < 0) == bool(sign)]
            assert (counted[sign] == np.bincount(own, minlength=512)).all()


def test_samples_of_the_law_are_seldom_called_faulty() -> None:
    rng = np.random.default_rng(2)
    chances = []
    for _ in range(200):
        tally = SampleTally(Fraction(3))
        p = -np.expm1(-1 / 3)
        tally.add(rng.geometric(p, 3_000) - rng.geometric(p, 3_000))
        chances.append(tally.p_value())
    found = np.sort(chances)
    for level in (0.01, 0.05, 0.2):
        assert binomtest(int((found <= level).sum()), 200, level, "greater").pvalue > 1e-3


@pytest.mark.parametrize("scale", ["1/2", "7", "1000", "1e6"])
def test_a_scale_one_percent_short_is_caught(scale: str) -> None:
    short = tables(Fraction(scale) * Fraction(99, 100))
    assert noise_fit(sampler(short, seeded(1)), Fraction(scale), 4_000_000) < LEVEL


@pytest.mark.parametrize("scale", ["60", "5000", "1e6", "1e9"])
def test_low_bits_not_complemented_for_negatives_are_caught(scale: str) -> None:
    law = tables(Fraction(scale))
    right = sampler(law, seeded(3))

    def wrong(size: int) -> np.ndarray:
        samples = right(size)
        return np.where(samples < 0, samples ^ ((1 << law.low_bits) - 1), samples)

    assert noise_fit(wrong, law.scale, 4_000_000) < LEVEL


def test_a_zero_of_either_sign_is_caught() -> None:
    right = sampler(tables(Fraction(50)), seeded(4))

    def wrong(size: int) -> np.ndarray:
        return np.where(right(size) < 0, -1, 1) * np.maximum(right(size), ~right(size))

    assert noise_fit(wrong, 50, 4_000_000) < LEVEL


def test_a_stuck_bit_is_caught() -> None:
    fill = seeded(6)

    def stuck(buffer: np.ndarray) -> None:
        fill(buffer)
        buffer[: buffer.size & ~1].view(np.uint16)[:] |= 1 << 7

    assert noise_fit(sampler(tables(Fraction(10**6)), stuck), 10**6, 4_000_000) < LEVEL


def test_cells_that_expect_enough_are_tested_as_scipy_tests_them() -> None:
    """Cell by cell; and in groups of neighbours, of which none is lost."""
    rng = np.random.default_rng(8)
    for size in (2, 5, 40):
        chances = rng.dirichlet(np.full(size, 5.0))
        total = int(200 / chances.min())
        counted = rng.multinomial(total, chances)
        found = chi_squares(counted, chances)
        assert found[0] == pytest.approx(chisquare(counted, chances * total).pvalue)
        for least in (300.0, total / 7):
            seen, expected = _pooled(counted, chances * total, least)
            assert seen.sum() == total
            assert expected.sum() == pytest.approx(total)
            assert (expected >= least / 2).all()
    assert chi_squares(np.array([60, 39]), np.array([0.6, 0.4])) == [1.0]  # too few


@pytest.mark.parametrize("size", [1, 4, 50])
@pytest.mark.parametrize("far", [-20, 25, 60])
def test_the_worst_cell_is_tested_exactly_and_pays_for_all(size: int, far: int) -> None:
    chances = np.full(size, 0.9 / size)
    counted = np.full(size, 45_000 // size)
    counted[size // 2] += far * 4
    total, chance = 50_000, 0.9 / size
    rest = total - int(counted.sum())  # in a cell with a chance of its own, as it is expected
    counted, chances = np.append(counted, rest), np.append(chances, rest / total)
    seen = int(counted[size // 2])
    sides = [binomtest(seen, total, chance, side).pvalue for side in ("less", "greater")]
    expected = min(1.0, 2 * min(sides) * (size + 1))
    assert worst(counted, chances) == pytest.approx(expected)
