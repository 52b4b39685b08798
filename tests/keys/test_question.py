"""A question of keys is checked once, and written and read."""

from __future__ import annotations

from fractions import Fraction

import pytest

import trueup as tu
from trueup.errors import InputError
from trueup.keys.question import KeyCounts

WORDS = tu.Universe.text("a-z", 8)


def test_questions_are_written_and_read() -> None:
    for asked in (
        KeyCounts(WORDS),
        KeyCounts(WORDS, "word", 3, "many", "1/2", 0, "1/5"),
        KeyCounts(tu.Universe.places(1), ("lat", "lon")),
    ):
        assert KeyCounts.from_json(asked.to_json()) == asked
    assert KeyCounts(WORDS, total="0.25", number="1/4").counts == Fraction(1, 2)
    assert KeyCounts(tu.Universe.places(1), ["lat", "lon"]).columns == ("lat", "lon")


@pytest.mark.parametrize(
    "wrong",
    [
        {"universe": "ipv4"}, {"by": ("a", "b")}, {"by": 7}, {"keys_per_unit": 0},
        {"keys_per_unit": 10**7}, {"keys_per_unit": 1.5}, {"duplicates": "twice"},
        {"false_keys": 0}, {"false_keys": 10**5}, {"false_keys": float("nan")}, {"total": 1},
        {"total": -1}, {"total": "1/2", "number": "1/2"}, {"number": "x"},
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        KeyCounts(**{"universe": WORDS, **wrong})  # type: ignore[arg-type]


def test_a_question_without_a_column_says_so() -> None:
    with pytest.raises(InputError, match="by="):
        _ = KeyCounts(WORDS).columns


def test_as_many_false_keys_as_are_allowed_and_not_one_more() -> None:
    assert KeyCounts(tu.Universe.ipv4(), false_keys=10_000).false_keys == 10_000
    with pytest.raises(InputError, match="at most 10,000"):
        KeyCounts(tu.Universe.ipv4(), false_keys=10_001)
