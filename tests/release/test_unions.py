"""Unions of regions: each cell once, whatever the parts are called, in memory and over any axes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup.release import unions

AGE = tu.Axis.integers("age", 0, 9)
PLACE = tu.Axis.hierarchy("place", {"CA": ["Kern", "Napa"], "NV": ["Clark", "Elko"]})
DAY = tu.Axis.dates("day", "2020-01-30", "2020-02-03")
BLOCK = tu.Axis.codes("block", [100, 101, 205, 310], {"state": 1, "block": 3})


@pytest.mark.parametrize(
    ("axis", "parts", "cells"),
    [
        (AGE, [3, (5, 7), "6:9"], {3, 5, 6, 7, 8}),
        (AGE, [(None, 2), (9, None)], {0, 1, 9}),
        (AGE, np.array([4, 1, 4, 2]), {1, 2, 4}),
        (AGE, [(5, 5)], set()),
        (PLACE, ["CA", "CA/Napa", ("NV", "Elko")], {0, 1, 3}),
        (DAY, ["2020-02", ("2020-01-30", "2020-01-31")], {0, 2, 3, 4}),
        (BLOCK, ["1", 310], {0, 1, 3}),
    ],
)
def test_a_union_is_the_sum_of_its_cells(axis: tu.Axis, parts: Any, cells: set[int]) -> None:
    noisy = np.random.default_rng(1).integers(0, 99, axis.size)
    release = tu.infer(tu.Measurement(tu.CellCounts(axis), noisy, epsilon=1))
    found = release.union(**{axis.name: parts})
    assert found.value == sum(noisy[cell] for cell in cells)
    one = release.between(0, 1).std_error
    assert found.std_error == pytest.approx(one * len(cells) ** 0.5)


def test_parts_that_overlap_in_any_way_count_each_cell_once() -> None:
    """Parts inside parts, parts that meet, parts twice: against sets of cells."""
    rng = np.random.default_rng(6)
    for _ in range(400):
        spans = [sorted(rng.integers(0, 11, 2).tolist()) for _ in range(int(rng.integers(0, 6)))]
        boxes = unions.union_boxes([AGE], {"age": [tuple(span) for span in spans]})
        found = [cell for (box,) in boxes for cell in range(*box)]
        assert found == sorted({cell for span in spans for cell in range(*span)})
        assert all(stop < start for ((_, stop),), ((start, _),) in pairwise(boxes))  # none meet
        cells = rng.integers(0, 10, 5)
        boxes = unions.union_boxes([AGE], {"age": cells})
        assert [cell for (box,) in boxes for cell in range(*box)] == np.unique(cells).tolist()


def test_a_union_over_two_axes_is_the_product_of_its_parts_on_each() -> None:
    question = tu.GridCounts(AGE, PLACE)
    counts = np.random.default_rng(2).poisson(20, (10, 4))
    release = tu.infer(tu.measure(counts, question, epsilon=400), nonnegative=True, integers=True)
    assert release.union(age=[2, (5, 8)], place=["NV", "CA/Kern"]).value == (
        counts[np.ix_([2, 5, 6, 7], [0, 2, 3])].sum()
    )
    assert release.union(age=[2]).value == counts[2].sum()
    assert release.union().value == release.total().value
    low, high = release.union(place=["NV", "CA/Kern"]).interval()
    assert low <= counts[:, [0, 2, 3]].sum() <= high


def test_the_error_of_a_union_is_that_of_the_sum_of_its_estimates() -> None:
    release = tu.infer(tu.measure(np.arange(10), tu.TreeCounts(AGE, branching=2), epsilon=1))
    added = release.range(0, 2) + release.range(4, 5) + release.range(7, 10)
    found = release.union(age=[(0, 2), 4, (7, 10)])
    assert found.std_error == pytest.approx(added.std_error)
    assert found.interval(0.9) == pytest.approx(added.interval(0.9))


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"size": [1]}, "There is no axis 'size'"),
        ({"age": 3}, "is a list of its parts, got an int"),
        ({"age": "3"}, "is a list of its parts"),
        ({"age": [(1, 2, 3)]}, "is \\(low, high\\)"),
        ({"age": np.array([10])}, "has cells 0 to 9"),
        ({"age": np.array([-1])}, "has cells 0 to 9"),
        ({"age": np.array([0, 10])}, "has cells 0 to 9"),
        ({"age": np.array([3, -1])}, "has cells 0 to 9"),
        ({"age": np.array([0.5])}, "holds the numbers of cells"),
        ({"age": [11]}, "outside axis"),
    ],
)
def test_a_union_that_makes_no_sense_is_told_why(parts: Any, says: str) -> None:
    release = tu.infer(tu.Measurement(tu.CellCounts(AGE), np.arange(10), epsilon=1))
    with pytest.raises(tu.InputError, match=says):
        release.union(**parts)


def test_a_union_of_too_many_boxes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    release = tu.infer(tu.Measurement(tu.CellCounts(AGE), np.arange(10), epsilon=1))
    monkeypatch.setattr(unions, "_MOST", 3)
    assert release.union(age=[0, 2, 4]).value == 6
    with pytest.raises(tu.InputError, match="more than 3 boxes"):
        release.union(age=[0, 2, 4, 6])


def test_margins_answer_unions_of_their_own_axes_alone() -> None:
    question = tu.GridCounts(AGE, DAY, marginals=[["age"], ["day"]])
    release = tu.infer(tu.measure(np.ones((10, 5), np.int64), question, epsilon=400))
    assert release.union(age=[1, 3]).value == pytest.approx(10, abs=0.1)
    with pytest.raises(tu.InputError, match="No margin"):
        release.union(age=[1], day=["2020-02"])
