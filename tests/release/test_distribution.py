"""Shares of the total and quantiles: they rise, and are those of the counts."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueup as tu
from trueup.release.distribution import quantile_ends


def release_of(counts, axis=None):
    """A release of exactly these counts."""
    question = tu.CellCounts(len(counts) if axis is None else axis)
    return tu.infer(tu.Measurement(question, np.asarray(counts), 1))


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=30))
def test_the_cdf_rises_from_zero_to_one(counts):
    release = release_of(counts)
    if sum(counts) <= 0:
        with pytest.raises(tu.InputError, match="too noisy for a distribution"):
            release.cdf()
        return
    cdf = release.cdf()
    assert len(cdf) == len(counts) + 1
    assert cdf[0] == 0
    assert cdf[-1] == 1
    assert (np.diff(cdf) >= 0).all()
    if min(counts) >= 0:
        exact = [Fraction(sum(counts[:i]), sum(counts)) for i in range(len(counts) + 1)]
        np.testing.assert_allclose(cdf, [float(share) for share in exact], rtol=1e-12, atol=1e-15)


edges = st.lists(
    st.floats(-1e300, 1e300, allow_subnormal=False), min_size=2, max_size=12, unique=True
).map(sorted)


@given(edges, st.data())
def test_quantiles_rise_with_their_share(ends, data):
    counts = data.draw(
        st.lists(st.integers(-50, 200), min_size=len(ends) - 1, max_size=len(ends) - 1)
    )
    if sum(counts) <= 0:
        counts[0] += 1 - sum(counts)
    release = release_of(counts, tu.Axis.edges("x", ends))
    shares = data.draw(st.lists(st.floats(0, 1), min_size=1, max_size=30))
    shares += release.cdf().tolist()
    shares += [math.nextafter(s, d) for s in release.cdf().tolist() for d in (0, 1)]
    shares = sorted(min(max(s, 0.0), 1.0) for s in shares)
    found = [release.quantile(s) for s in shares]
    assert all(a <= b for a, b in itertools.pairwise(found))
    assert ends[0] <= found[0] <= found[-1] <= ends[-1]


@given(st.lists(st.integers(0, 20), min_size=1, max_size=20).filter(any), st.floats(0, 1))
def test_a_quantile_of_whole_numbers_is_the_first_where_the_share_is_reached(counts, share):
    axis = tu.Axis.integers("age", 10, 9 + len(counts))
    release = release_of(counts, axis)
    sums = np.cumsum(counts)
    found = release.quantile(share)
    goal = share * sums[-1]
    assert sums[found - 10] >= goal
    assert found == 10 or sums[found - 11] < goal


def test_the_median_of_a_uniform_release_is_its_middle():
    release = release_of([5] * 10, tu.Axis.regular("x", 0, 1, 10))
    assert release.quantile(0.5) == pytest.approx(0.5)
    assert release.quantile(0) == 0
    assert release.quantile(1) == 1
    assert release.quantile(0.25) == pytest.approx(0.25)
    days = tu.Axis.dates("day", "2013-01-01", "2013-01-10")
    assert release_of([5] * 10, days).quantile(0.5) == "2013-01-05"
    grades = tu.Axis.categories("grade", ["A", "B", "C"])
    assert release_of([1, 5, 1], grades).quantile(0.5) == "B"


def test_a_quantile_lies_in_its_bin_in_proportion_however_few_are_in_it():
    axis = tu.Axis.regular("x", 0, 3, 3)
    for counts, share, expected in (
        ([1, 0, 0], 0.5, 0.5),
        ([0, 1, 0], 0.25, 1.25),
        ([0, 0, 1], 1, 3),
        ([1, 1, 0], 0.75, 1.5),
        ([4, 0, 4], 0.5, 1),
    ):
        assert release_of(counts, axis).quantile(share) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("axis", "ends"),
    [
        (tu.Axis.regular("x", 0, 1, 10), (0.1, 0.4)),
        (tu.Axis.edges("x", [0, 1, 10, 100, 1000]), (1, 1000)),
        (tu.Axis.integers("age", 10, 19), (11, 13)),
        (tu.Axis.categories("grade", list("ABCDF")), ("B", "D")),
        (tu.Axis.dates("day", "2013-01-01", "2013-01-10"), ("2013-01-02", "2013-01-04")),
        (tu.Axis.edges("x", [-math.inf, 1, 10, 100, math.inf]), (1, math.inf)),
    ],
)
def test_the_ends_of_a_quantile_are_those_of_its_first_and_last_cell(axis, ends):
    """Of bins, the edges around both; of cells that are values, the values."""
    assert quantile_ends(axis, 1, 3) == ends
    if axis.interval(0)[0] is None:
        assert quantile_ends(axis, 0, 1) == (-math.inf, 10)


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan, math.inf, "half", None, True, 1j])
def test_a_share_outside_zero_to_one_is_refused(share):
    with pytest.raises(tu.InputError, match="between 0 and 1, got"):
        release_of([1, 2]).quantile(share)
