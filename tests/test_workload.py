from __future__ import annotations

import datetime

import numpy as np
import pytest

import trueup as tu
from trueup.noise import Noise
from trueup.workload import as_workload, default_workload

AGE = tu.Axis.integers("age", 0, 99)
DAY = tu.Axis.dates("day", "2024-01-01", "2024-12-31")
WORKLOADS = [
    tu.Workload.all_ranges(),
    tu.Workload.prefixes(),
    tu.Workload.cell_counts(),
    tu.Workload.lengths([3, 40]),
    tu.Workload.log_uniform(),
    tu.Workload.given([(0, 18), (18, 65)]),
    tu.Workload.mix({"prefixes": 1, "cell counts": 1}),
]


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.words)
def test_samples_are_ranges_of_the_workload(workload):
    starts, stops, likely = workload.sample(AGE, 500)
    assert likely.sum() == pytest.approx(1)
    assert (starts >= 0).all()
    assert (starts < stops).all()
    assert (stops <= 100).all()
    lengths = set((stops - starts).tolist())
    if workload.kind == "lengths":
        assert lengths == set(workload.sizes)
    if workload.kind == "prefixes":
        assert not starts.any()


def test_samples_of_all_ranges_are_spread_like_all_ranges():
    starts, stops, _ = tu.Workload.all_ranges().sample(tu.Axis.integers("x", 0, 9999), 4000)
    assert np.mean(stops - starts) == pytest.approx(10_000 / 3, rel=0.02)
    assert np.mean(starts) == pytest.approx(10_000 / 3, rel=0.02)


def test_levels_are_those_of_the_axis():
    starts, stops = tu.Workload.level("month").spans(DAY)
    assert len(starts) == 12
    assert (stops - starts).tolist()[:2] == [31, 29]


def test_a_hierarchy_is_asked_by_level_and_numbers_by_range():
    place = tu.Axis.hierarchy("place", {"CA": ["Kern", "Napa"], "NV": ["Clark"]})
    assert default_workload(AGE) == tu.Workload.all_ranges()
    assert default_workload(place).kind == "mix"


def test_given_ranges_are_in_axis_units():
    summer = tu.Workload.given([(datetime.date(2024, 6, 1), datetime.date(2024, 9, 1))])
    starts, stops = summer.spans(DAY)
    assert (starts[0], stops[0]) == (152, 244)


@pytest.mark.parametrize("made", ["all ranges", "prefixes", "cell counts", "log-uniform lengths"])
def test_names_stand_for_workloads(made):
    assert as_workload(made).words == made


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: as_workload("everything"), "'all ranges', 'prefixes'"),
        (lambda: as_workload(7), "A workload is one of"),
        (lambda: tu.Workload.lengths([]), "at least one length"),
        (lambda: tu.Workload.lengths([0]), "whole number of cells, got 0"),
        (lambda: tu.Workload.lengths([1.5]), "whole number of cells, got 1.5"),
        (lambda: tu.Workload.lengths([True]), "whole number of cells, got True"),
        (lambda: tu.Workload.given([]), "at least one range"),
        (lambda: tu.Workload.given([3]), "pairs"),
        (lambda: tu.Workload.mix({}), "at least one workload"),
        (lambda: tu.Workload.mix({"prefixes": 0}), "must be positive, got 0"),
        (lambda: tu.Workload.mix({"prefixes": float("nan")}), "must be positive"),
        (lambda: tu.Workload.lengths([101]).check(AGE), "do not fit"),
        (lambda: tu.Workload.given([(-5, 20)]).check(AGE), "age"),
        (lambda: tu.Workload.given([(20, 20)]).check(AGE), "holds no cell"),
        (lambda: tu.Workload.given([(30, 20)]).check(AGE), "reversed"),
        (lambda: tu.Workload.level("month").check(AGE), "no level 'month'"),
        (lambda: tu.Workload.mix({tu.Workload.level("x"): 1}).check(DAY), "no level 'x'"),
    ],
)
def test_workloads_that_make_no_sense_are_refused(make, said):
    with pytest.raises(tu.InputError, match=said):
        make()


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.words)
def test_a_sample_has_the_error_of_the_whole(workload):
    from fractions import Fraction

    from trueup.infer import figures_of

    figures = figures_of(Noise(tu.TreeCounts(AGE), Fraction(1)))
    starts, stops, likely = workload.sample(AGE, 2000)
    sampled = figures.range_variances(starts, stops) @ likely
    assert sampled == pytest.approx(workload.mean(figures, AGE), rel=0.02)
