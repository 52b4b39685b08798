"""What may be said of a person is checked when it is said, and written as it is read."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import trueup as tu
from trueup.errors import InputError
from trueup.owner.person import Person, declared_people


@pytest.mark.parametrize(
    "given",
    [
        {"count": "*"},
        {"any": "*", "where": "fare > 50"},
        {"distinct": "shop"},
        {"sum": "fare", "low": "0", "high": "100", "step": "1/100"},
        {"first": "shop", "by": "day"},
        {"last": "shop", "by": "day", "where": "fare > 0 and shop in ('a', 'b')"},
    ],
)
def test_a_feature_is_written_as_it_is_read(given: dict[str, Any]) -> None:
    person = tu.Person(**given)
    assert person.to_json() == given
    assert tu.Person.from_json(person.to_json()) == person
    assert eval(repr(person), {"Person": tu.Person}) == person


def test_the_step_of_a_sum_is_exact() -> None:
    person = tu.Person(sum="fare", low=0, high=100, step=0.01)
    assert (person.step, person.digits) == (Fraction(1, 100), 2)
    assert tu.Person(sum="fare", low=-5, high=100, step=5).digits == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "one of count, any, distinct, min, max, sum, first, last; got none"),
        ({"count": "*", "max": "fare"}, "got count=, max="),
        ({"mean": "fare"}, "got mean="),
        ({"max": "*"}, 'needs a column; "*" is for count and any'),
        ({"max": 3}, "max= names a column, got 3"),
        ({"first": "shop"}, "needs by=, the column of the time"),
        ({"max": "shop", "by": "day"}, "by= goes with first and last"),
        ({"first": "shop", "by": ""}, "by= names a column"),
        ({"max": "fare", "low": 0}, "go with sum only"),
        ({"sum": "fare"}, "needs low= and high="),
        ({"sum": "fare", "low": 0, "high": 1, "step": 0}, "must be positive"),
        ({"sum": "fare", "low": 0, "high": 1, "step": "1/3"}, "at most 9 digits"),
        ({"sum": "fare", "low": 1, "high": 1}, "low must be below high"),
        ({"sum": "fare", "low": 0, "high": "2.5", "step": 1}, "whole numbers of steps"),
        ({"sum": "fare", "low": 0, "high": 2**29}, "past 64 bits"),
        ({"count": "*", "where": "fare >"}, "The filter cannot be read"),
    ],
)
def test_what_is_no_feature_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(tu.InputError) as refused:
        tu.Person(**given)
    assert words in str(refused.value)


def test_the_largest_grid_of_a_sum_is_the_last_that_is_taken() -> None:
    assert tu.Person(sum="fare", low=0, high=2**28).high == 2**28
    with pytest.raises(tu.InputError, match="past 64 bits"):
        tu.Person(sum="fare", low=0, high=2**28 + 1)


def test_settings_that_are_no_table_are_refused() -> None:
    for wrong in ("count", {3: "x"}):
        with pytest.raises(tu.InputError, match="table of settings"):
            tu.Person.from_json(wrong)


def test_features_are_declared_as_tables() -> None:
    said = {"visits": {"count": "*"}, "dear": {"max": "fare", "where": "fare > 3"}}
    found = declared_people(said)
    assert found == {"visits": Person(count="*"), "dear": Person(max="fare", where="fare > 3")}
    with pytest.raises(InputError, match="people 'visits'"):
        declared_people({"visits": {"most": "fare"}})


def test_sums_that_could_pass_64_bits_are_refused_at_either_end() -> None:
    """2^28 steps of a value at most, above 0 and below: those of 2^34 rows add up in 64 bits."""
    most = 1 << 28
    for low, high, step, allowed in (
        (-most, 0, 1, True), (-most - 1, 0, 1, False), (0, most, 1, True), (0, most + 1, 1, False),
        (-(most // 10), 1, "0.5", True), (-(most // 10) - 1, 1, "0.5", False),
    ):  # fmt: skip
        if allowed:
            Person(sum="fare", low=low, high=high, step=step)
        else:
            with pytest.raises(InputError, match="64 bits"):
                Person(sum="fare", low=low, high=high, step=step)
