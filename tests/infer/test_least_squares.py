"""Hats and strategies: fitted cells, variances and noise laws against dense linear algebra."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest

from trueup import HatCounts, Measurement, WeightedCounts, infer
from trueup.infer import errors_of
from trueup.noise import Noise, noise_variance
from trueup.paper.noise import measure_for_experiment


def hats(seed):
    rng = np.random.default_rng(seed)
    strides = [int(rng.integers(1, 7))]
    strides += [strides[0] * int(rng.integers(2, 5))] * int(rng.integers(0, 2))
    parts = rng.integers(1, 9, len(strides) + 1).tolist()
    return HatCounts(int(rng.integers(2, 80)), strides, [Fraction(p, sum(parts)) for p in parts])


def strategy(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 40))
    cells = np.diag(rng.integers(1, 5, size)).tolist()
    others = rng.integers(-3, 4, (int(rng.integers(1, 9)), size))
    others[:, 0] = 1  # none is empty
    thirds = [[Fraction(int(w), 3) for w in row] for row in others]
    return WeightedCounts(size, cells + thirds)


def without_cells(seed):
    """A strategy that has no row for single cells: prefixes."""
    size = 5 + seed
    return WeightedCounts(size, np.tril(np.ones((size, size), int)).tolist())


questions = pytest.mark.parametrize(
    "question",
    [*(hats(seed) for seed in range(12)), *(strategy(seed) for seed in range(12)),
     *(without_cells(seed) for seed in range(3))],
    ids=lambda q: f"{type(q).__name__}{q.size}",
)  # fmt: skip
EPSILON = Fraction(7, 5)


def dense(question, law):
    """The pseudo-inverse of the question, its weights being 1/variance, and the variances."""
    matrix = question.matrix().toarray()
    scales = Measurement(question, np.zeros(question.length, np.int64), EPSILON).noise.scales
    each = [noise_variance(scale, law) for scale in scales]
    variances = np.repeat(each, [length for length, _ in question.blocks])
    weighed = matrix / variances[:, None]
    return np.linalg.solve(matrix.T @ weighed, weighed.T), variances, scales


@questions
@pytest.mark.parametrize("law", ["discrete", "continuous"])
def test_inferred_cells_equal_dense_least_squares(question, law):
    counts = np.random.default_rng(3).integers(0, 1000, question.size)
    measurement = measure_for_experiment(counts, question, EPSILON, seed=5, law=law)
    inverse, _, _ = dense(question, law)
    wanted = inverse @ measurement.noisy
    found = infer(measurement).counts()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9 * max(1, np.abs(wanted).sum()))


@questions
@pytest.mark.parametrize("law", ["discrete", "continuous"])
def test_variances_equal_those_of_the_dense_estimator(question, law):
    inverse, variances, _ = dense(question, law)
    errors = errors_of(Noise(question, EPSILON, law=law))
    starts, stops = np.triu_indices(question.size + 1)
    prefix = np.vstack([np.zeros(question.length), np.cumsum(inverse, axis=0)])
    wanted = ((prefix[stops] - prefix[starts]) ** 2 * variances).sum(axis=1)
    found = errors.range_variances(starts, stops)
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-9 * wanted.max())
    some = np.random.default_rng(1).integers(0, len(starts), 9)
    for i in some:
        combination = (((int(starts[i]), int(stops[i])), -2.0),)
        assert errors.variance(combination) == pytest.approx(4 * wanted[i], rel=1e-8, abs=1e-9)


@questions
def test_noise_laws_have_the_coefficients_of_the_dense_estimator(question):
    inverse, variances, _ = dense(question, "discrete")
    errors = errors_of(Noise(question, EPSILON))
    middle = question.size // 2
    combination = (((0, middle + 1), 1.0), ((middle, question.size), -0.5))
    values = np.zeros(question.size)
    values[: middle + 1] += 1
    values[middle:] -= 0.5
    wanted = values @ inverse
    law = errors.noise_law(combination)
    assert law.variance == pytest.approx(float(wanted**2 @ variances), rel=1e-8)
    assert errors.variance(combination) == pytest.approx(law.variance, rel=1e-8)
    # Put into classes a percent wide, the number, sum of squares and fourth powers stay.
    assert law.counts.sum() == np.count_nonzero(np.abs(wanted) > 1e-12)
    fourth = (law.counts * law.coefficients**4).sum()
    assert fourth == pytest.approx((wanted**4).sum(), rel=1e-3)


def test_a_sparse_strategy_of_many_cells_is_solved_without_a_dense_matrix():
    size = 6_000
    from scipy.sparse import eye_array, vstack

    hats = HatCounts(size, [10, 100], ends=True)
    question = WeightedCounts(size, vstack([eye_array(size), hats.matrix()[size:]]).astype(int))
    measurement = measure_for_experiment(np.arange(size), question, 1, seed=2)
    release = infer(measurement)
    weights = np.repeat(
        [1 / noise_variance(s) for s in measurement.noise.scales],
        [length for length, _ in question.blocks],
    )
    residual = question.matrix() @ release.counts() - measurement.noisy
    slope = question.matrix().T @ (weights * residual)
    assert np.abs(slope).max() < 1e-6 * np.abs(weights * measurement.noisy).max()
    # The same weights as hats with shares in that ratio have.
    price = 1 + 20 + 200
    shares = [Fraction(1, price), Fraction(20, price), Fraction(200, price)]
    as_hats = errors_of(Noise(HatCounts(size, [10, 100], shares, ends=True), 1))
    found = release.errors.range_variances([0, 17, 5_000], [1, 4_000, size])
    np.testing.assert_allclose(found, as_hats.range_variances([0, 17, 5_000], [1, 4_000, size]))


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
