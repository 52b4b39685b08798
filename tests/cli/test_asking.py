"""What options ask: held against the questions that Python makes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import trueup as tu
from trueup.cli.asking import Counted, question_of
from trueup.cli.axes import AxisOptions

AGE = tu.Axis.integers("age", 0, 99)
AGES = AxisOptions(integers=(0, 99))


def asked(declared: AxisOptions, **counted: Any) -> tu.ask.Question:
    return question_of(declared, None, Counted(**counted), Fraction(1, 10), "add-remove", 1)


@pytest.mark.parametrize(
    ("declared", "counted", "question"),
    [
        (AGES, {"column": ["age"]}, tu.plan(AGE, "1/10", nonnegative=True).best),
        (AGES, {"column": ["age"], "strategy": "adaptive"}, tu.TreeCounts(AGE, adaptive=True)),
        (
            AGES,
            {"column": ["age"], "strategy": "shown"},
            tu.plan(AGE, "1/10", nonnegative=True)["for non-negative counts"].question,
        ),
        (AGES, {"column": ["age"], "branching": 2}, tu.TreeCounts(AGE, branching=2)),
        (AGES, {"column": ["age"], "strategy": "flat"}, tu.CellCounts(AGE)),
        (AGES, {"column": ["age"], "strategy": "windows"}, tu.WindowCounts(AGE)),
        (AxisOptions(), {"by": "word", "groups": 50}, tu.SortedCounts(50, by="word")),
        (AxisOptions(), {"degrees": "a,b", "nodes": 9}, tu.SortedCounts(9, ends=2)),
        (AxisOptions(), {"degrees": "a,b", "nodes": 9, "graph": "directed"}, tu.SortedCounts(9)),
    ],
    ids=str,
)
def test_options_ask_what_python_asks(
    declared: AxisOptions, counted: dict[str, Any], question: tu.ask.Question
) -> None:
    assert asked(declared, **counted) == question


@pytest.mark.parametrize(
    ("declared", "counted", "says"),
    [
        (AxisOptions(), {}, "Declare the axis"),
        (AGES, {}, "Name the column"),
        (AGES, {"column": ["age"], "by": "word"}, "Ask for one thing"),
        (AGES, {"column": ["age", "sex"]}, "declared in trueup.toml"),
        (AGES, {"column": ["age"], "branching": 2, "strategy": "tree"}, "not both"),
        (AGES, {"column": ["age"], "strategy": "spiral"}, "must be one of best, flat"),
        (AxisOptions(), {"by": "word"}, "Give --groups"),
        (AxisOptions(), {"degrees": "a,b"}, "Give --nodes"),
    ],
    ids=str,
)
def test_options_that_ask_nothing_sensible_are_told_why(
    declared: AxisOptions, counted: dict[str, Any], says: str
) -> None:
    with pytest.raises(tu.InputError) as refused:
        asked(declared, **counted)
    assert says in str(refused.value)


@pytest.mark.parametrize("degrees", ["a", "a,b,c", "a,", ""])
def test_degrees_name_two_columns(degrees: str) -> None:
    assert Counted(degrees=" src , dst").ends == ("src", "dst")
    with pytest.raises(tu.InputError, match="names two columns"):
        assert Counted(degrees=degrees).ends
