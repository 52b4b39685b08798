"""Strings as keys: alphabets, patterns, and words for any bytes."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.errors import InputError
from trueup.keys.strings import PatternKeys, StringKeys, expanded, printable, unprinted


@given(st.binary(max_size=12))
def test_words_for_bytes_say_them_exactly(data: bytes) -> None:
    assert unprinted(printable(data)) == data


def test_words_that_are_never_given_are_no_key() -> None:
    for wrong in ("\\", "\\xZZ", "\\x41", "\ud800", "\\n"):
        assert unprinted(wrong) is None


@given(st.lists(st.text(alphabet="ab-\\é0", max_size=9), max_size=8))
def test_strings_over_an_alphabet_are_those_that_a_regular_expression_finds(
    values: list[str],
) -> None:
    # As long as a key may be and one letter more, of letters of one byte and of two.
    values = [*values, *(letter * many for letter in "aé" for many in (3, 4, 5))]
    for alphabet, most in (("ab0", 3), ("a-b\\-", 4), ("é-éab", 4)):
        keys = StringKeys(most, alphabet)
        wanted = re.compile(f"[{re.escape(expanded(alphabet))}]{{0,{most}}}", re.DOTALL)
        column = pa.array([value.encode() for value in values], pa.large_binary())
        _, good = keys.place(column, np.ones(len(values), bool))
        assert good.tolist() == [wanted.fullmatch(value) is not None for value in values]
        assert [keys.read(printable(value.encode())) is not None for value in values] == (
            good.tolist()
        )
        for place in range(1, len(values)):  # a part of an array, too
            assert keys.place(column.slice(place), np.ones(len(values) - place, bool))[
                1
            ].tolist() == (good[place:].tolist())


@given(st.lists(st.text(alphabet="AZa0-9[", max_size=6), max_size=8))
def test_codes_of_a_pattern_are_those_that_a_regular_expression_finds(values: list[str]) -> None:
    for pattern in ("[A-Z]{2}-[0-9]{2}", r"[A-Z0-9\-]{3}", r"a\[[\[a]", "A"):
        keys = PatternKeys(pattern)
        wanted = re.compile(pattern)
        column = pa.array([value.encode() for value in values], pa.large_binary())
        _, good = keys.place(column, np.ones(len(values), bool))
        assert good.tolist() == [wanted.fullmatch(value) is not None for value in values]


def test_how_many_strings_there_are() -> None:
    assert StringKeys(20).size == (256**21 - 1) // 255
    assert StringKeys(3, "abc").size == 1 + 3 + 9 + 27
    assert PatternKeys("[A-Z]{2}-[0-9]{4}").size == 26**2 * 10**4


@pytest.mark.parametrize(
    "wrong", ["", "[", "a{", "[z-a]", "é", "a{3", "[]", "a*" * 0 + "{2}", "a{9999}", None]
)
def test_patterns_that_cannot_be_read_are_refused(wrong: object) -> None:
    with pytest.raises(InputError):
        PatternKeys(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("most", "alphabet"), [(0, "a"), (2000, "a"), (3, ""), (3, "\ud800"), (3, 7)]
)
def test_strings_of_no_length_or_alphabet_are_refused(most: int, alphabet: object) -> None:
    with pytest.raises(InputError):
        StringKeys(most, alphabet)  # type: ignore[arg-type]
