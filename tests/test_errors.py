"""Errors: what a message may repeat of what was given, and what catches which."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueup as tu
from trueup import errors
from trueup.errors import kind, shown


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "None"),
        (-1, "-1"),
        (np.int64(7), "7"),
        (0.25, "0.25"),
        (Fraction(1, 3), "Fraction(1, 3)"),
        ("0.1.2", "'0.1.2'"),
        (int, "the class int"),
        (dt.date(2020, 1, 2), "2020-01-02"),
        ([34, 35], "a list of 2"),
        ((1,) * 1000, "a tuple of 1,000"),
        ({"a": 34}, "a dict"),
        (np.array([34]), "an ndarray"),
        (pd.Series([34]), "a Series"),
        (b"34", "bytes"),
    ],
)
def test_a_message_repeats_numbers_and_short_text_and_else_the_type(value: Any, words: str) -> None:
    assert shown(value) == words


@given(st.one_of(st.lists(st.integers(10**6, 10**7), min_size=1), st.binary(min_size=4)))
def test_no_message_repeats_data(data: Any) -> None:
    values = data if isinstance(data, list) else [data]
    for given_ in (data, tuple(values), np.array(values), pd.Series(values), {"x": data}):
        assert not any(str(value) in shown(given_) for value in values)
        assert kind(given_).split(" ")[0] in ("a", "an", "bytes")


@given(st.text(max_size=300))
def test_a_text_is_cut_to_sixty_characters(text: str) -> None:
    words = shown(text)
    assert words == "an address" or len(words) <= len(repr(text[:60])) + 1


@pytest.mark.parametrize(
    "secret", ["postgresql://me:pw@host", "PASSWORD=pw", "a token: pw", "my secret pw", "passwd pw"]
)
def test_no_message_repeats_a_secret(secret: str) -> None:
    assert "pw" not in shown(secret)


def test_every_error_is_caught_as_one_of_ours_and_wrong_input_as_a_value_error() -> None:
    ours = [each for each in vars(errors).values() if isinstance(each, type)]
    found = [each for each in ours if issubclass(each, Exception)]
    assert len(found) >= 9
    for each in found:
        assert issubclass(each, tu.TrueupError)
        assert issubclass(each, ValueError) == issubclass(each, tu.InputError)
        assert each.__doc__
    assert issubclass(tu.BudgetError, tu.LedgerError)
    assert not issubclass(tu.BudgetError, tu.InputError)
