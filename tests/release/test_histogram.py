"""A release: numbers that agree with ==, ranges, quantiles and tables."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueup as tu


def measured(question, noisy, epsilon=1):
    return tu.infer(tu.Measurement(question, noisy, epsilon))


def release_of(counts, axis=None):
    """A release of exactly these counts."""
    question = tu.CellCounts(len(counts) if axis is None else axis)
    return measured(question, np.asarray(counts))


@st.composite
def releases(draw):
    """Inferred from noisy answers of every size, as a tiny ε or a huge table gives them."""
    size = draw(st.integers(1, 40))
    question = tu.TreeCounts(size, draw(st.integers(2, 8)), draw(st.booleans()))
    bits = draw(st.integers(1, 50))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    noisy = rng.integers(-(2**bits), 2**bits, question.length)
    if draw(st.booleans()):
        noisy[: -question.size] = rng.integers(0, 2**50, question.length - question.size)
    return measured(question, noisy, draw(st.sampled_from(["1/100000", "1/10", 1, 50])))


# ---- adding up


@given(releases())
def test_every_split_of_every_range_adds_up_with_equality(release):
    size = release.axis.size
    a, b, c = np.array(list(itertools.combinations_with_replacement(range(size + 1), 3))).T
    assert (release.ranges(a, b) + release.ranges(b, c) == release.ranges(a, c)).all()
    assert release.range(0, size).value == release.total().value
    assert release.range().value == release.total().value


@given(releases(), st.randoms(use_true_random=False))
def test_cells_added_in_any_order_are_the_total(release, random):
    cells = release.counts().tolist()
    forwards, backwards = sum(cells), sum(reversed(cells))
    assert forwards == backwards == release.total().value == math.fsum(cells)
    start = random.randrange(release.axis.size)
    stop = random.randrange(start, release.axis.size + 1)
    assert sum(cells[start:stop]) == release.range(start, stop).value


@given(releases())
def test_ranges_at_once_are_each_range_alone(release):
    size = release.axis.size
    low, high = np.triu_indices(size + 1)
    together = release.ranges(low, high)
    alone = [release.range(a, b).value for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    assert together.tolist() == alone
    assert release.ranges(0, np.arange(size + 1)).tolist() == release.prefix.tolist()


def test_children_sum_to_parent_in_a_hierarchy():
    tree = {"CA": ["Kern", "Napa", "Lake"], "NV": {"Clark": ["East", "West"]}, "DC": []}
    place = tu.Axis.hierarchy("place", tree)
    rng = np.random.default_rng(1)
    for scale in (10, 2**30, 2**45):
        question = tu.TreeCounts(place, shares=["1/10", "1/5", "3/10", "2/5"])
        release = measured(question, rng.integers(-scale, scale, question.length))
        state = release.node("CA").value
        assert state == sum(release.node("CA", town).value for town in tree["CA"])
        assert release.node("NV").value == release.node("Clark").value
        assert (
            release.node("Clark").value == release.node("East").value + release.node("West").value
        )
        states = [release.node(name).value for name in tree]
        assert sum(states) == release.total().value == release.node().value
        assert release.range("CA", "NV").value == state


def test_prefixes_of_addresses_add_up():
    hosts = tu.Axis.ipv4("host", "10.0.0.0/8", 14)
    question = tu.TreeCounts(hosts, levels=["/10", "/12", "/14"])
    rng = np.random.default_rng(2)
    release = measured(question, rng.integers(-1000, 10**9, question.length))
    for length in (8, 9, 11, 13):
        step = 1 << (24 - (length - 8))
        for number in range(1 << (length - 8)):
            base = (10 << 24) + number * step
            whole = release.node(_prefix(base, length)).value
            halves = [release.node(_prefix(base + i * step // 2, length + 1)).value for i in (0, 1)]
            assert whole == sum(halves)


def _prefix(base, length):
    return f"{base >> 24}.{base >> 16 & 255}.{base >> 8 & 255}.{base & 255}/{length}"


def test_the_contract_of_the_design_holds():
    fare = tu.Axis.regular("fare", 0, 128, bins=1024)
    counts = np.random.default_rng(3).integers(0, 100, 1024)
    release = tu.infer(tu.measure(counts, tu.TreeCounts(fare, branching=16), epsilon=0.1))
    cheap = release.range(0, 20)
    assert cheap.value + release.range(20, 128).value == release.total().value
    low, high = cheap.interval(0.95)
    assert low < cheap.value < high


def test_counts_cannot_be_changed_in_place():
    release = release_of([1, 2, 3])
    release.counts()[:] = 0
    assert release.counts().tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        release.prefix[:] = 0


# ---- cdf and quantiles


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


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan, math.inf, "half", None, True, 1j])
def test_a_share_outside_zero_to_one_is_refused(share):
    with pytest.raises(tu.InputError, match="between 0 and 1, got"):
        release_of([1, 2]).quantile(share)


# ---- ranges that are refused


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (30, 50, r"30\.0 is not an edge of axis 'income'\. The nearest edges are 25\.0 and 100\.0"),
        (0, 200, r"200\.0 is outside axis 'income', which runs from 0\.0 to 100\.0"),
        (25, 10, "The range from 25 to 10 on 'income' is reversed"),
        ("ten", 25, "must be a number, got 'ten'"),
    ],
)
def test_a_range_off_the_grid_or_reversed_is_refused(low, high, told):
    release = release_of([1, 2, 3], tu.Axis.edges("income", [0, 10, 25, 100]))
    with pytest.raises(tu.InputError, match=told):
        release.range(low, high)
    if isinstance(low, int):
        for ask in (release.ranges, release.range_errors):
            with pytest.raises(tu.InputError, match=r"edge|outside|reversed"):
                ask([0, low], [10, high])


def test_an_unknown_label_or_node_is_refused():
    release = release_of([1, 2], tu.Axis.categories("grade", ["A", "B"]))
    with pytest.raises(
        tu.InputError, match=r"'Z' is not a label of axis 'grade'\. Labels: 'A', 'B'"
    ):
        release.range("A", "Z")
    with pytest.raises(tu.InputError, match="'Z' is not a label of axis 'grade'"):
        release.node("Z")
    with pytest.raises(tu.InputError, match="has no named nodes"):
        release_of([1, 2]).node(1)


# ---- tables


AXES = {
    "integers": tu.Axis.integers("n", 3, 8),
    "regular": tu.Axis.regular("x", 0, 1, 6),
    "edges": tu.Axis.edges("x", [0, 1, 2, 3, 5, 8, 13]),
    "categories": tu.Axis.categories("kind", ["a", "b", "c", "d", 5, "f"]),
    "days": tu.Axis.dates("d", "2012-02-27", "2012-03-03"),
    "months": tu.Axis.dates("d", "2012-01", "2012-06", "month"),
    "ipv4": tu.Axis.ipv4("host", "10.0.0.0/30", 32),
    "hierarchy": tu.Axis.hierarchy("place", {"CA": ["x", "y", "z"], "NV": ["u", "v"], "DC": []}),
}


@pytest.mark.parametrize("kind", AXES)
def test_the_table_opens_in_every_library(kind):
    axis = AXES[kind]
    release = release_of(np.arange(axis.size) ** 2, axis)
    plain = release.to_frame()
    assert isinstance(plain, pa.Table)
    pandas, polars = release.to_frame("pandas"), release.to_frame("polars")
    assert isinstance(pandas, pd.DataFrame)
    assert isinstance(polars, pl.DataFrame)
    streamed = pa.table(release)
    assert streamed.equals(plain)
    assert pl.DataFrame(release).equals(polars)
    for name in plain.column_names:
        values = plain[name].to_pylist()
        assert polars[name].to_list() == values
        seen = pandas[name].tolist()
        assert [None if pd.isna(v) else v for v in seen] == values
    assert plain["count"].to_pylist() == release.counts().tolist()
    assert plain["std_error"].to_pylist() == release.std_errors().tolist()
    assert plain.num_rows == axis.size


def test_the_intervals_of_the_table_are_those_of_the_axis():
    table = release_of([1, 2, 3], tu.Axis.dates("d", "2012-01", "2012-03", "month")).to_frame()
    assert [str(low) for low in table["low"].to_pylist()] == [
        "2012-01-01 00:00:00", "2012-02-01 00:00:00", "2012-03-01 00:00:00",
    ]  # fmt: skip
    hosts = release_of([1, 2, 3, 4], AXES["ipv4"]).to_frame()
    assert hosts["first_address"].to_pylist()[-1] == "10.0.0.3"
    places = release_of(range(6), AXES["hierarchy"]).to_frame()
    assert places["level 1"].to_pylist() == ["CA", "CA", "CA", "NV", "NV", "DC"]
    assert places["level 2"].to_pylist() == ["x", "y", "z", "u", "v", None]


@pytest.mark.parametrize("library", ["spark", "", None, 5])
def test_a_library_that_is_not_there_is_refused(library):
    with pytest.raises(tu.InputError, match=r"Cannot make a .* table; try 'pyarrow'"):
        release_of([1]).to_frame(library)


def test_a_release_needs_a_count_a_cell():
    release = release_of([1, 2, 3])
    with pytest.raises(tu.InputError, match="A release over 'cell' needs 3 counts"):
        tu.Release(release.axis, np.zeros(3), release.errors, release.facts)
