"""Numbers as typed, against Python's own exact ones."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup import InputError
from trueup.axis.numbers import typed_number, typed_whole


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6) | st.integers())
def test_a_number_as_typed_is_exact_where_it_is_whole_and_else_the_nearest_float(value):
    found, exact = typed_number(str(value)), Fraction(value)
    assert found == (int(exact) if exact.denominator == 1 else float(exact))
    assert isinstance(found, int) == (exact.denominator == 1)


@given(st.text(max_size=12))
def test_text_is_a_number_or_refused(text):
    try:
        found = typed_number(text)
    except InputError:
        if text.isascii() and "_" not in text:
            with pytest.raises(ValueError, match="float"):
                float(text)
        return
    assert found == float(text) or math.isnan(found)


@pytest.mark.parametrize("text", ["²", "", "-", "--5", "1.0", "1_0", "٣", "1e3", "9" * 4001])
def test_digits_alone_write_a_whole_number(text):
    assert typed_whole(text) is None


def test_a_number_of_any_length_is_read_at_once():
    assert typed_number("9" * 4000) == 10**4000 - 1
    assert typed_number("1e999") == 10**999
    for text in ("9" * 5000, "x" * 5000):
        with pytest.raises(InputError) as refused:
            typed_number(text)
        assert len(str(refused.value)) < 200
