"""Cells alone: they stay as they are, and a range has the noise of as many independent cells."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import dlaplace

import trueup as tu
from trueup.infer import errors_of, figures_of
from trueup.noise import Noise
from trueup.workload import Workload


def test_cells_stay_as_they_were_measured():
    noisy = np.array([3, -7, 0, 2**40, 11])
    release = tu.infer(tu.Measurement(tu.CellCounts(5), noisy, epsilon="1/3"))
    assert release.counts().tolist() == noisy.tolist()
    assert release.range(1, 4).value == 2**40 - 7


@pytest.mark.parametrize("epsilon", ["1/10", "1", "3"])
@pytest.mark.parametrize("cells", [1, 2, 7])
def test_a_range_has_the_law_of_independent_cells_added_up(epsilon, cells):
    noise = Noise(tu.CellCounts(9), Fraction(epsilon))
    one = dlaplace(float(1 / noise.scales[0]))
    errors = errors_of(noise)
    variance = errors.range_variances([1], [1 + cells])[0]
    assert variance == pytest.approx(cells * one.var(), rel=1e-12)
    reach = 700
    chances = law = one.pmf(np.arange(-reach, reach + 1))
    for _ in range(cells - 1):
        law = np.convolve(law, chances)
    middle = len(law) // 2
    within = law[middle] + np.concatenate([[0], 2 * np.cumsum(law[middle + 1 :])])
    for level in (0.5, 0.95, 0.999):
        found = errors.noise_law((((1, 1 + cells), 1.0),)).half_width(level)
        assert found == np.searchsorted(within, level)


def test_a_grid_of_cells_is_left_as_it_was_measured():
    axes = tu.Axis.integers("a", 0, 3), tu.Axis.integers("b", 0, 2)
    grid = tu.GridCounts(*(tu.CellCounts(axis) for axis in axes))
    noisy = np.random.default_rng(1).integers(-9, 99, 12)
    release = tu.infer(tu.Measurement(grid, noisy, epsilon=1))
    np.testing.assert_allclose(release.counts(), noisy.reshape(4, 3), rtol=0, atol=1e-9)
    box = release.range((1, 4), (0, 2)).std_error ** 2
    assert box == pytest.approx(6 * dlaplace(1.0).var(), rel=1e-12)


def test_mean_errors_are_the_mean_length_times_the_noise_of_a_cell():
    size = 40
    figures = figures_of(Noise(tu.CellCounts(size), Fraction(1, 2)))
    starts, stops = np.triu_indices(size + 1, 1)
    each = dlaplace(0.5).var()
    axis = tu.Axis.integers("a", 0, size - 1)
    expected = {
        Workload.all_ranges(): (stops - starts).mean() * each,
        Workload.prefixes(): np.arange(1, size + 1).mean() * each,
        Workload.cell_counts(): each,
    }
    for workload, mean in expected.items():
        assert workload.mean(figures, axis) == pytest.approx(mean, rel=1e-12)
