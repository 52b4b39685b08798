"""Law: an interval holds its level, exactly as its noise says, however many there are.

Against laws written out point by point, and against scipy.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

import trueup as tu
from trueup.coefficient_classes import law_of
from trueup.law import NoiseLaw, NormalLaw
from trueup.release import intervals
from trueup.release.intervals import quantile_cells, range_intervals

LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)


def law_by_points(parts: list[tuple[float, int, int]], reach: int) -> np.ndarray:
    """P(|Σ step · noise| ≤ q) for q = 0 … reach, for `count` noises of each (scale, step, count).

    On a circle far longer than the noise reaches: multiplied in frequency, point by point.
    """
    size = 4 * reach
    waves = np.ones(size // 2 + 1)
    for scale, step, count in parts:
        one = np.zeros(size)
        for k in range(-(reach // step), reach // step + 1):
            one[k * step % size] += np.exp(-abs(k) / scale)
        waves = waves * (np.fft.rfft(one).real / one.sum()) ** count
    points = np.fft.irfft(waves, size)
    both = points[: reach + 1].copy()
    both[1:] += points[-1 : -reach - 1 : -1]
    return np.cumsum(both)


def least_half_width(parts: list[tuple[float, int, int]], level: float, reach: int = 600) -> int:
    """The least whole q with P(|S| ≤ q) ≥ level."""
    return int(np.argmax(law_by_points(parts, reach) >= level - 1e-12))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("scale", [0.12, 0.3, 0.45, 1.0])
def test_laws_of_many_coefficients_hold_their_level_point_by_point(
    scale: float, level: float
) -> None:
    """Coefficients a little apart are one class: the interval must still reach far enough."""
    steps = [100, 101, 102, 103, 117, 250]
    reach = 30_000 if scale >= 1 else 6000
    law = law_of([np.array(steps, float)], [Fraction(scale)], "discrete")
    width = law.half_width(level)
    points = law_by_points([(scale, step, 1) for step in steps], reach)
    assert points[int(width + 1e-9)] >= level - 1e-9


def test_classes_widen_an_interval_where_noise_has_atoms() -> None:
    """Two coefficients of one class: the interval reaches the larger one, not only their mean.

    The root mean square of the two is 1, and the third is 2: a lattice, on which the half width is
    found exactly, with nothing to spare.
    """
    above = 1.00004
    below = float(np.sqrt(2 - above**2))
    law = law_of([np.array([2.0, above, below])], [Fraction(1, 10)], "discrete")
    assert sorted(law.coefficients) == pytest.approx([1.0, 2.0], abs=1e-12)
    moved = 1 - np.tanh(5)  # the chance that noise of scale 1/10 is not 0
    # One and a half such chances may lie beyond: the largest coefficient's, not the next one's.
    assert law.half_width(1 - 1.5 * moved) >= above


@pytest.mark.parametrize("level", LEVELS)
def test_normal_intervals_are_scipys(level: float) -> None:
    assert NormalLaw(4.0).half_width(level) == pytest.approx(norm.interval(level, scale=2.0)[1])


@pytest.mark.parametrize("number", [1, 2, 7, 8, 9, 999, 1000, 1001, 2500])
@pytest.mark.parametrize("simultaneous", [False, True])
def test_each_of_many_intervals_has_its_part_of_the_level(number: int, simultaneous: bool) -> None:
    """Cells alone: the half width of one count at 1 − (1 − level)/n, from its law."""
    release = tu.infer(tu.measure(np.zeros(number, int), tu.CellCounts(number), 1))
    cells = np.arange(number)
    low, high = range_intervals(
        release.errors, release.counts(), cells, cells + 1, 0.9, simultaneous
    )
    each = 1 - 0.1 / number if simultaneous else 0.9
    k = np.arange(200)
    inside = np.cumsum(np.where(k == 0, 1, 2) * np.exp(-k)) * np.tanh(0.5)
    least = int(np.argmax(inside >= each - 1e-13))
    assert ((high - low) / 2 == least).all()


def brute_quantile(noisy: np.ndarray, width: float) -> tuple[int, int]:
    """The cells of the median that noise within this half width does not rule out.

    Half of 1 − level lies beyond the half width of the level, for the law is symmetric.
    """
    size, prefix = len(noisy), np.concatenate([[0], np.cumsum(noisy)])
    twice = 2 * prefix - prefix[-1]  # 2 · (count below − total/2): whole coefficients ±1
    ends = [cell for cell in range(size) if twice[cell + 1] >= -width]
    starts = [cell for cell in range(size) if twice[cell] <= width]
    # No count is negative: where all cells are ruled out, the total is that noisy, and none is.
    low, high = (ends or [0])[0], (starts or [size - 1])[-1]
    return min(low, high), max(low, high)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_quantile_intervals_are_those_of_brute_force(level: float) -> None:
    width = least_half_width([(2.0, 1, 9)], level)
    for seed in range(24):
        least, most = (0, 12) if seed % 2 else (-12, 2)  # and where noise makes them negative
        noisy = np.random.default_rng(seed).integers(least, most, 9)
        if seed % 3 == 0:
            noisy[-(seed % 2)] = -200  # the first or the last: all cells are ruled out by one side
        release = tu.infer(tu.Measurement(tu.CellCounts(9), noisy, Fraction(1, 2)))
        found = quantile_cells(release.errors, release.prefix, 0.5, level)
        # Half widths may be up to a hundredth too wide, never too narrow.
        assert found in (brute_quantile(noisy, width), brute_quantile(noisy, 1.01 * width))


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_quantile_that_is_looked_at_in_few_places_is_told_no_narrower(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no wider than from the first place on that was not looked at, or by Chebyshev."""
    monkeypatch.setattr(intervals, "_MOST_LAWS", most)
    width = 1.01 * least_half_width([(2.0, 1, 40)], 0.95, 3000)
    wider = 0
    for seed in range(12):
        noisy = np.random.default_rng(seed).integers(0, 12, 40)
        release = tu.infer(tu.Measurement(tu.CellCounts(40), noisy, Fraction(1, 2)))
        low, high = quantile_cells(release.errors, release.prefix, 0.5, 0.95)
        least, last = brute_quantile(noisy, width)
        # By Chebyshev 1/√0.05 deviations of the sum of forty noises: what is beyond is never met.
        first, end = brute_quantile(noisy, np.sqrt(40 * release.errors.level_variances[-1] / 0.05))
        assert low == min(first + most, least) or least - 1 <= low <= least
        assert high == max(end - most, last) or last <= high <= last + 1
        wider += (low, high) != (least, last)
    assert wider


