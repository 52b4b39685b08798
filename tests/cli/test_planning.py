from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import trueup as tu

Run = Callable[..., Any]


def test_plan_gives_what_the_library_gives(run: Run) -> None:
    found = run("plan", "--integers", 0, 364, "--epsilon", "0.5", "--json").json
    axis = tu.Axis.integers("value", 0, 364)
    planned = tu.plan(axis, "0.5")
    assert [s["mean_squared_error"] for s in found["strategies"]] == [
        s.mean for s in planned.strategies
    ]
    assert found["best"] == planned.best.to_json()
    assert found["typical_error"] == tu.error_for(axis, "0.5")


def test_plan_shows_a_table_and_marks_the_best(run: Run) -> None:
    words = run("plan", "--integers", 0, 99).out
    assert words.count("→") == 1
    assert "on a typical answer at 95 %" in words


def test_a_goal_says_what_epsilon_it_needs(run: Run) -> None:
    found = run("plan", "--integers", 0, 99, "--within", 50, "--json").json
    axis = tu.Axis.integers("value", 0, 99)
    assert Fraction(found["epsilon_needed"]) == tu.epsilon_for(axis, within=50)
    assert found["typical_error"] <= 50
    assert "needs epsilon = " in run("plan", "--integers", 0, 99, "--within", 50).out


@pytest.mark.parametrize("workload", ["ranges", "prefixes", "lengths", "cells"])
def test_every_workload_has_a_best_question(run: Run, workload: str) -> None:
    found = run("plan", "--integers", 0, 99, "--workload", workload, "--json").json
    best = min(s["mean_squared_error"] for s in found["strategies"])
    assert best > 0


def test_counts_that_are_shown_have_a_best_question_of_their_own(run: Run) -> None:
    found = run("plan", "--integers", 0, 999, "--nonnegative", "--json").json
    planned = tu.plan(tu.Axis.integers("value", 0, 999), 1, nonnegative=True)
    assert found["best"] == planned.best.to_json()
    assert found["best"]["kind"] == "adaptive tree"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "Declare the axis"),
        (["--integers", 0, 9, "--workload", "all"], "--workload"),
        (["--integers", 0, 9, "--within", 0], "0"),
        (["--integers", 0, 9, "--level", 1.5, "--within", 5], "level"),
        (["--integers", 9, 0], "before it begins"),
        (["--range", 0, 1], "--bins"),
        (["--integers", 0, 9, "--edges", "1,2"], "one way"),
    ],
)
def test_bad_input_gets_one_line(run: Run, words: list[object], says: str) -> None:
    ran = run("plan", *words)
    assert (ran.code, ran.out) == (1, "")
    assert says in ran.err
    assert ran.err.count("\n") == 1
