"""The one default asks the plan of the noise that will be drawn."""

from __future__ import annotations

from typing import Any

import pytest

import trueup as tu
from trueup.plan import default


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


def test_adaptive_is_refused_where_it_says_nothing() -> None:
    few = tu.Axis.integers("few", 0, 4)
    with pytest.raises(tu.InputError, match="'few' has too few cells for a tree that stops early"):
        default.question_for(few, 1, True, "add-remove", 1, adaptive=True)
    with pytest.raises(tu.InputError, match="adaptive=True goes with an axis, or several"):
        default.question_for(tu.CellCounts(3), 1, True, "add-remove", 1, adaptive=True)
