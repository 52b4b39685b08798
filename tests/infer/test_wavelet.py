"""The wavelet read back: cells, variances and intervals against its dense inverse."""

from __future__ import annotations

import numpy as np
import pytest

import trueup as tu
from trueup.infer.wavelet import WaveletModel


@pytest.mark.parametrize("size", [1, 7, 100])
def test_a_release_adds_up_and_knows_its_errors(size, tmp_path):
    counts = np.random.default_rng(1).integers(0, 99, size)
    question = tu.WaveletCounts(tu.Axis.integers("age", 0, size - 1))
    measurement = tu.measure(counts, question, epsilon="1/2")
    release = tu.infer(measurement)
    matrix = question.matrix().toarray()
    np.testing.assert_allclose(release.counts(), np.linalg.solve(matrix, measurement.noisy))
    inverse = np.linalg.inv(matrix)
    covariance = inverse @ np.diag(measurement.variances) @ inverse.T
    for a, b in [(0, 1), (size // 3, size), (size // 4, size // 2 + 1)]:
        expected = covariance[a:b, a:b].sum()
        assert release.between(a, b).std_error ** 2 == pytest.approx(expected)
        assert release.errors.range_variances([a], [b])[0] == pytest.approx(expected)
    measurement.save(tmp_path / "m.parquet")
    release.save(tmp_path / "r.parquet")
    assert tu.load(tmp_path / "m.parquet") == measurement
    assert tu.load(tmp_path / "r.parquet").total().std_error == release.total().std_error
    assert tu.infer(measurement, nonnegative=True, integers=True).counts().min() >= 0


def test_intervals_cover_what_they_claim():
    from scipy.stats import binomtest

    question = tu.WaveletCounts(50)
    measurement = tu.Measurement(question, np.zeros(50, np.int64), epsilon=1)
    generator = np.random.default_rng(3)
    success = -np.expm1(-1 / measurement.scales)
    noise = generator.geometric(success, (20_000, 50)) - generator.geometric(success, (20_000, 50))
    cells = noise @ np.linalg.inv(question.matrix().toarray()).T
    release = tu.infer(measurement)
    for start, stop in ((3, 4), (10, 31), (1, 49)):
        off = cells[:, start:stop].sum(axis=1)
        for level in (0.95, 0.99):
            low, high = release.between(start, stop).interval(level)
            covered = int(((low <= off) & (off <= high)).sum())
            assert binomtest(covered, len(off), level, alternative="less").pvalue > 1e-4


def test_methods_that_need_noisy_nodes_are_refused():
    measurement = tu.measure([1, 2, 3], tu.WaveletCounts(3), epsilon=1)
    with pytest.raises(tu.InputError, match="top-down"):
        tu.infer(measurement, nonnegative=True, method="exact")


def test_the_wavelet_is_offered_over_one_axis_of_some_cells():
    ranges = (tu.Workload.all_ranges(),)
    axis, labels = tu.Axis.integers("n", 0, 1), tu.Axis.categories("k", ["a", "b", "c"])
    for each in (axis, labels):
        (found,) = WaveletModel.candidates((each,), ranges, False)
        assert found.ask() == tu.WaveletCounts(each)
    for axes in ((tu.Axis.integers("n", 5, 5),), (axis, labels)):
        assert WaveletModel.candidates(axes, ranges, False) == []
