from __future__ import annotations

import warnings

import numpy as np
import pytest
from uhi.typing.plottable import PlottableHistogram

import trueup as tu
from trueup.paper.noise import measure_for_experiment


def release_over(axis: tu.Axis) -> tu.Release:
    counts = np.arange(axis.size) * 10
    release: tu.Release = tu.infer(measure_for_experiment(counts, tu.TreeCounts(axis), 1, seed=3))
    return release


AGE = tu.Axis.integers("age", 0, 9)


@pytest.mark.parametrize(
    "axis",
    [
        AGE,
        tu.Axis.regular("fare", 0, 1, bins=4),
        tu.Axis.categories("grade", ["A", "B", "F"]),
        tu.Axis.dates("day", "2013-01-01", "2013-01-05"),
    ],
)
def test_a_release_is_a_plottable_histogram(axis: tu.Axis) -> None:
    release = release_over(axis)
    assert isinstance(release, PlottableHistogram)
    assert len(list(release.axes[0])) == len(release.axes[0]) == len(release.values()) == axis.size
    np.testing.assert_allclose(release.variances(), release.std_errors() ** 2)


def test_mplhep_draws_our_counts_and_our_errors() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # matplotlib's own, of other people's code
        import matplotlib as mpl

        mpl.use("Agg")
        import mplhep

        release = release_over(AGE)
        # mplhep's default bars are the square roots of the counts; ours are handed over.
        drawn = mplhep.histplot(release, yerr=np.sqrt(release.variances()))[0]
    values, edges, _ = drawn.stairs.get_data()
    np.testing.assert_allclose(values, release.counts())
    np.testing.assert_allclose(edges, np.arange(11))
    low, high = np.array(drawn.errorbar.lines[2][0].get_segments())[:, :, 1].T
    np.testing.assert_allclose((high - low) / 2, release.std_errors())
