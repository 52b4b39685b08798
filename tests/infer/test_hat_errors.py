"""The errors of ranges after least squares on hats: dense linear algebra and experiments."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest, norm

import trueup as tu
from trueup import HatCounts, Measurement, infer
from trueup.noise import Noise, noise_variance
from trueup.paper.noise import measure_for_experiment

from .dense_estimator import check_cells, check_noise_law, check_variances


def hats(seed):
    rng = np.random.default_rng(seed)
    strides = [int(rng.integers(1, 7))]
    strides += [strides[0] * int(rng.integers(2, 5))] * int(rng.integers(0, 2))
    parts = rng.integers(1, 9, len(strides) + 1).tolist()
    return HatCounts(int(rng.integers(2, 80)), strides, [Fraction(p, sum(parts)) for p in parts])


questions = pytest.mark.parametrize(
    "question", [hats(seed) for seed in range(12)], ids=lambda q: f"{type(q).__name__}{q.size}"
)


@questions
@pytest.mark.parametrize("law", ["discrete", "continuous"])
def test_inferred_cells_equal_dense_least_squares(question, law):
    check_cells(question, law)


@questions
@pytest.mark.parametrize("law", ["discrete", "continuous"])
def test_variances_equal_those_of_the_dense_estimator(question, law):
    check_variances(question, law)


@questions
def test_noise_laws_have_the_coefficients_of_the_dense_estimator(question):
    check_noise_law(question)


def test_mean_squared_error_over_all_ranges_is_what_is_announced():
    size, draws = 300, 300
    question = tu.HatCounts(size)
    starts, stops = np.triu_indices(size + 1, 1)
    rng = np.random.default_rng(5)
    zero = np.zeros(size, np.int64)
    squares = []
    for _ in range(draws):
        release = tu.infer(measure_for_experiment(zero, question, 1, rng))
        squares.append(np.mean((release.prefix[stops] - release.prefix[starts]) ** 2))
    announced, _ = release.errors.mean_variances()
    assert np.mean(squares) == pytest.approx(announced, abs=6 * np.std(squares) / draws**0.5)
    each = release.errors.range_variances(starts, stops)
    assert each.mean() == pytest.approx(announced, rel=1e-12)


@pytest.mark.parametrize("epsilon", [1, 10, 50])
def test_intervals_of_hats_hold_their_level_where_noise_is_mostly_zero(epsilon):
    question = HatCounts(64)
    measurement = Measurement(question, np.zeros(question.length, np.int64), epsilon)
    matrix, scales = question.matrix().toarray(), measurement.scales
    weighed = matrix / np.array([noise_variance(scale) for scale in scales])[:, None]
    inverse = np.linalg.solve(matrix.T @ weighed, weighed.T)
    generator = np.random.default_rng(epsilon)
    shape, success = (100_000, len(scales)), -np.expm1(-1 / scales)
    noise = generator.geometric(success, shape) - generator.geometric(success, shape)
    errors = infer(measurement).errors
    for start, stop in ((21, 22), (1, 64), (16, 32)):
        off = np.abs(noise @ inverse[start:stop].sum(axis=0))
        for level in (0.5, 0.8, 0.95, 0.99):
            found = errors.noise_law((((start, stop), 1.0),)).half_width(level)
            covered = int(np.count_nonzero(off <= found * (1 + 1e-9)))
            assert binomtest(covered, len(off), level, alternative="less").pvalue > 1e-5


def test_all_cells_at_once_are_each_cell_alone():
    errors = infer(Measurement(HatCounts(500), np.zeros(HatCounts(500).length, int), 1)).errors
    at = np.arange(500)
    alone = [errors.variance((((i, i + 1), 1.0),)) for i in at.tolist()]
    np.testing.assert_allclose(errors.range_variances(at, at + 1), alone, rtol=1e-9)


@pytest.mark.parametrize("law", ["discrete", "continuous"])
@pytest.mark.parametrize(("size", "epsilon"), [(100, "1/10"), (500, 1), (3000, "1/2")])
def test_half_widths_of_many_ranges_are_those_of_each_range_alone(size, epsilon, law, monkeypatch):
    """In one go and in several: no more coefficients are looked at together than fit."""
    from trueup.infer import hat_errors

    question = HatCounts(size)
    noise = Noise(question, Fraction(epsilon), law=law)
    errors = hat_errors.HatErrors.of(noise)
    generator = np.random.default_rng(size)
    starts = generator.integers(0, size, 12)
    stops = starts + 1 + generator.integers(0, size - starts)
    alone = [
        errors.noise_law((((a, b), 1.0),)).half_width(0.95)
        for a, b in zip(starts.tolist(), stops.tolist(), strict=True)
    ]
    for together in (1, 5 * question.length, 1 << 19):
        monkeypatch.setattr(hat_errors, "_NUMBERS", together)
        found = errors.many_half_widths(starts, stops, 0.95)
        np.testing.assert_allclose(found, alone, rtol=2e-6)


@pytest.mark.parametrize("size", [100, 300])
def test_intervals_of_many_ranges_of_gaussian_noise_are_those_of_each_range_alone(size):
    """A sum of Gaussian noise is no sum of Laplace noise: its intervals are those of its curve."""
    release = infer(Measurement(HatCounts(size), np.zeros(HatCounts(size).length, int), rho="1/50"))
    starts, stops = np.arange(0, 40, 4), np.arange(0, 40, 4) + 55
    low, high = release.intervals(starts, stops, 0.95, simultaneous=False)
    spread = np.sqrt(release.errors.range_variances(starts, stops))
    times = (high - low) / 2 / spread
    assert norm.ppf(0.975) <= times.min() <= times.max() <= 1.01 * norm.ppf(0.975)


def test_laws_of_noise_that_is_mostly_zero_are_not_put_together():
    errors = infer(Measurement(HatCounts(64), np.zeros(HatCounts(64).length, int), 50)).errors
    assert errors.many_half_widths(np.arange(9), np.arange(9) + 1, 0.95) is None
