from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import isotonic_regression, minimize_scalar
from scipy.stats import binomtest, norm

from trueup._kernels.sorted.isotonic import isotonic
from trueup._kernels.sorted.sorted_band import sorted_band, window_reach

from .rising_counts import FAMILIES, LEVELS, assert_covered_as_often_as_claimed, drawing


def drawn(scale, shape, seed):
    generator = np.random.default_rng(seed)
    success = -np.expm1(-1 / scale)
    return generator.geometric(success, shape) - generator.geometric(success, shape)


TRUTHS = {
    "all equal": np.full(60, 7),
    "all different": np.arange(60) * 3,
    "few values": np.repeat([0, 1, 5, 40], 15),
    "one": np.array([4]),
}


@pytest.mark.parametrize("name", TRUTHS)
@pytest.mark.parametrize("scale", [0.4, 2.0, 20.0])
def test_the_whole_sequence_lies_inside_as_often_as_claimed(name, scale):
    truth = TRUTHS[name]
    draws, inside = 1500, 0
    for row in drawn(scale, (draws, len(truth)), seed=len(name)):
        low, high = sorted_band(isotonic(truth + row), scale, 0.9)
        inside += bool(((low <= truth) & (truth <= high)).all())
    assert binomtest(inside, draws, 0.9, alternative="less").pvalue > 1e-4


@pytest.mark.parametrize("scale", [0.3, 3.0])
def test_all_windows_stay_within_their_reach_together(scale):
    size, draws = 40, 20_000
    lengths = np.arange(1, size + 1)
    reach = window_reach(scale, size, 0.5, lengths)
    sums = np.cumsum(drawn(scale, (draws, size), seed=1), axis=1)
    sums = np.concatenate([np.zeros((draws, 1)), sums], axis=1)
    inside = np.ones(draws, bool)
    for length in lengths:
        means = (sums[:, length:] - sums[:, :-length]) / length
        inside &= (np.abs(means) <= reach[length - 1] + 1e-12).all(axis=1)
    assert binomtest(int(inside.sum()), draws, 0.5, alternative="less").pvalue > 1e-4


@pytest.mark.parametrize("scale", [0.3, 3.0, 50.0])
@pytest.mark.parametrize("size", [5, 300])
def test_the_chances_of_all_windows_add_up_to_what_the_level_leaves(scale, size):
    """Half for single noises, exactly; half for longer windows, by Chernoff's least bound."""
    left, lengths = 0.1, np.arange(1, size + 1)
    reach = window_reach(scale, size, 1 - left, lengths)
    p = np.exp(-1 / scale)
    assert 2 * size * p ** (reach[0] + 1) / (1 + p) <= left / 2 * (1 + 1e-9)
    assert 2 * size * p ** reach[0] / (1 + p) > left / 2 or reach[0] == 0  # one less is too little

    def log_chance(theta, length, q):
        moment = 2 * np.log1p(-p) - np.log1p(-p * np.exp(theta)) - np.log1p(-p * np.exp(-theta))
        return length * (moment - theta * q)

    total = 0.0
    for length, q in zip(lengths[1:].tolist(), reach[1:].tolist(), strict=True):
        least = minimize_scalar(
            log_chance, bounds=(0, 1 / scale), args=(length, q), method="bounded"
        ).fun
        total += 2 * (size - length + 1) * np.exp(least)
    assert 0.8 * left / 2 <= total <= left / 2 * (1 + 1e-6)


def test_the_band_rises_holds_the_fit_and_is_narrow_where_counts_repeat():
    truth = np.concatenate([np.zeros(3000), np.arange(1, 200) ** 2])
    fit = isotonic(truth + drawn(5.0, len(truth), seed=2))
    low, high = sorted_band(fit, 5.0, 0.95)
    assert (np.diff(low) >= 0).all()
    assert (np.diff(high) >= 0).all()
    assert ((low <= fit) & (fit <= high)).all()
    width = high - low
    constant = 2 * window_reach(5.0, len(truth), 0.95, np.array([1]))[0]
    assert (width <= constant + 1e-9).all()
    assert np.median(width[:3000]) < constant / 15


def test_reach_grows_with_the_noise_however_large():
    lengths = np.array([1, 2, 7, 40])
    unit = window_reach(1e4, 40, 0.9, lengths) / 1e4
    for scale in (1e6, 1e8, 1e9):
        assert np.allclose(window_reach(scale, 40, 0.9, lengths) / scale, unit, rtol=1e-3)


def test_counts_beyond_exact_floats_lie_inside():
    truth = np.array([0, 0, 2**61 - 1, 2**61 + 12_345])
    fit = isotonic((truth + drawn(2.0, 4, seed=3)).astype(np.float64))
    low, high = sorted_band(fit, 2.0, 1 - 1e-9)
    assert all(int(a) <= int(t) <= int(b) for a, t, b in zip(low, truth, high, strict=True))


@pytest.mark.parametrize("scale", [0.001, 1 / 800, 1 / 701])
def test_the_least_noise_has_a_band_of_no_width(scale):
    # The chance of any noise at all is below e^-700.
    reach = window_reach(scale, 1000, 0.95, np.arange(1, 1001))
    assert reach[0] == 0
    assert (reach[1:] > 0).all()
    assert (reach < 0.02).all()


