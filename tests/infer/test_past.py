"""Windows over the past, read back: against dense least squares. More in test_figures."""

from __future__ import annotations

import numpy as np
import pytest
from tests.infer.dense_figures import by_brute_force

import trueup as tu
from trueup.infer import past


@pytest.mark.parametrize("first", [60, 4])
def test_ranges_have_the_variances_of_dense_least_squares(first, monkeypatch):
    question = tu.PastCounts(60, first)
    measured = tu.Measurement(question, np.zeros(60, np.int64), epsilon=1)
    expected = by_brute_force(question, 1, "discrete")
    starts, stops = np.triu_indices(61, 1)
    errors = tu.infer(measured).errors
    assert errors.range_variances(starts, stops) == pytest.approx(expected[starts, stops])
    monkeypatch.setattr(past, "_NUMBERS", 1)
    assert errors.range_variances(starts[:9], stops[:9]) == pytest.approx(expected[0, 1:10])
    assert errors.variance((((3, 50), 1.0),)) == pytest.approx(expected[3, 50])
    assert errors.noise_law((((3, 50), 1.0),)).variance == pytest.approx(expected[3, 50])


def test_a_release_at_a_rho_is_near_the_truth_and_adds_up():
    counts = np.arange(200)
    measured = tu.measure(counts, tu.PastCounts(200), rho=1000)
    release = tu.infer(measured, nonnegative=True, integers=True)
    assert np.asarray(release.counts()) == pytest.approx(counts, abs=2)
    assert release.range(0, 90).value + release.range(90, 200).value == release.total().value
    low, high = tu.infer(measured).range(10, 50).interval(1 - 1e-9)
    assert low <= counts[10:50].sum() <= high


def test_errors_of_all_ranges_are_refused_for_many_cells(monkeypatch):
    monkeypatch.setattr(past, "_MOST", 9)
    with pytest.raises(tu.InputError, match="for up to 9 cells, not for 10"):
        past.PastModel(tu.infer(tu.measure([0] * 10, tu.PastCounts(10), 1)).facts.noise).figures()
