"""A sorted release: its table, its total and its band's two sides."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueup as tu


def release_of(noisy, epsilon=1):
    return tu.infer(tu.Measurement(tu.SortedCounts(len(noisy), adaptive=False), noisy, epsilon))


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=40))
def test_counts_rise_and_keep_the_measured_total(noisy):
    release = release_of(noisy)
    assert (np.diff(release.counts()) >= 0).all()
    assert release.total().value == pytest.approx(sum(noisy), rel=1e-12, abs=1e-3)


@given(st.lists(st.integers(-100, 100), min_size=1, max_size=40))
def test_the_band_rises_lies_around_the_fit_and_widens_with_its_level(noisy):
    release = release_of(noisy)
    low, high = release.band(0.9)
    assert (low >= 0).all()
    assert (np.diff(low) >= 0).all()
    assert (np.diff(high) >= 0).all()
    fit = np.maximum(release.counts(), 0)
    assert (low <= fit + 1e-9).all()
    assert (fit <= high + 1e-9).all()
    wider_low, wider_high = release.band(0.999)
    assert (wider_low <= low).all()
    assert (high <= wider_high).all()


def test_the_total_has_the_error_of_a_sum():
    release = release_of([5, 1, 9, 2], "1/10")
    m = tu.Measurement(tu.SortedCounts(4, adaptive=False), [0] * 4, "1/10")
    assert release.total().std_error ** 2 == pytest.approx(m.variances.sum(), rel=1e-12)


def test_totals_of_one_release_can_be_compared_and_of_two_cannot():
    release = release_of([1, 2, 3])
    assert (release.total() - release.total()).value == 0
    assert (release.total() - release.total()).std_error == 0
    with pytest.raises(tu.InputError, match="come from different releases"):
        release.total() - release_of([1, 2, 3]).total()


def test_the_table_is_ranks_counts_and_band():
    release = release_of([1, 2, 0, 11])
    table = release.to_frame()
    assert table.column_names == ["rank", "count", "low", "high"]
    assert table["rank"].to_pylist() == [4, 3, 2, 1]  # 1 is the largest, as in pictures
    assert table["count"].to_pylist() == [1, 1, 1, 11]
    assert pa.table(release).equals(table)
    assert release.to_frame("polars")["count"].to_list() == [1, 1, 1, 11]
    assert release.to_frame("pandas")["count"].tolist() == [1, 1, 1, 11]


def test_counts_cannot_be_changed_in_place():
    with pytest.raises(ValueError, match="read-only"):
        release_of([1, 2]).counts()[0] = 5


@pytest.mark.parametrize("level", [0, 1, 2, "high", True])
def test_a_band_needs_a_level_between_zero_and_one(level):
    with pytest.raises(tu.InputError, match="A level must lie between 0 and 1"):
        release_of([1, 2]).band(level)


def test_a_row_is_off_by_as_much_as_the_further_side_of_the_band() -> None:
    """A count below zero is off by something, though the band, cut at zero, is one number there."""
    release = tu.infer(tu.Measurement(tu.SortedCounts(4, adaptive=False), [-1, 7, 14, 21], 3))
    low, high = release.band(0.95)
    assert (low[0], high[0]) == (0, 0)
    assert [row[2] for row in release.lines(9)] == [1, 1, 1, 1]
    wide = tu.infer(tu.Measurement(tu.SortedCounts(2, adaptive=False), [1, 9], "1/2"))
    (low, high), (first, last) = wide.band(0.95), wide.lines(2)
    assert first[2] == high[0] - 1 > 1 - low[0] == 1
    assert last[2] == high[1] - 9