def test_the_band_around_isotonic_counts_covers_the_whole_sequence_as_often_as_it_claims():
    scale, missed = 10.0, {}
    for name, rising in FAMILIES.items():
        draw, missed[name] = drawing(7, scale), np.zeros(len(LEVELS), np.int64)
        for _ in range(40):
            fit = isotonic_regression(rising + draw(len(rising))).x
            for i, level in enumerate(LEVELS):
                low, high = sorted_band(fit, scale, level)
                missed[name][i] += not ((low <= rising) & (rising <= high)).all()
        assert_covered_as_often_as_claimed(missed[name], 40)
    assert_covered_as_often_as_claimed(sum(missed.values()), 40 * len(missed))


def gaussian(variance, shape, seed):
    points = np.arange(-60, 61)
    weights = np.exp(-(points**2) / (2 * variance))
    return np.random.default_rng(seed).choice(points, shape, p=weights / weights.sum())


@pytest.mark.parametrize("variance", [0.1, 2.0, 30.0])
def test_windows_of_gaussian_noise_stay_within_their_reach_together(variance):
    size, draws = 40, 5_000
    lengths = np.arange(1, size + 1)
    reach = window_reach(variance, size, 0.5, lengths, True)
    sums = np.cumsum(gaussian(variance, (draws, size), seed=1), axis=1)
    sums = np.concatenate([np.zeros((draws, 1)), sums], axis=1)
    inside = np.ones(draws, bool)
    for length in lengths:
        means = (sums[:, length:] - sums[:, :-length]) / length
        inside &= (np.abs(means) <= reach[length - 1] + 1e-12).all(axis=1)
    assert binomtest(int(inside.sum()), draws, 0.5, alternative="less").pvalue > 1e-4
    assert variance < 1 or inside.mean() < 0.98  # not so wide that it says nothing


@pytest.mark.parametrize("name", TRUTHS)
def test_the_band_of_gaussian_noise_covers_as_often_as_claimed(name):
    truth = TRUTHS[name]
    draws, inside = 400, 0
    for row in gaussian(9.0, (draws, len(truth)), seed=len(name)):
        low, high = sorted_band(isotonic(truth + row), 9.0, 0.9, True)
        inside += bool(((low <= truth) & (truth <= high)).all())
    assert binomtest(inside, draws, 0.9, alternative="less").pvalue > 1e-4


def bounds_by_every_window(fit, reach):
    """The least that any window from a count to the end of a block says, each window tried."""
    size = len(fit)
    ends = [j for j in range(size) if j == size - 1 or fit[j + 1] > fit[j]]
    high = [min(fit[k : j + 1].mean() + reach[j - k] for j in ends if j >= k) for k in range(size)]
    return np.minimum.accumulate(np.minimum(high, fit + reach[0])[::-1])[::-1]


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("scale", [0.5, 4.0, 60.0])
def test_the_band_takes_no_window_but_those_that_end_with_a_block(scale, gaussian):
    """Isotonic fits bound no other window's truth: none may make the band narrower."""
    for seed, name in enumerate([*TRUTHS, "long steps"]):
        truth = TRUTHS.get(name, np.repeat([3, 40, 45], [33, 5, 31]))
        fit = isotonic(truth + drawn(4.0, len(truth), seed=seed))
        reach = window_reach(scale, len(fit), 0.9, np.arange(1, len(fit) + 1), gaussian)
        low, high = sorted_band(fit, scale, 0.9, gaussian)
        assert (high >= bounds_by_every_window(fit, reach) - 1e-9).all()
        assert (low <= -bounds_by_every_window(-fit[::-1], reach)[::-1] + 1e-9).all()
        assert (high <= fit + reach[0] + 1e-9).all()
        assert (low >= fit - reach[0] - 1e-9).all()


@pytest.mark.parametrize("size", [1, 2, 7, 64, 65])
def test_in_one_block_the_first_count_is_bounded_from_above_and_the_last_from_below_by_all(size):
    reach = window_reach(3.0, size, 0.9, np.arange(1, size + 1))
    low, high = sorted_band(np.full(size, 5.0), 3.0, 0.9)
    assert high[0] == pytest.approx(5 + reach[-1])
    assert low[-1] == pytest.approx(5 - reach[-1])


@pytest.mark.parametrize("variance", [0.2, 5.0, 1e4])
@pytest.mark.parametrize("size", [5, 300])
def test_the_chances_of_all_gaussian_windows_add_up_to_what_the_level_leaves(variance, size):
    """A mean of L discrete Gaussian noises passes q by at most e^(−Lq²/2σ²), on each side."""
    left, lengths = 0.1, np.arange(1, size + 1)
    reach = window_reach(variance, size, 1 - left, lengths, True)
    far = int(reach[0] + 40 * np.sqrt(variance) + 40)
    weights = np.exp(-(np.arange(far + 1.0) ** 2) / (2 * variance))
    single = weights[int(reach[0]) + 1 :].sum() / (2 * weights.sum() - weights[0])
    assert 2 * size * single <= left / 2 * (1 + 1e-9)
    if variance > 100:  # nearly a normal curve
        assert 2 * size * norm.sf(reach[0] / np.sqrt(variance)) > 0.9 * left / 2
    tails = np.exp(-lengths[1:] * reach[1:] ** 2 / (2 * variance))
    total = (2 * (size - lengths[1:] + 1) * tails).sum()
    assert total == pytest.approx(left / 2, rel=1e-9)
