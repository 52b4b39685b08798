"""A release: numbers that agree with ==, ranges, quantiles and tables."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from uhi.typing.plottable import PlottableHistogram

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


def test_a_release_needs_a_count_a_cell():
    release = release_of([1, 2, 3])
    with pytest.raises(tu.InputError, match="A release over 'cell' needs 3 counts"):
        tu.Release(release.axes, np.zeros(3), release.errors, release.facts)


# ---- several axes, and what they have in common with one


def over(*sizes):
    """A grid of distinct counts over axes a, b, c, without noise to speak of."""
    axes = [tu.Axis.integers(name, 0, size - 1) for name, size in zip("abc", sizes, strict=False)]
    counts = np.arange(math.prod(sizes)).reshape(sizes)
    question = tu.GridCounts(*(tu.CellCounts(axis) for axis in axes))
    return counts, tu.infer(tu.Measurement(question, counts.ravel(), 1))


def test_one_axis_may_be_named_as_several_are():
    release = release_of([1, 2, 3, 4])
    assert release.range(cell=(1, 3)).value == release.range(1, 3).value == 5
    assert release.range(low=1).value == release.range(high=3, low=1).value + 4
    assert release.margin("cell") is release
    assert release.between((1, 3)).value == release.between(1, 3).value
    for ask, told in (
        (lambda: release.range(1, 2, 3), "A range of 'cell' has two ends, but 3 were given"),
        (lambda: release.range(cells=(0, 1)), "There is no axis 'cells'. Axes: cell"),
        (lambda: release.range(1, low=1), "is given twice"),
        (lambda: release.slice(cell=(0, 1)), "Every axis is fixed"),
    ):
        with pytest.raises(tu.InputError, match=told):
            ask()


def test_every_axis_left_alone_answers_as_a_release_of_its_own():
    counts, release = over(4, 5, 3)
    middle = release.slice(a=(1, 3), c=(0, 2))
    wanted = counts[1:3, :, :2].sum(axis=(0, 2))
    assert middle.axis.name == "b"
    assert middle.counts().tolist() == wanted.tolist()
    assert middle.quantile(0.5) == int(np.searchsorted(np.cumsum(wanted), wanted.sum() / 2))
    np.testing.assert_allclose(middle.cdf()[1:], np.cumsum(wanted) / wanted.sum())
    low, high = middle.intervals([0, 2], [2, 5])
    assert (low < [wanted[:2].sum(), wanted[2:].sum()]).all()
    assert (high > [wanted[:2].sum(), wanted[2:].sum()]).all()
    first, last = middle.quantile_interval(0.5)
    assert first <= middle.quantile(0.5) <= last


@pytest.mark.parametrize(
    "ask",
    [
        lambda release: release.quantile(0.5),
        lambda release: release.cdf(),
        lambda release: release.cdf_interval(2),
        lambda release: release.quantile_interval(0.5),
        lambda release: release.node("x"),
        lambda release: release.children(),
        lambda release: release.table(),
        lambda release: release.intervals([0], [1]),
        lambda release: release.axis,
    ],
)
def test_what_needs_one_axis_is_refused_of_several_with_what_to_do(ask):
    with pytest.raises(tu.InputError, match=r"over 'a' × 'b'\. Take one axis: release\.margin"):
        ask(over(3, 4)[1])


def test_only_margins_that_were_asked_are_answered():
    axes = [tu.Axis.integers(name, 0, 3) for name in "abc"]
    question = tu.BoxCounts.marginals(*axes, marginals=[("a", "b"), ("c",)])
    counts = np.random.default_rng(1).integers(0, 50, (4, 4, 4))
    release = tu.infer(tu.measure(counts, question, epsilon=2))
    assert release.range(a=(0, 2), b=(1, 3)).value == (
        release.margin("a", "b").range((0, 2), (1, 3)).value
    )
    assert release.range(c=(0, 2)).value == release.margin("c").range(0, 2).value
    assert release.slice(b=(1, 3), c=None).counts().tolist() == (
        release.margin("a", "b").slice(b=(1, 3)).counts().tolist()
    )
    for ask in (
        release.counts,
        release.std_errors,
        release.values,
        release.columns,
        release.plot,
        lambda: release.range((0, 1), None, (0, 1)),
        lambda: release.ranges([[0]] * 3, [[1]] * 3),
        lambda: release.margin("b", "c"),
        lambda: release.slice(a=(0, 1)),
    ):
        with pytest.raises(tu.InputError, match="Asked: a, b; c"):
            ask()


@pytest.mark.parametrize("parts", [{"a": [0], "b": [1], "c": [2]}, {"b": [0, 2], "c": [1]}])
def test_a_union_over_axes_that_no_margin_holds_is_refused(parts):
    axes = [tu.Axis.integers(name, 0, 3) for name in "abc"]
    question = tu.BoxCounts.marginals(*axes, marginals=[("a", "b"), ("c",)])
    counts = np.random.default_rng(1).integers(0, 50, (4, 4, 4))
    release = tu.infer(tu.measure(counts, question, epsilon=2))
    with pytest.raises(tu.InputError, match="Asked: a, b; c"):
        release.union(**parts)
    one = release.union(a=[0, 2], b=[(1, 3)])
    boxes = [release.margin("a", "b").range((at, at + 1), (1, 3)) for at in (0, 2)]
    assert one.value == boxes[0].value + boxes[1].value


def test_many_boxes_at_once_are_each_box_alone():
    counts, release = over(4, 5, 3)
    low, high = [[0, 1], [2, 0], [0, 1]], [[4, 3], [5, 1], [3, 2]]
    wanted = [counts[0:4, 2:5, 0:3].sum(), counts[1:3, 0:1, 1:2].sum()]
    assert release.ranges(low, high).tolist() == wanted
    alone = [release.range((0, 4), (2, 5), (0, 3)), release.range((1, 3), (0, 1), (1, 2))]
    errors = [one.std_error for one in alone]
    np.testing.assert_allclose(release.range_errors(low, high), errors)
    for few, many in ((low[:2], high), (low, high[:2]), (low[:2], high[:2]), ([0], [1])):
        with pytest.raises(tu.InputError, match="an array of ends for each of the 3 axes"):
            release.ranges(few, many)


@pytest.mark.parametrize("noisy", [[5, 3, 2, 10], [-4, 3, 30, -2], [0, 0, 3, 0]])
def test_the_share_below_an_edge_lies_between_nothing_and_everything(noisy):
    release = measured(tu.CellCounts(4), np.array(noisy))
    assert release.cdf_interval(0) == (0.0, 0.0)
    assert release.cdf_interval(4) == (1.0, 1.0)
    for cut in (1, 2, 3):
        found = release.cdf_interval(cut, 0.8)
        wanted = (release.range(0, cut) / release.total()).interval(0.8)
        assert found == tuple(min(max(end, 0.0), 1.0) for end in wanted)
    some = measured(tu.CellCounts(4), np.array([500, 300, 200, 1000])).cdf_interval(2)
    assert 0.3 < some[0] < 0.4 < some[1] < 0.5


def test_counts_made_to_be_shown_have_no_variances_and_intervals_that_hold_them():
    question = tu.TreeCounts(40)
    noisy = np.random.default_rng(4).integers(-9, 12, question.length)
    m = tu.Measurement(question, noisy, 1)
    plain, shown = tu.infer(m), tu.infer(m, nonnegative=True, integers=True)
    assert plain.variances() is not None
    assert shown.variances() is None
    stretched = 0
    for share in np.linspace(0.05, 0.95, 19):
        low, high = shown.quantile_interval(share, 0.01)
        own = plain.quantile_interval(share, 0.01)
        held = shown.quantile(share)
        assert (low, high) == (min(own[0], held), max(own[1], held))
        stretched += not own[0] <= held <= own[1]
    assert stretched


# ---- the protocol of histograms


@pytest.mark.parametrize(
    "axis",
    [
        tu.Axis.integers("age", 0, 9),
        tu.Axis.regular("fare", 0, 1, bins=4),
        tu.Axis.categories("grade", ["A", "B", "F"]),
        tu.Axis.dates("day", "2013-01-01", "2013-01-05"),
    ],
    ids=lambda axis: axis.name,
)
def test_a_release_over_one_axis_or_two_is_a_plottable_histogram(axis):
    one = release_of(np.arange(axis.size) * 10, axis)
    grid = tu.GridCounts(tu.CellCounts(axis), 3)
    two = tu.infer(tu.Measurement(grid, np.arange(3 * axis.size), 1))
    for release in (one, two):
        assert isinstance(release, PlottableHistogram)
        assert release.values().shape == tuple(len(axis) for axis in release.axes)
        np.testing.assert_allclose(release.variances(), release.std_errors() ** 2)
        assert release.axes[0].traits.discrete == (axis.name == "grade")
        assert len(list(release.axes[0])) == axis.size


def test_mplhep_draws_our_counts_and_our_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # matplotlib's own, of other people's code
        import matplotlib as mpl

        mpl.use("Agg")
        import mplhep

        release = release_of(np.arange(10) * 10)
        # mplhep's default bars are the square roots of the counts; ours are handed over.
        drawn = mplhep.histplot(release, yerr=np.sqrt(release.variances()))[0]
        counts, grid = over(4, 5)
        shaded = mplhep.hist2dplot(grid)
    values, edges, _ = drawn.stairs.get_data()
    np.testing.assert_allclose(values, release.counts())
    np.testing.assert_allclose(edges, np.arange(11))
    low, high = np.array(drawn.errorbar.lines[2][0].get_segments())[:, :, 1].T
    np.testing.assert_allclose((high - low) / 2, release.std_errors())
    np.testing.assert_allclose(shaded.pcolormesh.get_array(), counts.T)