@pytest.mark.parametrize("large", [1, 10**6, 10**15, 3 * 10**17])
def test_what_floats_round_off_is_allowed_for(large: int) -> None:
    """In fractions: what lies within reach of the exact value lies in the interval in floats."""
    generator = np.random.default_rng(large % 97)
    for _ in range(300):
        exact = Fraction(int(generator.integers(-large, large + 1))) + Fraction(
            int(generator.integers(1, 900)), int(generator.integers(901, 1800))
        )
        reach = float(generator.uniform(0, 50))
        value = float(exact)
        wide = Fraction(float(intervals.allowing_for_rounding(reach, value)))
        for end in (exact - Fraction(reach), exact + Fraction(reach)):
            assert Fraction(value) - wide <= end <= Fraction(value) + wide
    assert intervals.allowing_for_rounding(3.0, 7.0) == 3  # whole numbers are what they are


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_share_intervals_are_those_of_brute_force(level: float) -> None:
    """At half of the total the coefficients are whole: what is ruled out there is known exactly."""
    for seed in range(8):
        noisy = np.random.default_rng(seed).integers(0, 30, 6)
        release = tu.infer(tu.Measurement(tu.CellCounts(6), noisy, Fraction(1)))
        low, high = (release.between(0, 3) / release.total()).interval(level)
        width = least_half_width([(1.0, 1, 6)], level)
        far = abs(2 * int(noisy[:3].sum()) - int(noisy.sum()))
        if far <= width:
            assert low <= 0.5 <= high
        elif far > 1.03 * width + 1:
            assert not low <= 0.5 <= high


def test_the_total_of_adaptive_counts_is_as_wrong_as_all_answers() -> None:
    counts = np.random.default_rng(1).geometric(0.02, 2000)
    measured = tu.measure(counts, tu.SortedCounts(2000), 1)
    release = tu.infer(measured)
    assert len(measured.noisy) != 2000
    one = NoiseLaw(np.ones(1), np.ones(1), np.ones(1)).variance
    assert release.total().unbiased.std_error ** 2 == pytest.approx(len(measured.noisy) * one)


@pytest.mark.parametrize("scales", [(3, 3), (2, 900), (900, 2), (1, 5000)])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999999])
def test_classes_of_coefficients_move_an_interval_by_less_than_a_part_in_ten_thousand(
    scales: tuple[int, int], level: float
) -> None:
    """Against the law of every coefficient by itself, where small ones have the strongest noise."""
    generator = np.random.default_rng(6)
    blocks = [generator.uniform(0.2, 1, 30), 10.0 ** generator.uniform(-3, -1, 60)]
    law = law_of(blocks, [Fraction(scale) for scale in scales], "discrete")
    each = np.concatenate(blocks)
    full = NoiseLaw(each, np.repeat(np.array(scales, float), [30, 60]), np.ones(90))
    assert len(law.coefficients) < 90
    assert law.variance == pytest.approx(full.variance, rel=1e-12)
    assert law.half_width(level) == pytest.approx(full.half_width(level), rel=1e-4)
