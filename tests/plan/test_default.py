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
