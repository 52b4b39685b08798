"""Windows read back: cells, variances and intervals against the dense inverse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

import trueup as tu
from trueup._kernels.noise.gauss import draw
from trueup.infer import errors_of, figures_of
from trueup.infer import windows as module
from trueup.noise import Noise

BOTH = ["ranges", "prefixes"]


@pytest.mark.parametrize("best_for", BOTH)
@pytest.mark.parametrize("size", [1, 7, 64, 100])
def test_a_release_adds_up_and_knows_its_errors(size, best_for, tmp_path):
    counts = np.random.default_rng(1).integers(0, 99, size)
    question = tu.WindowCounts(tu.Axis.integers("age", 0, size - 1), best_for)
    measurement = tu.measure(counts, question, epsilon="1/2")
    release = tu.infer(measurement)
    matrix = question.matrix().toarray()
    np.testing.assert_allclose(release.counts(), np.linalg.solve(matrix, measurement.noisy))
    inverse = np.linalg.inv(matrix)
    covariance = inverse @ inverse.T * measurement.variances[0]
    for a, b in [(0, 1), (size // 3, size), (size // 4, size // 2 + 1)]:
        expected = covariance[a:b, a:b].sum()
        assert release.between(a, b).std_error ** 2 == pytest.approx(expected)
        assert release.errors.range_variances([a], [b])[0] == pytest.approx(expected)
    below = release.between(0, size // 3).value
    assert below + release.between(size // 3, size).value == release.total().value
    measurement.save(tmp_path / "m.parquet")
    release.save(tmp_path / "r.parquet")
    assert tu.load(tmp_path / "m.parquet") == measurement
    assert tu.load(tmp_path / "r.parquet").total().std_error == release.total().std_error
    shown = tu.infer(measurement, nonnegative=True, integers=True).counts()
    assert shown.min() >= 0
    assert shown.dtype == np.int64


@pytest.mark.parametrize("cost", ["epsilon", "rho"])
def test_intervals_cover_what_they_claim(cost):
    question = tu.WindowCounts(50)
    measurement = tu.Measurement(question, np.zeros(50, np.int64), **{cost: 1})
    generator = np.random.default_rng(3)
    if cost == "rho":
        noise = draw(8_000 * 50, question.square_price() / 2).reshape(-1, 50)
    else:
        success = -np.expm1(-1 / measurement.scales)
        once, again = (generator.geometric(success, (20_000, 50)) for _ in range(2))
        noise = once - again
    cells = noise @ np.linalg.inv(question.matrix().toarray()).T
    release = tu.infer(measurement)
    for start, stop in ((3, 4), (10, 31), (1, 49)):
        off = cells[:, start:stop].sum(axis=1)
        for level in (0.95, 0.99):
            low, high = release.between(start, stop).interval(level)
            covered = int(((low <= off) & (off <= high)).sum())
            chances = [
                binomtest(covered, len(off), level, alternative=side).pvalue
                for side in ("less", "greater")
            ]
            assert chances[0] > 1e-6
            assert chances[1] > 1e-6 or cost == "epsilon"


@pytest.mark.parametrize("size", [300, 365])
def test_figures_of_few_and_of_many_cells_agree(size, monkeypatch):
    noise = Noise(tu.WindowCounts(size), 1)
    found = figures_of(noise)
    monkeypatch.setattr(module, "_DENSE", 0)
    other = figures_of(noise)
    assert type(found) is not type(other)
    assert found.mean_over_ranges() == pytest.approx(other.mean_over_ranges(), rel=1e-9)
    assert found.mean_over_prefixes() == pytest.approx(other.mean_over_prefixes(), rel=1e-9)
    lengths = [1, 64, 200, size]
    np.testing.assert_allclose(
        found.mean_by_length(lengths), other.mean_by_length(lengths), rtol=1e-3
    )
    assert found.worst_range() == pytest.approx(other.worst_range(), rel=1e-3)


def test_many_ranges_have_the_variances_of_each():
    errors = errors_of(Noise(tu.WindowCounts(90, "prefixes"), 1))
    starts, stops = np.triu_indices(91, 1)
    many = errors.range_variances(starts, stops)
    np.testing.assert_allclose(many[::50], errors.range_variances(starts[::50], stops[::50]))
    combination = (((3, 40), 1.0), ((20, 60), -2.0))
    assert errors.variance(combination) == pytest.approx(errors.noise_law(combination).variance)


def test_windows_are_offered_for_what_is_wanted_where_cells_have_a_distance():
    axis, ranges = tu.Axis.integers("age", 0, 99), tu.Workload.all_ranges()
    (found,) = module.WindowModel.candidates((axis,), (ranges,), False)
    assert found.gaussian
    assert found.ask() == tu.WindowCounts(axis, "ranges")
    (found,) = module.WindowModel.candidates((axis,), (tu.Workload.prefixes(),), False)
    assert found.ask() == tu.WindowCounts(axis, "prefixes")
    labels, one = tu.Axis.categories("k", list(range(99))), tu.Axis.integers("n", 5, 5)
    most = tu.Axis.integers("n", 1, module.MOST_CELLS)
    assert len(module.WindowModel.candidates((most,), (ranges,), False)) == 1
    more = tu.Axis.integers("n", 0, module.MOST_CELLS)
    for axes in ((labels,), (one,), (more,), (axis, axis)):
        assert module.WindowModel.candidates(axes, (ranges,), False) == []


@pytest.mark.parametrize("best_for", BOTH)
def test_the_mean_over_a_length_is_that_of_ranges_all_along_the_axis(best_for, monkeypatch):
    """Those at its ends are no worse than those in its middle: none stands for all."""
    figures = figures_of(Noise(tu.WindowCounts(400, best_for), rho=1))
    monkeypatch.setattr(module, "_DENSE", 1)
    monkeypatch.setattr(module, "_LOOKED_AT", 400 * 20)
    lengths = [1, 5, 100, 390, 400]
    exact = figures.mean_by_length(lengths)
    some = figures_of(Noise(tu.WindowCounts(400, best_for), rho=1))
    assert isinstance(some, module.WindowFigures)
    assert some.mean_by_length(lengths) == pytest.approx(exact, rel=0.01)
