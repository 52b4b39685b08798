"""The one default asks the plan of the noise that will be drawn."""

from __future__ import annotations

from typing import Any

import pytest

import trueup as tu
from trueup.infer.model import LARGE
from trueup.plan import default
from trueup.plan.offers import ways


def test_the_plan_is_asked_for_the_price_relation_and_rows_that_are_paid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []
    plan = default.plan

    def spy(*given: Any, **named: Any) -> Any:
        asked.append((given[1:], named))
        return plan(*given, **named)

    monkeypatch.setattr(default, "plan", spy)
    axis = tu.Axis.integers("age", 0, 9)
    found = default.question_for(axis, "1/10", True, "replace", 3)
    assert found.size == 10
    ((given, named),) = asked
    assert given == ("1/10",)
    assert named == {"nonnegative": True, "neighbours": "replace", "rows_per_unit": 3}


def test_a_question_is_asked_as_it_is() -> None:
    question = tu.CellCounts(3)
    assert default.question_for(question, 1, True, "add-remove", 1) is question


def test_adaptive_asks_what_the_plan_offers_by_that_word() -> None:
    x, y = tu.Axis.integers("x", 0, 255), tu.Axis.integers("y", 0, 63)
    for over in (x, [x]):
        found = default.question_for(over, 1, True, "add-remove", 1, adaptive=True)
        assert found == tu.TreeCounts(x, adaptive=True)
        assert found == tu.plan(x, 1, nonnegative=True)["adaptive tree"].question
    grid = default.question_for([x, y], 1, True, "add-remove", 1, adaptive=True)
    assert grid == tu.BoxCounts.quadtree(x, y, adaptive=True)


ADAPTIVE = tu.TreeCounts(tu.Axis.integers("x", 0, 255), adaptive=True)


@pytest.mark.parametrize(
    ("cost", "shown", "adaptive", "bounded", "expected"),
    [
        (tu.Cost.of(1), True, None, False, "adaptive tree"),
        (tu.Cost.of(1), True, False, False, "for non-negative counts"),
        (tu.Cost.of(1), True, None, True, "for non-negative counts"),
        (tu.Cost.of(1), False, None, False, "hats"),
        (tu.Cost.of(1), False, False, True, "hats"),
        (tu.Cost.of(rho=1), True, None, False, "for non-negative counts"),
        (tu.Cost.of(rho=1), True, False, False, "for non-negative counts"),
        (tu.Cost.of(rho=1), True, True, False, "adaptive tree"),
        (tu.Cost.of(1), False, True, False, "adaptive tree"),
    ],
)
def test_what_is_asked_of_one_axis(
    cost: tu.Cost, shown: bool, adaptive: bool | None, bounded: bool, expected: str
) -> None:
    axis = ADAPTIVE.space.axes[0]
    found = default.question_for(axis, cost, shown, "add-remove", 1, adaptive, bounded)
    assert found == tu.plan(axis, cost, nonnegative=True)[expected].question


@pytest.mark.parametrize("cells", [2, 39, 40, 1000, LARGE - 1, LARGE])
def test_by_default_the_plan_s_best_is_asked_on_both_sides_of_every_size(cells: int) -> None:
    axis = tu.Axis.integers("x", 0, cells - 1)
    found = default.question_for(axis, 1, True, "add-remove", 1)
    assert found == tu.plan(axis, 1, nonnegative=True).best
    assert (found.kind == "adaptive tree") == ("adaptive" in ways(axis) and cells < LARGE)
    at_once = default.question_for(axis, 1, True, "add-remove", 1, adaptive=False)
    assert at_once == tu.plan(axis, 1, nonnegative=True)["for non-negative counts"].question


@pytest.mark.parametrize("adaptive", [None, False])
def test_grids_keep_their_default(adaptive: bool | None) -> None:
    axes = [tu.Axis.integers("x", 0, 255), tu.Axis.integers("y", 0, 63)]
    found = default.question_for(axes, 1, True, "add-remove", 1, adaptive)
    assert found == tu.plan(axes, 1, nonnegative=True)["for non-negative counts"].question


def test_adaptive_is_yes_no_or_not_said() -> None:
    with pytest.raises(tu.InputError, match="adaptive must be True, False or None, got 'yes'"):
        default.question_for(ADAPTIVE, 1, True, "add-remove", 1, adaptive="yes")  # type: ignore[arg-type]


def test_adaptive_is_refused_where_it_says_nothing() -> None:
    few = tu.Axis.integers("few", 0, 4)
    with pytest.raises(tu.InputError, match="'few' has too few cells for a tree that stops early"):
        default.question_for(few, 1, True, "add-remove", 1, adaptive=True)
    with pytest.raises(tu.InputError, match="adaptive=True goes with an axis, or several"):
        default.question_for(tu.CellCounts(3), 1, True, "add-remove", 1, adaptive=True)
