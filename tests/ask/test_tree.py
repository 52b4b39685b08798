"""H: the paper's example, its sensitivity, and shapes that make no sense."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from trueup import Axis, InputError, TreeCounts
from trueup._kernels.error.radices import best_for_ranges


def test_the_tree_of_the_trace():
    question = TreeCounts(4, branching=2)
    assert question.answers([2, 0, 10, 2]).tolist() == [14, 2, 12, 2, 0, 10, 2]
    assert question.sensitivity() == question.height == 3


@pytest.mark.parametrize(("branching", "height"), [(2, 2), (2, 5), (2, 16), (3, 4), (16, 3)])
def test_sensitivity_is_the_height_and_replacing_moves_twice_all_but_the_root(branching, height):
    question = TreeCounts(branching ** (height - 1), branching)
    assert question.sensitivity() == height
    assert question.sensitivity("replace") == max(height, 2 * (height - 1))
    rootless = TreeCounts(branching ** (height - 1), branching, root=False)
    assert rootless.sensitivity() == height - 1
    assert rootless.sensitivity("replace") == 2 * (height - 1)


def test_no_answer_is_spent_on_padding():
    for size in (1, 2, 3, 5, 17, 100, 1000):
        for branching in (2, 3, 7, 16):
            widths = [branching**level for level in range(20) if branching**level < size] + [
                branching ** len([lv for lv in range(20) if branching**lv < size])
            ]
            nodes = sum(-(-size // width) for width in widths)
            assert TreeCounts(size, branching).length == nodes


def test_given_the_axis_alone_it_is_the_best_tree_for_ranges():
    question = TreeCounts(1000)
    assert (question.radices, question.shares) == best_for_ranges(1000)
    assert question.shares[0] == 0
    asked = TreeCounts(1000, root=True)
    assert asked.radices == question.radices
    assert asked.shares == (Fraction(1, asked.height),) * asked.height


def test_a_hierarchy_asks_its_own_levels():
    place = Axis.hierarchy("place", {"CA": ["Kern", "Napa"], "NV": ["Clark"]}, ["state", "county"])
    question = TreeCounts(place)
    assert question.levels == ("state", "county")
    assert question.answers([5, 6, 7]).tolist() == [11, 7, 5, 6, 7]
    states = TreeCounts(place, levels=["state"])
    assert states.answers([5, 6, 7]).tolist() == [18, 11, 7]
    assert states.answer_axis.size == 2


def test_days_can_be_counted_by_year_and_month_wherever_they_begin():
    days = Axis.dates("day", "2012-11-15", "2013-02-10")
    counts = np.arange(days.size)
    month_of = [days.interval(i)[0][:7] for i in range(days.size)]
    months = [int(counts[[m == month for m in month_of]].sum()) for month in sorted(set(month_of))]
    question = TreeCounts(days, levels=["year", "month"])
    total = int(counts.sum())
    assert question.answers(counts).tolist() == [total, sum(months[:2]), sum(months[2:]), *months]
    assert question.answer_axis.size == 4
    assert TreeCounts(days, levels="year").answer_axis.interval(0) == ("2012-11-15", "2013")


def test_counts_of_2_to_the_61_do_not_overflow():
    question = TreeCounts(16, branching=2)
    counts = np.full(16, 2**57, np.int64)
    assert question.answers(counts)[0] == 2**61


def test_a_branching_wider_than_the_axis_is_a_root_and_its_cells():
    for branching in (10, 11, 2**40, 10**30):
        assert TreeCounts(10, branching).answers(range(10)).tolist() == [45, *range(10)]
    assert TreeCounts(1, 10**30).answers([7]).tolist() == [7]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"branching": 1}, "branching must be at least 2, got 1"),
        ({"branching": 0}, "branching must be at least 2, got 0"),
        ({"branching": -2}, "branching must be at least 2, got -2"),
        ({"branching": 2.0}, "branching must be a whole number, got 2.0"),
        ({"branching": True}, "branching must be a whole number, got True"),
        ({"branching": "2"}, "branching must be a whole number, got '2'"),
        ({"branching": 2, "root": "no"}, "root must be True or False, got 'no'"),
        ({"branching": 2, "radices": [2]}, "Give one of branching, radices and levels"),
        ({"branching": 2, "levels": ["day"]}, "Give one of branching, radices and levels"),
        ({"radices": [2, 2]}, "reach 4 cells; the axis has 10"),
        ({"radices": [1, 10]}, "must be a whole number of at least 2, got 1"),
        ({"radices": [2.5, 10]}, "at least 2, got 2.5"),
        ({"radices": 10}, "radices must be a list, one entry a level, got 10"),
        ({"radices": [2] * 70}, "reach past 2^62"),
        ({"radices": []}, "reach 1 cells"),
        ({"levels": ["year"]}, "has no level 'year'. Levels: none"),
        ({"levels": 5}, "levels must be a list"),
        ({"branching": 4, "shares": ["1/2"]}, "The tree has 3 levels, root included; 1 shares"),
        ({"branching": 4, "shares": 1}, "shares must be a list, one entry a level, got 1"),
        ({"branching": 4, "shares": ["1/2", "1/2", "1/2"]}, "must add up to 1, not 3/2"),
        ({"branching": 4, "shares": ["3/2", "-1/2", 0]}, "must not be negative"),
        ({"branching": 4, "shares": ["1/2", "1/2", 0]}, "The finest level must be asked"),
        ({"branching": 4, "shares": [0.1, 0.2, float("nan")]}, "A share of epsilon must be a fin"),
        ({"branching": 4, "shares": "110"}, "shares must be a list"),
    ],
)
def test_a_tree_that_makes_no_sense_is_refused(arguments, told):
    with pytest.raises(InputError) as refusal:
        TreeCounts(10, **arguments)
    assert told in str(refusal.value)


def test_levels_of_a_calendar_are_named_once_coarsest_first():
    days = Axis.dates("day", "2012", "2013")
    for levels in (["day", "month"], ["day", "day"], []):
        with pytest.raises(InputError, match="Levels must be named once each, coarsest first"):
            TreeCounts(days, levels=levels)
    with pytest.raises(InputError, match=r"has no level 'decade'\. Levels: year, month, day"):
        TreeCounts(days, levels=["decade"])


def test_shares_may_leave_out_the_root():
    assert TreeCounts(10, 4, shares=["0.25", "0.75"]).shares == (0, Fraction(1, 4), Fraction(3, 4))
    assert TreeCounts(10, 4, shares=[0.1, 0.2, 0.7]).price() == 1
